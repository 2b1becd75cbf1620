// Programs to start from.
export const examples = {
  "Jacobi": `import shadesmith as ti

@ti.kernel
def jacobi(a: ti.types.ndarray(ti.f32, 2),
           b: ti.types.ndarray(ti.f32, 2),
           w: ti.f32):
    for i, j in a:
        n, m = a.shape
        if 0 < i < n - 1 and 0 < j < m - 1:
            s = (a[i - 1, j] + a[i + 1, j]
                 + a[i, j - 1] + a[i, j + 1])
            b[i, j] = a[i, j] + w * (0.25 * s - a[i, j])
`,
  "Advection of fields": `import shadesmith as ti

n = 256
velocity = ti.Vector.field(2, ti.f32, shape=(n, n))
dye = ti.field(ti.f32, shape=(n, n))
new_dye = ti.field(ti.f32, shape=(n, n))

@ti.func
def bilerp(field, p):
    s = ti.math.clamp(p - 0.5, 0.0, n - 1.001)
    i, j = int(s.x), int(s.y)
    f = s - ti.Vector([i, j])
    lower = field[i, j] + f.x * (field[i + 1, j] - field[i, j])
    upper = field[i, j + 1] + f.x * (field[i + 1, j + 1] - field[i, j + 1])
    return lower + f.y * (upper - lower)

@ti.kernel
def advect(dt: ti.f32):
    for i, j in dye:
        p = ti.Vector([i + 0.5, j + 0.5])
        middle = p - 0.5 * dt * bilerp(velocity, p)
        p -= dt * bilerp(velocity, middle)
        new_dye[i, j] = bilerp(dye, p)
`,
  "Bodies and a sum": `import shadesmith as ti

Body = ti.types.struct(position=ti.math.vec3, velocity=ti.math.vec3, mass=ti.f32)
bodies = Body.field(shape=4096)

@ti.kernel
def step(dt: ti.f32):
    for i in bodies:
        force = ti.math.vec3(0.0)
        for j in range(bodies.shape[0]):
            r = bodies[j].position - bodies[i].position
            force += bodies[j].mass * r / (r.norm_sqr() + 1e-3) ** 1.5
        bodies[i].velocity += dt * force

@ti.kernel
def energy() -> ti.f32:
    total = 0.0
    for i in bodies:
        total += 0.5 * bodies[i].mass * bodies[i].velocity.norm_sqr()
    return total

step(0.01)
energy()
`,
};
