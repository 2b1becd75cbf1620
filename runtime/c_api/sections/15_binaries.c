/* --- cubins, PTX, and all binaries of an archive ------------------------------------------------------------------ */

/* Check that no part of an ELF file is outside of it, since cuModuleLoadData takes no size. Source: System V ABI,
   chapter 4. */
static bool check_cubin(const ZipMember *member, const uint8_t *data) {
    uint64_t size = member->size, sections, segments, i;
    uint32_t count, entry, segment_count, segment_entry;
    if (size < 64 || memcmp(data, "\177ELF\2\1", 6)) {
        return fail(TI_ERROR_CORRUPTED_DATA, "`%s` is no cubin", member->name);
    }
    segments = little_u64(data + 32);
    sections = little_u64(data + 40);
    segment_entry = little_u16(data + 54);
    segment_count = little_u16(data + 56);
    entry = little_u16(data + 58);
    count = little_u16(data + 60);
    if ((count && entry != 64) || sections > size || (uint64_t)count * 64 > size - sections ||
        (segment_count && segment_entry != 56) || segments > size || (uint64_t)segment_count * 56 > size - segments ||
        !count) {
        return fail(TI_ERROR_CORRUPTED_DATA, "`%s` is a damaged cubin", member->name);
    }
    for (i = 0; i < count; i++) {
        const uint8_t *section = data + sections + 64 * i;
        enum { NO_BITS = 8 };
        if (little_u32(section + 4) != NO_BITS &&
            (little_u64(section + 24) > size || little_u64(section + 32) > size - little_u64(section + 24))) {
            return fail(TI_ERROR_CORRUPTED_DATA, "`%s` is a damaged cubin: a section is outside of it", member->name);
        }
    }
    for (i = 0; i < segment_count; i++) {
        const uint8_t *segment = data + segments + 56 * i;
        if (little_u64(segment + 8) > size || little_u64(segment + 32) > size - little_u64(segment + 8)) {
            return fail(TI_ERROR_CORRUPTED_DATA, "`%s` is a damaged cubin: a segment is outside of it", member->name);
        }
    }
    return true;
}

/* Check that PTX is a string of the size that the archive says. */
static bool check_ptx(const ZipMember *member, const uint8_t *data) {
    if (memchr(data, 0, member->size) || !strstr((const char *)data, ".version")) {
        return fail(TI_ERROR_CORRUPTED_DATA, "`%s` is no PTX", member->name);
    }
    return true;
}

static bool check_file(const Manifest *manifest, const KernelData *kernel, uint32_t number) {
    const CodeFile *file = &kernel->files[number];
    uint8_t *code = file->code ? zip_read(file->code) : NULL, *ptx = file->ptx ? zip_read(file->ptx) : NULL;
    bool is_good = (code || !file->code) && (ptx || !file->ptx);
    if (is_good && manifest->arch == TI_ARCH_VULKAN) {
        is_good = check_spirv(kernel, number, code);
    } else if (is_good && manifest->arch == TI_ARCH_CUDA) {
        is_good = (!code || check_cubin(file->code, code)) && (!ptx || check_ptx(file->ptx, ptx));
    }
    free(code);
    free(ptx);
    return is_good ? true : fail_within("kernel `%s`", kernel->name);
}

/* Check all binaries that a driver would read. A member that several kernels name counts each time, so that an archive
   whose kernels all name one large member is refused instead of taking forever. */
static bool check_binaries(const Manifest *manifest) {
    uint64_t looked_at = 0;
    uint32_t i, k, task;
    for (i = 0; i < manifest->kernel_count; i++) {
        const KernelData *kernel = &manifest->kernels[i];
        for (k = 0; k < kernel->file_count; k++) {
            const CodeFile *file = &kernel->files[k];
            uint64_t size = (file->code ? file->code->size : 0) + (uint64_t)(file->ptx ? file->ptx->size : 0);
            for (looked_at += size, task = 0; task < kernel->task_count; task++) {
                looked_at += kernel->tasks[task].file == k ? size : 0;
            }
            if (looked_at > 2 * MAX_ARCHIVE_BYTES) {
                return fail(TI_ERROR_CORRUPTED_DATA, "the binaries of the archive are named too often");
            }
            if (!check_file(manifest, kernel, k)) {
                return false;
            }
        }
    }
    return true;
}

/* Read an archive. Its bytes must stay valid while the manifest is used. */
static bool manifest_open(Manifest *manifest, const void *data, size_t size) {
    const ZipMember *member;
    uint8_t *source = NULL;
    Json *value;
    bool is_good;
    memset(manifest, 0, sizeof *manifest);
    is_good = zip_open(&manifest->zip, &manifest->arena, (const uint8_t *)data, size);
    member = is_good ? zip_find(&manifest->zip, "module.json") : NULL;
    if (is_good && !member) {
        is_good = fail(TI_ERROR_INCOMPATIBLE_MODULE, "this is no archive of shadesmith: it has no module.json");
    } else if (is_good && member->size > MAX_MANIFEST_BYTES) {
        is_good = fail(TI_ERROR_CORRUPTED_DATA, "module.json has more than %d bytes", MAX_MANIFEST_BYTES);
    }
    source = is_good ? zip_read(member) : NULL;
    value = source ? (Json *)arena_allocate(&manifest->arena, 1, sizeof(Json)) : NULL;
    is_good = value && json_parse(&manifest->arena, (const char *)source, member->size, value) &&
              read_manifest(manifest, value) && check_binaries(manifest);
    free(source);
    if (!is_good) {
        manifest_close(manifest);
    }
    return is_good;
}
