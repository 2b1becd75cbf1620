/* --- modules: archives on a device -------------------------------------------------------------------------------- */

enum {
    REPORT_HEADER_WORDS = 9,
    REPORT_RECORD_WORDS = 3,
    REPORT_PRINT_WORDS = (1 << 20) / 4,
    REPORT_FAILURE_WORDS = (64 << 10) / 4,
    REPORT_FIRST = REPORT_HEADER_WORDS + REPORT_PRINT_WORDS,
    REPORT_LAST = REPORT_FIRST + REPORT_FAILURE_WORDS
};

static bool clear_report(TiRuntime runtime) {
    const uint32_t header[REPORT_HEADER_WORDS] = {REPORT_HEADER_WORDS, REPORT_FIRST, 0, REPORT_FIRST, REPORT_LAST, 0, 0,
                                                  UINT32_MAX,          UINT32_MAX};
    return runtime->backend->write(runtime, runtime->report, 0, header, sizeof header);
}

/* Allocate the buffer that kernels write their prints and failed checks to, once a runtime. */
static bool find_report(TiRuntime runtime) {
    if (runtime->report) {
        return true;
    }
    runtime->report = memory_make(runtime, (uint64_t)REPORT_LAST * 4);
    return runtime->report && clear_report(runtime);
}

/* Write an integer into the argument block with the type of a member. */
static void put_integer(TiKernel kernel, const BlockMember *member, uint64_t value) {
    memcpy(kernel->args + member->offset, &value, member->size); /* the host is little endian */
}

/* Fill in the members that are known at load time: constants and the addresses of the kernel's own memory. */
static bool prepare_block(TiRuntime runtime, TiKernel kernel) {
    const KernelData *data = kernel->data;
    uint32_t i;
    for (i = 0; i < data->member_count; i++) {
        const BlockMember *member = &data->members[i];
        uint64_t address = 0;
        if (member->constant == CONSTANT_INTEGER) {
            put_integer(kernel, member, (uint64_t)member->value);
            continue;
        }
        if (member->constant == CONSTANT_ADDRESS) {
            put_integer(kernel, member, kernel->module->trees[member->tree]->address + (uint64_t)member->value);
            continue;
        }
        switch (member->source) {
        case SOURCE_RESULT: address = kernel->results ? kernel->results->address : 0; break;
        case SOURCE_TEMPORARIES: address = kernel->temporaries ? kernel->temporaries->address : 0; break;
        case SOURCE_REPORT:
            if (!find_report(runtime)) {
                return false;
            }
            address = runtime->report->address;
            break;
        default: continue;
        }
        put_integer(kernel, member, address);
    }
    return true;
}

static bool kernel_open(TiAotModule module, TiKernel kernel, const KernelData *data) {
    TiRuntime runtime = module->runtime;
    size_t args_bytes =
        runtime->arch == TI_ARCH_CUDA ? (size_t)CUDA_PARAMETER_BYTES : (size_t)rounded_up(data->args_size, 8) + 8;
    kernel->module = module;
    kernel->data = data;
    kernel->args =
        (uint8_t *)allocate_zeroed(args_bytes); /* CUDA reads as much as the parameter size of the function */
    kernel->counts = (int64_t *)allocate_zeroed((data->task_count + 1) * sizeof(int64_t));
    kernel->textures = (const TiTexture **)allocate_zeroed(data->texture_count * sizeof(const TiTexture *));
    kernel->program = (Program *)allocate_zeroed(sizeof(Program));
    if (!kernel->args || !kernel->counts || !kernel->textures || !kernel->program) {
        return false;
    }
    kernel->program->task_count = data->task_count;
    if (data->result_size && !(kernel->results = memory_make(runtime, data->result_size))) {
        return false;
    }
    if (data->temporaries_size && !(kernel->temporaries = memory_make(runtime, data->temporaries_size))) {
        return false;
    }
    return runtime->backend->build(runtime, kernel) && prepare_block(runtime, kernel);
}

static void kernel_close(TiRuntime runtime, TiKernel kernel) {
    if (kernel->program) {
        runtime->backend->free_program(runtime, kernel->program);
    }
    memory_free(kernel->results);
    memory_free(kernel->temporaries);
    free(kernel->program);
    free(kernel->textures);
    free(kernel->counts);
    free(kernel->args);
    handle_release(kernel);
}

/* Free a module that no launch uses any more. */
static void module_close(TiAotModule module) {
    TiRuntime runtime = module->runtime;
    uint32_t i;
    for (i = 0; module->kernels && i < module->manifest.kernel_count; i++) {
        if (module->kernels[i]) {
            kernel_close(runtime, module->kernels[i]);
        }
    }
    for (i = 0; module->graphs && i < module->manifest.graph_count; i++) {
        if (module->graphs[i]) {
            handle_release(module->graphs[i]);
        }
    }
    for (i = 0; module->trees && i < module->manifest.tree_count; i++) {
        memory_free(module->trees[i]);
    }
    free(module->kernels);
    free(module->graphs);
    free(module->trees);
    manifest_close(&module->manifest);
    free(module->bytes);
    handle_release(module);
}

static bool module_open(TiAotModule module) {
    TiRuntime runtime = module->runtime;
    Manifest *manifest = &module->manifest;
    uint32_t i;
    if (manifest->arch == TI_ARCH_RESERVED) {
        return fail(TI_ERROR_INCOMPATIBLE_MODULE,
                    "the archive is made for target c: compile its C files into your program instead");
    }
    if (manifest->arch != runtime->arch) {
        return fail(TI_ERROR_INCOMPATIBLE_MODULE, "the archive is made for target %s, and this runtime is one of %s",
                    arch_name(manifest->arch), arch_name(runtime->arch));
    }
    module->trees = (TiMemory *)allocate_zeroed(manifest->tree_count * sizeof(TiMemory));
    module->kernels = (TiKernel *)allocate_zeroed(manifest->kernel_count * sizeof(TiKernel));
    module->graphs = (TiComputeGraph *)allocate_zeroed(manifest->graph_count * sizeof(TiComputeGraph));
    if (!module->trees || !module->kernels || !module->graphs) {
        return false;
    }
    for (i = 0; i < manifest->tree_count; i++) {
        if (!(module->trees[i] = memory_make(runtime, manifest->tree_sizes[i]))) {
            return false;
        }
        module->trees[i]->is_tree = true;
    }
    for (i = 0; i < manifest->kernel_count; i++) {
        module->kernels[i] = (TiKernel)handle_acquire(HANDLE_KERNEL, sizeof(struct TiKernel_t));
        if (!module->kernels[i]) {
            return false;
        }
        if (!kernel_open(module, module->kernels[i], &manifest->kernels[i])) {
            return fail_within("kernel `%.100s`", manifest->kernels[i].name);
        }
    }
    for (i = 0; i < manifest->graph_count; i++) {
        module->graphs[i] = (TiComputeGraph)handle_acquire(HANDLE_GRAPH, sizeof(struct TiComputeGraph_t));
        if (!module->graphs[i]) {
            return false;
        }
        module->graphs[i]->module = module;
        module->graphs[i]->data = &manifest->graphs[i];
    }
    return true;
}

/* Create a module from the bytes of an archive, which it owns even after a failure. */
static TiAotModule module_make(TiRuntime runtime, uint8_t *bytes, size_t size) {
    TiAotModule module = (TiAotModule)handle_acquire(HANDLE_MODULE, sizeof(struct TiAotModule_t));
    if (!module) {
        free(bytes);
        return NULL;
    }
    module->runtime = runtime;
    module->bytes = bytes;
    if (!manifest_open(&module->manifest, bytes, size) || !module_open(module)) {
        if (module->trees) { /* its memory is still being cleared */
            runtime->backend->wait(runtime);
        }
        module_close(module);
        return NULL;
    }
    module->next = runtime->modules;
    if (module->next) {
        module->next->previous = module;
    }
    runtime->modules = module;
    return module;
}

/* Read a file of at most the maximum size of an archive; the caller frees it. */
static uint8_t *read_whole_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    long end = -1;
    if (!file) {
        fail(TI_ERROR_INVALID_ARGUMENT, "the archive `%.500s` cannot be opened", path);
        return NULL;
    }
    if (!fseek(file, 0, SEEK_END)) {
        end = ftell(file);
    }
    if (end < 0 || (uint64_t)end > MAX_ARCHIVE_BYTES) {
        fail(TI_ERROR_CORRUPTED_DATA, "`%.500s` is no archive: it is no file, or has more than %llu bytes", path,
             (unsigned long long)MAX_ARCHIVE_BYTES);
    } else {
        rewind(file);
        bytes = (uint8_t *)allocate_zeroed((size_t)end);
        if (bytes && fread(bytes, 1, (size_t)end, file) != (size_t)end) {
            fail(TI_ERROR_INVALID_ARGUMENT, "the archive `%.500s` cannot be read", path);
            free(bytes);
            bytes = NULL;
        }
        *size = (size_t)end;
    }
    fclose(file);
    return bytes;
}
