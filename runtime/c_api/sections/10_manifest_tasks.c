/* --- manifest: the argument block, loops and tasks ---------------------------------------------------------------- */

/* Return whether a member is the address of memory. */
static bool is_address(const BlockMember *member) {
    return member->source == SOURCE_POINTER || member->source == SOURCE_GRADIENT ||
           member->source >= SOURCE_TEMPORARIES;
}

/* Check that the operands of a member's source exist. */
static bool check_source(const KernelReader *reader, const Json *value, const BlockMember *member) {
    const KernelData *kernel = reader->kernel;
    const Parameter *parameter;
    if (member->source == SOURCE_ARGUMENT) {
        if (member->first >= kernel->parameter_count) {
            return fail_value(value, "the number of a parameter");
        }
        parameter = &kernel->parameters[member->first];
        if (parameter->kind == PARAMETER_TEMPLATE
                ? member->constant == CONSTANT_NONE
                : member->second >= parameter->count) { /* 0 for arrays and textures */
            return fail_value(value, "a number of a parameter by value");
        }
        return parameter->kind == PARAMETER_TEMPLATE ||
                       is_float_type(parameter->types[member->second]) == is_float_type(member->type)
                   ? true
                   : fail_value(value, "an integer for an integer, and a float for a float");
    }
    if (member->source <= SOURCE_CAPACITY) {
        if (member->first >= kernel->array_count) {
            return fail_value(value, "the number of an array");
        }
        if ((member->source == SOURCE_SHAPE || member->source == SOURCE_STRIDE) &&
            member->second >= kernel->arrays[member->first].dim_count) {
            return fail_value(value, "an axis of the array");
        }
        if (member->source == SOURCE_GRADIENT && kernel->arrays[member->first].parameter >= 0 &&
            !kernel->parameters[kernel->arrays[member->first].parameter].gradient) {
            return fail_value(value, "an array whose parameter takes a gradient");
        }
        if (member->constant == CONSTANT_NONE &&
            (kernel->arrays[member->first].parameter < 0 || member->source == SOURCE_CAPACITY)) {
            return fail_value(value, "a constant, since no argument has its value");
        }
    }
    if (member->source == SOURCE_TEXTURE_SHAPE) {
        return member->first < kernel->texture_count &&
                       member->second < kernel->parameters[kernel->textures[member->first].parameter].dim_count
                   ? true
                   : fail_value(value, "an axis of a texture");
    }
    if (member->source == SOURCE_DIVISOR && (member->first >= kernel->divisor_count || member->size != 8)) {
        return fail_value(value, "the number of a divisor, of 8 bytes");
    }
    if (is_address(member) && member->size != 8) {
        return fail_value(value, "a member of 8 bytes for an address");
    }
    return true;
}

/* Return whether each launch passes the value of a member. */
static bool is_from_caller(const KernelData *kernel, const BlockMember *member) {
    if (member->source == SOURCE_ARGUMENT) {
        return kernel->parameters[member->first].kind != PARAMETER_TEMPLATE;
    }
    return member->source == SOURCE_SEED || member->source == SOURCE_DIVISOR ||
           member->source == SOURCE_TEXTURE_SHAPE ||
           (member->source < SOURCE_CAPACITY && kernel->arrays[member->first].parameter >= 0);
}

/* Read the source of a member's value, and its constant. */
static bool read_source(const KernelReader *reader, const Json *value, const Json *constant, BlockMember *member) {
    static const char *const ADDRESS[] = {"tree", "offset_bytes", NULL};
    const Json *fields[2], *item;
    const char *name;
    uint64_t offset;
    uint32_t number;
    if (!json_array(value, 1, 3) || !json_string(value->value.first, &name)) {
        return false;
    }
    for (number = 0; number < sizeof SOURCES / sizeof *SOURCES && strcmp(SOURCES[number].name, name); number++) {
    }
    if (number == sizeof SOURCES / sizeof *SOURCES || value->count != SOURCES[number].operands + 1) {
        return fail_value(value, "a source that a host knows");
    }
    member->source = (SourceKind)number;
    item = value->value.first->next;
    if ((item && !json_u32(item, 0, MAX_PARAMETERS, &member->first)) ||
        (item && item->next && !json_u32(item->next, 0, MAX_PARAMETERS, &member->second))) {
        return false;
    }
    if (constant->kind == JSON_INTEGER) {
        member->constant = CONSTANT_INTEGER;
        member->value = constant->value.integer;
    } else if (constant->kind != JSON_NULL) {
        if (!reader->manifest->tree_count) {
            return fail_value(constant, "null or a number, since there are no trees");
        }
        if (!json_fields(constant, ADDRESS, fields) ||
            !json_u32(fields[0], 0, reader->manifest->tree_count - 1, &member->tree) ||
            !json_u64(fields[1], reader->manifest->tree_sizes[member->tree], &offset)) {
            return false;
        }
        if (member->size != 8 || (member->source != SOURCE_POINTER && member->source != SOURCE_GRADIENT)) {
            return fail_value(constant, "a number, since the member is no address of an array");
        }
        member->constant = CONSTANT_ADDRESS;
        member->value = (int64_t)offset;
    }
    if (!check_source(reader, value, member)) {
        return false;
    }
    if (member->constant == CONSTANT_INTEGER && is_address(member)) {
        return fail_value(constant, "null or an offset in a tree, since the member is an address");
    }
    return member->constant == CONSTANT_NONE || !is_from_caller(reader->kernel, member)
               ? true
               : fail_value(constant, "null, since an argument has its value");
}

/* Read the members of the argument block. They are in ascending order, each at a multiple of its size, as in the struct
   of the shader. */
static bool read_block(const KernelReader *reader, const Json *value, const Json *constants) {
    static const char *const FIELDS[] = {"name", "type", "offset_bytes", "size_bytes", "source", NULL};
    KernelData *kernel = reader->kernel;
    const Json *item, *constant, *fields[5];
    uint32_t end = 0;
    if (!json_array(value, 0, MAX_PARAMETERS) || !json_array(constants, value->count, value->count)) {
        return false;
    }
    kernel->members = (BlockMember *)allocate_items(reader->arena, value, sizeof(BlockMember));
    if (!kernel->members) {
        return false;
    }
    constant = constants->value.first;
    for (item = value->value.first; item; item = item->next, constant = constant->next) {
        BlockMember *member = &kernel->members[kernel->member_count++];
        uint32_t size;
        if (!json_fields(item, FIELDS, fields) || !json_string(fields[0], &member->name) ||
            !read_scalar_type(fields[1], &member->type, &size) || !json_u32(fields[3], size, size, &member->size) ||
            !json_u32(fields[2], end, kernel->args_size, &member->offset) ||
            !read_source(reader, fields[4], constant, member)) {
            return false;
        }
        end = member->offset + member->size;
        if (member->offset % (member->source == SOURCE_DIVISOR ? 4 : member->size) || end > kernel->args_size) {
            return fail_value(fields[2], "a multiple of the member's size, within the block");
        }
    }
    return true;
}

static bool read_loop(const KernelReader *reader, const Json *value, Task *task) {
    static const char *const FIELDS[] = {"line", "names", "begins", "steps", "order", NULL};
    const Json *fields[5], *name, *start, *step, *item;
    if (value->kind == JSON_NULL) {
        return true;
    }
    if (!json_fields(value, FIELDS, fields) || !json_u32(fields[0], 0, INT32_MAX, &task->loop_line) ||
        !json_array(fields[1], 0, MAX_AXES) || !json_array(fields[2], fields[1]->count, fields[1]->count) ||
        !json_array(fields[3], fields[1]->count, fields[1]->count) || !json_array(fields[4], 0, 256)) {
        return false;
    }
    task->axes = (LoopAxis *)allocate_items(reader->arena, fields[1], sizeof(LoopAxis));
    task->order = (IndexComponent *)allocate_items(reader->arena, fields[4], sizeof(IndexComponent));
    if (!task->axes || !task->order) {
        return false;
    }
    name = fields[1]->value.first;
    start = fields[2]->value.first;
    step = fields[3]->value.first;
    for (; name; name = name->next, start = start->next, step = step->next) {
        LoopAxis *axis = &task->axes[task->axis_count++];
        if (!json_string(name, &axis->name) || !json_integer(step, INT32_MIN, INT32_MAX, &axis->step)) {
            return false;
        }
        if (start->kind != JSON_NULL && !(axis->start = read_expression(reader, start))) {
            return false;
        }
    }
    if (fields[4]->count && !task->axis_count) {
        return fail_value(fields[4], "an empty list");
    }
    for (item = fields[4]->value.first; item; item = item->next) {
        IndexComponent *component = &task->order[task->order_count++];
        if (!json_array(item, 3, 3) || !json_u32(item->value.first, 0, task->axis_count - 1, &component->axis) ||
            !json_integer(item->value.first->next, 1, INT32_MAX, &component->extent) ||
            !json_integer(item->value.first->next->next, 1, INT32_MAX, &component->weight)) {
            return false;
        }
    }
    return true;
}

static bool check_array_indices(const Json *value, uint32_t array_count) {
    const Json *item;
    int64_t index;
    if (!json_array(value, 0, MAX_PARAMETERS)) {
        return false;
    }
    for (item = value->value.first; item; item = item->next) {
        if (!json_integer(item, -1, (int64_t)array_count - 1, &index)) {
            return false;
        }
    }
    return true;
}

static bool read_task(const KernelReader *reader, const Json *value, Task *task) {
    static const char *const FIELDS[] = {"name",   "kind",    "entry",        "file", "block_dim", "extents", "reads",
                                         "writes", "strided", "serial_turns", "loop", "folded",    "items",   "?few_block",
                                         NULL};
    const Json *fields[14], *item;
    const char *kind;
    if (!json_fields(value, FIELDS, fields) || !json_string(fields[0], &task->name) || !json_string(fields[1], &kind) ||
        !json_string(fields[2], &task->entry) || !json_u32(fields[3], 0, reader->kernel->file_count - 1, &task->file) ||
        !json_u32(fields[4], 1, MAX_BLOCK_DIM, &task->block_dim) ||
        !check_array_indices(fields[6], reader->kernel->array_count) ||
        !check_array_indices(fields[7], reader->kernel->array_count) || !json_bool(fields[8], &task->is_strided) ||
        (fields[9]->kind != JSON_NULL && !read_expression(reader, fields[9])) ||
        !json_bool(fields[11], &task->is_folded) || !json_u32(fields[12], 1, MAX_ITEMS, &task->items) ||
        (fields[13] && !json_u32(fields[13], 1, MAX_BLOCK_DIM, &task->few_block))) {
        return false;
    }
    task->is_serial = !strcmp(kind, "serial");
    if (fields[5]->kind != JSON_NULL) {
        if (!json_array(fields[5], 0, MAX_AXES)) {
            return false;
        }
        task->extents = (const Expression **)allocate_items(reader->arena, fields[5], sizeof(const Expression *));
        if (!task->extents) {
            return false;
        }
        for (item = fields[5]->value.first; item; item = item->next) {
            if (!(task->extents[task->extent_count++] = read_expression(reader, item))) {
                return false;
            }
        }
    }
    return read_loop(reader, fields[10], task);
}
