/* Load an archive with the kernel `paint(x, n)` on CUDA, launch it over SIZE elements, and use all there is of memory.
   calls ARCHIVE SIZE N. Prints the error, if there is one, and ends with 1. */

#include "shadesmith.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(void) {
    if (ti_get_last_error(NULL, NULL) == TI_ERROR_SUCCESS) {
        return 0;
    }
    printf("%d: %s\n", (int)ti_get_last_error(NULL, NULL), ti_get_last_error_message());
    return 1;
}

static int work(TiRuntime runtime, const char *path, uint32_t size, int32_t n) {
    TiMemoryAllocateInfo info;
    TiImageAllocateInfo image;
    TiMemory memory, other;
    TiMemorySlice slice, other_slice;
    TiAotModule module = ti_load_aot_module(runtime, path);
    TiKernel paint;
    TiArgument arguments[2];
    uint32_t numbers[4] = {1, 2, 3, 4}, found[4];
    uint32_t *mapped;
    if (failed()) {
        return 1;
    }
    paint = ti_get_aot_module_kernel(module, "paint");
    if (failed()) {
        return 1;
    }
    memset(&image, 0, sizeof image);
    if (ti_allocate_image(runtime, &image) || ti_get_last_error(NULL, NULL) != TI_ERROR_NOT_SUPPORTED) {
        printf("images are not refused\n");
        return 1;
    }
    ti_set_last_error(TI_ERROR_SUCCESS, NULL);
    memset(&info, 0, sizeof info);
    info.size = (uint64_t)size * 4 + 16;
    info.host_read = info.host_write = TI_TRUE;
    memory = ti_allocate_memory(runtime, &info);
    if (failed()) {
        return 1;
    }
    other = ti_allocate_memory(runtime, &info);
    if (failed()) {
        return 1;
    }
    slice.memory = memory;
    slice.offset = (uint64_t)size * 4;
    slice.size = 16;
    other_slice = slice;
    other_slice.memory = other;
    other_slice.offset = 0;
    memset(found, 1, sizeof found);
    ti_read_memory(runtime, &slice, found);
    if (failed() || found[0] || found[3]) {
        printf("memory is not zero\n");
        return 1;
    }
    ti_write_memory(runtime, &slice, numbers);
    ti_copy_memory_device_to_device(runtime, &other_slice, &slice);
    if (failed()) {
        return 1;
    }
    mapped = (uint32_t *)ti_map_memory(runtime, other);
    if (failed()) {
        return 1;
    }
    if (memcmp(mapped, numbers, sizeof numbers)) {
        printf("memory has other bytes\n");
        return 1;
    }
    mapped[1] = 77;
    ti_unmap_memory(runtime, other);
    if (failed()) {
        return 1;
    }
    ti_read_memory(runtime, &other_slice, found);
    if (failed() || found[1] != 77) {
        printf("what was mapped did not arrive\n");
        return 1;
    }
    memset(arguments, 0, sizeof arguments);
    arguments[0].type = TI_ARGUMENT_TYPE_NDARRAY;
    arguments[0].value.ndarray.memory = memory;
    arguments[0].value.ndarray.shape.dim_count = 1;
    arguments[0].value.ndarray.shape.dims[0] = size;
    arguments[0].value.ndarray.elem_type = TI_DATA_TYPE_F32;
    arguments[1].type = TI_ARGUMENT_TYPE_I32;
    arguments[1].value.i32 = n;
    printf("address %llx\n", (unsigned long long)ti_get_memory_address(runtime, memory));
    ti_launch_kernel(runtime, paint, 2, arguments);
    ti_flush(runtime);
    ti_wait(runtime);
    ti_free_memory(runtime, other);
    return failed();
}

int main(int argc, char **argv) {
    TiRuntime runtime;
    int result;
    if (argc != 4) {
        return 2;
    }
    runtime = ti_create_runtime(TI_ARCH_CUDA, 0);
    if (failed()) {
        return 1;
    }
    printf("%s\n", ti_get_runtime_device_name(runtime));
    result = work(runtime, argv[1], (uint32_t)atoi(argv[2]), (int32_t)atoi(argv[3]));
    ti_destroy_runtime(runtime);
    return result;
}
