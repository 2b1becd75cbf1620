/* --- functions of shadesmith.h: modules --------------------------------------------------------------------------- */

TiError ti_check_aot_module(const void *tcm, uint64_t size) {
    Manifest manifest;
    if (!tcm) {
        fail(TI_ERROR_ARGUMENT_NULL, "tcm is null");
        return last_error;
    }
    if (!manifest_open(&manifest, tcm, (size_t)size)) {
        return last_error;
    }
    manifest_close(&manifest);
    return TI_ERROR_SUCCESS;
}

TiAotModule ti_load_aot_module(TiRuntime runtime, const char *module_path) {
    TiAotModule module = NULL;
    uint8_t *bytes;
    size_t size = 0;
    if (!module_path) {
        fail(TI_ERROR_ARGUMENT_NULL, "module_path is null");
        return NULL;
    }
    if (!enter(runtime)) {
        return NULL;
    }
    bytes = read_whole_file(module_path, &size);
    if (bytes) {
        module = module_make(runtime, bytes, size);
        if (!module) {
            fail_within("%.200s", module_path);
        }
    }
    leave(runtime);
    return module;
}

TiAotModule ti_create_aot_module(TiRuntime runtime, const void *tcm, uint64_t size) {
    TiAotModule module = NULL;
    uint8_t *bytes;
    if (!tcm) {
        fail(TI_ERROR_ARGUMENT_NULL, "tcm is null");
        return NULL;
    }
    if (size > MAX_ARCHIVE_BYTES) {
        fail(TI_ERROR_CORRUPTED_DATA, "the archive has more than %llu bytes", (unsigned long long)MAX_ARCHIVE_BYTES);
        return NULL;
    }
    if (!enter(runtime)) {
        return NULL;
    }
    bytes = (uint8_t *)allocate_zeroed((size_t)size);
    if (bytes) {
        memcpy(bytes, tcm, (size_t)size);
        module = module_make(runtime, bytes, (size_t)size);
    }
    leave(runtime);
    return module;
}

void ti_destroy_aot_module(TiAotModule aot_module) {
    TiRuntime runtime;
    if (!check_handle(aot_module, HANDLE_MODULE, "aot_module")) {
        return;
    }
    runtime = aot_module->runtime;
    if (!check_not_showing(runtime) || !enter(runtime)) {
        return;
    }
    runtime->backend->wait(runtime);
    if (aot_module->previous) {
        aot_module->previous->next = aot_module->next;
    } else {
        runtime->modules = aot_module->next;
    }
    if (aot_module->next) {
        aot_module->next->previous = aot_module->previous;
    }
    module_close(aot_module);
    leave(runtime);
}

static bool check_name(TiAotModule aot_module, const char *name) {
    return check_handle(aot_module, HANDLE_MODULE, "aot_module") &&
           (name ? true : fail(TI_ERROR_ARGUMENT_NULL, "name is null"));
}

TiKernel ti_get_aot_module_kernel(TiAotModule aot_module, const char *name) {
    uint32_t i;
    if (!check_name(aot_module, name)) {
        return NULL;
    }
    i = find_named(aot_module->manifest.kernels, aot_module->manifest.kernel_count, sizeof(KernelData), name);
    if (i == aot_module->manifest.kernel_count) {
        fail(TI_ERROR_NAME_NOT_FOUND, "the archive has no kernel `%.200s`", name);
        return NULL;
    }
    if (aot_module->manifest.kernels[i].unsupported) {
        fail(TI_ERROR_NOT_SUPPORTED, "kernel `%.200s` takes %s, which this runtime cannot give", name,
             aot_module->manifest.kernels[i].unsupported);
        return NULL;
    }
    return aot_module->kernels[i];
}

TiComputeGraph ti_get_aot_module_compute_graph(TiAotModule aot_module, const char *name) {
    uint32_t i;
    if (!check_name(aot_module, name)) {
        return NULL;
    }
    i = find_named(aot_module->manifest.graphs, aot_module->manifest.graph_count, sizeof(GraphData), name);
    if (i == aot_module->manifest.graph_count) {
        fail(TI_ERROR_NAME_NOT_FOUND, "the archive has no graph `%.200s`", name);
        return NULL;
    }
    return aot_module->graphs[i];
}

TiError ti_get_aot_module_field(TiAotModule aot_module, const char *name, TiField *field) {
    const FieldData *data;
    uint32_t i;
    if (!check_name(aot_module, name)) {
        return last_error;
    }
    if (!field) {
        fail(TI_ERROR_ARGUMENT_NULL, "field is null");
        return last_error;
    }
    i = find_named(aot_module->manifest.fields, aot_module->manifest.field_count, sizeof(FieldData), name);
    if (i == aot_module->manifest.field_count) {
        fail(TI_ERROR_NAME_NOT_FOUND, "the archive has no field `%.200s`", name);
        return last_error;
    }
    data = &aot_module->manifest.fields[i];
    if (!data->is_even) {
        fail(TI_ERROR_NOT_SUPPORTED, "the elements of field `%.200s` have no constant strides: read it with a kernel",
             name);
        return last_error;
    }
    *field = data->field;
    field->slice.memory = aot_module->trees[data->tree];
    return TI_ERROR_SUCCESS;
}

const char *ti_get_aot_module_kernel_name(TiAotModule aot_module, uint32_t number) {
    return check_handle(aot_module, HANDLE_MODULE, "aot_module") && number < aot_module->manifest.kernel_count
               ? aot_module->manifest.kernels[number].name
               : NULL;
}

const char *ti_get_aot_module_compute_graph_name(TiAotModule aot_module, uint32_t number) {
    return check_handle(aot_module, HANDLE_MODULE, "aot_module") && number < aot_module->manifest.graph_count
               ? aot_module->manifest.graphs[number].name
               : NULL;
}

const char *ti_get_aot_module_field_name(TiAotModule aot_module, uint32_t number) {
    return check_handle(aot_module, HANDLE_MODULE, "aot_module") && number < aot_module->manifest.field_count
               ? aot_module->manifest.fields[number].name
               : NULL;
}
