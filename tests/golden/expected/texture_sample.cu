// shadesmith 0.1.0, cuda 3f15408b, texture_sample.py:9:
// kernel(source: texture[f32, 2], mask: texture[f32, 2], labels: rw_texture[rg16u, 2])

#define BLOCK 128

typedef unsigned short uint16_t;
typedef unsigned int uint32_t;

// How to divide by a number of the launch without a division.
struct Divisor { unsigned multiplier, shift; };

// n / d for n, d up to 2^31; a launch packs `by` for d.
__device__ inline unsigned divide(unsigned n, Divisor by) {
    return (__umulhi(n, by.multiplier) + n) >> by.shift;
}

using vec2 = float2;
using vec4 = float4;
using ivec2 = int2;
using uvec4 = uint4;

__device__ inline uvec4 uvec4_from(vec4 a) {
    return {(uint32_t)a.x, (uint32_t)a.y, (uint32_t)a.z, (uint32_t)a.w};
}

__device__ inline vec2 vec2_from(ivec2 a) { return {(float)a.x, (float)a.y}; }
__device__ inline vec2 operator/(vec2 a, vec2 b) { return {a.x / b.x, a.y / b.y}; }
__device__ inline vec4 operator*(vec4 a, float b) { return {a.x * b, a.y * b, a.z * b, a.w * b}; }

// A texel; 0 outside the texture.
__device__ inline vec4 fetch_2d(cudaTextureObject_t texture, int channels, ivec2 at) {
    float4 texel = tex2D<float4>(texture, at.x + 0.5f, at.y + 0.5f);
    return {texel.x, texel.y, texel.z, channels < 4 ? 1.0f : texel.w};
}

// The texture at a position, 0 to 1 along each axis, with its filter and address modes.
__device__ inline vec4 sample_2d(cudaTextureObject_t texture, int channels, vec2 at) {
    float4 texel = tex2D<float4>(texture, at.x, at.y);
    return {texel.x, texel.y, texel.z, channels < 4 ? 1.0f : texel.w};
}

// Store a texel in format rg16u; outside the texture this does nothing.
__device__ inline void store_rg16u_2d(cudaSurfaceObject_t image, ivec2 at, uvec4 value) {
    ushort2 texel;
    texel.x = (uint16_t)min(value.x, 65535u);
    texel.y = (uint16_t)min(value.y, 65535u);
    surf2Dwrite(texel, image, at.x * 4, at.y, cudaBoundaryModeZero);
}

struct Args {
    cudaTextureObject_t source;       // texture[f32, 2]
    cudaTextureObject_t mask_texels;  // texture[f32, 2], by texels
    cudaSurfaceObject_t labels;       // rw_texture[rg16u, 2]
    int source_channels;              // channels of source: CUDA gives 0 for a missing alpha
    int mask_channels;                // channels of mask: CUDA gives 0 for a missing alpha
    int labels_n0;                    // labels.shape[0]
    int labels_n1;                    // labels.shape[1]
    Divisor by_labels_n1;             // to divide by labels_n1 (launch_divisors)
};

// texture_sample.py:10  for i, j in labels:
__device__ inline void task(const Args &args, int i, int j) {
    // texture_sample.py:11  uv = (ti.Vector([i, j]) + 0.5) /
    //     ti.Vector([labels.shape[0], labels.shape[1]])
    vec2 uv = vec2{i + 0.5f, j + 0.5f} / vec2_from(ivec2{args.labels_n0, args.labels_n1});
    // texture_sample.py:12  colour = source.sample_lod(uv, 0.0)
    vec4 colour = sample_2d(args.source, args.source_channels, uv);
    // texture_sample.py:13  if mask.fetch(ti.Vector([i, j]), 0).x > 0.5:
    if (fetch_2d(args.mask_texels, args.mask_channels, ivec2{i, j}).x > 0.5f) {
        // texture_sample.py:14  labels.store(ti.Vector([i, j]), ti.cast(colour * 100.0, ti.u32))
        store_rg16u_2d(args.labels, ivec2{i, j}, uvec4_from(colour * 100.0f));
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) kernel_0(const Args args) {
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x;
        index < unsigned(args.labels_n0) * unsigned(args.labels_n1); index += gridDim.x * BLOCK) {
        unsigned i = divide(index, args.by_labels_n1);
        task(args, int(i), int(index - i * args.labels_n1));
    }
}
