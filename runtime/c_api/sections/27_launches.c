/* --- launches: arguments, evaluation, iterations ------------------------------------------------------------------ */

/* A number that the caller passes: a real, or an integer by sign and magnitude. */
typedef struct Number {
    bool is_real, is_negative;
    double real;
    uint64_t magnitude;
} Number;

static Number number_of_integer(int64_t value) {
    Number number = {false, value < 0, 0.0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value};
    return number;
}

static Number number_of_real(double value) {
    Number number = {true, false, value, 0};
    return number;
}

/* Read a number of a type from memory. */
static Number read_number(TiDataType type, const void *from) {
    uint64_t bits = 0;
    float single;
    double real;
    uint32_t size = scalar_of(type)->size;
    memcpy(&bits, from, size);
    switch (type) {
    case TI_DATA_TYPE_F16: return number_of_real(half_to_double((uint16_t)bits));
    case TI_DATA_TYPE_F32: memcpy(&single, from, sizeof single); return number_of_real((double)single);
    case TI_DATA_TYPE_F64: memcpy(&real, from, sizeof real); return number_of_real(real);
    case TI_DATA_TYPE_I8:
    case TI_DATA_TYPE_I16:
    case TI_DATA_TYPE_I32:
    case TI_DATA_TYPE_I64:
        if (bits >> (8 * size - 1) & 1) {
            Number number = {false, true, 0.0, size == 8 ? 0 - bits : ((uint64_t)1 << 8 * size) - bits};
            return number;
        }
        break;
    default: break;
    }
    {
        Number number = {false, false, 0.0, bits};
        return number;
    }
}

/* Return whether a number is in the range of an integer type. */
static bool fits_integer(TiDataType type, Number number) {
    bool is_signed =
        type == TI_DATA_TYPE_I8 || type == TI_DATA_TYPE_I16 || type == TI_DATA_TYPE_I32 || type == TI_DATA_TYPE_I64;
    uint64_t most = type == TI_DATA_TYPE_U1 ? 1 : UINT64_MAX >> (64 - 8 * scalar_of(type)->size) >> (is_signed ? 1 : 0);
    return !number.is_real &&
           (number.is_negative ? is_signed && number.magnitude <= most + 1 : number.magnitude <= most);
}

/* Write a number of a parameter's type into the argument block, where small types may have larger members. Return false
   if it is out of range. */
static bool write_number(TiKernel kernel, const BlockMember *member, TiDataType type, Number number) {
    double real =
        number.is_real ? number.real : (number.is_negative ? -(double)number.magnitude : (double)number.magnitude);
    float single = (float)real;
    uint16_t half;
    uint64_t bits;
    uint8_t *address = kernel->args + member->offset;
    switch (member->type) {
    case TI_DATA_TYPE_F16:
        half = double_to_half(real);
        memcpy(address, &half, sizeof half);
        return true;
    case TI_DATA_TYPE_F32: memcpy(address, &single, sizeof single); return true;
    case TI_DATA_TYPE_F64: memcpy(address, &real, sizeof real); return true;
    default: break;
    }
    if (!fits_integer(type, number)) {
        return false;
    }
    bits = number.is_negative ? 0 - number.magnitude : number.magnitude;
    memcpy(address, &bits, member->size);
    return true;
}

static const char *argument_kind_name(TiArgumentType type) {
    switch (type) {
    case TI_ARGUMENT_TYPE_I32: return "an i32";
    case TI_ARGUMENT_TYPE_F32: return "an f32";
    case TI_ARGUMENT_TYPE_NDARRAY: return "an ndarray";
    case TI_ARGUMENT_TYPE_TEXTURE: return "a texture";
    case TI_ARGUMENT_TYPE_SCALAR: return "a scalar";
    case TI_ARGUMENT_TYPE_TENSOR: return "a tensor";
    case TI_ARGUMENT_TYPE_STRUCT: return "a struct";
    default: return "no argument that is known";
    }
}

/* Write extents as `(4, 8)`. */
static const char *format_shape(const TiNdShape *shape, char string[256]) {
    size_t length = 0;
    uint32_t i;
    string[length++] = '(';
    for (i = 0; i < shape->dim_count && i < TI_MAX_DIM_COUNT; i++) {
        length += (size_t)snprintf(string + length, 256 - length, i ? ", %u" : "%u", shape->dims[i]);
    }
    snprintf(string + length, 256 - length, ")");
    return string;
}

static bool check_ndarray(TiKernel kernel, const Parameter *parameter, const TiNdArray *array) {
    char actual[256], expected[256];
    uint64_t size = parameter->element_size;
    uint32_t i;
    if (array->shape.dim_count != parameter->dim_count) {
        return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` has %u dimensions, and the kernel takes %u",
                    parameter->name, array->shape.dim_count, parameter->dim_count);
    }
    if (array->elem_type != parameter->type) {
        return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` has elements of %s, and the kernel takes %s",
                    parameter->name, type_name(array->elem_type), type_name(parameter->type));
    }
    if (array->elem_shape.dim_count != parameter->element_shape.dim_count ||
        memcmp(array->elem_shape.dims, parameter->element_shape.dims,
               parameter->element_shape.dim_count * sizeof(uint32_t))) {
        return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` has elements of shape %s, and the kernel takes %s",
                    parameter->name, format_shape(&array->elem_shape, actual),
                    format_shape(&parameter->element_shape, expected));
    }
    for (i = 0; i < array->shape.dim_count; i++) {
        if (array->shape.dims[i] > INT32_MAX) {
            return fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE, "argument `%s` has an extent over 2^31 - 1", parameter->name);
        }
        if (array->shape.dims[i] && size > UINT64_MAX / array->shape.dims[i]) {
            return fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE, "argument `%s` is too large", parameter->name);
        }
        size *= array->shape.dims[i];
    }
    if (!array->memory) {
        return fail(TI_ERROR_ARGUMENT_NULL, "argument `%s` has no memory", parameter->name);
    }
    if (!check_handle(array->memory, HANDLE_MEMORY, "its memory")) {
        return fail_within("argument `%s`", parameter->name);
    }
    if (array->memory->runtime != kernel->module->runtime) {
        return fail(TI_ERROR_INVALID_ARGUMENT, "the memory of argument `%s` is of another runtime", parameter->name);
    }
    if (array->memory->mapped) {
        return fail(TI_ERROR_INVALID_STATE, "the memory of argument `%s` is mapped: call ti_unmap_memory first",
                    parameter->name);
    }
    return size <= array->memory->size ? true
                                       : fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE,
                                              "argument `%s` of shape %s needs %llu bytes, and its memory has %llu",
                                              parameter->name, format_shape(&array->shape, actual),
                                              (unsigned long long)size, (unsigned long long)array->memory->size);
}

static bool is_same_extent(const TiImageExtent *a, const TiImageExtent *b) {
    return a->width == b->width && a->height == b->height && a->depth == b->depth &&
           a->array_layer_count == b->array_layer_count;
}

/* Check that an image supports what a kernel does with it. */
static bool check_texels(const Parameter *parameter, const TiTexture *texture) {
    const TiImage image = texture->image;
    const TiSampler sampler = texture->sampler;
    TiDataType element = TEXEL_FORMATS[image->format].element;
    if (parameter->kind == PARAMETER_RW_TEXTURE) {
        if (image->format != parameter->format) {
            return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` has texels of %s, and the kernel takes %s",
                        parameter->name, format_name(image->format), format_name(parameter->format));
        }
        return image->is_storage ? true : fail_format(image->runtime, image->format, "store");
    }
    if (element != parameter->type) {
        return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` has texels of %s, which are %s, and the kernel takes %s",
                    parameter->name, format_name(image->format), type_name(element), type_name(parameter->type));
    }
    if (sampler && sampler->runtime != image->runtime) {
        return fail(TI_ERROR_INVALID_ARGUMENT, "the sampler of argument `%s` is of another runtime", parameter->name);
    }
    return image->is_interpolated || !sampler ||
                   (sampler->info.mag_filter != TI_FILTER_LINEAR && sampler->info.min_filter != TI_FILTER_LINEAR)
               ? true
               : fail(TI_ERROR_NOT_SUPPORTED,
                      "argument `%s` has a sampler with TI_FILTER_LINEAR, and %s does not interpolate texels of %s",
                      parameter->name, image->runtime->name, format_name(image->format));
}

static bool check_texture(TiKernel kernel, const Parameter *parameter, const TiTexture *texture) {
    const TiImage image = texture->image;
    if (!image) {
        return fail(TI_ERROR_ARGUMENT_NULL, "argument `%s` has no image", parameter->name);
    }
    if (!check_handle(image, HANDLE_IMAGE, "its image") ||
        (texture->sampler && !check_handle(texture->sampler, HANDLE_SAMPLER, "its sampler"))) {
        return fail_within("argument `%s`", parameter->name);
    }
    if (image->runtime != kernel->module->runtime) {
        return fail(TI_ERROR_INVALID_ARGUMENT, "the image of argument `%s` is of another runtime", parameter->name);
    }
    if ((uint32_t)image->dimension + 1 != parameter->dim_count) {
        return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` has an image of %u dimensions, and the kernel takes %u",
                    parameter->name, (uint32_t)image->dimension + 1, parameter->dim_count);
    }
    if (texture->dimension != image->dimension || texture->format != image->format ||
        !is_same_extent(&texture->extent, &image->extent)) {
        return fail(TI_ERROR_INVALID_ARGUMENT,
                    "argument `%s` has another dimension, extent or format than its image, which has %u x %u x %u "
                    "texels of %s",
                    parameter->name, image->extent.width, image->extent.height, image->extent.depth,
                    format_name(image->format));
    }
    return check_texels(parameter, texture);
}

/* Check an argument against its parameter, before anything is written. */
static bool check_argument(TiKernel kernel, const Parameter *parameter, const TiArgument *argument) {
    uint32_t offset = 0, i;
    TiArgumentType type = argument->type;
    bool fits = parameter->kind == PARAMETER_NDARRAY ? type == TI_ARGUMENT_TYPE_NDARRAY
                : parameter->kind == PARAMETER_SCALAR
                    ? type == TI_ARGUMENT_TYPE_I32 || type == TI_ARGUMENT_TYPE_F32 || type == TI_ARGUMENT_TYPE_SCALAR
                : parameter->kind == PARAMETER_MATRIX
                    ? type == TI_ARGUMENT_TYPE_TENSOR || type == TI_ARGUMENT_TYPE_STRUCT
                : parameter->kind == PARAMETER_STRUCT ? type == TI_ARGUMENT_TYPE_STRUCT
                                                      : type == TI_ARGUMENT_TYPE_TEXTURE;
    if (!fits) {
        static const char *const KINDS[] = {"a scalar", "a vector or matrix", "a struct", "an ndarray",
                                            "nothing",  "a texture",          "a texture"};
        return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` is %s, and the kernel takes %s", parameter->name,
                    argument_kind_name(type), KINDS[parameter->kind]);
    }
    if (type == TI_ARGUMENT_TYPE_NDARRAY) {
        return check_ndarray(kernel, parameter, &argument->value.ndarray);
    }
    if (type == TI_ARGUMENT_TYPE_TEXTURE) {
        return check_texture(kernel, parameter, &argument->value.texture);
    }
    if (type == TI_ARGUMENT_TYPE_SCALAR && !scalar_of(argument->value.scalar.type)) {
        return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` is a scalar of no known type", parameter->name);
    }
    if (type == TI_ARGUMENT_TYPE_TENSOR) {
        const TiTensor *tensor = &argument->value.tensor;
        if (tensor->type != parameter->type || tensor->contents.length != parameter->count ||
            (uint64_t)parameter->count * scalar_of(parameter->type)->size > sizeof tensor->contents.data) {
            return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` is %u numbers of %s, and the kernel takes %u of %s%s",
                        parameter->name, tensor->contents.length, type_name(tensor->type), parameter->count,
                        type_name(parameter->type),
                        (uint64_t)parameter->count * scalar_of(parameter->type)->size > sizeof tensor->contents.data
                            ? " (as TiStruct)"
                            : "");
        }
    }
    if (type == TI_ARGUMENT_TYPE_STRUCT) {
        for (i = 0; i < parameter->count; i++) {
            uint32_t size = scalar_of(parameter->types[i])->size;
            offset = (uint32_t)rounded_up(offset, size) + size;
        }
        if (!argument->value.structure.data || argument->value.structure.size < offset) {
            return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` has %llu bytes, and its numbers take %u",
                        parameter->name, (unsigned long long)argument->value.structure.size, offset);
        }
    }
    return true;
}

/* Return a component of an argument by value. */
static Number argument_number(const Parameter *parameter, const TiArgument *argument, uint32_t component) {
    uint32_t offset = 0, i;
    switch (argument->type) {
    case TI_ARGUMENT_TYPE_I32: return number_of_integer(argument->value.i32);
    case TI_ARGUMENT_TYPE_F32: return number_of_real((double)argument->value.f32);
    case TI_ARGUMENT_TYPE_SCALAR: return read_number(argument->value.scalar.type, &argument->value.scalar.value);
    case TI_ARGUMENT_TYPE_TENSOR:
        return read_number(parameter->type, argument->value.tensor.contents.data.x8 +
                                                (size_t)component * scalar_of(parameter->type)->size);
    default:
        for (i = 0; i < component; i++) {
            offset = (uint32_t)rounded_up(offset, scalar_of(parameter->types[i])->size) +
                     scalar_of(parameter->types[i])->size;
        }
        offset = (uint32_t)rounded_up(offset, scalar_of(parameter->types[component])->size);
        return read_number(parameter->types[component], (const uint8_t *)argument->value.structure.data + offset);
    }
}

/* Return the stride of an array along an axis [elements]. */
static uint64_t array_stride(const TiNdArray *array, uint32_t axis) {
    uint64_t stride = 1;
    for (axis++; axis < array->shape.dim_count; axis++) {
        stride *= array->shape.dims[axis];
    }
    return stride;
}

static uint32_t next_seed(TiRuntime runtime) {
    runtime->launches++;
    return runtime->random_seed * 0x9E3779B1u + runtime->launches * 0x85EBCA6Bu; /* as with ti.init(random_seed=...) */
}

/* Return an extent of a texture. */
static uint32_t texture_extent(const TiTexture *texture, uint32_t axis) {
    const TiImageExtent *extent = &texture->image->extent;
    return axis == 0 ? extent->width : axis == 1 ? extent->height : extent->depth;
}

/* Write the value of one member from the arguments. arguments: one a parameter, null for templates. */
static bool pack_member(TiRuntime runtime, TiKernel kernel, const BlockMember *member,
                        const TiArgument *const *arguments) {
    const KernelData *data = kernel->data;
    const TiNdArray *array = NULL;
    if (member->constant != CONSTANT_NONE) {
        return true;
    }
    if (member->source >= SOURCE_POINTER && member->source <= SOURCE_BEGIN) {
        array = &arguments[data->arrays[member->first].parameter]->value.ndarray;
    }
    switch (member->source) {
    case SOURCE_ARGUMENT: {
        const Parameter *parameter = &data->parameters[member->first];
        TiDataType type = parameter->types[member->second];
        if (!write_number(kernel, member, type, argument_number(parameter, arguments[member->first], member->second))) {
            return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` is no %s: it is out of range, or no integer",
                        parameter->name, type_name(type));
        }
        return true;
    }
    case SOURCE_POINTER: put_integer(kernel, member, array->memory->address); return true;
    case SOURCE_GRADIENT: {
        const Parameter *parameter = &data->parameters[data->arrays[member->first].parameter];
        put_integer(kernel, member, arguments[parameter->gradient]->value.ndarray.memory->address);
        return true;
    }
    case SOURCE_SHAPE: put_integer(kernel, member, array->shape.dims[member->second]); return true;
    case SOURCE_STRIDE:
        if (member->size < 8 && array_stride(array, member->second) > INT32_MAX) {
            return fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE, "argument `%s` is too large",
                        data->parameters[data->arrays[member->first].parameter].name);
        }
        put_integer(kernel, member, array_stride(array, member->second));
        return true;
    case SOURCE_BEGIN: put_integer(kernel, member, 0); return true;
    case SOURCE_TEXTURE_SHAPE:
        put_integer(kernel, member, texture_extent(kernel->textures[member->first], member->second));
        return true;
    case SOURCE_SEED: put_integer(kernel, member, next_seed(runtime)); return true;
    default: return true;
    }
}

/* Return the value of a member in the argument block. */
static int64_t packed_integer(TiKernel kernel, const BlockMember *member) {
    Number number = read_number(member->type, kernel->args + member->offset);
    return (int64_t)(number.is_negative ? 0 - number.magnitude : number.magnitude);
}

static int64_t floor_divided(int64_t a, int64_t b) {
    int64_t quotient = a / b;
    return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

/* Sums and products of integers. Return false if they overflow 64 bits. */
static bool added(int64_t a, int64_t b, int64_t *sum) {
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) {
        return false;
    }
    *sum = a + b;
    return true;
}

static bool multiplied(int64_t a, int64_t b, int64_t *product) {
    if (a && b && (a == INT64_MIN || b == INT64_MIN || (a < 0 ? -a : a) > INT64_MAX / (b < 0 ? -b : b))) {
        return false;
    }
    *product = a * b;
    return true;
}

static bool shifted(int64_t a, int64_t b, bool is_left, int64_t *value) {
    if (b < 0 || b > 62) {
        return false;
    }
    if (is_left) {
        return multiplied(a, (int64_t)1 << b, value);
    }
    *value = floor_divided(a, (int64_t)1 << b);
    return true;
}

/* Evaluate one operation with Python's meaning; a number divided by 0 is 0, as on devices. Return false if it overflows
   64 bits. */
static bool apply(Operator operation, int64_t a, int64_t b, int64_t c, int64_t *value) {
    switch (operation) {
    case OP_ADD: return added(a, b, value);
    case OP_SUB: return b != INT64_MIN && added(a, -b, value);
    case OP_MUL: return multiplied(a, b, value);
    case OP_SHL: return shifted(a, b, true, value);
    case OP_SAR: return shifted(a, b, false, value);
    case OP_NEG: *value = a == INT64_MIN ? a : -a; return a != INT64_MIN;
    case OP_ABS: *value = a < 0 && a != INT64_MIN ? -a : a; return a != INT64_MIN;
    case OP_FLOORDIV:
    case OP_MOD:
    case OP_RAW_DIV:
        if (a == INT64_MIN && b == -1) {
            return false;
        }
        *value = b == 0                     ? 0
                 : operation == OP_RAW_DIV  ? a / b
                 : operation == OP_FLOORDIV ? floor_divided(a, b)
                                            : a - floor_divided(a, b) * b;
        return true;
    case OP_MIN: *value = a < b ? a : b; return true;
    case OP_MAX: *value = a > b ? a : b; return true;
    case OP_BIT_AND: *value = a & b; return true;
    case OP_BIT_OR: *value = a | b; return true;
    case OP_BIT_XOR: *value = a ^ b; return true;
    case OP_SELECT: *value = a ? b : c; return true;
    case OP_LT: *value = a < b; return true;
    case OP_LE: *value = a <= b; return true;
    case OP_GT: *value = a > b; return true;
    case OP_GE: *value = a >= b; return true;
    case OP_EQ: *value = a == b; return true;
    case OP_NE: *value = a != b; return true;
    default: return false;
    }
}

static bool evaluate(TiKernel kernel, const Expression *expression, int64_t *value) {
    int64_t operands[3] = {0, 0, 0};
    int i;
    if (expression->operation == OP_CONST) {
        *value = expression->value;
        return true;
    }
    if (expression->operation == OP_MEMBER) {
        *value = packed_integer(kernel, &kernel->data->members[expression->value]);
        return true;
    }
    if (expression->operation == OP_SELECT) { /* the other operand is not evaluated */
        return evaluate(kernel, expression->operands[0], &operands[0]) &&
               evaluate(kernel, expression->operands[operands[0] ? 1 : 2], value);
    }
    for (i = 0; i < 3 && expression->operands[i]; i++) {
        if (!evaluate(kernel, expression->operands[i], &operands[i])) {
            return false;
        }
    }
    return apply(expression->operation, operands[0], operands[1], operands[2], value)
               ? true
               : fail(TI_ERROR_INVALID_ARGUMENT, "the bounds of a loop divide by zero or leave 64 bits");
}

/* Return the multiplier and the shift by which shaders divide by a number, as `packed_divisor` of Python. */
static uint64_t packed_divisor(int64_t number) {
    uint64_t divisor = (uint32_t)number, shift = 0;
    if (divisor == 0) { /* each quotient is 0 */
        return (uint64_t)31 << 32;
    }
    if (divisor > INT32_MAX) { /* without its sign */
        divisor = ((uint64_t)1 << 32) - divisor;
    }
    while (((uint64_t)1 << shift) < divisor) {
        shift++;
    }
    return (((((uint64_t)1 << shift) - divisor) << 32) / divisor + 1) | shift << 32;
}

/* Write the members that are computed from others. */
static bool pack_divisors(TiKernel kernel) {
    const KernelData *data = kernel->data;
    uint32_t i;
    for (i = 0; i < data->member_count; i++) {
        int64_t number;
        if (data->members[i].source == SOURCE_DIVISOR) {
            if (!evaluate(kernel, data->divisors[data->members[i].first], &number)) {
                return false;
            }
            put_integer(kernel, &data->members[i], packed_divisor(number));
        }
    }
    return true;
}

/* Find the number of iterations of a task, -1 if only the device knows it. */
static bool count_iterations(TiKernel kernel, const Task *task, int64_t *count) {
    uint32_t i;
    *count = task->is_serial ? 1 : -1;
    if (task->is_serial || !task->extents) {
        return true;
    }
    for (*count = 1, i = 0; i < task->extent_count; i++) {
        int64_t extent;
        if (!evaluate(kernel, task->extents[i], &extent)) {
            return fail_within("task `%s`", task->name);
        }
        if (extent <= 0) {
            *count = 0;
        } else if (*count && extent > INT64_MAX / *count) {
            *count = INT64_MAX;
        } else {
            *count *= extent;
        }
    }
    return *count <= MAX_ITERATIONS
               ? true
               : fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE,
                      "the loop of task `%s` has %lld iterations; a parallel loop has at most %lld", task->name,
                      (long long)*count, (long long)MAX_ITERATIONS);
}

static bool show_reports(TiRuntime runtime, TiKernel kernel);

/* Launch with one argument a parameter, null for templates. All arguments are checked before anything is changed. */
static bool launch(TiRuntime runtime, TiKernel kernel, const TiArgument *const *arguments) {
    const KernelData *data = kernel->data;
    uint32_t i;
    if (data->unsupported) {
        return fail(TI_ERROR_NOT_SUPPORTED, "kernel `%.100s` takes %s, which this runtime cannot give", data->name,
                    data->unsupported);
    }
    for (i = 0; i < data->parameter_count; i++) {
        if (data->parameters[i].kind != PARAMETER_TEMPLATE &&
            !check_argument(kernel, &data->parameters[i], arguments[i])) {
            return fail_within("kernel `%.100s`", data->name);
        }
    }
    for (i = 0; i < data->declared_count; i++) {
        uint32_t gradient = data->parameters[i].gradient;
        if (gradient && memcmp(&arguments[i]->value.ndarray.shape, &arguments[gradient]->value.ndarray.shape,
                               sizeof(uint32_t) * (1 + data->parameters[i].dim_count))) {
            return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` has another shape than `%s`",
                        data->parameters[gradient].name, data->parameters[i].name);
        }
    }
    for (i = 0; i < data->texture_count; i++) {
        kernel->textures[i] = &arguments[data->textures[i].parameter]->value.texture;
    }
    for (i = 0; i < data->member_count; i++) {
        if (!pack_member(runtime, kernel, &data->members[i], arguments)) {
            return fail_within("kernel `%.100s`", data->name);
        }
    }
    if (!pack_divisors(kernel)) {
        return fail_within("kernel `%.100s`", data->name);
    }
    for (i = 0; i < data->task_count; i++) {
        if (!count_iterations(kernel, &data->tasks[i], &kernel->counts[i])) {
            return fail_within("kernel `%.100s`", data->name);
        }
    }
    if (!runtime->backend->start(runtime, kernel, kernel->counts)) {
        return fail_within("kernel `%.100s`", data->name);
    }
    return !data->site_count || show_reports(runtime, kernel);
}
