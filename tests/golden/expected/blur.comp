// shadesmith 0.1.0, vulkan 6558057f, blur.py:4:
// blur(image: ndarray[f32, 2, clamped], out: ndarray[f32, 2, strided], peak:
//     ndarray[f32, 1, strided])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_control_flow_attributes : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

// The valid index nearest to `index` on an axis of n elements.
int clamp_index(int index, int n) { return index < 0 ? 0 : index < n ? index : n - 1; }

// How to divide by a number of the launch without a division.
struct Divisor { uint multiplier, shift; };

// n / d for n, d up to 2^31; a launch packs `by` for d.
uint divide(uint n, Divisor by) {
    uint high, low;
    umulExtended(n, by.multiplier, high, low);
    return (high + n) >> by.shift;
}

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer AtomicU32 {
    uint v[];
};

float atomic_max_f32(AtomicU32 data, uint index, float value) {
    uint old = data.v[index];
    uint assumed;
    do {
        assumed = old;
        float next = max(uintBitsToFloat(assumed), value);
        if (floatBitsToUint(next) == assumed) {
            break;
        }
        old = atomicCompSwap(data.v[index], assumed, floatBitsToUint(next));
    } while (old != assumed);
    return uintBitsToFloat(old);
}

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    F32 image_data;     // image: ndarray[f32, 2, clamped]
    F32 out_data;       // out: ndarray[f32, 2, strided]
    F32 peak_data;      // peak: ndarray[f32, 1, strided]
    int image_n0;       // image.shape[0]
    int image_n1;       // image.shape[1]
    int out_n0;         // out.shape[0]
    int out_n1;         // out.shape[1]
    int out_stride0;    // out.strides[0], in elements
    int out_stride1;    // out.strides[1], in elements
    int out_begin;      // out: its first element, counted from the one at the lowest address
    int peak_stride;    // peak.strides[0], in elements
    int peak_begin;     // peak: its first element, counted from the one at the lowest address
    Divisor by_out_n1;  // to divide by out_n1 (launch_divisors)
} args;

#define image_(i, j) \
    args.image_data.v[clamp_index(i, args.image_n0) * args.image_n1 \
    + clamp_index(j, args.image_n1)]
#define out_(i, j) args.out_data.v[args.out_begin + (i) * args.out_stride0 + (j) * args.out_stride1]
#define peak(i) args.peak_data.v[args.peak_begin + (i) * args.peak_stride]

// blur.py:9  for i, j in out:
void task(int i, int j) {
    float s = 0.0;  // :10
    // `!=`: by `<` NVIDIA's driver 580 leaves out iterations of some such loops (exact_ends)
    // blur.py:11  for k in ti.static(range(-1, 2)):
    [[unroll]] for (int k = -1; k != 2; k++) {
        // blur.py:12  s += image[i + k, j]
        s += image_(i + k, j);
    }
    // blur.py:13  out[i, j] = s / 3
    out_(i, j) = s / 3.0;
    // blur.py:14  ti.atomic_max(peak[i], s)
    atomic_max_f32(AtomicU32(args.peak_data), uint(args.peak_begin + i * args.peak_stride), s);
}

void main() {
    for (uint index = gl_GlobalInvocationID.x; index < uint(args.out_n0) * uint(args.out_n1);
        index += gl_NumWorkGroups.x * BLOCK) {
        uint i = divide(index, args.by_out_n1);
        task(int(i), int(index - i * args.out_n1));
    }
}
