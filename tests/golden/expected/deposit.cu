// shadesmith 0.1.0, cuda c5188b9c, deposit.py:10: deposit(x: ndarray[f32, 2], m: f32)

#define BLOCK 128

// Adds to 2 floats, each atomically; from sm_90 on by one instruction, for which `address` is a
// multiple of 8 bytes.
template <class Vector> __device__ inline void atomic_add_float2(Vector *address, Vector value) {
#if __CUDA_ARCH__ >= 900
    atomicAdd((float2 *)address, make_float2(value.x, value.y));
#else
    atomicAdd(&address->x, value.x);
    atomicAdd(&address->y, value.y);
#endif
}

// Adds to 4 floats, each atomically; from sm_90 on by one instruction, for which `address` is a
// multiple of 16 bytes.
template <class Vector> __device__ inline void atomic_add_float4(Vector *address, Vector value) {
#if __CUDA_ARCH__ >= 900
    atomicAdd((float4 *)address, make_float4(value.x, value.y, value.z, value.w));
#else
    atomicAdd(&address->x, value.x);
    atomicAdd(&address->y, value.y);
    atomicAdd(&address->z, value.z);
    atomicAdd(&address->w, value.w);
#endif
}

using vec2 = float2;
using vec3 = float3;

struct Cell {
    vec3 momentum;
    float mass;
};
static_assert(sizeof(Cell) == 16, "must match the cell size on the host");

struct Args {
    const float *__restrict__ x_data;  // x: ndarray[f32, 2]
    Cell *__restrict__ cells;          // momentum: field[f32[3], 16x8], mass: field[f32, 16x8]
    vec2 *__restrict__ flow_data;      // flow: field[f32[2], 256]
    float m;                           // m: f32
    int x_n0;                          // x.shape[0]
    int x_n1;                          // x.shape[1]
};

#define x(i, j) args.x_data[(long long)(i) * args.x_n1 + (j)]
#define momentum(i, j) args.cells[(i) * 8 + (j)].momentum
#define flow(i) args.flow_data[i]

// deposit.py:11  for p in range(x.shape[0]):
extern "C" __global__ void __launch_bounds__(BLOCK) deposit_0(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= unsigned(args.x_n0)) return;
    int p = index;
    int i = (int)x(p, 0), j = (int)x(p, 1);  // :12
    // deposit.py:14  momentum[i, j] += m * v
    // deposit.py:15  mass[i, j] += m
    // one instruction (vector_atomics)
    atomic_add_float4((float4 *)&momentum(i, j).x,
        {args.m * x(p, 2), args.m * x(p, 3), args.m * -args.m, args.m});
    // deposit.py:16  flow[i] += v.xy
    atomic_add_float2(&flow(i), {x(p, 2), x(p, 3)});  // one instruction (vector_atomics)
}
