/* --- manifest: types and shapes ----------------------------------------------------------------------------------- */

static const char *arch_name(TiArch arch) {
    return arch == TI_ARCH_VULKAN ? "vulkan" : arch == TI_ARCH_CUDA ? "cuda" : "c";
}

/* Return `count` zeroed items of `size` bytes for the items of a list or object; null only after a failure. */
static void *allocate_items(Arena *arena, const Json *value, size_t size) {
    return arena_allocate(arena, value->count ? value->count : 1, size);
}

static bool read_scalar_type(const Json *value, TiDataType *type, uint32_t *size) {
    const char *name;
    const ScalarType *scalar;
    if (!json_string(value, &name)) {
        return false;
    }
    scalar = scalar_named(strcmp(name, "pointer") ? name : "u64");
    if (!scalar) {
        return fail_value(value, "a scalar type (f32, i32, ...)");
    }
    *type = scalar->type;
    *size = scalar->size;
    return true;
}

/* Read extents; their product is at most `most`. */
static bool read_shape(const Json *value, uint32_t low, uint32_t high, uint64_t most, TiNdShape *shape,
                       uint64_t *count) {
    const Json *item;
    *count = 1;
    memset(shape, 0, sizeof *shape);
    if (!json_array(value, low, high)) {
        return false;
    }
    for (item = value->value.first; item; item = item->next) {
        if (!json_u32(item, 0, INT32_MAX, &shape->dims[shape->dim_count++])) {
            return false;
        }
        if (shape->dims[shape->dim_count - 1] && *count > most / shape->dims[shape->dim_count - 1]) {
            return fail_value(value, "smaller extents");
        }
        *count *= shape->dims[shape->dim_count - 1];
    }
    return true;
}

/* The memory layout of a type, as in C. Its scalars are written to `types` in order unless it is null. */
typedef struct TypeLayout {
    uint64_t size;
    uint32_t alignment, count;
    TiDataType *types;
} TypeLayout;

enum { MAX_NUMBERS = 4096 };
static const uint64_t MAX_ELEMENT_BYTES = 1 << 20;

static bool read_members(const Json *members, TypeLayout *layout);

static bool add_numbers(const Json *value, TypeLayout *layout, TiDataType type, uint32_t size, uint64_t count) {
    if (layout->count + count > MAX_NUMBERS) {
        return fail_value(value, "fewer numbers in one value");
    }
    layout->alignment = layout->alignment > size ? layout->alignment : size;
    layout->size = (layout->size + size - 1) / size * size + size * count;
    for (; count; count--, layout->count++) {
        if (layout->types) {
            layout->types[layout->count] = type;
        }
    }
    return true;
}

/* Append a type to the layout: "f32", {"shape", "element"} or {"struct", "members"}. */
static bool read_type(const Json *value, TypeLayout *layout) {
    static const char *const TENSOR[] = {"shape", "element", NULL}, *const STRUCT[] = {"struct", "members", NULL};
    const Json *fields[2];
    const char *name;
    TiDataType type;
    TiNdShape shape;
    uint64_t count = 1;
    uint32_t size;
    if (value->kind == JSON_STRING) {
        return read_scalar_type(value, &type, &size) && add_numbers(value, layout, type, size, 1);
    }
    if (value->kind == JSON_OBJECT && json_member(value, "struct")) {
        TypeLayout inner = {0, 1, layout->count, layout->types};
        if (!json_fields(value, STRUCT, fields) || !json_string(fields[0], &name) || !read_members(fields[1], &inner)) {
            return false;
        }
        layout->alignment = layout->alignment > inner.alignment ? layout->alignment : inner.alignment;
        layout->size = (layout->size + inner.alignment - 1) / inner.alignment * inner.alignment + inner.size;
        layout->count = inner.count;
        return true;
    }
    return json_fields(value, TENSOR, fields) && read_shape(fields[0], 1, 2, MAX_NUMBERS, &shape, &count) &&
           read_scalar_type(fields[1], &type, &size) && add_numbers(value, layout, type, size, count);
}

/* Read [[name, Type], ...]. The size of the layout is rounded up to where the next struct would start. */
static bool read_members(const Json *members, TypeLayout *layout) {
    const Json *item;
    const char *name;
    if (!json_array(members, 1, MAX_NUMBERS)) {
        return false;
    }
    for (item = members->value.first; item; item = item->next) {
        if (!json_array(item, 2, 2) || !json_string(item->value.first, &name) ||
            !read_type(item->value.first->next, layout)) {
            return false;
        }
    }
    layout->size = (layout->size + layout->alignment - 1) / layout->alignment * layout->alignment;
    return layout->size <= MAX_ELEMENT_BYTES ? true : fail_value(members, "a smaller struct");
}

/* Read the type of an element, a scalar or a struct given by its members, and its shape. */
static bool read_element(const Json *element, const Json *element_shape, const Json *members, const Json *size_bytes,
                         TiDataType *type, TiNdShape *shape, uint64_t *size) {
    TypeLayout layout = {0, 1, 0, NULL};
    const char *name;
    uint64_t count;
    int64_t stated;
    uint32_t scalar_size = 0;
    if (!read_shape(element_shape, 0, 2, MAX_NUMBERS, shape, &count)) {
        return false;
    }
    if (members->kind != JSON_NULL) {
        *type = TI_DATA_TYPE_UNKNOWN;
        if (!json_string(element, &name) || !read_members(members, &layout)) {
            return false;
        }
        *size = layout.size * count;
    } else {
        if (!read_scalar_type(element, type, &scalar_size)) {
            return false;
        }
        *size = scalar_size * count;
    }
    return json_integer(size_bytes, (int64_t)*size, (int64_t)*size, &stated);
}
