// shadesmith 0.1.0, cuda 5d30bb97, orbit.py:37: orbit(dt: f32)

#define BLOCK 128

constexpr int bodies_n0 = 512;  // bodies.shape[0]

using vec3 = float3;

__device__ inline vec3 &operator+=(vec3 &a, vec3 b) {
    return a = {a.x + b.x, a.y + b.y, a.z + b.z};
}

__device__ inline vec3 &operator-=(vec3 &a, vec3 b) {
    return a = {a.x - b.x, a.y - b.y, a.z - b.z};
}

__device__ inline float atomic_max_f32(float *address, float value) {
    unsigned int *bits = (unsigned int *)address;
    unsigned int old = *bits, assumed;
    do {
        assumed = old;
        float next = fmaxf(__uint_as_float(assumed), value);
        if (__float_as_uint(next) == assumed) {
            break;
        }
        old = atomicCAS(bits, assumed, __float_as_uint(next));
    } while (old != assumed);
    return __uint_as_float(old);
}

// The greatest of the values of a block's threads, in the first; all threads call it.
__device__ inline float block_max(float value) {
    __shared__ float of_warps[32];
    for (int step = 16; step > 0; step /= 2) {
        value = fmaxf(value, __shfl_down_sync(0xffffffffu, value, step));
    }
    if (threadIdx.x % 32 == 0) {
        of_warps[threadIdx.x / 32] = value;
    }
    __syncthreads();
    for (unsigned warp = 1; threadIdx.x == 0 && warp < blockDim.x / 32; warp++) {
        value = fmaxf(value, of_warps[warp]);
    }
    __syncthreads();  // the next call overwrites the array
    return value;
}

__device__ inline float dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ inline vec3 operator*(vec3 a, float b) { return {a.x * b, a.y * b, a.z * b}; }
__device__ inline vec3 operator-(vec3 a, vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }

struct Body {
    vec3 pos, vel;
    float mass;
};
static_assert(sizeof(Body) == 28, "must match the size on the host");

struct Bodies {
    vec3 pos[512];
    vec3 vel[512];
    float mass[512];
};
static_assert(sizeof(Bodies) == 14336, "must match the cell size on the host");

struct Temporaries {
    Body heaviest;  // Body
};

struct Args {
    Bodies *__restrict__ bodies;      // bodies_pos, bodies_vel: field[f32[3], 512], bodies_mass:
                                      // field[f32, 512]
    float *__restrict__ energy_data;  // energy: field[f32, 512]
    Temporaries *temporaries;         // values that cross tasks
    float dt;                         // dt: f32
};

#define bodies_pos(i) args.bodies->pos[i]
#define bodies_vel(i) args.bodies->vel[i]
#define bodies_mass(i) args.bodies->mass[i]
#define energy(i) args.energy_data[i]

// task 0 of 4: range_for over bodies
// orbit.py:38  for i in bodies:
extern "C" __global__ void __launch_bounds__(BLOCK) orbit_0(const Args args) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= bodies_n0) return;
    // orbit.py:39  bodies[i].vel -= bodies[i].pos * dt
    // not atomic: no other iteration writes it (demote_atomics)
    bodies_vel(i) -= bodies_pos(i) * args.dt;
    // orbit.py:40  bodies.pos[i] += bodies[i].vel * dt
    // not atomic: no other iteration writes it (demote_atomics)
    bodies_pos(i) += bodies_vel(i) * args.dt;
    // orbit.py:41  energy[i] = bodies[i].energy()
    energy(i) = 0.5f * bodies_mass(i) * dot(bodies_vel(i), bodies_vel(i));
}

// task 1 of 4: serial
extern "C" __global__ void orbit_1(const Args args) {
    // orbit.py:42  heaviest = bodies[0]
    args.temporaries->heaviest = Body{bodies_pos(0), bodies_vel(0), bodies_mass(0)};
}

// task 2 of 4: range_for over i
// orbit.py:43  for i in range(512):
__device__ inline void task_2(const Args &args, int i, float &heaviest_mass) {
    // orbit.py:44  ti.atomic_max(heaviest.mass, bodies.mass[i])
    // not atomic: joined below (reduce_atomics)
    heaviest_mass = fmaxf(heaviest_mass, bodies_mass(i));
}

extern "C" __global__ void __launch_bounds__(BLOCK) orbit_2(const Args args) {
    float heaviest_mass = __int_as_float(0x7fc00000);  // NaN loses against every number
    unsigned count = 512;
    unsigned stride = gridDim.x * BLOCK;
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x; index < count; index += stride) {
        task_2(args, int(index), heaviest_mass);
    }
    static_assert(BLOCK % 32 == 0, "all warps of a block are full");
    heaviest_mass = block_max(heaviest_mass);
    if (threadIdx.x == 0) {
        atomic_max_f32(&args.temporaries->heaviest.mass, heaviest_mass);
    }
}

// task 3 of 4: serial
extern "C" __global__ void orbit_3(const Args args) {
    // orbit.py:45  bodies[1] = heaviest
    Body heaviest = args.temporaries->heaviest;
    bodies_pos(1) = heaviest.pos;
    bodies_vel(1) = heaviest.vel;
    bodies_mass(1) = heaviest.mass;
}
