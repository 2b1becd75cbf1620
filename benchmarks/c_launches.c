/* Time launches from C, of shadesmith's runtime or of Taichi's (-DTAICHI): c_launches ARCHIVE. Prints microseconds a kernel:
   host and whole time of plain launches and of the graph, medians of the rounds. */

#ifdef TAICHI
#include <taichi/taichi.h>
#else
#include "shadesmith.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 11, CALLS = 400, GRAPH = 1000 }; /* CALLS: few enough that no launch waits for room */

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static void check(void) {
    char message[1024];
    uint64_t size = sizeof message;
    if (ti_get_last_error(&size, message) != TI_ERROR_SUCCESS) {
        fprintf(stderr, "%s\n", message);
        exit(1);
    }
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
    TiRuntime runtime = ti_create_runtime(TI_ARCH_VULKAN, 0);
    TiAotModule module = ti_load_aot_module(runtime, argc > 1 ? argv[1] : "");
    TiKernel step = ti_get_aot_module_kernel(module, "step");
    TiComputeGraph steps = ti_get_aot_module_compute_graph(module, "steps");
    TiMemoryAllocateInfo info;
    TiArgument arguments[2];
    TiNamedArgument named[2];
    int is_graph, round, i;
    check();
    memset(&info, 0, sizeof info);
    memset(arguments, 0, sizeof arguments);
    info.size = 32 * sizeof(float);
    info.usage = TI_MEMORY_USAGE_STORAGE_BIT;
    arguments[0].type = TI_ARGUMENT_TYPE_F32;
    arguments[0].value.f32 = 1.5f;
    arguments[1].type = TI_ARGUMENT_TYPE_NDARRAY;
    arguments[1].value.ndarray.memory = ti_allocate_memory(runtime, &info);
    arguments[1].value.ndarray.shape.dim_count = 1;
    arguments[1].value.ndarray.shape.dims[0] = 32;
    arguments[1].value.ndarray.elem_type = TI_DATA_TYPE_F32;
    named[0].name = "a";
    named[0].argument = arguments[0];
    named[1].name = "x";
    named[1].argument = arguments[1];
    for (is_graph = 0; is_graph < 2; is_graph++) {
        double host[ROUNDS], all[ROUNDS], begin, count = is_graph ? GRAPH : CALLS;
        for (round = 0; round < ROUNDS; round++) {
            begin = now();
            if (is_graph) {
                ti_launch_compute_graph(runtime, steps, 2, named);
            }
            for (i = 0; !is_graph && i < CALLS; i++) {
                ti_launch_kernel(runtime, step, 2, arguments);
            }
            host[round] = (now() - begin) / count;
            ti_flush(runtime);
            ti_wait(runtime);
            all[round] = (now() - begin) / count;
            check();
        }
        qsort(host, ROUNDS, sizeof *host, compare);
        qsort(all, ROUNDS, sizeof *all, compare);
        printf("%.3f %.3f ", host[ROUNDS / 2], all[ROUNDS / 2]);
    }
    printf("\n");
    ti_destroy_runtime(runtime);
    return 0;
}
