/* --- manifest: files, results, sites and modules of kernels ------------------------------------------------------- */

/* Find a member of the archive that the manifest lists. */
static const ZipMember *find_listed(const KernelReader *reader, const Json *value) {
    const char *name;
    const ZipMember *member;
    if (!json_string(value, &name)) {
        return NULL;
    }
    member = zip_find(&reader->manifest->zip, name);
    if (!member || !member->is_listed) {
        fail_value(value, "a member of the archive that `members` lists");
        return NULL;
    }
    return member;
}

static bool read_binary(const KernelReader *reader, const Json *value, CodeFile *file) {
    static const char *const SPIRV[] = {"spirv", NULL}, *const CUDA[] = {"cubin", "ptx", NULL},
                             *const C[] = {"shared_object", NULL};
    const Json *fields[2];
    switch (reader->manifest->arch) {
    case TI_ARCH_VULKAN:
        return json_fields(value, SPIRV, fields) && (file->code = find_listed(reader, fields[0])) != NULL;
    case TI_ARCH_CUDA:
        if (!json_fields(value, CUDA, fields) ||
            (fields[0]->kind != JSON_NULL && !(file->code = find_listed(reader, fields[0]))) ||
            (fields[1]->kind != JSON_NULL && !(file->ptx = find_listed(reader, fields[1])))) {
            return false;
        }
        return file->code || file->ptx ? true : fail_value(value, "a cubin or PTX");
    default: return json_fields(value, C, fields) && (file->code = find_listed(reader, fields[0])) != NULL;
    }
}

static bool read_file(const KernelReader *reader, const Json *value, CodeFile *file) {
    static const char *const FIELDS[] = {"name", "source", "binary", "lines", "?translations", NULL},
                             *const PLACES = "[line, file, line]";
    const Json *fields[5], *item;
    if (!json_fields(value, FIELDS, fields) || !json_string(fields[0], &file->name) ||
        !find_listed(reader, fields[1]) || !read_binary(reader, fields[2], file) ||
        !json_array(fields[3], 0, UINT32_MAX)) {
        return false;
    }
    for (item = fields[3]->value.first; item; item = item->next) {
        if (item->kind != JSON_ARRAY || item->count != 3 || item->value.first->kind != JSON_INTEGER ||
            item->value.first->next->kind != JSON_STRING || item->value.first->next->next->kind != JSON_INTEGER) {
            return fail_value(item, PLACES);
        }
    }
    if (fields[4] && fields[4]->kind != JSON_OBJECT) {
        return fail_value(fields[4], "an object");
    }
    for (item = fields[4] ? fields[4]->value.first : NULL; item; item = item->next) {
        if (!find_listed(reader, item)) {
            return false;
        }
    }
    return true;
}

/* Read one result; a struct has a result for each of its members. */
static bool read_result(const KernelReader *reader, const Json *value, uint32_t capacity) {
    static const char *const FIELDS[] = {"type", "shape", "offset_bytes", "members", NULL};
    KernelData *kernel = reader->kernel;
    const Json *fields[4], *item;
    ResultValue *result;
    TiNdShape shape;
    uint64_t count;
    const char *name;
    uint32_t size;
    if (!json_fields(value, FIELDS, fields) || !read_shape(fields[1], 0, 2, MAX_NUMBERS, &shape, &count) ||
        !json_array(fields[3], 0, MAX_NUMBERS)) {
        return false;
    }
    for (item = fields[3]->value.first; item; item = item->next) {
        if (!json_array(item, 2, 2) || !json_string(item->value.first, &name) ||
            !read_result(reader, item->value.first->next, capacity)) {
            return false;
        }
    }
    if (fields[3]->count) {
        return true;
    }
    if (kernel->result_count == capacity) {
        return fail_value(value, "fewer results");
    }
    result = &kernel->results[kernel->result_count++];
    if (!read_scalar_type(fields[0], &result->type, &size) ||
        !json_u32(fields[2], 0, (uint32_t)kernel->result_size, &result->offset)) {
        return false;
    }
    result->size = size * (uint32_t)count;
    return result->offset + (uint64_t)result->size <= kernel->result_size
               ? true
               : fail_value(value, "an offset within the results");
}

static bool read_results(const KernelReader *reader, const Json *value) {
    enum { CAPACITY = 1024 };
    const Json *item;
    if (!json_array(value, 0, CAPACITY)) {
        return false;
    }
    if (value->count &&
        !(reader->kernel->results = (ResultValue *)arena_allocate(reader->arena, CAPACITY, sizeof(ResultValue)))) {
        return false;
    }
    for (item = value->value.first; item; item = item->next) {
        if (!read_result(reader, item, CAPACITY)) {
            return false;
        }
    }
    return true;
}

static bool read_site_value(const Json *value, SiteValue *site_value) {
    static const char *const FIELDS[] = {"type", "python_type", "shape", NULL};
    const Json *fields[3];
    TiNdShape shape;
    uint64_t count;
    uint32_t size;
    if (!json_fields(value, FIELDS, fields) || !read_scalar_type(fields[0], &site_value->words_type, &size) ||
        !read_scalar_type(fields[1], &site_value->type, &size) ||
        !read_shape(fields[2], 0, 2, MAX_NUMBERS, &shape, &count)) {
        return false;
    }
    if (scalar_of(site_value->words_type)->size < 4) {
        return fail_value(fields[0], "a type of 32 or 64 bits");
    }
    site_value->dim_count = shape.dim_count;
    memcpy(site_value->dims, shape.dims, sizeof site_value->dims);
    site_value->count = (uint32_t)count;
    return true;
}

static bool check_parts(const Json *parts, uint32_t value_count) {
    const Json *item;
    int64_t number;
    const char *string;
    if (!json_array(parts, 0, UINT32_MAX)) {
        return false;
    }
    for (item = parts->value.first; item; item = item->next) {
        if (item->kind != JSON_STRING &&
            (!json_array(item, 2, 2) || !json_integer(item->value.first, 0, (int64_t)value_count - 1, &number) ||
             !json_string(item->value.first->next, &string))) {
            return false;
        }
    }
    return true;
}

static bool check_frames(const Json *frames) {
    static const char *const FIELDS[] = {"file", "function", "span", "text", NULL};
    const Json *fields[4], *item, *number;
    const char *string;
    int64_t line;
    if (!json_array(frames, 1, 4096)) {
        return false;
    }
    for (item = frames->value.first; item; item = item->next) {
        if (!json_fields(item, FIELDS, fields) || !json_string(fields[0], &string) ||
            !json_string(fields[1], &string) || !json_array(fields[2], 4, 4) || !json_string(fields[3], &string)) {
            return false;
        }
        for (number = fields[2]->value.first; number; number = number->next) {
            if (!json_integer(number, 0, INT32_MAX, &line)) {
                return false;
            }
        }
    }
    return true;
}

static bool read_site(const KernelReader *reader, const Json *value, Site *site) {
    static const char *const FIELDS[] = {"kind",     "frames", "task",  "values", "?parts",
                                         "?message", "?array", "?axes", NULL};
    const Json *fields[8], *item;
    const char *kind;
    if (!json_fields(value, FIELDS, fields) || !json_string(fields[0], &kind) || !check_frames(fields[1]) ||
        !json_u32(fields[2], 0, reader->kernel->task_count - 1, &site->task) || !json_array(fields[3], 0, 4096)) {
        return false;
    }
    site->kind = !strcmp(kind, "print") ? SITE_PRINT : !strcmp(kind, "call") ? SITE_CALL : SITE_CHECK;
    site->frames = fields[1];
    site->values = (SiteValue *)allocate_items(reader->arena, fields[3], sizeof(SiteValue));
    if (!site->values) {
        return false;
    }
    for (item = fields[3]->value.first; item; item = item->next) {
        SiteValue *site_value = &site->values[site->value_count++];
        if (!read_site_value(item, site_value)) {
            return false;
        }
        site->word_count += site_value->count * (scalar_of(site_value->words_type)->size / 4);
    }
    if (site->kind == SITE_PRINT) {
        site->parts = fields[4];
        return site->parts ? check_parts(site->parts, site->value_count) : fail_value(value, "a print with `parts`");
    }
    if (site->kind == SITE_CHECK) {
        return fields[5] ? json_string(fields[5], &site->message) : fail_value(value, "a check with a `message`");
    }
    return true;
}

/* Read the numbers by which the code divides. */
static bool read_divisors(const KernelReader *reader, const Json *value) {
    KernelData *kernel = reader->kernel;
    const Json *item;
    uint32_t i = 0;
    kernel->divisors = (const Expression **)allocate_items(reader->arena, value, sizeof(const Expression *));
    if (!kernel->divisors) {
        return false;
    }
    for (item = value->value.first; item; item = item->next) {
        if (!(kernel->divisors[i++] = read_expression(reader, item))) {
            return false;
        }
    }
    return true;
}

static bool read_interface(const KernelReader *reader, const Json *value, const Json *constants, const Json **sites) {
    static const char *const FIELDS[] = {"members", "args_size_bytes",   "arrays",
                                         "results", "result_size_bytes", "temporaries_size_bytes",
                                         "reports", "?textures",         "?divisors",
                                         NULL};
    KernelData *kernel = reader->kernel;
    const Json *fields[9], *item;
    uint32_t most = reader->manifest->arch == TI_ARCH_CUDA ? (uint32_t)MAX_CUDA_ARGS_BYTES : (uint32_t)MAX_ARGS_BYTES;
    if (!json_fields(value, FIELDS, fields) || !json_u32(fields[1], 0, most, &kernel->args_size) ||
        !json_u64(fields[4], MAX_ELEMENT_BYTES, &kernel->result_size) ||
        !json_u64(fields[5], MAX_BUFFER_BYTES, &kernel->temporaries_size) ||
        !json_array(fields[2], 0, MAX_PARAMETERS)) {
        return false;
    }
    kernel->arrays = (ArrayBinding *)allocate_items(reader->arena, fields[2], sizeof(ArrayBinding));
    if (!kernel->arrays) {
        return false;
    }
    for (item = fields[2]->value.first; item; item = item->next) {
        if (!read_array(reader, item, &kernel->arrays[kernel->array_count++])) {
            return false;
        }
    }
    *sites = fields[6];
    if (fields[7]) {
        if (!json_array(fields[7], 0, MAX_TEXTURES) ||
            !(kernel->textures = (TextureBinding *)allocate_items(reader->arena, fields[7], sizeof(TextureBinding)))) {
            return false;
        }
        for (item = fields[7]->value.first; item; item = item->next) {
            if (!read_texture(reader, item, &kernel->textures[kernel->texture_count++])) {
                return false;
            }
        }
    }
    if (fields[8] && !json_array(fields[8], 0, MAX_PARAMETERS)) {
        return false;
    }
    kernel->divisor_count = fields[8] ? fields[8]->count : 0;
    return read_block(reader, fields[0], constants) && (!fields[8] || read_divisors(reader, fields[8])) &&
           read_results(reader, fields[3]) && json_array(fields[6], 0, 65536);
}

static bool read_module(const KernelReader *reader, const Json *value, const Json *constants) {
    static const char *const FIELDS[] = {"kernel", "target", "files", "tasks", "interface", "options", NULL};
    KernelData *kernel = reader->kernel;
    const Json *fields[6], *item, *sites, *recursive;
    const char *string;
    if (!json_fields(value, FIELDS, fields) || !json_string(fields[0], &string) || !json_string(fields[1], &string) ||
        !json_array(fields[2], 0, 4096) || !json_array(fields[3], 0, 4096)) {
        return false;
    }
    if (strcmp(string, arch_name(reader->manifest->arch))) {
        return fail_value(fields[1], "the target of the archive");
    }
    if (fields[5]->kind != JSON_OBJECT) {
        return fail_value(fields[5], "an object");
    }
    recursive = json_member(fields[5], "recursive");
    if (recursive && !json_bool(recursive, &kernel->is_recursive)) {
        return false;
    }
    kernel->files = (CodeFile *)allocate_items(reader->arena, fields[2], sizeof(CodeFile));
    kernel->tasks = (Task *)allocate_items(reader->arena, fields[3], sizeof(Task));
    if (!kernel->files || !kernel->tasks) {
        return false;
    }
    for (item = fields[2]->value.first; item; item = item->next) {
        if (!read_file(reader, item, &kernel->files[kernel->file_count++])) {
            return false;
        }
    }
    if (fields[3]->count && !kernel->file_count) {
        return fail_value(fields[2], "a file for the tasks");
    }
    if (!read_interface(reader, fields[4], constants, &sites)) {
        return false;
    }
    for (item = fields[3]->value.first; item; item = item->next) {
        if (!read_task(reader, item, &kernel->tasks[kernel->task_count++])) {
            return false;
        }
    }
    kernel->sites = (Site *)allocate_items(reader->arena, sites, sizeof(Site));
    if (!kernel->sites) {
        return false;
    }
    for (item = sites->value.first; item; item = item->next) {
        if (!kernel->task_count) {
            return fail_value(item, "a task that it belongs to");
        }
        if (!read_site(reader, item, &kernel->sites[kernel->site_count++])) {
            return false;
        }
    }
    return true;
}
