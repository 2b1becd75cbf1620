/* --- manifest: expressions, parameters, arrays, textures ---------------------------------------------------------- */

/* The kernel that is being read, and what it is allocated from. */
typedef struct KernelReader {
    Manifest *manifest;
    Arena *arena;
    KernelData *kernel;
} KernelReader;

static const Expression *read_expression(const KernelReader *reader, const Json *value) {
    Expression *expression = (Expression *)arena_allocate(reader->arena, 1, sizeof(Expression));
    const char *name;
    const Json *item;
    uint32_t number, i;
    if (!expression || !json_array(value, 2, 4) || !json_string(value->value.first, &name)) {
        return NULL;
    }
    for (number = 0; number < sizeof OPERATORS / sizeof *OPERATORS && strcmp(OPERATORS[number].name, name); number++) {
    }
    item = value->value.first->next;
    expression->operation = (Operator)number;
    if (number == sizeof OPERATORS / sizeof *OPERATORS) {
        fail_value(value->value.first, "an operation that a host knows");
        return NULL;
    }
    if (value->count != (OPERATORS[number].operands ? OPERATORS[number].operands : 1) + 1) {
        fail_value(value, "another number of operands");
        return NULL;
    }
    if (expression->operation == OP_CONST) {
        return json_integer(item, INT64_MIN, INT64_MAX, &expression->value) ? expression : NULL;
    }
    if (expression->operation == OP_MEMBER) {
        if (!json_integer(item, 0, (int64_t)reader->kernel->member_count - 1, &expression->value)) {
            return NULL;
        }
        if (is_float_type(reader->kernel->members[expression->value].type)) {
            fail_value(item, "a member that is an integer");
            return NULL;
        }
        return expression;
    }
    for (i = 0; item; item = item->next, i++) {
        expression->operands[i] = read_expression(reader, item);
        if (!expression->operands[i]) {
            return NULL;
        }
    }
    return expression;
}

static bool read_parameter_types(const KernelReader *reader, const Json *value, Parameter *parameter) {
    static const char *const MATRIX[] = {"name", "kind", "type", "shape", NULL};
    static const char *const SCALAR[] = {"name", "kind", "type", NULL};
    static const char *const STRUCT[] = {"name", "kind", "type", "members", NULL};
    const Json *fields[4];
    TypeLayout layout = {0, 1, 0, NULL}, filled = {0, 1, 0, NULL};
    TiDataType type = TI_DATA_TYPE_UNKNOWN;
    TiNdShape shape;
    const char *name;
    uint64_t count = 1;
    uint32_t size = 0;
    if (!json_fields(value,
                     parameter->kind == PARAMETER_SCALAR   ? SCALAR
                     : parameter->kind == PARAMETER_MATRIX ? MATRIX
                                                           : STRUCT,
                     fields)) {
        return false;
    }
    if (parameter->kind == PARAMETER_STRUCT) {
        if (!json_string(fields[2], &name) || !read_members(fields[3], &layout)) {
            return false;
        }
    } else if (!read_scalar_type(fields[2], &type, &size) ||
               (parameter->kind == PARAMETER_MATRIX && !read_shape(fields[3], 1, 2, MAX_NUMBERS, &shape, &count)) ||
               !add_numbers(value, &layout, type, size, count)) {
        return false;
    }
    filled.types = (TiDataType *)arena_allocate(reader->arena, layout.count + 1, sizeof(TiDataType));
    if (!filled.types) {
        return false;
    }
    parameter->types = filled.types;
    parameter->count = layout.count;
    if (parameter->kind == PARAMETER_STRUCT ? !read_members(fields[3], &filled)
                                            : !add_numbers(value, &filled, type, size, count)) {
        return false;
    }
    parameter->type = parameter->types[0];
    return true;
}

static bool read_texture_parameter(const Json *value, Parameter *parameter) {
    static const char *const SAMPLED[] = {"name", "kind", "ndim", "element", NULL}, *const STORED[] = {"name", "kind",
                                                                                                       "ndim", "format",
                                                                                                       "lod",  NULL};
    const Json *fields[5];
    const char *string;
    uint32_t number;
    bool is_stored = parameter->kind == PARAMETER_RW_TEXTURE;
    if (!json_fields(value, is_stored ? STORED : SAMPLED, fields) ||
        !json_u32(fields[2], 1, 3, &parameter->dim_count) || !json_string(fields[3], &string)) {
        return false;
    }
    if (!is_stored) {
        return read_scalar_type(fields[3], &parameter->type, &number) &&
               (parameter->type == TI_DATA_TYPE_F32 || parameter->type == TI_DATA_TYPE_I32 ||
                        parameter->type == TI_DATA_TYPE_U32
                    ? true
                    : fail_value(fields[3], "f32, i32 or u32"));
    }
    parameter->format = format_named(string);
    parameter->type = TEXEL_FORMATS[parameter->format].element;
    return !json_u32(fields[4], 0, INT32_MAX, &number) ? false
           : TEXEL_FORMATS[parameter->format].spirv    ? true
                                                       : fail_value(fields[3], "a format that kernels store");
}

static bool read_parameter(const KernelReader *reader, const Json *value, Parameter *parameter) {
    static const char *const NDARRAY[] = {
        "name", "kind", "element", "element_shape", "ndim", "members", "gradient", "element_size_bytes", NULL};
    static const char *const TEMPLATE[] = {"name", "kind", "value", NULL};
    static const char *const KINDS[] = {"scalar", "matrix", "struct", "ndarray", "template", "texture", "rw_texture"};
    enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };
    const Json *fields[8], *kind = value->kind == JSON_OBJECT ? json_member(value, "kind") : NULL;
    const Json *name = value->kind == JSON_OBJECT ? json_member(value, "name") : NULL;
    const char *string;
    bool takes_gradient;
    uint32_t number;
    if (!kind || !name) {
        return fail_value(value, "an object with `name` and `kind`");
    }
    if (!json_string(name, &parameter->name) || !json_string(kind, &string)) {
        return false;
    }
    for (number = 0; number < KIND_COUNT && strcmp(KINDS[number], string); number++) {
    }
    if (number == KIND_COUNT) {
        return fail_value(kind, "scalar, matrix, struct, ndarray, texture, rw_texture or template");
    }
    parameter->kind = (ParameterKind)number;
    if (parameter->kind == PARAMETER_TEXTURE || parameter->kind == PARAMETER_RW_TEXTURE) {
        if (reader->manifest->arch != TI_ARCH_VULKAN) {
            reader->kernel->unsupported = "a texture";
            return true;
        }
        return read_texture_parameter(value, parameter);
    }
    if (parameter->kind == PARAMETER_TEMPLATE) {
        return json_fields(value, TEMPLATE, fields) && json_string(fields[2], &string);
    }
    if (parameter->kind != PARAMETER_NDARRAY) {
        return read_parameter_types(reader, value, parameter);
    }
    if (!json_fields(value, NDARRAY, fields) ||
        !read_element(fields[2], fields[3], fields[5], fields[7], &parameter->type, &parameter->element_shape,
                      &parameter->element_size) ||
        !json_u32(fields[4], 0, TI_MAX_DIM_COUNT, &parameter->dim_count) || !json_bool(fields[6], &takes_gradient)) {
        return false;
    }
    parameter->gradient = takes_gradient;
    return true;
}

static bool read_parameters(const KernelReader *reader, const Json *value) {
    const Json *item;
    if (!json_array(value, 0, MAX_PARAMETERS)) {
        return false;
    }
    reader->kernel->parameters = (Parameter *)arena_allocate(reader->arena, 2 * (size_t)value->count + 1, sizeof(Parameter));
    if (!reader->kernel->parameters) {
        return false;
    }
    for (item = value->value.first; item; item = item->next) {
        if (!read_parameter(reader, item, &reader->kernel->parameters[reader->kernel->parameter_count++])) {
            return false;
        }
    }
    return true;
}

/* Let the gradient of each ndarray that the kernel takes with one be a parameter, behind all others, in their order. */
static bool add_gradients(const KernelReader *reader) {
    KernelData *kernel = reader->kernel;
    uint32_t i;
    kernel->declared_count = kernel->parameter_count;
    for (i = 0; i < kernel->declared_count; i++) {
        Parameter *parameter = &kernel->parameters[i], *gradient;
        char name[256];
        if (!parameter->gradient) {
            continue;
        }
        gradient = &kernel->parameters[kernel->parameter_count];
        *gradient = *parameter;
        gradient->gradient = 0;
        snprintf(name, sizeof name, "%.240s.grad", parameter->name);
        gradient->name = arena_string(reader->arena, name, strlen(name));
        if (!gradient->name) {
            return false;
        }
        parameter->gradient = kernel->parameter_count++;
    }
    return true;
}

static bool read_array(const KernelReader *reader, const Json *value, ArrayBinding *array) {
    static const char *const FIELDS[] = {"name", "element", "element_shape", "ndim",  "shape", "parameter",
                                         "read", "written", "offset",        "place", NULL};
    const Json *fields[10];
    const KernelData *kernel = reader->kernel;
    const char *element;
    TiNdShape shape;
    uint64_t count;
    uint32_t parameter;
    bool truth;
    if (!json_fields(value, FIELDS, fields) || !json_string(fields[0], &array->name) ||
        !json_string(fields[1], &element) || !read_shape(fields[2], 0, 2, MAX_NUMBERS, &shape, &count) ||
        !json_u32(fields[3], 0, TI_MAX_DIM_COUNT, &array->dim_count) ||
        (fields[4]->kind != JSON_NULL && !read_shape(fields[4], 0, TI_MAX_DIM_COUNT, MAX_TREE_BYTES, &shape, &count)) ||
        !json_bool(fields[6], &truth) || !json_bool(fields[7], &truth) || !json_array(fields[8], 0, TI_MAX_DIM_COUNT)) {
        return false;
    }
    array->parameter = -1;
    if (fields[5]->kind == JSON_NULL) {
        return true;
    }
    if (!json_u32(fields[5], 0, kernel->parameter_count ? kernel->parameter_count - 1 : 0, &parameter)) {
        return false;
    }
    if (parameter >= kernel->parameter_count || (kernel->parameters[parameter].kind != PARAMETER_NDARRAY &&
                                                 kernel->parameters[parameter].kind != PARAMETER_TEMPLATE)) {
        return fail_value(fields[5], "the number of a parameter that is an array");
    }
    if (kernel->parameters[parameter].kind == PARAMETER_NDARRAY) {
        array->parameter = (int32_t)parameter;
        if (array->dim_count != kernel->parameters[parameter].dim_count) {
            return fail_value(fields[3], "the `ndim` of its parameter");
        }
    }
    return true;
}

/* Read a texture that a kernel binds, which is one of its parameters. */
static bool read_texture(const KernelReader *reader, const Json *value, TextureBinding *texture) {
    static const char *const FIELDS[] = {"name",    "parameter", "binding", "ndim",    "element", "format",
                                         "storage", "lod",       "read",    "written", NULL};
    const Json *fields[10];
    const KernelData *kernel = reader->kernel;
    const Parameter *parameter;
    const char *string;
    TiDataType type;
    uint32_t number, binding = (uint32_t)(texture - kernel->textures);
    bool truth;
    if (!json_fields(value, FIELDS, fields) || !json_string(fields[0], &string) ||
        !json_u32(fields[1], 0, kernel->parameter_count ? kernel->parameter_count - 1 : 0, &texture->parameter) ||
        !json_u32(fields[2], binding, binding, &number) || !json_bool(fields[6], &texture->is_storage) ||
        !json_u32(fields[7], 0, INT32_MAX, &number) || !json_bool(fields[8], &truth) || !json_bool(fields[9], &truth)) {
        return false;
    }
    parameter = &kernel->parameters[texture->parameter];
    if (texture->parameter >= kernel->parameter_count ||
        parameter->kind != (texture->is_storage ? PARAMETER_RW_TEXTURE : PARAMETER_TEXTURE)) {
        return fail_value(fields[1], "the number of a parameter that is such a texture");
    }
    if (!json_u32(fields[3], parameter->dim_count, parameter->dim_count, &number) ||
        !read_scalar_type(fields[4], &type, &number)) {
        return false;
    }
    if (type != parameter->type) {
        return fail_value(fields[4], "the element type of its parameter's texels");
    }
    if (texture->is_storage && !json_string(fields[5], &string)) {
        return false;
    }
    return (texture->is_storage ? format_named(string) == parameter->format : fields[5]->kind == JSON_NULL)
               ? true
               : fail_value(fields[5], "the format of its parameter");
}
