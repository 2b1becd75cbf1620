// shadesmith 0.1.0, c f0894bf7, texture_add.py:8:
// kernel(in_ten: rw_texture[rgba8, 1], out_ten: rw_texture[rgba8, 1], nsize: i32, addend: i32)
#include <math.h>
#include <stdint.h>

// A texture of one level. Texels are stored with x fastest; the texel (x, y, z) is number (z *
// height + y) * width + x.
typedef struct Texture {
    void *data;
    int32_t extents[3];  // width, height, depth; 1 for an axis that the texture lacks
    int32_t channels;    // 1 to 4
    int32_t channel;     // from 0: unorm8, unorm16, srgb8, u8, u16, u32, i8, i16, i32, f16, f32
    int32_t swapped;     // 1: blue comes first
    int32_t linear;      // 1: samples are interpolated, 0: the nearest texel
    int32_t address[3];  // by axis: 0 repeat, 1 mirrored repeat, 2 clamp to edge, 3 border of 0
} Texture;

// The address of a texel; 0 outside the texture.
static inline void *texel_at(const Texture *texture, int x, int y, int z, int texel_bytes) {
    const int32_t *n = texture->extents;
    if (x < 0 || y < 0 || z < 0 || x >= n[0] || y >= n[1] || z >= n[2]) {
        return 0;
    }
    return (char *)texture->data + (((int64_t)z * n[1] + y) * n[0] + x) * texel_bytes;
}

typedef struct { float x, y, z, w; } vec4;

static inline vec4 vec4_add_vs(vec4 a, float b) {
    return (vec4){a.x + b, a.y + b, a.z + b, a.w + b};
}

// A texel of format rgba8; 0 outside the texture.
static inline vec4 load_rgba8_1d(const Texture *image, int at) {
    const uint8_t *texel = texel_at(image, at, 0, 0, 4);
    if (!texel) {
        return (vec4){0};
    }
    return (vec4){texel[0] / 255.0f, texel[1] / 255.0f, texel[2] / 255.0f, texel[3] / 255.0f};
}

// Store a texel in format rgba8; outside the texture this does nothing.
static inline void store_rgba8_1d(const Texture *image, int at, vec4 value) {
    uint8_t *texel = texel_at(image, at, 0, 0, 4);
    if (!texel) {
        return;
    }
    texel[0] = (uint8_t)rintf(fminf(fmaxf(value.x, 0.0f), 1.0f) * 255.0f);
    texel[1] = (uint8_t)rintf(fminf(fmaxf(value.y, 0.0f), 1.0f) * 255.0f);
    texel[2] = (uint8_t)rintf(fminf(fmaxf(value.z, 0.0f), 1.0f) * 255.0f);
    texel[3] = (uint8_t)rintf(fminf(fmaxf(value.w, 0.0f), 1.0f) * 255.0f);
}

struct Args {
    const Texture *in_ten;   // rw_texture[rgba8, 1]
    const Texture *out_ten;  // rw_texture[rgba8, 1]
    int nsize;               // nsize: i32
    int addend;              // addend: i32
};

// texture_add.py:9  for i in ti.ndrange(nsize):
static inline void task(const struct Args args, int i) {
    // texture_add.py:10  in_num = in_ten.load(ti.Vector([i]))
    vec4 in_num = load_rgba8_1d(args.in_ten, i);
    // texture_add.py:11  sum_num = in_num + ti.cast(addend, ti.f32) / 255.0
    vec4 sum_num = vec4_add_vs(in_num, args.addend / 255.0f);
    // texture_add.py:12  out_ten.store(ti.Vector([i]), sum_num)
    store_rgba8_1d(args.out_ten, i, sum_num);
}

void kernel_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.nsize >= 8192)
    for (int i = 0; i < args.nsize; i++) {
        task(args, i);
    }
}
