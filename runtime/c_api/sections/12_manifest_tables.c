/* --- manifest: tables of kernels, fields and graphs --------------------------------------------------------------- */

/* Reads an item of a table. The first member of every item is its name. */
typedef bool (*ReadItem)(Manifest *manifest, const Json *value, void *item);

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Read the items of an object into a table in ascending order of names. */
static void *read_table(Manifest *manifest, const Json *value, size_t size, ReadItem read, uint32_t *count) {
    uint8_t *table;
    const Json *item;
    if (value->kind != JSON_OBJECT) {
        fail_value(value, "an object");
        return NULL;
    }
    table = (uint8_t *)allocate_items(&manifest->arena, value, size);
    if (!table) {
        return NULL;
    }
    for (item = value->value.first; item; item = item->next) {
        void *entry = table + size * (*count)++;
        *(const char **)entry = item->name;
        if (!read(manifest, item, entry)) {
            return NULL;
        }
    }
    qsort(table, *count, size, compare_names);
    return table;
}

/* Return the index of a name in a table whose items start with their names, `count` if it is not in the table. */
static uint32_t find_named(const void *table, uint32_t count, size_t size, const char *name) {
    const void *match = count ? bsearch(&name, table, count, size, compare_names) : NULL;
    return match ? (uint32_t)((size_t)((const uint8_t *)match - (const uint8_t *)table) / size) : count;
}

static bool read_kernel(Manifest *manifest, const Json *value, void *item) {
    static const char *const FIELDS[] = {"parameters", "module", "constants", "template", "key", "edited", NULL};
    KernelReader reader = {manifest, &manifest->arena, (KernelData *)item};
    const Json *fields[6];
    const char *string;
    return json_fields(value, FIELDS, fields) && read_parameters(&reader, fields[0]) &&
           json_array(fields[2], 0, MAX_PARAMETERS) && json_string(fields[4], &string) &&
           (fields[5]->kind == JSON_NULL || json_string(fields[5], &string)) &&
           (fields[3]->kind == JSON_NULL || fields[3]->kind == JSON_OBJECT
                ? true
                : fail_value(fields[3], "null or an object")) &&
           (reader.kernel->unsupported || read_module(&reader, fields[1], fields[2])) && add_gradients(&reader);
}

static bool read_field(Manifest *manifest, const Json *value, void *entry) {
    static const char *const FIELDS[] = {"tree",          "offset_bytes", "element", "element_shape",      "shape",
                                         "strides_bytes", "offset",       "members", "element_size_bytes", NULL};
    const Json *fields[9], *item;
    FieldData *data = (FieldData *)entry;
    TiField *field = &data->field;
    uint64_t count, end;
    uint32_t axis = 0;
    if (!json_fields(value, FIELDS, fields)) {
        return false;
    }
    if (!manifest->tree_count) {
        return fail_value(fields[0], "the number of a tree");
    }
    if (!json_u32(fields[0], 0, manifest->tree_count - 1, &data->tree) ||
        !json_u64(fields[1], manifest->tree_sizes[data->tree], &field->slice.offset) ||
        !read_element(fields[2], fields[3], fields[7], fields[8], &field->elem_type, &field->elem_shape,
                      &field->elem_size) ||
        !read_shape(fields[4], 0, TI_MAX_DIM_COUNT, MAX_TREE_BYTES, &field->shape, &count) ||
        !json_array(fields[6], 0, TI_MAX_DIM_COUNT)) {
        return false;
    }
    if (fields[6]->value.first && fields[6]->count != field->shape.dim_count) {
        return fail_value(fields[6], "as many numbers as the shape has, or none");
    }
    data->is_even = fields[5]->kind != JSON_NULL;
    if (!data->is_even) {
        return true;
    }
    if (!json_array(fields[5], field->shape.dim_count, field->shape.dim_count)) {
        return false;
    }
    end = field->slice.offset + field->elem_size;
    for (item = fields[5]->value.first; item; item = item->next, axis++) {
        if (!json_u64(item, MAX_TREE_BYTES, &field->strides[axis])) {
            return false;
        }
        if (field->shape.dims[axis] > 1) {
            if (field->strides[axis] > MAX_TREE_BYTES / field->shape.dims[axis]) {
                return fail_value(item, "a smaller distance");
            }
            end += (field->shape.dims[axis] - 1) * field->strides[axis];
        }
    }
    if (count && end > manifest->tree_sizes[data->tree]) {
        return fail_value(value, "a field within its tree");
    }
    field->slice.size = count ? end - field->slice.offset : 0;
    return true;
}

static bool read_trees(Manifest *manifest, const Json *value) {
    static const char *const FIELDS[] = {"size_bytes", NULL};
    const Json *fields[1], *item;
    uint64_t left = MAX_TREE_BYTES;
    if (!json_array(value, 0, MAX_TREES)) {
        return false;
    }
    manifest->tree_sizes = (uint64_t *)allocate_items(&manifest->arena, value, sizeof(uint64_t));
    if (!manifest->tree_sizes) {
        return false;
    }
    for (item = value->value.first; item; item = item->next) {
        if (!json_fields(item, FIELDS, fields) ||
            !json_u64(fields[0], left, &manifest->tree_sizes[manifest->tree_count])) {
            return false;
        }
        left -= manifest->tree_sizes[manifest->tree_count++];
    }
    return true;
}

/* Write a number of a graph as the bits of a type. `bits` has at least the size of the type. */
static bool read_typed_number(const Json *value, TiDataType type, void *bits) {
    double real = value->kind == JSON_REAL ? value->value.real : (double)value->value.integer;
    float single = (float)real;
    uint16_t half = double_to_half(real);
    if (value->kind != JSON_INTEGER && (value->kind != JSON_REAL || !is_float_type(type))) {
        return fail_value(value, is_float_type(type) ? "a number" : "an integer");
    }
    switch (type) {
    case TI_DATA_TYPE_F16: memcpy(bits, &half, sizeof half); break;
    case TI_DATA_TYPE_F32: memcpy(bits, &single, sizeof single); break;
    case TI_DATA_TYPE_F64: memcpy(bits, &real, sizeof real); break;
    default: memcpy(bits, &value->value.integer, scalar_of(type)->size);
    }
    return true;
}

/* Read a number, or a list of numbers, that a dispatch of a graph passes to a parameter. */
static bool read_dispatch_number(const Json *value, const Parameter *parameter, TiArgument *argument) {
    TiTensor *tensor = &argument->value.tensor;
    const Json *item;
    if (parameter->kind == PARAMETER_SCALAR) {
        argument->type = TI_ARGUMENT_TYPE_SCALAR;
        argument->value.scalar.type = is_float_type(parameter->type) ? parameter->type : TI_DATA_TYPE_I64;
        return read_typed_number(value, argument->value.scalar.type, &argument->value.scalar.value);
    }
    if (parameter->kind != PARAMETER_MATRIX || !json_array(value, parameter->count, parameter->count) ||
        (uint64_t)parameter->count * scalar_of(parameter->type)->size > sizeof tensor->contents.data) {
        return fail_value(value, "the name of an argument, or numbers for a parameter that takes them");
    }
    argument->type = TI_ARGUMENT_TYPE_TENSOR;
    tensor->type = parameter->type;
    for (item = value->value.first; item; item = item->next) {
        if (!read_typed_number(item, parameter->type,
                               tensor->contents.data.x8 +
                                   tensor->contents.length++ * scalar_of(parameter->type)->size)) {
            return false;
        }
    }
    return true;
}

/* Return how many arguments a caller passes for the first parameters. */
static uint32_t passed_count(const KernelData *kernel, uint32_t parameter_count) {
    uint32_t count = 0, i;
    for (i = 0; i < parameter_count; i++) {
        count += kernel->parameters[i].kind != PARAMETER_TEMPLATE;
    }
    return count;
}

static bool read_dispatch(Manifest *manifest, const GraphData *graph, const Json *value, Dispatch *dispatch) {
    static const char *const FIELDS[] = {"kernel", "arguments", NULL};
    const Json *fields[2], *item;
    const KernelData *kernel;
    const char *name;
    uint32_t parameter = 0, count;
    if (!json_fields(value, FIELDS, fields) || !json_string(fields[0], &name)) {
        return false;
    }
    dispatch->kernel = find_named(manifest->kernels, manifest->kernel_count, sizeof(KernelData), name);
    if (dispatch->kernel == manifest->kernel_count) {
        return fail_value(fields[0], "the name of a kernel of this archive");
    }
    kernel = &manifest->kernels[dispatch->kernel];
    count = passed_count(kernel, kernel->declared_count);
    if (!json_array(fields[1], count, count)) {
        return false;
    }
    dispatch->arguments = (DispatchArgument *)allocate_items(&manifest->arena, fields[1], sizeof(DispatchArgument));
    if (!dispatch->arguments) {
        return false;
    }
    for (item = fields[1]->value.first; item; item = item->next, parameter++) {
        DispatchArgument *argument = &dispatch->arguments[dispatch->argument_count++];
        while (kernel->parameters[parameter].kind == PARAMETER_TEMPLATE) {
            parameter++;
        }
        argument->argument = -1;
        if (item->kind == JSON_STRING) {
            argument->argument = (int32_t)find_named(graph->argument_names, graph->argument_count, sizeof(const char *),
                                                     item->value.string);
            if (argument->argument == (int32_t)graph->argument_count) {
                return fail_value(item, "the name of an argument of the graph");
            }
        } else if (!read_dispatch_number(item, &kernel->parameters[parameter], &argument->constant)) {
            return false;
        }
    }
    return true;
}

static bool read_graph(Manifest *manifest, const Json *value, void *entry) {
    static const char *const FIELDS[] = {"arguments", "dispatches", NULL};
    const Json *fields[2], *item;
    GraphData *graph = (GraphData *)entry;
    uint32_t i;
    if (!json_fields(value, FIELDS, fields) || !json_array(fields[0], 0, MAX_PARAMETERS) ||
        !json_array(fields[1], 0, 65536)) {
        return false;
    }
    graph->argument_names = (const char **)allocate_items(&manifest->arena, fields[0], sizeof(const char *));
    graph->dispatches = (Dispatch *)allocate_items(&manifest->arena, fields[1], sizeof(Dispatch));
    if (!graph->argument_names || !graph->dispatches) {
        return false;
    }
    for (item = fields[0]->value.first; item; item = item->next) {
        const Json *name = item->kind == JSON_OBJECT ? json_member(item, "name") : NULL;
        if (!name) {
            return fail_value(item, "an object with a `name`");
        }
        if (!json_string(name, &graph->argument_names[graph->argument_count++])) {
            return false;
        }
    }
    qsort(graph->argument_names, graph->argument_count, sizeof(const char *), compare_names);
    for (i = 1; i < graph->argument_count; i++) {
        if (!strcmp(graph->argument_names[i - 1], graph->argument_names[i])) {
            return fail_value(fields[0], "arguments whose names differ");
        }
    }
    for (item = fields[1]->value.first; item; item = item->next) {
        if (!read_dispatch(manifest, graph, item, &graph->dispatches[graph->dispatch_count++])) {
            return false;
        }
    }
    return true;
}
