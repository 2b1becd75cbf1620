/* Call functions of shadesmith.h in an order and with arguments that chance decides: walk ARCHIVE SEED STEPS [THREADS].

   Handles are those that are there, those that were freed, null, and those of other kinds or other runtimes. Whatever
   happens, no call may crash, and afterwards a launch gives what it has to. Each thread has runtimes of its own. */

#include "shadesmith.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 7, SLOTS = 6, COUNT = 256 };
enum { RUNTIME, MODULE, MEMORY, IMAGE, SAMPLER, KERNEL, GRAPH };

typedef struct Walk {
    uint64_t state;
    const char *path;
    int steps, failures, successes;
    void *handles[KINDS][SLOTS];
    uint8_t bytes[1 << 16];
    int is_good;
} Walk;

static uint32_t chance(Walk *walk, uint32_t count) {
    walk->state = walk->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(walk->state >> 33) % count;
}

/* A handle of a kind, mostly; else null or another kind's. */
static void *any(Walk *walk, int kind) {
    uint32_t turn = chance(walk, 40);
    if (turn == 0) {
        return NULL;
    }
    return walk->handles[turn == 1 ? (int)chance(walk, KINDS) : kind][chance(walk, SLOTS)];
}

static void keep(Walk *walk, int kind, void *handle) {
    if (handle) {
        walk->handles[kind][chance(walk, SLOTS)] = handle; /* the other one is not forgotten by its runtime */
    }
}

static uint32_t some_size(Walk *walk) {
    static const uint32_t SIZES[] = {0, 1, 3, 4, 16, 64, 256, 1024, 4096, 65536};
    return SIZES[chance(walk, 10)];
}

static TiMemorySlice some_slice(Walk *walk) {
    TiMemorySlice slice;
    slice.memory = (TiMemory)any(walk, MEMORY);
    slice.offset = chance(walk, 3) ? 0 : some_size(walk);
    slice.size = some_size(walk);
    return slice;
}

static TiImageExtent some_extent(Walk *walk) {
    TiImageExtent extent = {4, 4, 1, 1};
    if (!chance(walk, 4)) {
        extent.width = chance(walk, 9);
        extent.depth = chance(walk, 3);
        extent.array_layer_count = chance(walk, 3);
    }
    return extent;
}

static TiImageSlice some_image_slice(Walk *walk) {
    TiImageSlice slice;
    memset(&slice, 0, sizeof slice);
    slice.image = (TiImage)any(walk, IMAGE);
    slice.extent = some_extent(walk);
    slice.offset.x = chance(walk, 5) ? 0 : chance(walk, 5);
    return slice;
}

/* wanted: the most likely kind, 1: f32, 2: texture, 5: ndarray. */
static TiArgument some_argument(Walk *walk, uint32_t wanted) {
    TiArgument argument;
    memset(&argument, 0, sizeof argument);
    switch (chance(walk, 4) ? wanted : chance(walk, 8)) {
    case 0: argument.type = TI_ARGUMENT_TYPE_I32; argument.value.i32 = (int32_t)chance(walk, 5) - 1; break;
    case 1: argument.type = TI_ARGUMENT_TYPE_F32; argument.value.f32 = 0.5f; break;
    case 2:
    case 3:
        argument.type = TI_ARGUMENT_TYPE_TEXTURE;
        argument.value.texture.image = (TiImage)any(walk, IMAGE);
        argument.value.texture.sampler = chance(walk, 2) ? NULL : (TiSampler)any(walk, SAMPLER);
        argument.value.texture.dimension = TI_IMAGE_DIMENSION_2D;
        argument.value.texture.extent = some_extent(walk);
        argument.value.texture.format = chance(walk, 2) ? TI_FORMAT_R32F : TI_FORMAT_RGBA8;
        break;
    case 4: argument.type = (TiArgumentType)chance(walk, 40); break;
    default:
        argument.type = TI_ARGUMENT_TYPE_NDARRAY;
        argument.value.ndarray.memory = (TiMemory)any(walk, MEMORY);
        argument.value.ndarray.shape.dim_count = 1;
        argument.value.ndarray.shape.dims[0] = some_size(walk) / 4;
        argument.value.ndarray.elem_type = TI_DATA_TYPE_F32;
    }
    return argument;
}

static void launch(Walk *walk) {
    TiArgument arguments[4];
    TiNamedArgument named[4];
    static const char *const NAMES[] = {"x", "value", "source", "to"};
    static const uint32_t KINDS_WANTED[] = {5, 1, 2, 2};
    uint32_t is_warp = 2 * chance(walk, 2), i, count = chance(walk, 4) ? 2 : chance(walk, 4);
    for (i = 0; i < 4; i++) {
        arguments[i] = some_argument(walk, KINDS_WANTED[(i + is_warp) % 4]);
        named[i].name = chance(walk, 20) ? NAMES[i] : NULL;
        named[i].argument = some_argument(walk, KINDS_WANTED[i]);
    }
    if (chance(walk, 3)) {
        ti_launch_kernel((TiRuntime)any(walk, RUNTIME), (TiKernel)any(walk, KERNEL), count, arguments);
    } else {
        ti_launch_compute_graph((TiRuntime)any(walk, RUNTIME), (TiComputeGraph)any(walk, GRAPH), count == 2 ? 4 : count,
                                named);
    }
}

static void make(Walk *walk) {
    static const char *const KERNELS[] = {"add", "warp", "nothing"};
    TiMemoryAllocateInfo info;
    TiImageAllocateInfo image;
    TiSamplerCreateInfo sampler;
    TiField field;
    memset(&info, 0, sizeof info);
    memset(&image, 0, sizeof image);
    memset(&sampler, 0, sizeof sampler);
    switch (chance(walk, 9)) {
    case 0: keep(walk, MODULE, ti_load_aot_module((TiRuntime)any(walk, RUNTIME), walk->path)); break;
    case 1:
    case 2:
        keep(walk, KERNEL, ti_get_aot_module_kernel((TiAotModule)any(walk, MODULE), KERNELS[chance(walk, 3)]));
        keep(walk, GRAPH, ti_get_aot_module_compute_graph((TiAotModule)any(walk, MODULE), "both"));
        break;
    case 3:
        memset(&field, 0, sizeof field);
        ti_get_aot_module_field((TiAotModule)any(walk, MODULE), chance(walk, 2) ? "total" : "none", &field);
        keep(walk, MEMORY, field.slice.memory);
        break;
    case 4:
        sampler.mag_filter = (TiFilter)chance(walk, 3);
        sampler.address_mode = (TiAddressMode)chance(walk, 5);
        keep(walk, SAMPLER, ti_create_sampler((TiRuntime)any(walk, RUNTIME), &sampler));
        break;
    case 5:
    case 6:
        image.dimension = TI_IMAGE_DIMENSION_2D;
        image.extent = some_extent(walk);
        image.mip_level_count = 1;
        image.format = chance(walk, 2) ? TI_FORMAT_R32F : TI_FORMAT_RGBA8;
        keep(walk, IMAGE, ti_allocate_image((TiRuntime)any(walk, RUNTIME), &image));
        break;
    default:
        info.size = some_size(walk);
        info.host_read = chance(walk, 4) > 0;
        info.host_write = chance(walk, 4) > 0;
        keep(walk, MEMORY, ti_allocate_memory((TiRuntime)any(walk, RUNTIME), &info));
    }
}

static void fill_runtimes(Walk *walk, uint32_t begin) {
    TiRuntime runtime = ti_create_runtime(TI_ARCH_VULKAN, 0);
    for (; begin < SLOTS; begin++) {
        walk->handles[RUNTIME][begin] = runtime;
    }
}

static void give_back(Walk *walk) {
    switch (chance(walk, 80)) { /* what takes much with it more seldom */
    case 0:
        ti_destroy_runtime((TiRuntime)any(walk, RUNTIME));
        fill_runtimes(walk, chance(walk, SLOTS)); /* some handles stay that may be dead */
        break;
    case 1:
    case 2:
    case 3: ti_destroy_aot_module((TiAotModule)any(walk, MODULE)); break;
    case 4:
    case 5:
    case 6: ti_destroy_sampler((TiRuntime)any(walk, RUNTIME), (TiSampler)any(walk, SAMPLER)); break;
    default:
        if (chance(walk, 2)) {
            ti_free_image((TiRuntime)any(walk, RUNTIME), (TiImage)any(walk, IMAGE));
        } else {
            ti_free_memory((TiRuntime)any(walk, RUNTIME), (TiMemory)any(walk, MEMORY));
        }
    }
}

static void copy(Walk *walk) {
    TiRuntime runtime = (TiRuntime)any(walk, RUNTIME);
    TiMemorySlice slice = some_slice(walk), other = some_slice(walk);
    TiImageSlice image = some_image_slice(walk), other_image = some_image_slice(walk);
    slice.size = chance(walk, 4) ? 64 : slice.size; /* what 4 x 4 texels take */
    switch (chance(walk, 6)) {
    case 0: ti_read_memory(runtime, &slice, walk->bytes); break;
    case 1: ti_write_memory(runtime, &slice, walk->bytes); break;
    case 2: ti_copy_memory_device_to_device(runtime, &slice, &other); break;
    case 3: ti_copy_memory_to_image(runtime, &image, &slice); break;
    case 4: ti_copy_image_to_memory(runtime, &slice, &image); break;
    default: ti_copy_image_device_to_device(runtime, &image, &other_image);
    }
}

static void use(Walk *walk) {
    TiRuntime runtime = (TiRuntime)any(walk, RUNTIME);
    uint32_t number = chance(walk, 3);
    switch (chance(walk, 9)) {
    case 0: ti_flush(runtime); break;
    case 1: ti_wait(runtime); break;
    case 2: ti_map_memory(runtime, (TiMemory)any(walk, MEMORY)); break;
    case 3: ti_unmap_memory(runtime, (TiMemory)any(walk, MEMORY)); break;
    case 4: ti_transition_image(runtime, (TiImage)any(walk, IMAGE), (TiImageLayout)chance(walk, 12)); break;
    case 5: ti_get_kernel_result(runtime, (TiKernel)any(walk, KERNEL), number, walk->bytes, 4); break;
    case 6: ti_get_memory_address(runtime, (TiMemory)any(walk, MEMORY)); break;
    case 7: ti_get_runtime_device_name(runtime); break;
    default:
        ti_set_runtime_random_seed(runtime, number);
        ti_get_aot_module_kernel_name((TiAotModule)any(walk, MODULE), number);
        ti_get_aot_module_field_name((TiAotModule)any(walk, MODULE), number);
        ti_get_aot_module_compute_graph_name((TiAotModule)any(walk, MODULE), number);
    }
}

/* Tell whether a new runtime does what it has to. */
static int works(const char *path) {
    TiRuntime runtime = ti_create_runtime(TI_ARCH_VULKAN, 0);
    TiKernel add = ti_get_aot_module_kernel(ti_load_aot_module(runtime, path), "add");
    TiMemoryAllocateInfo info;
    TiArgument arguments[2];
    TiMemorySlice slice;
    float found[COUNT];
    int i, is_good = 1;
    memset(&info, 0, sizeof info);
    memset(arguments, 0, sizeof arguments);
    info.size = sizeof found;
    slice.memory = ti_allocate_memory(runtime, &info);
    slice.offset = 0;
    slice.size = sizeof found;
    arguments[0].type = TI_ARGUMENT_TYPE_NDARRAY;
    arguments[0].value.ndarray.memory = slice.memory;
    arguments[0].value.ndarray.shape.dim_count = 1;
    arguments[0].value.ndarray.shape.dims[0] = COUNT;
    arguments[0].value.ndarray.elem_type = TI_DATA_TYPE_F32;
    arguments[1].type = TI_ARGUMENT_TYPE_F32;
    arguments[1].value.f32 = 0.5f;
    memset(found, 0, sizeof found);
    for (i = 0; i < 100; i++) {
        ti_launch_kernel(runtime, add, 2, arguments);
    }
    ti_read_memory(runtime, &slice, found);
    for (i = 0; i < COUNT; i++) {
        is_good = is_good && found[i] == 50.0f;
    }
    ti_destroy_runtime(runtime);
    return is_good;
}

static void *walk_on(void *place) {
    Walk *walk = (Walk *)place;
    int step, i;
    fill_runtimes(walk, 0);
    fill_runtimes(walk, SLOTS - 1);
    for (step = 0; step < walk->steps; step++) {
        ti_set_last_error(TI_ERROR_SUCCESS, NULL);
        switch (step < 60 ? 0 : chance(walk, 12)) {
        case 0:
        case 1:
        case 2: make(walk); break;
        case 3: give_back(walk); break;
        case 4:
        case 5:
        case 6: copy(walk); break;
        case 7: use(walk); break;
        default: launch(walk);
        }
        if (ti_get_last_error(NULL, NULL) == TI_ERROR_SUCCESS) {
            walk->successes++;
        } else {
            walk->failures++;
            if (!*ti_get_last_error_message()) {
                printf("an error without a text\n");
            }
        }
    }
    for (i = 0; i < SLOTS; i++) {
        ti_destroy_runtime((TiRuntime)walk->handles[RUNTIME][i]); /* twice, some of them */
    }
    walk->is_good = works(walk->path);
    return NULL;
}

int main(int argc, char **argv) {
    enum { MOST = 8 };
    int threads = argc > 4 ? atoi(argv[4]) : 1, i, is_good = 1;
    Walk *walks = (Walk *)calloc(MOST, sizeof(Walk));
    pthread_t started[MOST];
    if (argc < 4 || threads < 1 || threads > MOST || !walks) {
        return 2;
    }
    for (i = 0; i < threads; i++) {
        walks[i].path = argv[1];
        walks[i].state = (uint64_t)atoi(argv[2]) * 1000 + (uint64_t)i;
        walks[i].steps = atoi(argv[3]);
        pthread_create(&started[i], NULL, walk_on, &walks[i]);
    }
    for (i = 0; i < threads; i++) {
        pthread_join(started[i], NULL);
        printf("%d calls did something, %d gave an error\n", walks[i].successes, walks[i].failures);
        is_good = is_good && walks[i].is_good;
    }
    free(walks);
    return is_good ? 0 : 1;
}
