// shadesmith 0.1.0, cuda 070e4f2f, particles.py:18:
// particles(x: ndarray[Particle, 1], floor.normal: f32[3], floor.offset: f32, dt: f32)

#define BLOCK 128

typedef unsigned char uint8_t;

struct vec3 {
    float x, y, z;
};

__device__ inline vec3 operator+(vec3 a, vec3 b) {
    return vec3{a.x + b.x, a.y + b.y, a.z + b.z};
}

__device__ inline vec3 &operator+=(vec3 &a, vec3 b) {
    return a = a + b;
}

__device__ inline float atomic_max_f32(float *address, float value) {
    unsigned int *bits = (unsigned int *)address;
    unsigned int old = *bits, assumed;
    do {
        assumed = old;
        float next = fmaxf(__uint_as_float(assumed), value);
        old = atomicCAS(bits, assumed, __float_as_uint(next));
    } while (old != assumed);
    return __uint_as_float(old);
}

__device__ inline float dot(vec3 a, vec3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

__device__ inline vec3 operator*(vec3 a, float b) {
    return vec3{a.x * b, a.y * b, a.z * b};
}

struct Particle {
    vec3 pos;
    vec3 vel;
    bool alive;
};
static_assert(sizeof(Particle) == 28, "must match the size on the host");

struct Plane {
    vec3 normal;
    float offset;
};
static_assert(sizeof(Plane) == 16, "must match the size on the host");

struct Temporaries {
    Plane highest;  // Plane
};

struct Result {
    Plane value;  // Plane
};

struct Args {
    Particle *x_data;          // x: ndarray[Particle, 1]
    Temporaries *temporaries;  // values that cross tasks
    Result *result;            // what the kernel returns
    vec3 floor_normal;         // floor.normal: f32[3]
    float floor_offset;        // floor.offset: f32
    float dt;                  // dt: f32
    int x_n;                   // x.shape[0]
};

#define x(i) args.x_data[i]

// task 0 of 3: serial
__device__ inline void task_0(const Args &args) {
    // particles.py:19  highest = Plane(offset=-1e9)
    args.temporaries->highest = Plane{vec3{0.0f, 0.0f, 0.0f}, -1e9f};
}

extern "C" __global__ void particles_0(const Args args) {
    task_0(args);
}

// task 1 of 3: range_for over x
// particles.py:20  for i in x:
__device__ inline void task_1(const Args &args, int i) {
    Particle p = x(i);  // :21
    // particles.py:15  self.pos += self.vel * dt
    p.pos += p.vel * args.dt;
    float height = dot(args.floor_normal, p.pos) - args.floor_offset;  // :23
    p.alive = p.alive && height > 0.0f;  // :24
    x(i) = p;  // :25
    x(i).vel.y -= 9.8f * args.dt;  // :26, not atomic: no other iteration writes it (demote_atomics)
    // particles.py:27  ti.atomic_max(highest.offset, height)
    atomic_max_f32(&args.temporaries->highest.offset, height);
}

extern "C" __global__ void __launch_bounds__(BLOCK) particles_1(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index < unsigned(args.x_n)) {
        task_1(args, int(index));
    }
}

// task 2 of 3: serial
__device__ inline void task_2(const Args &args) {
    // particles.py:28  return highest
    args.result->value = args.temporaries->highest;
}

extern "C" __global__ void particles_2(const Args args) {
    task_2(args);
}
