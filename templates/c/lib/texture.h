// Textures in the host's memory. Chunks are separated by blank lines, each defines one name; a
// source includes those it uses.

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

// A channel of a format whose components are integers; unsigned ones are returned as the same 32
// bits.
static inline int integer_channel(int channel, const void *texel, int k) {
    switch (channel) {
        case 3: return ((const uint8_t *)texel)[k];
        case 4: return ((const uint16_t *)texel)[k];
        case 6: return ((const int8_t *)texel)[k];
        case 7: return ((const int16_t *)texel)[k];
        default: return ((const int32_t *)texel)[k];
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

// The same for a format of integers.
static inline void fetch_ints(const Texture *texture, int x, int y, int z, int *texel) {
    const void *source = texel_at(texture, x, y, z, texture->channels * channel_bytes(texture));
    for (int k = 0; k < 4; k++) {
        texel[k] = 0;
        if (source) {
            texel[k] =
                k < texture->channels ? integer_channel(texture->channel, source, k) : k == 3;
        }
    }
}

// The same for a format of unsigned integers.
static inline void fetch_uints(const Texture *texture, int x, int y, int z, uint32_t *texel) {
    fetch_ints(texture, x, y, z, (int *)texel);
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

// The same for a format of integers, which are never interpolated.
static inline void sample_ints(const Texture *texture, float x, float y, float z, int *texel) {
    int at[3];
    nearest_texel(texture, x, y, z, at);
    fetch_ints(texture, at[0], at[1], at[2], texel);
}

// The same for a format of unsigned integers.
static inline void sample_uints(
    const Texture *texture, float x, float y, float z, uint32_t *texel
) {
    sample_ints(texture, x, y, z, (int *)texel);
}
