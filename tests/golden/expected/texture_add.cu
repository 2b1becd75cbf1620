// shadesmith 0.1.0, cuda 31155256, texture_add.py:8:
// kernel(in_ten: rw_texture[rgba8, 1], out_ten: rw_texture[rgba8, 1], nsize: i32, addend: i32)

#define BLOCK 128

typedef unsigned char uint8_t;
using vec4 = float4;

__device__ inline vec4 operator+(vec4 a, float b) { return {a.x + b, a.y + b, a.z + b, a.w + b}; }

// A texel of format rgba8; 0 outside the texture.
__device__ inline vec4 load_rgba8_1d(cudaSurfaceObject_t image, int at) {
    uchar4 texel = surf1Dread<uchar4>(image, at * 4, cudaBoundaryModeZero);
    return vec4{texel.x / 255.0f, texel.y / 255.0f, texel.z / 255.0f, texel.w / 255.0f};
}

// Store a texel in format rgba8; outside the texture this does nothing.
__device__ inline void store_rgba8_1d(cudaSurfaceObject_t image, int at, vec4 value) {
    uchar4 texel;
    texel.x = (uint8_t)rintf(__saturatef(value.x) * 255.0f);
    texel.y = (uint8_t)rintf(__saturatef(value.y) * 255.0f);
    texel.z = (uint8_t)rintf(__saturatef(value.z) * 255.0f);
    texel.w = (uint8_t)rintf(__saturatef(value.w) * 255.0f);
    surf1Dwrite(texel, image, at * 4, cudaBoundaryModeZero);
}

struct Args {
    cudaSurfaceObject_t in_ten;   // rw_texture[rgba8, 1]
    cudaSurfaceObject_t out_ten;  // rw_texture[rgba8, 1]
    int nsize;                    // nsize: i32
    int addend;                   // addend: i32
};

// texture_add.py:9  for i in ti.ndrange(nsize):
__device__ inline void task(const Args &args, int i) {
    // texture_add.py:10  in_num = in_ten.load(ti.Vector([i]))
    vec4 in_num = load_rgba8_1d(args.in_ten, i);
    // texture_add.py:11  sum_num = in_num + ti.cast(addend, ti.f32) / 255.0
    vec4 sum_num = in_num + args.addend / 255.0f;
    // texture_add.py:12  out_ten.store(ti.Vector([i]), sum_num)
    store_rgba8_1d(args.out_ten, i, sum_num);
}

extern "C" __global__ void __launch_bounds__(BLOCK) kernel_0(const Args args) {
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x; index < unsigned(max(args.nsize, 0));
        index += gridDim.x * BLOCK) {
        task(args, int(index));
    }
}
