/* --- devices: what Vulkan and CUDA have in common ----------------------------------------------------------------- */

typedef struct VulkanDevice VulkanDevice;
typedef struct CudaDevice CudaDevice;
typedef struct Program Program;

/* Device memory. address: for kernels. buffer, memory: handles of the driver. visible: address on the host, null if the
   host cannot access it. mapped: the address that ti_map_memory returned, null while it is not mapped. is_tree: belongs
   to a module, and is freed with it. */
struct TiMemory_t {
    Handle handle;
    TiRuntime runtime;
    TiMemory previous, next;
    uint64_t size, address;
    uint64_t buffer, memory;
    void *visible, *mapped;
    bool is_staged, host_read, host_write, is_tree;
};

/* An image. image, memory, view: handles of the driver. is_storage, is_interpolated: whether the device stores and
   filters its format. */
struct TiImage_t {
    Handle handle;
    TiRuntime runtime;
    TiImage previous, next;
    TiImageDimension dimension;
    TiImageExtent extent;
    TiFormat format;
    uint64_t image, memory, view;
    bool is_storage, is_interpolated;
};

/* How textures are sampled. handles: of the driver, for texels of floats and for texels of integers. */
struct TiSampler_t {
    Handle handle;
    TiRuntime runtime;
    TiSampler previous, next;
    TiSamplerCreateInfo info;
    uint64_t handles[2];
};

/* A kernel on a device. args: the argument block; the members known at load time are filled in. textures: of the
   launch, in the order of the bindings. */
struct TiKernel_t {
    Handle handle;
    TiAotModule module;
    const KernelData *data;
    Program *program;
    uint8_t *args;
    int64_t *counts;
    const TiTexture **textures;
    TiMemory results, temporaries;
};

struct TiComputeGraph_t {
    Handle handle;
    TiAotModule module;
    const GraphData *data;
};

struct TiAotModule_t {
    Handle handle;
    TiRuntime runtime;
    TiAotModule previous, next;
    uint8_t *bytes;
    Manifest manifest;
    TiMemory *trees;
    TiKernel *kernels;
    TiComputeGraph *graphs;
};

/* What differs between devices. All functions except `close` and `free_memory` report errors with `fail`. enter, leave:
   called around every public function. build: creates the program of a kernel, which free_program frees even after a
   failure. start: starts the tasks with the packed arguments; counts: iterations of each task, -1 if only the device
   knows them. */
typedef struct Backend {
    bool (*enter)(TiRuntime runtime);
    void (*leave)(TiRuntime runtime);
    void (*close)(TiRuntime runtime);
    bool (*allocate)(TiRuntime runtime, TiMemory memory);
    void (*free_memory)(TiRuntime runtime, TiMemory memory);
    bool (*read)(TiRuntime runtime, TiMemory memory, uint64_t offset, void *to, uint64_t size);
    bool (*write)(TiRuntime runtime, TiMemory memory, uint64_t offset, const void *from, uint64_t size);
    bool (*copy)(TiRuntime runtime, TiMemory to, uint64_t to_offset, TiMemory from, uint64_t from_offset,
                 uint64_t size);
    bool (*build)(TiRuntime runtime, TiKernel kernel);
    void (*free_program)(TiRuntime runtime, Program *program);
    bool (*start)(TiRuntime runtime, TiKernel kernel, const int64_t *counts);
    bool (*flush)(TiRuntime runtime);
    bool (*wait)(TiRuntime runtime);
} Backend;

struct TiRuntime_t {
    Handle handle;
    TiArch arch;
    const Backend *backend;
    VulkanDevice *vulkan;
    CudaDevice *cuda;
    TiMemory memories;
    TiImage images;
    TiSampler samplers;
    TiAotModule modules;
    TiMemory report;
    uint32_t random_seed, launches;
    bool is_showing; /* the print callback is running */
    char name[256];
};

static uint64_t rounded_up(uint64_t size, uint64_t unit) {
    return (size + unit - 1) / unit * unit;
}

/* Add memory to the list of its runtime. */
static void memory_list(TiMemory memory) {
    memory->next = memory->runtime->memories;
    if (memory->next) {
        memory->next->previous = memory;
    }
    memory->runtime->memories = memory;
}

/* Allocate zeroed memory of a runtime. */
static TiMemory memory_make(TiRuntime runtime, uint64_t size) {
    TiMemory memory = (TiMemory)handle_acquire(HANDLE_MEMORY, sizeof(struct TiMemory_t));
    if (!memory) {
        return NULL;
    }
    memory->runtime = runtime;
    memory->size = size;
    if (!runtime->backend->allocate(runtime, memory)) {
        runtime->backend->free_memory(runtime, memory);
        handle_release(memory);
        return NULL;
    }
    memory_list(memory);
    return memory;
}

/* Free memory that no launch uses any more. */
static void memory_free(TiMemory memory) {
    if (!memory) {
        return;
    }
    if (memory->previous) {
        memory->previous->next = memory->next;
    } else {
        memory->runtime->memories = memory->next;
    }
    if (memory->next) {
        memory->next->previous = memory->previous;
    }
    memory->runtime->backend->free_memory(memory->runtime, memory);
    if (memory->is_staged) {
        free(memory->mapped);
    }
    handle_release(memory);
}
