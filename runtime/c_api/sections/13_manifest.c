/* --- manifest: members of the archive, requirements --------------------------------------------------------------- */

/* Compare a member of the archive with its entry in the manifest. */
static bool check_member(Manifest *manifest, const Json *value) {
    static const char *const FIELDS[] = {"size", "sha256", NULL};
    const Json *fields[2];
    ZipMember *member = zip_find(&manifest->zip, value->name);
    const char *expected;
    char actual[65];
    uint8_t *data;
    uint64_t size;
    if (!json_fields(value, FIELDS, fields) || !json_u64(fields[0], MAX_MEMBER_BYTES, &size) ||
        !json_string(fields[1], &expected)) {
        return false;
    }
    if (!member || !strcmp(value->name, "module.json")) {
        return fail(TI_ERROR_CORRUPTED_DATA, "the archive has no member `%.200s`, which module.json lists",
                    value->name);
    }
    if (member->size != size) {
        return fail(TI_ERROR_CORRUPTED_DATA, "the archive is damaged: `%s` has %u bytes, not %llu as module.json says",
                    member->name, member->size, (unsigned long long)size);
    }
    data = zip_read(member);
    if (!data) {
        return false;
    }
    sha256_hex(data, member->size, actual);
    free(data);
    member->is_listed = true;
    return strcmp(actual, expected)
               ? fail(TI_ERROR_CORRUPTED_DATA, "the archive is damaged: `%s` has another SHA-256 than module.json says",
                      member->name)
               : true;
}

static bool check_members(Manifest *manifest, const Json *value) {
    const Json *item;
    uint32_t i;
    if (value->kind != JSON_OBJECT) {
        return fail_value(value, "an object");
    }
    for (item = value->value.first; item; item = item->next) {
        if (!check_member(manifest, item)) {
            return false;
        }
    }
    for (i = 0; i < manifest->zip.count; i++) {
        if (!manifest->zip.members[i].is_listed && strcmp(manifest->zip.members[i].name, "module.json")) {
            return fail(TI_ERROR_CORRUPTED_DATA, "the archive has a member `%s`, which module.json does not list",
                        manifest->zip.members[i].name);
        }
    }
    return true;
}

/* Read the number after a prefix: 90 of "sm_90". */
static bool read_architecture(const Json *value, const char *prefix, uint32_t *number) {
    const char *string;
    size_t length = strlen(prefix);
    char *end;
    unsigned long actual;
    if (value->kind == JSON_NULL) {
        return true;
    }
    if (!json_string(value, &string)) {
        return false;
    }
    if (strncmp(string, prefix, length) || string[length] < '1' || string[length] > '9') {
        return fail_value(value, "a name like sm_90 or compute_90");
    }
    actual = strtoul(string + length, &end, 10);
    if (actual > 9999 || strlen(end) > 1) { /* a letter may follow: sm_90a */
        return fail_value(value, "a name like sm_90 or compute_90");
    }
    *number = (uint32_t)actual;
    return true;
}

static bool read_requirements(Manifest *manifest, const Json *value) {
    static const char *const VULKAN[] = {"spirv", "capabilities", "extensions", "features", "subgroup_size", NULL};
    static const char *const CUDA[] = {"arch", "ptx", NULL};
    static const char *const C[] = {"system", "machine", "cpu", "?openmp", NULL};
    const Json *fields[5];
    switch (manifest->arch) {
    case TI_ARCH_VULKAN: return json_fields(value, VULKAN, fields); /* the shaders declare their capabilities */
    case TI_ARCH_CUDA:
        return json_fields(value, CUDA, fields) && read_architecture(fields[0], "sm_", &manifest->cuda_arch) &&
               read_architecture(fields[1], "compute_", &manifest->cuda_ptx);
    default: return json_fields(value, C, fields);
    }
}

static bool read_manifest(Manifest *manifest, const Json *value) {
    static const char *const FIELDS[] = {"format",  "version",      "shadesmith", "target", "requires",
                                         "options", "capabilities", "members",    "trees",  "fields",
                                         "kernels", "graphs",       NULL};
    const Json *fields[12], *format, *version;
    const char *arch;
    format = value->kind == JSON_OBJECT ? json_member(value, "format") : NULL;
    if (!format || format->kind != JSON_STRING || strcmp(format->value.string, "shadesmith-module")) {
        return fail(TI_ERROR_INCOMPATIBLE_MODULE,
                    "this is no archive of shadesmith: `format` in module.json does not say so");
    }
    version = json_member(value, "version");
    if (version && version->kind == JSON_INTEGER && version->value.integer > 1) {
        return fail(TI_ERROR_INCOMPATIBLE_MODULE,
                    "the archive has format version %lld; this runtime reads version 1. Take shadesmith.c from the "
                    "newer package",
                    (long long)version->value.integer);
    }
    if (!json_fields(value, FIELDS, fields)) {
        return false;
    }
    if (version->kind != JSON_INTEGER || version->value.integer != 1) {
        return fail_value(version, "1");
    }
    if (!json_string(fields[2], &arch) || !json_string(fields[3], &arch)) {
        return false;
    }
    manifest->arch = !strcmp(arch, "vulkan") ? TI_ARCH_VULKAN : !strcmp(arch, "cuda") ? TI_ARCH_CUDA : TI_ARCH_RESERVED;
    if (manifest->arch == TI_ARCH_RESERVED && strcmp(arch, "c")) {
        return fail_value(fields[3], "vulkan, cuda or c");
    }
    if (!read_requirements(manifest, fields[4]) || !check_members(manifest, fields[7]) ||
        !read_trees(manifest, fields[8])) {
        return false;
    }
    manifest->fields =
        (FieldData *)read_table(manifest, fields[9], sizeof(FieldData), read_field, &manifest->field_count);
    if (!manifest->fields) {
        return false;
    }
    manifest->kernels =
        (KernelData *)read_table(manifest, fields[10], sizeof(KernelData), read_kernel, &manifest->kernel_count);
    if (!manifest->kernels) {
        return false;
    }
    manifest->graphs =
        (GraphData *)read_table(manifest, fields[11], sizeof(GraphData), read_graph, &manifest->graph_count);
    return manifest->graphs != NULL;
}

static void manifest_close(Manifest *manifest) {
    arena_free(&manifest->arena);
    memset(manifest, 0, sizeof *manifest);
}
