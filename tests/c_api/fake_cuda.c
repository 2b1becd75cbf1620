/* A libcuda without a GPU. It keeps a list of calls, checks what the driver would check, and lets a chosen call fail.

   FAKE_CUDA_LOG: file to which each call is written. FAKE_CUDA_FAIL=cuMemAlloc_v2:2:700 lets the second call of that
   function return 700. A cubin is an ELF file whose one section is text: `name bytes` for each function, with the
   size of its one parameter; `name -` for one that is not to be found. Device memory is memory of the host. */

#ifdef WITH_CUDA_H
#include <cuda.h>
#else
#include <stddef.h>
typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef int CUdevice_attribute;
typedef int CUlimit;
#endif

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CUctx_st {
    int number;
};
struct CUmod_st {
    char text[4096];
    struct CUfunc_st *functions;
};
struct CUfunc_st {
    char name[256];
    size_t parameter_bytes;
    struct CUfunc_st *next;
};

static struct CUctx_st primary;
static CUcontext stack[16];
static int depth, retained, initialised;
static size_t stack_limit = 1024;
static struct Block {
    char *address;
    size_t size;
    struct Block *next;
} *blocks;
static int modules;

static void note(const char *format, ...) {
    const char *path = getenv("FAKE_CUDA_LOG");
    FILE *file = path ? fopen(path, "a") : NULL;
    va_list values;
    if (file) {
        va_start(values, format);
        vfprintf(file, format, values);
        va_end(values);
        fputc('\n', file);
        fclose(file);
    }
}

/* Return the failure that was asked for, else whether the call is allowed now. */
static CUresult begin(const char *name, int needs_context) {
    static struct {
        const char *name;
        int count;
    } counted[64];
    const char *wish = getenv("FAKE_CUDA_FAIL");
    int i, number = 0, code = 0;
    size_t length = strlen(name);
    for (i = 0; i < 64 && counted[i].name && strcmp(counted[i].name, name); i++) {
    }
    counted[i].name = name;
    counted[i].count++;
    if (wish && !strncmp(wish, name, length) && sscanf(wish + length, ":%d:%d", &number, &code) == 2 &&
        number == counted[i].count) {
        note("%s fails", name);
        return (CUresult)code;
    }
    if (!initialised && strcmp(name, "cuInit")) {
        note("%s before cuInit", name);
        return (CUresult)3;
    }
    if (needs_context && !depth) {
        note("%s without a context", name);
        return (CUresult)201;
    }
    return (CUresult)0;
}

#define BEGIN(name, needs_context)                                                                                     \
    CUresult wrong = begin(name, needs_context);                                                                       \
    if (wrong) {                                                                                                       \
        return wrong;                                                                                                  \
    }

CUresult cuInit(unsigned int flags) {
    BEGIN("cuInit", 0)
    initialised = flags == 0;
    note("cuInit");
    return (CUresult)0;
}

CUresult cuDeviceGetCount(int *count) {
    BEGIN("cuDeviceGetCount", 0)
    *count = getenv("FAKE_CUDA_DEVICES") ? atoi(getenv("FAKE_CUDA_DEVICES")) : 1;
    return (CUresult)0;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    BEGIN("cuDeviceGet", 0)
    *device = 40 + ordinal;
    return (CUresult)0;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
    BEGIN("cuDeviceGetName", 0)
    snprintf(name, (size_t)size, "Fake GPU %d", device);
    return (CUresult)0;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    BEGIN("cuDeviceGetAttribute", 0)
    (void)device;
    *value = (int)attribute == 16   ? 132
             : (int)attribute == 39 ? 2048
             : (int)attribute == 75 ? 9
             : (int)attribute == 76 ? 0
                                    : -1;
    return *value < 0 ? (CUresult)1 : (CUresult)0;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    BEGIN("cuDevicePrimaryCtxRetain", 0)
    note("retain %d", device);
    *context = &primary;
    retained++;
    return (CUresult)0;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    BEGIN("cuDevicePrimaryCtxRelease_v2", 0)
    note("release %d%s%s%s", device, blocks ? " with memory" : "", modules ? " with modules" : "",
         depth ? " while current" : "");
    retained--;
    return (CUresult)0;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
    BEGIN("cuCtxPushCurrent_v2", 0)
    if (context != &primary || !retained || depth == 16) {
        return (CUresult)201;
    }
    stack[depth++] = context;
    return (CUresult)0;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
    BEGIN("cuCtxPopCurrent_v2", 1)
    *context = stack[--depth];
    return (CUresult)0;
}

CUresult cuCtxSynchronize(void) {
    BEGIN("cuCtxSynchronize", 1)
    note("synchronize");
    return (CUresult)0;
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit) {
    BEGIN("cuCtxGetLimit", 1)
    *value = stack_limit;
    return (int)limit == 0 ? (CUresult)0 : (CUresult)1;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    BEGIN("cuCtxSetLimit", 1)
    note("limit %d %zu", (int)limit, value);
    stack_limit = value;
    return (CUresult)0;
}

CUresult cuGetErrorName(CUresult error, const char **text) {
    *text = (int)error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OF_A_TEST";
    return (CUresult)0;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
    *text = (int)error == 700 ? "an illegal memory access was encountered" : "words of a test";
    return (CUresult)0;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
    struct Block *block;
    BEGIN("cuMemAlloc_v2", 1)
    if (size == 0) {
        return (CUresult)1;
    }
    if (size > (size_t)1 << 32) {
        return (CUresult)2;
    }
    block = (struct Block *)malloc(sizeof *block);
    block->address = (char *)malloc(size);
    memset(block->address, 0xaa, size);
    block->size = size;
    block->next = blocks;
    blocks = block;
    *address = (CUdeviceptr)(uintptr_t)block->address;
    note("alloc %zu", size);
    return (CUresult)0;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    struct Block **place;
    BEGIN("cuMemFree_v2", 1)
    for (place = &blocks; *place; place = &(*place)->next) {
        if ((CUdeviceptr)(uintptr_t)(*place)->address == address) {
            struct Block *block = *place;
            *place = block->next;
            free(block->address);
            free(block);
            return (CUresult)0;
        }
    }
    note("free of what is not allocated");
    return (CUresult)1;
}

/* Whether bytes lie within one allocation. */
static int is_inside(CUdeviceptr address, size_t size) {
    struct Block *block;
    for (block = blocks; block; block = block->next) {
        CUdeviceptr first = (CUdeviceptr)(uintptr_t)block->address;
        if (address >= first && address + size <= first + block->size) {
            return 1;
        }
    }
    note("an address outside");
    return 0;
}

CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t size, CUstream stream) {
    BEGIN("cuMemsetD8Async", 1)
    if (stream || !is_inside(address, size)) {
        return (CUresult)1;
    }
    memset((void *)(uintptr_t)address, value, size);
    return (CUresult)0;
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size) {
    BEGIN("cuMemcpyDtoH_v2", 1)
    if (!is_inside(from, size)) {
        return (CUresult)1;
    }
    memcpy(to, (void *)(uintptr_t)from, size);
    return (CUresult)0;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size) {
    BEGIN("cuMemcpyHtoD_v2", 1)
    if (!is_inside(to, size)) {
        return (CUresult)1;
    }
    memcpy((void *)(uintptr_t)to, from, size);
    return (CUresult)0;
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
    BEGIN("cuMemcpyDtoDAsync_v2", 1)
    if (stream || !is_inside(to, size) || !is_inside(from, size)) {
        return (CUresult)1;
    }
    memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, size);
    return (CUresult)0;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    const char *bytes = (const char *)image;
    CUmodule made;
    BEGIN("cuModuleLoadData", 1)
    made = (CUmodule)calloc(1, sizeof *made);
    if (!memcmp(bytes, "\177ELF", 4)) {
        uint64_t sections, offset, size;
        memcpy(&sections, bytes + 40, 8);
        memcpy(&offset, bytes + sections + 24, 8);
        memcpy(&size, bytes + sections + 32, 8);
        memcpy(made->text, bytes + offset, size);
        note("load cubin");
    } else if (strstr(bytes, ".version")) {
        snprintf(made->text, sizeof made->text, "%s", strstr(bytes, "\n") + 1);
        note("load ptx of %zu bytes", strlen(bytes));
    } else {
        free(made);
        return (CUresult)200;
    }
    if (strstr(made->text, "NOT FOR THIS GPU")) {
        free(made);
        return (CUresult)209;
    }
    modules++;
    *module = made;
    return (CUresult)0;
}

CUresult cuModuleUnload(CUmodule module) {
    BEGIN("cuModuleUnload", 1)
    while (module->functions) {
        struct CUfunc_st *next = module->functions->next;
        free(module->functions);
        module->functions = next;
    }
    free(module);
    modules--;
    note("unload");
    return (CUresult)0;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    char found[256], size[32];
    const char *at;
    BEGIN("cuModuleGetFunction", 1)
    for (at = module->text; at && sscanf(at, "%255s %31s", found, size) == 2;
         at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
        if (!strcmp(found, name) && strcmp(size, "-")) {
            CUfunction made = (CUfunction)calloc(1, sizeof *made);
            snprintf(made->name, sizeof made->name, "%s", name);
            made->parameter_bytes = (size_t)atoi(size);
            made->next = module->functions;
            module->functions = made;
            *function = made;
            return (CUresult)0;
        }
    }
    return (CUresult)500;
}

#ifndef WITHOUT_PARAMETER_INFO
CUresult cuFuncGetParamInfo(CUfunction function, size_t number, size_t *offset, size_t *size) {
    if (number) {
        return (CUresult)1;
    }
    *offset = 0;
    *size = function->parameter_bytes;
    return (CUresult)0;
}
#endif

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                        CUstream stream, void **parameters, void **extra) {
    size_t i;
    char hex[2 * 4096 + 1] = "";
    BEGIN("cuLaunchKernel", 1)
    if (!grid_x || !block_x || block_x > 1024 || stream || extra || !parameters) {
        return (CUresult)1;
    }
    for (i = 0; i < function->parameter_bytes; i++) {
        snprintf(hex + 2 * i, 3, "%02x", ((unsigned char *)parameters[0])[i]);
    }
    note("launch %s %u %u %u %u %u %u %u %s", function->name, grid_x, grid_y, grid_z, block_x, block_y, block_z,
         shared_bytes, hex);
    return (CUresult)0;
}
