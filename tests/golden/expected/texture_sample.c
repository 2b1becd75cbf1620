// shadesmith 0.1.0, c ae7382f0, texture_sample.py:9:
// kernel(source: texture[f32, 2], mask: texture[f32, 2], labels: rw_texture[rg16u, 2])
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

// Size of one channel.
static inline int channel_bytes(const Texture *texture) {
    static const char sizes[] = {1, 2, 1, 1, 2, 4, 1, 2, 4, 2, 4};
    return sizes[texture->channel];
}

// The linear value of a channel that sRGB encodes.
static inline float srgb_to_linear(float x) {
    return x <= 0.04045f ? x / 12.92f : powf((x + 0.055f) / 1.055f, 2.4f);
}

// A channel of a format whose components are floats.
static inline float float_channel(int channel, const void *texel, int k) {
    switch (channel) {
        case 0: return ((const uint8_t *)texel)[k] / 255.0f;
        case 1: return ((const uint16_t *)texel)[k] / 65535.0f;
        case 2: {
            float encoded = ((const uint8_t *)texel)[k] / 255.0f;
            return k < 3 ? srgb_to_linear(encoded) : encoded;
        }
        case 9: return (float)((const _Float16 *)texel)[k];
        default: return ((const float *)texel)[k];
    }
}

// The four components of a texel: 0 for channels that the format lacks, 1 for alpha; all 0 outside.
static inline void fetch_floats(const Texture *texture, int x, int y, int z, float *texel) {
    const void *source = texel_at(texture, x, y, z, texture->channels * channel_bytes(texture));
    for (int k = 0; k < 4; k++) {
        int from = texture->swapped && k < 3 ? 2 - k : k;
        texel[k] = 0.0f;
        if (source) {
            texel[k] =
                k < texture->channels ? float_channel(texture->channel, source, from) : k == 3;
        }
    }
}

// The texel that index i addresses along an axis of n texels; -1 for the border.
static inline int addressed(int i, int n, int mode) {
    if (mode == 0) {
        int rest = i % n;
        return rest < 0 ? rest + n : rest;
    }
    if (mode == 1) {
        int rest = i % (2 * n);
        rest = rest < 0 ? rest + 2 * n : rest;
        return rest < n ? rest : 2 * n - 1 - rest;
    }
    if (mode == 2) {
        return i < 0 ? 0 : i < n ? i : n - 1;
    }
    return i < 0 || i >= n ? -1 : i;
}

// The texel index of a coordinate, clamped to a range that int can represent.
static inline int texel_index(float x) {
    return x >= 1e9f ? 1000000000 : x > -1e9f ? (int)floorf(x) : -1000000000;
}

// The texel nearest to a position, 0 to 1 along each axis.
static inline void nearest_texel(const Texture *texture, float x, float y, float z, int *at) {
    const float position[3] = {x, y, z};
    for (int axis = 0; axis < 3; axis++) {
        int n = texture->extents[axis];
        at[axis] = addressed(texel_index(position[axis] * n), n, texture->address[axis]);
    }
}

// The texture at a position, 0 to 1 along each axis, 0.5 along an axis that it lacks: nearest texel
// or interpolated.
static inline void sample_floats(const Texture *texture, float x, float y, float z, float *texel) {
    int at[3];
    nearest_texel(texture, x, y, z, at);
    if (!texture->linear) {
        fetch_floats(texture, at[0], at[1], at[2], texel);
        return;
    }
    const float position[3] = {x, y, z};
    int low[3];
    float part[3];
    for (int axis = 0; axis < 3; axis++) {
        int n = texture->extents[axis];
        float along = position[axis] * n - 0.5f;
        low[axis] = texel_index(along);
        part[axis] = along - floorf(along);
    }
    for (int k = 0; k < 4; k++) {
        texel[k] = 0.0f;
    }
    for (int corner = 0; corner < 8; corner++) {
        float weight = 1.0f;
        float texel_here[4];
        for (int axis = 0; axis < 3; axis++) {
            int bit = corner >> axis & 1;
            weight *= bit ? part[axis] : 1.0f - part[axis];
            at[axis] = addressed(low[axis] + bit, texture->extents[axis], texture->address[axis]);
        }
        if (weight != 0.0f) {
            fetch_floats(texture, at[0], at[1], at[2], texel_here);
            for (int k = 0; k < 4; k++) {
                texel[k] += weight * texel_here[k];
            }
        }
    }
}

typedef struct { float x, y; } vec2;
typedef struct { float x, y, z, w; } vec4;
typedef struct { int x, y; } ivec2;
typedef struct { uint32_t x, y, z, w; } uvec4;

static inline uvec4 uvec4_from_vec4(vec4 a) {
    return (uvec4){(uint32_t)a.x, (uint32_t)a.y, (uint32_t)a.z, (uint32_t)a.w};
}

static inline vec2 vec2_from_ivec2(ivec2 a) { return (vec2){(float)a.x, (float)a.y}; }
static inline vec2 vec2_div(vec2 a, vec2 b) { return (vec2){a.x / b.x, a.y / b.y}; }

static inline vec4 vec4_mul_vs(vec4 a, float b) {
    return (vec4){a.x * b, a.y * b, a.z * b, a.w * b};
}

// A texel; 0 outside the texture.
static inline vec4 fetch_2d(const Texture *texture, ivec2 at) {
    float texel[4];
    fetch_floats(texture, at.x, at.y, 0, texel);
    return (vec4){texel[0], texel[1], texel[2], texel[3]};
}

// The texture at a position, 0 to 1 along each axis, with its filter and address modes.
static inline vec4 sample_2d(const Texture *texture, vec2 at) {
    float texel[4];
    sample_floats(texture, at.x, at.y, 0.5f, texel);
    return (vec4){texel[0], texel[1], texel[2], texel[3]};
}

// Store a texel in format rg16u; outside the texture this does nothing.
static inline void store_rg16u_2d(const Texture *image, ivec2 at, uvec4 value) {
    uint16_t *texel = texel_at(image, at.x, at.y, 0, 4);
    if (!texel) {
        return;
    }
    texel[0] = (uint16_t)(value.x < 65535u ? value.x : 65535u);
    texel[1] = (uint16_t)(value.y < 65535u ? value.y : 65535u);
}

struct Args {
    const Texture *source;  // texture[f32, 2]
    const Texture *mask;    // texture[f32, 2]
    const Texture *labels;  // rw_texture[rg16u, 2]
    int labels_n0;          // labels.shape[0]
    int labels_n1;          // labels.shape[1]
};

// texture_sample.py:10  for i, j in labels:
static inline void task(const struct Args args, int i, int j) {
    // texture_sample.py:11  uv = (ti.Vector([i, j]) + 0.5) /
    //     ti.Vector([labels.shape[0], labels.shape[1]])
    vec2 uv = vec2_div((vec2){i + 0.5f, j + 0.5f},
        vec2_from_ivec2((ivec2){args.labels_n0, args.labels_n1}));
    // texture_sample.py:12  colour = source.sample_lod(uv, 0.0)
    vec4 colour = sample_2d(args.source, uv);
    // texture_sample.py:13  if mask.fetch(ti.Vector([i, j]), 0).x > 0.5:
    if (fetch_2d(args.mask, (ivec2){i, j}).x > 0.5f) {
        // texture_sample.py:14  labels.store(ti.Vector([i, j]), ti.cast(colour * 100.0, ti.u32))
        store_rg16u_2d(args.labels, (ivec2){i, j}, uvec4_from_vec4(vec4_mul_vs(colour, 100.0f)));
    }
}

void kernel_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) \
        if ((long long)args.labels_n0 * args.labels_n1 >= 8192)
    for (int i = 0; i < args.labels_n0; i++) {
        for (int j = 0; j < args.labels_n1; j++) {
            task(args, i, j);
        }
    }
}
