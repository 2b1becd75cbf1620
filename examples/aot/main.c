/* Launch `paint` of an archive and write the image it makes: main vulkan|cuda julia.tcm julia.pgm [raw floats]

   Neither Python nor shadesmith is needed: this file, shadesmith.h and shadesmith.c are the whole program. */

#include "shadesmith.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 320, WIDTH = 2 * N, HEIGHT = N };

/* Tell what went wrong, and end. */
static void check(const char *action) {
    if (ti_get_last_error(NULL, NULL) != TI_ERROR_SUCCESS) {
        fprintf(stderr, "%s: %s\n", action, ti_get_last_error_message());
        exit(1);
    }
}

static void write_image(const char *path, const float *pixels) {
    FILE *file = fopen(path, "wb");
    int i, j;
    if (!file) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(1);
    }
    fprintf(file, "P5 %d %d 255\n", WIDTH, HEIGHT);
    for (j = HEIGHT - 1; j >= 0; j--) { /* the origin is at the bottom */
        for (i = 0; i < WIDTH; i++) {
            float grey = pixels[i * HEIGHT + j];
            fputc((int)(255.0f * (grey < 0.0f ? 0.0f : grey > 1.0f ? 1.0f : grey)), file);
        }
    }
    fclose(file);
}

int main(int argc, char **argv) {
    TiRuntime runtime;
    TiAotModule module;
    TiKernel paint;
    TiMemory memory;
    TiMemoryAllocateInfo info;
    TiArgument arguments[3];
    float *pixels;

    if (argc < 4) {
        fprintf(stderr, "usage: %s vulkan|cuda ARCHIVE IMAGE [FLOATS]\n", argv[0]);
        return 2;
    }
    runtime = ti_create_runtime(strcmp(argv[1], "cuda") ? TI_ARCH_VULKAN : TI_ARCH_CUDA, 0);
    check("opening the device");
    module = ti_load_aot_module(runtime, argv[2]);
    check("loading the archive");
    paint = ti_get_aot_module_kernel(module, "paint");
    check("finding the kernel");

    memset(&info, 0, sizeof info);
    info.size = sizeof(float) * WIDTH * HEIGHT;
    info.host_read = TI_TRUE;
    memory = ti_allocate_memory(runtime, &info);
    check("allocating memory");

    memset(arguments, 0, sizeof arguments);
    arguments[0].type = TI_ARGUMENT_TYPE_NDARRAY;
    arguments[0].value.ndarray.memory = memory;
    arguments[0].value.ndarray.shape.dim_count = 2;
    arguments[0].value.ndarray.shape.dims[0] = WIDTH;
    arguments[0].value.ndarray.shape.dims[1] = HEIGHT;
    arguments[0].value.ndarray.elem_type = TI_DATA_TYPE_F32;
    arguments[1].type = TI_ARGUMENT_TYPE_I32; /* an integer may be of another type, if it fits */
    arguments[1].value.i32 = N;
    arguments[2].type = TI_ARGUMENT_TYPE_F32;
    arguments[2].value.f32 = 0.5f;
    ti_launch_kernel(runtime, paint, 3, arguments);
    check("launching the kernel");

    pixels = (float *)ti_map_memory(runtime, memory); /* waits for the kernel */
    check("reading the image");
    write_image(argv[3], pixels);
    if (argc > 4) {
        FILE *file = fopen(argv[4], "wb");
        if (!file || fwrite(pixels, sizeof(float), WIDTH * HEIGHT, file) != WIDTH * HEIGHT || fclose(file)) {
            fprintf(stderr, "%s cannot be written\n", argv[4]);
            return 1;
        }
    }
    ti_unmap_memory(runtime, memory);
    printf("%s was painted on %s\n", argv[3], ti_get_runtime_device_name(runtime));
    ti_destroy_runtime(runtime); /* and all that was made from it */
    return 0;
}
