/* --- functions of shadesmith.h: errors, runtimes, memory ---------------------------------------------------------- */

uint32_t ti_get_version(void) {
    return TI_C_API_VERSION;
}

void ti_get_available_archs(uint32_t *arch_count, TiArch *archs) {
    static const TiArch KNOWN[] = {TI_ARCH_VULKAN, TI_ARCH_CUDA};
    TiError error = last_error;
    char saved[ERROR_MESSAGE_BYTES];
    uint32_t count = 0, i;
    if (!arch_count) {
        fail(TI_ERROR_ARGUMENT_NULL, "arch_count is null");
        return;
    }
    memcpy(saved, last_error_message, sizeof saved);
    for (i = 0; i < 2; i++) {
        TiRuntime runtime = ti_create_runtime(KNOWN[i], 0);
        if (runtime) {
            if (archs && count < *arch_count) {
                archs[count] = KNOWN[i];
            }
            count++;
            ti_destroy_runtime(runtime);
        }
    }
    *arch_count = count;
    last_error = error; /* a missing device is not a failure here */
    memcpy(last_error_message, saved, sizeof saved);
}

TiError ti_get_last_error(uint64_t *message_size, char *message) {
    uint64_t size = strlen(last_error_message) + 1, copied;
    if (message_size) {
        copied = smaller_u64(*message_size, size);
        if (message && copied) {
            memcpy(message, last_error_message, (size_t)copied - 1);
            message[copied - 1] = '\0';
        }
        *message_size = size;
    }
    return last_error;
}

const char *ti_get_last_error_message(void) {
    return last_error_message;
}

void ti_set_last_error(TiError error, const char *message) {
    char saved[ERROR_MESSAGE_BYTES];
    snprintf(saved, sizeof saved, "%s", message ? message : ""); /* `message` may be that of the last failure */
    fail(error, "%s", saved);
}

void ti_set_print_callback(void (*callback)(const char *text, uint64_t size, void *user), void *user) {
    print_callback = callback;
    print_user = user;
}

/* Start a call on a runtime. */
static bool enter(TiRuntime runtime) {
    return check_handle(runtime, HANDLE_RUNTIME, "runtime") && runtime->backend->enter(runtime);
}

static void leave(TiRuntime runtime) {
    runtime->backend->leave(runtime);
}

/* Remove an image from the list of its runtime and free it. */
static void image_free(TiImage image) {
    if (image->previous) {
        image->previous->next = image->next;
    } else {
        image->runtime->images = image->next;
    }
    if (image->next) {
        image->next->previous = image->previous;
    }
    vulkan_free_image(image);
}

static void sampler_free(TiSampler sampler) {
    if (sampler->previous) {
        sampler->previous->next = sampler->next;
    } else {
        sampler->runtime->samplers = sampler->next;
    }
    if (sampler->next) {
        sampler->next->previous = sampler->previous;
    }
    vulkan_free_sampler(sampler);
}

/* Refuse to free a kernel while its prints are shown. */
static bool check_not_showing(TiRuntime runtime) {
    return runtime->is_showing ? fail(TI_ERROR_INVALID_STATE, "a print callback cannot free the runtime or its modules")
                               : true;
}

TiRuntime ti_create_runtime(TiArch arch, uint32_t device_index) {
    TiRuntime runtime;
    bool is_good;
    if (arch != TI_ARCH_VULKAN && arch != TI_ARCH_CUDA) {
        fail(TI_ERROR_NOT_SUPPORTED, "arch %d is none that this runtime knows: it has TI_ARCH_VULKAN and TI_ARCH_CUDA",
             (int)arch);
        return NULL;
    }
    runtime = (TiRuntime)handle_acquire(HANDLE_RUNTIME, sizeof(struct TiRuntime_t));
    if (!runtime) {
        return NULL;
    }
    runtime->arch = arch;
    runtime->backend = arch == TI_ARCH_VULKAN ? &VULKAN_BACKEND : &CUDA_BACKEND;
    snprintf(runtime->name, sizeof runtime->name, "the device");
    is_good = arch == TI_ARCH_VULKAN ? vulkan_open(runtime, device_index) : cuda_open(runtime, device_index);
    if (!is_good) {
        runtime->backend->close(runtime);
        handle_release(runtime);
        return NULL;
    }
    return runtime;
}

void ti_destroy_runtime(TiRuntime runtime) {
    bool has_entered;
    if (!check_handle(runtime, HANDLE_RUNTIME, "runtime") || !check_not_showing(runtime)) {
        return;
    }
    has_entered = runtime->backend->enter(runtime);
    if (has_entered) {
        runtime->backend->wait(runtime);
    }
    while (runtime->modules) {
        TiAotModule module = runtime->modules;
        runtime->modules = module->next;
        module_close(module);
    }
    while (runtime->images) {
        image_free(runtime->images);
    }
    while (runtime->samplers) {
        sampler_free(runtime->samplers);
    }
    while (runtime->memories) {
        memory_free(runtime->memories);
    }
    if (has_entered) {
        leave(runtime);
    }
    runtime->backend->close(runtime);
    handle_release(runtime);
}

const char *ti_get_runtime_device_name(TiRuntime runtime) {
    return check_handle(runtime, HANDLE_RUNTIME, "runtime") ? runtime->name : "";
}

void ti_flush(TiRuntime runtime) {
    if (enter(runtime)) {
        runtime->backend->flush(runtime);
        leave(runtime);
    }
}

void ti_wait(TiRuntime runtime) {
    if (enter(runtime)) {
        runtime->backend->wait(runtime);
        leave(runtime);
    }
}

void ti_set_runtime_random_seed(TiRuntime runtime, uint32_t seed) {
    if (check_handle(runtime, HANDLE_RUNTIME, "runtime")) {
        runtime->random_seed = seed;
    }
}

TiMemory ti_allocate_memory(TiRuntime runtime, const TiMemoryAllocateInfo *allocate_info) {
    TiMemory memory = NULL;
    if (!allocate_info) {
        fail(TI_ERROR_ARGUMENT_NULL, "allocate_info is null");
        return NULL;
    }
    if (allocate_info->export_sharing) {
        fail(TI_ERROR_NOT_SUPPORTED, "memory cannot be exported (export_sharing)");
        return NULL;
    }
    if (enter(runtime)) {
        memory = memory_make(runtime, allocate_info->size);
        if (memory) {
            memory->host_read = allocate_info->host_read != 0;
            memory->host_write = allocate_info->host_write != 0;
        }
        leave(runtime);
    }
    return memory;
}

/* Start a call on memory of a runtime. */
static bool enter_memory(TiRuntime runtime, TiMemory memory) {
    if (!check_handle(memory, HANDLE_MEMORY, "memory") || !check_handle(runtime, HANDLE_RUNTIME, "runtime")) {
        return false;
    }
    return memory->runtime == runtime ? enter(runtime)
                                      : fail(TI_ERROR_INVALID_ARGUMENT, "the memory is of another runtime");
}

static bool check_slice(const TiMemorySlice *slice, const char *name) {
    if (slice->offset > slice->memory->size || slice->size > slice->memory->size - slice->offset) {
        return fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE,
                    "%s reaches from byte %llu on over %llu bytes, and its memory has %llu", name,
                    (unsigned long long)slice->offset, (unsigned long long)slice->size,
                    (unsigned long long)slice->memory->size);
    }
    return slice->memory->mapped
               ? fail(TI_ERROR_INVALID_STATE, "the memory of %s is mapped: call ti_unmap_memory first", name)
               : true;
}

void ti_free_memory(TiRuntime runtime, TiMemory memory) {
    if (!enter_memory(runtime, memory)) {
        return;
    }
    if (memory->is_tree) {
        fail(TI_ERROR_INVALID_ARGUMENT, "the memory is a module's: it is freed with it, by ti_destroy_aot_module");
    } else {
        runtime->backend->wait(runtime);
        memory_free(memory);
    }
    leave(runtime);
}

void *ti_map_memory(TiRuntime runtime, TiMemory memory) {
    void *mapped = NULL;
    bool is_good;
    if (!enter_memory(runtime, memory)) {
        return NULL;
    }
    if (memory->mapped) {
        fail(TI_ERROR_INVALID_STATE, "the memory is mapped already");
    } else if (!memory->host_read && !memory->host_write) {
        fail(TI_ERROR_INVALID_STATE, "the memory was allocated with neither host_read nor host_write");
    } else if (memory->visible) {
        mapped = runtime->backend->wait(runtime) ? memory->visible : NULL;
    } else {
        /* also if only the host writes: bytes that it does not write must stay unchanged */
        mapped = allocate_zeroed((size_t)memory->size);
        is_good = mapped && runtime->backend->read(runtime, memory, 0, mapped, memory->size);
        if (!is_good) {
            free(mapped);
            mapped = NULL;
        }
        memory->is_staged = is_good;
    }
    if (mapped) {
        memory->mapped = mapped;
    }
    leave(runtime);
    return mapped;
}

void ti_unmap_memory(TiRuntime runtime, TiMemory memory) {
    if (!enter_memory(runtime, memory)) {
        return;
    }
    if (!memory->mapped) {
        fail(TI_ERROR_INVALID_STATE, "the memory is not mapped");
    } else if (memory->is_staged) {
        if (memory->host_write) {
            runtime->backend->write(runtime, memory, 0, memory->mapped, memory->size);
        }
        free(memory->mapped);
        memory->is_staged = false;
    }
    memory->mapped = NULL;
    leave(runtime);
}

void ti_read_memory(TiRuntime runtime, const TiMemorySlice *source, void *destination) {
    if (!source || !destination) {
        fail(TI_ERROR_ARGUMENT_NULL, "source or destination is null");
        return;
    }
    if (enter_memory(runtime, source->memory)) {
        if (check_slice(source, "source")) {
            runtime->backend->read(runtime, source->memory, source->offset, destination, source->size);
        }
        leave(runtime);
    }
}

void ti_write_memory(TiRuntime runtime, const TiMemorySlice *destination, const void *source) {
    if (!source || !destination) {
        fail(TI_ERROR_ARGUMENT_NULL, "source or destination is null");
        return;
    }
    if (enter_memory(runtime, destination->memory)) {
        if (check_slice(destination, "destination")) {
            runtime->backend->write(runtime, destination->memory, destination->offset, source, destination->size);
        }
        leave(runtime);
    }
}

void ti_copy_memory_device_to_device(TiRuntime runtime, const TiMemorySlice *dst_memory,
                                     const TiMemorySlice *src_memory) {
    if (!dst_memory || !src_memory) {
        fail(TI_ERROR_ARGUMENT_NULL, "dst_memory or src_memory is null");
        return;
    }
    if (!check_handle(src_memory->memory, HANDLE_MEMORY, "src_memory")) {
        return;
    }
    if (src_memory->memory->runtime != runtime) {
        fail(TI_ERROR_INVALID_ARGUMENT, "src_memory is of another runtime");
        return;
    }
    if (!enter_memory(runtime, dst_memory->memory)) {
        return;
    }
    if (check_slice(dst_memory, "dst_memory") && check_slice(src_memory, "src_memory")) {
        if (dst_memory->size != src_memory->size) {
            fail(TI_ERROR_INVALID_ARGUMENT, "dst_memory and src_memory have different sizes");
        } else if (dst_memory->memory == src_memory->memory &&
                   dst_memory->offset < src_memory->offset + src_memory->size &&
                   src_memory->offset < dst_memory->offset + dst_memory->size) {
            fail(TI_ERROR_INVALID_ARGUMENT, "dst_memory and src_memory overlap");
        } else if (dst_memory->size) {
            runtime->backend->copy(runtime, dst_memory->memory, dst_memory->offset, src_memory->memory,
                                   src_memory->offset, src_memory->size);
        }
    }
    leave(runtime);
}

uint64_t ti_get_memory_address(TiRuntime runtime, TiMemory memory) {
    if (!check_handle(memory, HANDLE_MEMORY, "memory") || !check_handle(runtime, HANDLE_RUNTIME, "runtime")) {
        return 0;
    }
    if (memory->runtime != runtime) {
        fail(TI_ERROR_INVALID_ARGUMENT, "the memory is of another runtime");
        return 0;
    }
    return memory->address;
}
