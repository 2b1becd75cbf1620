/* --- numbers: scalar types, texel formats, half precision --------------------------------------------------------- */

enum {
    MAX_ARGS_BYTES = 64 << 10,
    MAX_CUDA_ARGS_BYTES = 4096,
    MAX_PUSH_BYTES = 128,
    MAX_BLOCK_DIM = 65536, /* of a task on the host; a shader and a device take fewer */
    MAX_SHADER_BLOCK = 1024,
    MAX_ITEMS = 1 << 16,
    MAX_PARAMETERS = 4096,
    MAX_TEXTURES = 128, /* every device supports these, in addition to all else that a shader binds */
    MAX_AXES = 64,
    MAX_TREES = 65536
};
static const int64_t MAX_ITERATIONS = INT32_MAX;
static const uint64_t MAX_TREE_BYTES = (uint64_t)1 << 40; /* of all trees together */
static const uint64_t MAX_BUFFER_BYTES = (uint64_t)1 << 40;

typedef struct ScalarType {
    const char *name;
    TiDataType type;
    uint32_t size;
} ScalarType;

static const ScalarType SCALAR_TYPES[] = {
    {"f16", TI_DATA_TYPE_F16, 2}, {"f32", TI_DATA_TYPE_F32, 4}, {"f64", TI_DATA_TYPE_F64, 8},
    {"i8", TI_DATA_TYPE_I8, 1},   {"i16", TI_DATA_TYPE_I16, 2}, {"i32", TI_DATA_TYPE_I32, 4},
    {"i64", TI_DATA_TYPE_I64, 8}, {"u1", TI_DATA_TYPE_U1, 1},   {"u8", TI_DATA_TYPE_U8, 1},
    {"u16", TI_DATA_TYPE_U16, 2}, {"u32", TI_DATA_TYPE_U32, 4}, {"u64", TI_DATA_TYPE_U64, 8},
};

static const ScalarType *scalar_named(const char *name) {
    size_t i;
    for (i = 0; i < sizeof SCALAR_TYPES / sizeof *SCALAR_TYPES; i++) {
        if (!strcmp(SCALAR_TYPES[i].name, name)) {
            return &SCALAR_TYPES[i];
        }
    }
    return NULL;
}

/* Return null for what is not a type, also if a caller cast an invalid number to one. */
static const ScalarType *scalar_of(TiDataType type) {
    size_t i;
    for (i = 0; i < sizeof SCALAR_TYPES / sizeof *SCALAR_TYPES; i++) {
        if (SCALAR_TYPES[i].type == type) {
            return &SCALAR_TYPES[i];
        }
    }
    return NULL;
}

/* Texel formats, indexed by TiFormat. vulkan: VkFormat, 0 if no image here has the format. spirv: image format of
   storage images, 0 if no kernel stores it. texel_size: [bytes]. element: type that a kernel reads and writes. */
typedef struct TexelFormat {
    const char *name;
    uint32_t vulkan, spirv, texel_size;
    TiDataType element;
} TexelFormat;

static const TexelFormat TEXEL_FORMATS[] = {
    {"unknown", 0, 0, 0, TI_DATA_TYPE_UNKNOWN},     {"r8", 9, 15, 1, TI_DATA_TYPE_F32},
    {"rg8", 16, 13, 2, TI_DATA_TYPE_F32},           {"rgba8", 37, 4, 4, TI_DATA_TYPE_F32},
    {"rgba8srgb", 43, 0, 4, TI_DATA_TYPE_F32},      {"bgra8", 44, 0, 4, TI_DATA_TYPE_F32},
    {"bgra8srgb", 50, 0, 4, TI_DATA_TYPE_F32},      {"r8u", 13, 39, 1, TI_DATA_TYPE_U32},
    {"rg8u", 20, 37, 2, TI_DATA_TYPE_U32},          {"rgba8u", 41, 32, 4, TI_DATA_TYPE_U32},
    {"r8i", 14, 29, 1, TI_DATA_TYPE_I32},           {"rg8i", 21, 27, 2, TI_DATA_TYPE_I32},
    {"rgba8i", 42, 23, 4, TI_DATA_TYPE_I32},        {"r16", 70, 14, 2, TI_DATA_TYPE_F32},
    {"rg16", 77, 12, 4, TI_DATA_TYPE_F32},          {"rgb16", 0, 0, 6, TI_DATA_TYPE_F32},
    {"rgba16", 91, 10, 8, TI_DATA_TYPE_F32},        {"r16u", 74, 38, 2, TI_DATA_TYPE_U32},
    {"rg16u", 81, 36, 4, TI_DATA_TYPE_U32},         {"rgb16u", 0, 0, 6, TI_DATA_TYPE_U32},
    {"rgba16u", 95, 31, 8, TI_DATA_TYPE_U32},       {"r16i", 75, 28, 2, TI_DATA_TYPE_I32},
    {"rg16i", 82, 26, 4, TI_DATA_TYPE_I32},         {"rgb16i", 0, 0, 6, TI_DATA_TYPE_I32},
    {"rgba16i", 96, 22, 8, TI_DATA_TYPE_I32},       {"r16f", 76, 9, 2, TI_DATA_TYPE_F32},
    {"rg16f", 83, 7, 4, TI_DATA_TYPE_F32},          {"rgb16f", 0, 0, 6, TI_DATA_TYPE_F32},
    {"rgba16f", 97, 2, 8, TI_DATA_TYPE_F32},        {"r32u", 98, 33, 4, TI_DATA_TYPE_U32},
    {"rg32u", 101, 35, 8, TI_DATA_TYPE_U32},        {"rgb32u", 0, 0, 12, TI_DATA_TYPE_U32},
    {"rgba32u", 107, 30, 16, TI_DATA_TYPE_U32},     {"r32i", 99, 24, 4, TI_DATA_TYPE_I32},
    {"rg32i", 102, 25, 8, TI_DATA_TYPE_I32},        {"rgb32i", 0, 0, 12, TI_DATA_TYPE_I32},
    {"rgba32i", 108, 21, 16, TI_DATA_TYPE_I32},     {"r32f", 100, 3, 4, TI_DATA_TYPE_F32},
    {"rg32f", 103, 6, 8, TI_DATA_TYPE_F32},         {"rgb32f", 0, 0, 12, TI_DATA_TYPE_F32},
    {"rgba32f", 109, 1, 16, TI_DATA_TYPE_F32},      {"depth16", 0, 0, 2, TI_DATA_TYPE_F32},
    {"depth24stencil8", 0, 0, 4, TI_DATA_TYPE_F32}, {"depth32f", 0, 0, 4, TI_DATA_TYPE_F32},
};
enum { FORMAT_COUNT = sizeof TEXEL_FORMATS / sizeof *TEXEL_FORMATS };

/* Return TI_FORMAT_UNKNOWN if no format has this name. */
static TiFormat format_named(const char *name) {
    uint32_t i;
    for (i = FORMAT_COUNT - 1; i && strcmp(TEXEL_FORMATS[i].name, name); i--) {
    }
    return (TiFormat)i;
}

static const char *format_name(TiFormat format) {
    return (uint32_t)format < FORMAT_COUNT ? TEXEL_FORMATS[format].name : "no format";
}

static const char *type_name(TiDataType type) {
    const ScalarType *scalar = scalar_of(type);
    return scalar ? scalar->name : "a struct";
}

static bool is_float_type(TiDataType type) {
    return type == TI_DATA_TYPE_F16 || type == TI_DATA_TYPE_F32 || type == TI_DATA_TYPE_F64;
}

static double half_to_double(uint16_t half) {
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double value = exponent == 0    ? ldexp(fraction, -24)
                   : exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                                    : ldexp(1024 + fraction, exponent - 25);
    return half >> 15 ? -value : value;
}

/* Round to nearest, ties to even, as IEEE 754 says. */
static uint16_t double_to_half(double value) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs(value), scaled, whole;
    int exponent;
    if (isnan(value)) {
        return (uint16_t)(sign | 0x7e00);
    }
    if (magnitude >= 65520.0) {
        return (uint16_t)(sign | 0x7c00);
    }
    frexp(magnitude, &exponent);
    exponent = exponent < -13 ? -13 : exponent; /* subnormal from here on */
    scaled = ldexp(magnitude, 11 - exponent);
    whole = floor(scaled);
    if (scaled - whole > 0.5 || (scaled - whole == 0.5 && fmod(whole, 2.0) != 0.0)) {
        whole += 1.0;
    }
    return (uint16_t)(sign | (uint16_t)((exponent + 13) * 1024 + (int)whole)); /* a carry goes into the exponent */
}
