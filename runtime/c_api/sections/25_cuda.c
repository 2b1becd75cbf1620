/* --- CUDA --------------------------------------------------------------------------------------------------------- */

/* The part of cuda.h that is used. Names end with _v2 if the driver's ABI has them so. Source: CUDA Driver API. */
typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;

#ifdef _WIN32
#define CUDAAPI __stdcall
#else
#define CUDAAPI
#endif

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_LIMIT_STACK_SIZE = 0
};

typedef struct CudaApi {
    CUresult(CUDAAPI *Init)(unsigned int);
    CUresult(CUDAAPI *DeviceGetCount)(int *);
    CUresult(CUDAAPI *DeviceGet)(CUdevice *, int);
    CUresult(CUDAAPI *DeviceGetName)(char *, int, CUdevice);
    CUresult(CUDAAPI *DeviceGetAttribute)(int *, int, CUdevice);
    CUresult(CUDAAPI *DevicePrimaryCtxRetain)(CUcontext *, CUdevice);
    CUresult(CUDAAPI *DevicePrimaryCtxRelease)(CUdevice);
    CUresult(CUDAAPI *CtxPushCurrent)(CUcontext);
    CUresult(CUDAAPI *CtxPopCurrent)(CUcontext *);
    CUresult(CUDAAPI *CtxSynchronize)(void);
    CUresult(CUDAAPI *CtxGetLimit)(size_t *, int);
    CUresult(CUDAAPI *CtxSetLimit)(int, size_t);
    CUresult(CUDAAPI *GetErrorName)(CUresult, const char **);
    CUresult(CUDAAPI *GetErrorString)(CUresult, const char **);
    CUresult(CUDAAPI *MemAlloc)(CUdeviceptr *, size_t);
    CUresult(CUDAAPI *MemFree)(CUdeviceptr);
    CUresult(CUDAAPI *MemsetD8Async)(CUdeviceptr, unsigned char, size_t, CUstream);
    CUresult(CUDAAPI *MemcpyDtoH)(void *, CUdeviceptr, size_t);
    CUresult(CUDAAPI *MemcpyHtoD)(CUdeviceptr, const void *, size_t);
    CUresult(CUDAAPI *MemcpyDtoDAsync)(CUdeviceptr, CUdeviceptr, size_t, CUstream);
    CUresult(CUDAAPI *ModuleLoadData)(CUmodule *, const void *);
    CUresult(CUDAAPI *ModuleUnload)(CUmodule);
    CUresult(CUDAAPI *ModuleGetFunction)(CUfunction *, CUmodule, const char *);
    CUresult(CUDAAPI *LaunchKernel)(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
                                    unsigned int, unsigned int, CUstream, void **, void **);
    /* CUDA 12.4 and later; null before */
    CUresult(CUDAAPI *FuncGetParamInfo)(CUfunction, size_t, size_t *, size_t *);
} CudaApi;

static const FunctionEntry CUDA_FUNCTIONS[] = {
    {offsetof(CudaApi, Init), "cuInit"},
    {offsetof(CudaApi, DeviceGetCount), "cuDeviceGetCount"},
    {offsetof(CudaApi, DeviceGet), "cuDeviceGet"},
    {offsetof(CudaApi, DeviceGetName), "cuDeviceGetName"},
    {offsetof(CudaApi, DeviceGetAttribute), "cuDeviceGetAttribute"},
    {offsetof(CudaApi, DevicePrimaryCtxRetain), "cuDevicePrimaryCtxRetain"},
    {offsetof(CudaApi, DevicePrimaryCtxRelease), "cuDevicePrimaryCtxRelease_v2"},
    {offsetof(CudaApi, CtxPushCurrent), "cuCtxPushCurrent_v2"},
    {offsetof(CudaApi, CtxPopCurrent), "cuCtxPopCurrent_v2"},
    {offsetof(CudaApi, CtxSynchronize), "cuCtxSynchronize"},
    {offsetof(CudaApi, CtxGetLimit), "cuCtxGetLimit"},
    {offsetof(CudaApi, CtxSetLimit), "cuCtxSetLimit"},
    {offsetof(CudaApi, GetErrorName), "cuGetErrorName"},
    {offsetof(CudaApi, GetErrorString), "cuGetErrorString"},
    {offsetof(CudaApi, MemAlloc), "cuMemAlloc_v2"},
    {offsetof(CudaApi, MemFree), "cuMemFree_v2"},
    {offsetof(CudaApi, MemsetD8Async), "cuMemsetD8Async"},
    {offsetof(CudaApi, MemcpyDtoH), "cuMemcpyDtoH_v2"},
    {offsetof(CudaApi, MemcpyHtoD), "cuMemcpyHtoD_v2"},
    {offsetof(CudaApi, MemcpyDtoDAsync), "cuMemcpyDtoDAsync_v2"},
    {offsetof(CudaApi, ModuleLoadData), "cuModuleLoadData"},
    {offsetof(CudaApi, ModuleUnload), "cuModuleUnload"},
    {offsetof(CudaApi, ModuleGetFunction), "cuModuleGetFunction"},
    {offsetof(CudaApi, LaunchKernel), "cuLaunchKernel"},
};

enum { FEW_ITERATIONS = 1 << 15 }; /* for which a task may have smaller blocks */
enum { CUDA_WAVES = 4, CUDA_STACK_BYTES = 16 << 10, CUDA_PARAMETER_BYTES = MAX_CUDA_ARGS_BYTES };

/* All work is on the legacy default stream, so that it is ordered with the work of a host program that uses no stream.
   has_entered: this call pushed the context. */
struct CudaDevice {
    CudaApi api;
    CUdevice device;
    CUcontext context;
    uint32_t architecture; /* 90 for sm_90 */
    uint64_t resident_threads;
    bool is_retained;
};

/* Return true for success; else fail with CUDA's error string. */
static bool cuda_check(TiRuntime runtime, CUresult result, const char *action) {
    CudaApi *api = &runtime->cuda->api;
    const char *name = NULL, *message = NULL;
    if (result == CUDA_SUCCESS) {
        return true;
    }
    if (api->GetErrorName && api->GetErrorString) {
        api->GetErrorName(result, &name);
        api->GetErrorString(result, &message);
    }
    return fail(result == CUDA_ERROR_OUT_OF_MEMORY ? TI_ERROR_OUT_OF_MEMORY : TI_ERROR_INVALID_STATE,
                "%s: %s failed: %s (%d)%s%s", runtime->name, action, name ? name : "an error of CUDA", result,
                message ? ": " : "", message ? message : "");
}

static bool cuda_load(CudaDevice *cuda) {
    static const char *const LIBRARIES[] = {
#if defined(_WIN32)
        "nvcuda.dll",
#else
        "libcuda.so.1", "libcuda.so",
#endif
        NULL};
    void *library = open_library(LIBRARIES);
    AnyFunction function;
    size_t i;
    if (!library) {
        return fail(TI_ERROR_NOT_SUPPORTED, "NVIDIA's driver (%s) is not installed", LIBRARIES[0]);
    }
    for (i = 0; i < sizeof CUDA_FUNCTIONS / sizeof *CUDA_FUNCTIONS; i++) {
        function = library_function(library, CUDA_FUNCTIONS[i].name);
        if (!function) {
            return fail(TI_ERROR_NOT_SUPPORTED, "NVIDIA's driver has no %s: it is too old", CUDA_FUNCTIONS[i].name);
        }
        memcpy((uint8_t *)&cuda->api + CUDA_FUNCTIONS[i].offset, &function, sizeof function);
    }
    function = library_function(library, "cuFuncGetParamInfo");
    memcpy(&cuda->api.FuncGetParamInfo, &function, sizeof function);
    return true;
}

static bool cuda_attribute(TiRuntime runtime, int attribute, int *value) {
    return cuda_check(runtime, runtime->cuda->api.DeviceGetAttribute(value, attribute, runtime->cuda->device),
                      "asking for the GPU's properties");
}

static bool cuda_open(TiRuntime runtime, uint32_t device_index) {
    CudaDevice *cuda = (CudaDevice *)allocate_zeroed(sizeof(CudaDevice));
    int count = 0, major = 0, minor = 0, processors = 0, threads = 0;
    runtime->cuda = cuda;
    snprintf(runtime->name, sizeof runtime->name, "CUDA");
    if (!cuda || !cuda_load(cuda) || !cuda_check(runtime, cuda->api.Init(0), "starting the driver") ||
        !cuda_check(runtime, cuda->api.DeviceGetCount(&count), "counting GPUs")) {
        return false;
    }
    if (device_index >= (uint32_t)count) {
        return fail(count ? TI_ERROR_INVALID_ARGUMENT : TI_ERROR_NOT_SUPPORTED,
                    "there is no GPU %u; the driver shows %d", device_index, count);
    }
    if (!cuda_check(runtime, cuda->api.DeviceGet(&cuda->device, (int)device_index), "choosing a GPU")) {
        return false;
    }
    cuda->api.DeviceGetName(runtime->name, sizeof runtime->name - 1, cuda->device);
    if (!cuda_attribute(runtime, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major) ||
        !cuda_attribute(runtime, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor) ||
        !cuda_attribute(runtime, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &processors) ||
        !cuda_attribute(runtime, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &threads)) {
        return false;
    }
    cuda->architecture = (uint32_t)(10 * major + minor);
    cuda->resident_threads = (uint64_t)processors * (uint64_t)threads;
    if (!cuda_check(runtime, cuda->api.DevicePrimaryCtxRetain(&cuda->context, cuda->device), "making a context")) {
        return false;
    }
    cuda->is_retained = true;
    return true;
}

static void cuda_close(TiRuntime runtime) {
    CudaDevice *cuda = runtime->cuda;
    if (cuda && cuda->is_retained) {
        cuda->api.DevicePrimaryCtxRelease(cuda->device);
    }
    free(cuda);
    runtime->cuda = NULL;
}

/* Restore the context of the calling thread at the end of a call. */
static bool cuda_enter(TiRuntime runtime) {
    return cuda_check(runtime, runtime->cuda->api.CtxPushCurrent(runtime->cuda->context), "entering the context");
}

static void cuda_leave(TiRuntime runtime) {
    CUcontext left;
    runtime->cuda->api.CtxPopCurrent(&left);
}

static bool cuda_allocate(TiRuntime runtime, TiMemory memory) {
    CudaApi *api = &runtime->cuda->api;
    CUdeviceptr address = 0;
    size_t size = (size_t)larger_u64(memory->size, 16);
    CUresult result = api->MemAlloc(&address, size);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        return fail(TI_ERROR_OUT_OF_MEMORY, "%s has no %llu bytes of memory left", runtime->name,
                    (unsigned long long)memory->size);
    }
    if (!cuda_check(runtime, result, "allocating memory")) {
        return false;
    }
    memory->address = memory->buffer = address;
    return cuda_check(runtime, api->MemsetD8Async(address, 0, size, NULL), "clearing memory");
}

static void cuda_free_memory(TiRuntime runtime, TiMemory memory) {
    if (memory->buffer) {
        runtime->cuda->api.MemFree(memory->buffer);
    }
    memory->buffer = memory->address = 0;
}

static bool cuda_read(TiRuntime runtime, TiMemory memory, uint64_t offset, void *to, uint64_t size) {
    return !size || cuda_check(runtime, runtime->cuda->api.MemcpyDtoH(to, memory->address + offset, (size_t)size),
                               "reading memory");
}

static bool cuda_write(TiRuntime runtime, TiMemory memory, uint64_t offset, const void *from, uint64_t size) {
    return !size || cuda_check(runtime, runtime->cuda->api.MemcpyHtoD(memory->address + offset, from, (size_t)size),
                               "writing memory");
}

static bool cuda_copy(TiRuntime runtime, TiMemory to, uint64_t to_offset, TiMemory from, uint64_t from_offset,
                      uint64_t size) {
    return !size || cuda_check(runtime,
                               runtime->cuda->api.MemcpyDtoDAsync(to->address + to_offset, from->address + from_offset,
                                                                  (size_t)size, NULL),
                               "copying memory");
}

/* Load the machine code if it is for this GPU, else the PTX. The code ends with a NUL, since cuModuleLoadData takes no
   size. */
static bool cuda_load_code(TiRuntime runtime, TiKernel kernel, const CodeFile *file) {
    CudaDevice *cuda = runtime->cuda;
    const Manifest *manifest = &kernel->module->manifest;
    uint32_t made_for = manifest->cuda_arch;
    bool fits = made_for / 10 == cuda->architecture / 10 && made_for <= cuda->architecture;
    const ZipMember *members[2];
    CUresult result = CUDA_ERROR_NO_BINARY_FOR_GPU;
    int i;
    members[0] = fits ? file->code : NULL;
    members[1] = manifest->cuda_ptx <= cuda->architecture ? file->ptx : NULL;
    for (i = 0; i < 2 && result == CUDA_ERROR_NO_BINARY_FOR_GPU; i++) {
        uint8_t *code;
        CUmodule module = NULL;
        if (!members[i]) {
            continue;
        }
        code = zip_read(members[i]);
        if (!code) {
            return false;
        }
        result = cuda->api.ModuleLoadData(&module, code);
        free(code);
        if (result == CUDA_SUCCESS) {
            kernel->program->module = module;
        }
    }
    if (result == CUDA_ERROR_NO_BINARY_FOR_GPU) {
        return fail(TI_ERROR_INCOMPATIBLE_MODULE, "the archive is made for sm_%u%s, and %s is sm_%u", made_for,
                    file->ptx ? " and later" : " alone", runtime->name, cuda->architecture);
    }
    return cuda_check(runtime, result, "loading a kernel");
}

/* Check that a function takes the argument block and nothing else, if the driver can tell. */
static bool cuda_check_parameters(TiRuntime runtime, TiKernel kernel, const Task *task, CUfunction function) {
    CudaApi *api = &runtime->cuda->api;
    size_t offset = 0, size = 0;
    if (!api->FuncGetParamInfo || !kernel->data->args_size) {
        return true;
    }
    if (api->FuncGetParamInfo(function, 0, &offset, &size) != CUDA_SUCCESS || size != kernel->data->args_size ||
        api->FuncGetParamInfo(function, 1, &offset, &size) == CUDA_SUCCESS) {
        return fail(TI_ERROR_CORRUPTED_DATA,
                    "function `%s` does not take the %u bytes of arguments that the manifest says", task->entry,
                    kernel->data->args_size);
    }
    return true;
}

static bool cuda_build(TiRuntime runtime, TiKernel kernel) {
    CudaApi *api = &runtime->cuda->api;
    const KernelData *data = kernel->data;
    size_t stack = 0;
    uint32_t i;
    kernel->program->functions = (void **)allocate_zeroed(data->task_count * sizeof(void *));
    if (!kernel->program->functions) {
        return false;
    }
    if (!data->task_count) {
        return true;
    }
    if (data->file_count != 1) {
        return fail(TI_ERROR_CORRUPTED_DATA, "a kernel for CUDA has one file, and this has %u", data->file_count);
    }
    if (data->is_recursive &&
        (!cuda_check(runtime, api->CtxGetLimit(&stack, CU_LIMIT_STACK_SIZE), "asking for the stack") ||
         (stack < CUDA_STACK_BYTES &&
          !cuda_check(runtime, api->CtxSetLimit(CU_LIMIT_STACK_SIZE, CUDA_STACK_BYTES), "taking a larger stack")))) {
        return false;
    }
    if (!cuda_load_code(runtime, kernel, &data->files[0])) {
        return false;
    }
    for (i = 0; i < data->task_count; i++) {
        CUfunction function = NULL;
        if (!cuda_check(runtime,
                        api->ModuleGetFunction(&function, (CUmodule)kernel->program->module, data->tasks[i].entry),
                        "finding a function")) {
            return fail_within("function `%.64s`", data->tasks[i].entry);
        }
        if (!cuda_check_parameters(runtime, kernel, &data->tasks[i], function)) {
            return false;
        }
        kernel->program->functions[i] = function;
    }
    return true;
}

static void cuda_free_program(TiRuntime runtime, Program *program) {
    if (program->module) {
        runtime->cuda->api.ModuleUnload((CUmodule)program->module);
    }
    free(program->functions);
}

static bool cuda_start(TiRuntime runtime, TiKernel kernel, const int64_t *counts) {
    CudaDevice *cuda = runtime->cuda;
    uint32_t i;
    for (i = 0; i < kernel->data->task_count; i++) {
        const Task *task = &kernel->data->tasks[i];
        bool has_few = task->few_block && counts[i] >= 0 && counts[i] <= FEW_ITERATIONS;
        uint32_t block_dim = has_few ? task->few_block : task->block_dim;
        uint64_t group_iterations = (uint64_t)block_dim * task->items, most = INT32_MAX, groups;
        void *parameters[1];
        parameters[0] = kernel->args;
        if (task->is_strided || counts[i] < 0) { /* enough to keep it busy */
            most = larger_u64(1, cuda->resident_threads * CUDA_WAVES / task->block_dim);
        }
        groups =
            counts[i] < 0 ? most : smaller_u64(((uint64_t)counts[i] + group_iterations - 1) / group_iterations, most);
        if (groups &&
            !cuda_check(runtime,
                        cuda->api.LaunchKernel((CUfunction)kernel->program->functions[i], (unsigned int)groups, 1, 1,
                                               block_dim, 1, 1, 0, NULL, parameters, NULL),
                        "starting a kernel")) {
            return fail_within("task `%s`", task->name);
        }
    }
    return true;
}

static bool cuda_flush(TiRuntime runtime) {
    (void)runtime; /* launches start at once */
    return true;
}

static bool cuda_wait(TiRuntime runtime) {
    return cuda_check(runtime, runtime->cuda->api.CtxSynchronize(), "waiting for kernels");
}

static const Backend CUDA_BACKEND = {
    cuda_enter, cuda_leave, cuda_close,        cuda_allocate, cuda_free_memory, cuda_read, cuda_write,
    cuda_copy,  cuda_build, cuda_free_program, cuda_start,    cuda_flush,       cuda_wait,
};
