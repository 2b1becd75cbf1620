/* shadesmith.h: run kernels and graphs of a shadesmith archive (.tcm) from C, C++ or any language that calls C.

   Copy this file and shadesmith.c into your project. They need no package, no SDK and no Python: the Vulkan loader or
   the CUDA driver is opened when a runtime is created.

       TiRuntime runtime = ti_create_runtime(TI_ARCH_VULKAN, 0);
       TiAotModule module = ti_load_aot_module(runtime, "julia.tcm");
       TiKernel paint = ti_get_aot_module_kernel(module, "paint");
       ...
       ti_launch_kernel(runtime, paint, 2, arguments);
       ti_wait(runtime);

   Functions that can fail return TI_NULL_HANDLE or nothing; ti_get_last_error returns code and message of the
   last call of this thread that failed. A runtime and everything created from it must be used by one thread at a
   time.
   Names and structs are close to those of Taichi's C-API; docs/c-api.md lists the differences. */

#ifndef SHADESMITH_H
#define SHADESMITH_H

#include <stddef.h>
#include <stdint.h>

#ifndef TI_API_CALL
#if defined(_WIN32) && defined(SHADESMITH_BUILD_DLL)
#define TI_API_CALL __declspec(dllexport)
#elif defined(__GNUC__)
#define TI_API_CALL __attribute__((visibility("default")))
#else
#define TI_API_CALL
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* MAJOR * 1000000 + MINOR * 1000 + PATCH of this header. */
#define TI_C_API_VERSION 1000000

#define TI_TRUE 1u
#define TI_FALSE 0u
#define TI_NULL_HANDLE 0

#define TI_MAX_DIM_COUNT 16

typedef uint32_t TiBool;

typedef struct TiRuntime_t *TiRuntime;
typedef struct TiAotModule_t *TiAotModule;
typedef struct TiMemory_t *TiMemory;
typedef struct TiImage_t *TiImage;
typedef struct TiSampler_t *TiSampler;
typedef struct TiKernel_t *TiKernel;
typedef struct TiComputeGraph_t *TiComputeGraph;

typedef enum TiError {
    TI_ERROR_SUCCESS = 0,
    TI_ERROR_NOT_SUPPORTED = -1,  /* the device, or this file, does not support it */
    TI_ERROR_CORRUPTED_DATA = -2, /* the archive is damaged, or is not an archive */
    TI_ERROR_NAME_NOT_FOUND = -3,
    TI_ERROR_INVALID_ARGUMENT = -4,
    TI_ERROR_ARGUMENT_NULL = -5,
    TI_ERROR_ARGUMENT_OUT_OF_RANGE = -6,
    TI_ERROR_ARGUMENT_NOT_FOUND = -7,   /* a graph argument is missing */
    TI_ERROR_INVALID_STATE = -9,        /* the driver failed, the device is lost */
    TI_ERROR_INCOMPATIBLE_MODULE = -10, /* the archive is for another target or device */
    TI_ERROR_OUT_OF_MEMORY = -11,
    TI_ERROR_ASSERTION = -32, /* an assert of a kernel failed */
    TI_ERROR_MAX_ENUM = 0x7fffffff
} TiError;

typedef enum TiArch {
    TI_ARCH_RESERVED = 0,
    TI_ARCH_VULKAN = 1,
    TI_ARCH_CUDA = 3,
    TI_ARCH_MAX_ENUM = 0x7fffffff
} TiArch;

typedef enum TiDataType {
    TI_DATA_TYPE_F16 = 0,
    TI_DATA_TYPE_F32 = 1,
    TI_DATA_TYPE_F64 = 2,
    TI_DATA_TYPE_I8 = 3,
    TI_DATA_TYPE_I16 = 4,
    TI_DATA_TYPE_I32 = 5,
    TI_DATA_TYPE_I64 = 6,
    TI_DATA_TYPE_U1 = 7,
    TI_DATA_TYPE_U8 = 8,
    TI_DATA_TYPE_U16 = 9,
    TI_DATA_TYPE_U32 = 10,
    TI_DATA_TYPE_U64 = 11,
    TI_DATA_TYPE_UNKNOWN = 13, /* elements that are structs */
    TI_DATA_TYPE_MAX_ENUM = 0x7fffffff
} TiDataType;

typedef enum TiArgumentType {
    TI_ARGUMENT_TYPE_I32 = 0,
    TI_ARGUMENT_TYPE_F32 = 1,
    TI_ARGUMENT_TYPE_NDARRAY = 2,
    TI_ARGUMENT_TYPE_TEXTURE = 3,
    TI_ARGUMENT_TYPE_SCALAR = 4,
    TI_ARGUMENT_TYPE_TENSOR = 5,
    TI_ARGUMENT_TYPE_STRUCT = 32,
    TI_ARGUMENT_TYPE_MAX_ENUM = 0x7fffffff
} TiArgumentType;

/* Usage of memory; shadesmith's memory supports all of it. */
typedef enum TiMemoryUsageFlagBits {
    TI_MEMORY_USAGE_STORAGE_BIT = 1 << 0,
    TI_MEMORY_USAGE_UNIFORM_BIT = 1 << 1,
    TI_MEMORY_USAGE_VERTEX_BIT = 1 << 2,
    TI_MEMORY_USAGE_INDEX_BIT = 1 << 3
} TiMemoryUsageFlagBits;
typedef uint32_t TiMemoryUsageFlags;

/* host_write, host_read: whether ti_map_memory will be used to write, to read. */
typedef struct TiMemoryAllocateInfo {
    uint64_t size;
    TiBool host_write;
    TiBool host_read;
    TiBool export_sharing;
    TiMemoryUsageFlags usage;
} TiMemoryAllocateInfo;

typedef struct TiMemorySlice {
    TiMemory memory;
    uint64_t offset;
    uint64_t size;
} TiMemorySlice;

/* Extents, the slowest axis first. */
typedef struct TiNdShape {
    uint32_t dim_count;
    uint32_t dims[TI_MAX_DIM_COUNT];
} TiNdShape;

/* Contiguous elements in row-major order from the first byte of the memory on. elem_shape: () for scalars, (n) for
   vectors, (n, m) for matrices. elem_type TI_DATA_TYPE_UNKNOWN: elements are the structs of the kernel's parameter. */
typedef struct TiNdArray {
    TiMemory memory;
    TiNdShape shape;
    TiNdShape elem_shape;
    TiDataType elem_type;
} TiNdArray;

typedef enum TiImageUsageFlagBits {
    TI_IMAGE_USAGE_STORAGE_BIT = 1 << 0, /* kernels load and store texels */
    TI_IMAGE_USAGE_SAMPLED_BIT = 1 << 1, /* kernels sample and fetch; every image supports it */
    TI_IMAGE_USAGE_ATTACHMENT_BIT = 1 << 2
} TiImageUsageFlagBits;
typedef uint32_t TiImageUsageFlags;

typedef enum TiImageDimension {
    TI_IMAGE_DIMENSION_1D = 0,
    TI_IMAGE_DIMENSION_2D = 1,
    TI_IMAGE_DIMENSION_3D = 2,
    TI_IMAGE_DIMENSION_1D_ARRAY = 3,
    TI_IMAGE_DIMENSION_2D_ARRAY = 4,
    TI_IMAGE_DIMENSION_CUBE = 5,
    TI_IMAGE_DIMENSION_MAX_ENUM = 0x7fffffff
} TiImageDimension;

/* The next usage of an image; shadesmith's images are ready for all of them at any time. */
typedef enum TiImageLayout {
    TI_IMAGE_LAYOUT_UNDEFINED = 0,
    TI_IMAGE_LAYOUT_SHADER_READ = 1,
    TI_IMAGE_LAYOUT_SHADER_WRITE = 2,
    TI_IMAGE_LAYOUT_SHADER_READ_WRITE = 3,
    TI_IMAGE_LAYOUT_COLOR_ATTACHMENT = 4,
    TI_IMAGE_LAYOUT_COLOR_ATTACHMENT_READ = 5,
    TI_IMAGE_LAYOUT_DEPTH_ATTACHMENT = 6,
    TI_IMAGE_LAYOUT_DEPTH_ATTACHMENT_READ = 7,
    TI_IMAGE_LAYOUT_TRANSFER_DST = 8,
    TI_IMAGE_LAYOUT_TRANSFER_SRC = 9,
    TI_IMAGE_LAYOUT_PRESENT_SRC = 10,
    TI_IMAGE_LAYOUT_MAX_ENUM = 0x7fffffff
} TiImageLayout;

/* As ti.Format: R8 stores numbers from 0 to 1, R8U and R8I integers, R16F floats. */
typedef enum TiFormat {
    TI_FORMAT_UNKNOWN = 0,
    TI_FORMAT_R8 = 1,
    TI_FORMAT_RG8 = 2,
    TI_FORMAT_RGBA8 = 3,
    TI_FORMAT_RGBA8SRGB = 4,
    TI_FORMAT_BGRA8 = 5,
    TI_FORMAT_BGRA8SRGB = 6,
    TI_FORMAT_R8U = 7,
    TI_FORMAT_RG8U = 8,
    TI_FORMAT_RGBA8U = 9,
    TI_FORMAT_R8I = 10,
    TI_FORMAT_RG8I = 11,
    TI_FORMAT_RGBA8I = 12,
    TI_FORMAT_R16 = 13,
    TI_FORMAT_RG16 = 14,
    TI_FORMAT_RGB16 = 15,
    TI_FORMAT_RGBA16 = 16,
    TI_FORMAT_R16U = 17,
    TI_FORMAT_RG16U = 18,
    TI_FORMAT_RGB16U = 19,
    TI_FORMAT_RGBA16U = 20,
    TI_FORMAT_R16I = 21,
    TI_FORMAT_RG16I = 22,
    TI_FORMAT_RGB16I = 23,
    TI_FORMAT_RGBA16I = 24,
    TI_FORMAT_R16F = 25,
    TI_FORMAT_RG16F = 26,
    TI_FORMAT_RGB16F = 27,
    TI_FORMAT_RGBA16F = 28,
    TI_FORMAT_R32U = 29,
    TI_FORMAT_RG32U = 30,
    TI_FORMAT_RGB32U = 31,
    TI_FORMAT_RGBA32U = 32,
    TI_FORMAT_R32I = 33,
    TI_FORMAT_RG32I = 34,
    TI_FORMAT_RGB32I = 35,
    TI_FORMAT_RGBA32I = 36,
    TI_FORMAT_R32F = 37,
    TI_FORMAT_RG32F = 38,
    TI_FORMAT_RGB32F = 39,
    TI_FORMAT_RGBA32F = 40,
    TI_FORMAT_DEPTH16 = 41,
    TI_FORMAT_DEPTH24STENCIL8 = 42,
    TI_FORMAT_DEPTH32F = 43,
    TI_FORMAT_MAX_ENUM = 0x7fffffff
} TiFormat;

typedef struct TiImageOffset {
    uint32_t x, y, z;
    uint32_t array_layer_offset; /* 0 */
} TiImageOffset;

/* Texels along each axis, 1 for an axis that the image does not have. */
typedef struct TiImageExtent {
    uint32_t width, height, depth;
    uint32_t array_layer_count; /* 1 */
} TiImageExtent;

typedef struct TiImageAllocateInfo {
    TiImageDimension dimension; /* 1D, 2D or 3D */
    TiImageExtent extent;
    uint32_t mip_level_count; /* 1 */
    TiFormat format;
    TiBool export_sharing; /* TI_FALSE */
    TiImageUsageFlags usage;
} TiImageAllocateInfo;

typedef struct TiImageSlice {
    TiImage image;
    TiImageOffset offset;
    TiImageExtent extent;
    uint32_t mip_level; /* 0 */
} TiImageSlice;

typedef enum TiFilter {
    TI_FILTER_NEAREST = 0,
    TI_FILTER_LINEAR = 1,
    TI_FILTER_MAX_ENUM = 0x7fffffff
} TiFilter;

/* The value of a sample outside of the image. */
typedef enum TiAddressMode {
    TI_ADDRESS_MODE_REPEAT = 0,
    TI_ADDRESS_MODE_MIRRORED_REPEAT = 1,
    TI_ADDRESS_MODE_CLAMP_TO_EDGE = 2,
    TI_ADDRESS_MODE_CLAMP_TO_BORDER = 3, /* 0 */
    TI_ADDRESS_MODE_MAX_ENUM = 0x7fffffff
} TiAddressMode;

/* max_anisotropy: 0 or 1, since kernels pass the level that they sample. */
typedef struct TiSamplerCreateInfo {
    TiFilter mag_filter;
    TiFilter min_filter;
    TiAddressMode address_mode;
    float max_anisotropy;
} TiSamplerCreateInfo;

/* dimension, extent, format: those of the image. sampler: null for the default, which repeats and is linear if the
   device interpolates the format, else nearest; ignored for a parameter that loads and stores. */
typedef struct TiTexture {
    TiImage image;
    TiSampler sampler;
    TiImageDimension dimension;
    TiImageExtent extent;
    TiFormat format;
} TiTexture;

typedef union TiScalarValue {
    uint8_t x8;
    uint16_t x16;
    uint32_t x32;
    uint64_t x64;
} TiScalarValue;

/* The bits of a number: a double is copied into x64. An integer may have another type than the parameter if it is in
   the range of the parameter's type. */
typedef struct TiScalar {
    TiDataType type;
    TiScalarValue value;
} TiScalar;

typedef union TiTensorValue {
    uint8_t x8[128];
    uint16_t x16[64];
    uint32_t x32[32];
    uint64_t x64[16];
} TiTensorValue;

typedef struct TiTensorValueWithLength {
    uint32_t length; /* number of numbers, not of bytes */
    TiTensorValue data;
} TiTensorValueWithLength;

/* A vector or matrix by value, in row-major order, of the parameter's own type. */
typedef struct TiTensor {
    TiDataType type;
    TiTensorValueWithLength contents;
} TiTensor;

/* A struct, vector or matrix by value: its numbers in order, each at the next multiple of its own size. */
typedef struct TiStruct {
    const void *data;
    uint64_t size;
} TiStruct;

typedef union TiArgumentValue {
    int32_t i32;
    float f32;
    TiNdArray ndarray;
    TiTexture texture;
    TiScalar scalar;
    TiTensor tensor;
    TiStruct structure;
} TiArgumentValue;

typedef struct TiArgument {
    TiArgumentType type;
    TiArgumentValue value;
} TiArgument;

typedef struct TiNamedArgument {
    const char *name;
    TiArgument argument;
} TiNamedArgument;

/* The location of a field of an archive. The element of index i starts at slice.offset + sum(i[k] * strides[k]) [bytes]
   of slice.memory; the components of its elem_shape follow in row-major order. */
typedef struct TiField {
    TiMemorySlice slice;
    TiNdShape shape;
    TiNdShape elem_shape;
    TiDataType elem_type;
    uint64_t elem_size;
    uint64_t strides[TI_MAX_DIM_COUNT];
} TiField;

/* --- the library -------------------------------------------------------------------------------------------------- */

TI_API_CALL uint32_t ti_get_version(void);

/* Write the archs that can be opened on this machine. archs may be null; arch_count is set to their number. */
TI_API_CALL void ti_get_available_archs(uint32_t *arch_count, TiArch *archs);

/* The code of the last failure of this thread, TI_ERROR_SUCCESS if there was none. If message_size is not null it is
   set to the size of the message with its final NUL; if message is not null, at most the former value of message_size
   bytes of it are written. */
TI_API_CALL TiError ti_get_last_error(uint64_t *message_size, char *message);

/* The same message, valid until the next call that fails in this thread; "" if there was none. */
TI_API_CALL const char *ti_get_last_error_message(void);

/* Set or (TI_ERROR_SUCCESS) clear the last failure. */
TI_API_CALL void ti_set_last_error(TiError error, const char *message);

/* Pass what kernels print to a function instead of the standard output; null restores the standard output. */
TI_API_CALL void ti_set_print_callback(void (*callback)(const char *text, uint64_t size, void *user), void *user);

/* --- devices ------------------------------------------------------------------------------------------------------ */

/* Open a device. The fastest type of device has number 0. */
TI_API_CALL TiRuntime ti_create_runtime(TiArch arch, uint32_t device_index);

/* Wait for the device and free everything that was created from the runtime. */
TI_API_CALL void ti_destroy_runtime(TiRuntime runtime);

/* The device's name, valid as long as the runtime. */
TI_API_CALL const char *ti_get_runtime_device_name(TiRuntime runtime);

/* Submit all launches; do not wait. */
TI_API_CALL void ti_flush(TiRuntime runtime);

/* Wait for all launches. */
TI_API_CALL void ti_wait(TiRuntime runtime);

/* The seed of ti.random(), as ti.init(random_seed=...). */
TI_API_CALL void ti_set_runtime_random_seed(TiRuntime runtime, uint32_t seed);

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* Allocate memory on the device, filled with zeros. */
TI_API_CALL TiMemory ti_allocate_memory(TiRuntime runtime, const TiMemoryAllocateInfo *allocate_info);
TI_API_CALL void ti_free_memory(TiRuntime runtime, TiMemory memory);

/* Wait for all launches, and return the address at which the host reads and writes the memory. What it wrote reaches
   the device with ti_unmap_memory. */
TI_API_CALL void *ti_map_memory(TiRuntime runtime, TiMemory memory);
TI_API_CALL void ti_unmap_memory(TiRuntime runtime, TiMemory memory);

/* Copy between the host and the device without a mapping, after all launches. */
TI_API_CALL void ti_read_memory(TiRuntime runtime, const TiMemorySlice *source, void *destination);
TI_API_CALL void ti_write_memory(TiRuntime runtime, const TiMemorySlice *destination, const void *source);
TI_API_CALL void ti_copy_memory_device_to_device(TiRuntime runtime, const TiMemorySlice *dst_memory,
                                                 const TiMemorySlice *src_memory);

/* The address for kernels: a VkDeviceAddress or a CUdeviceptr. */
TI_API_CALL uint64_t ti_get_memory_address(TiRuntime runtime, TiMemory memory);

/* --- images ------------------------------------------------------------------------------------------------------- */

/* Allocate an image for kernels with texture parameters; its texels are 0. Only TI_ARCH_VULKAN. */
TI_API_CALL TiImage ti_allocate_image(TiRuntime runtime, const TiImageAllocateInfo *allocate_info);
TI_API_CALL void ti_free_image(TiRuntime runtime, TiImage image);

TI_API_CALL TiSampler ti_create_sampler(TiRuntime runtime, const TiSamplerCreateInfo *create_info);
TI_API_CALL void ti_destroy_sampler(TiRuntime runtime, TiSampler sampler);

/* State the next usage of an image. It needs no action here; a usage that images do not support is an error. */
TI_API_CALL void ti_transition_image(TiRuntime runtime, TiImage image, TiImageLayout layout);

TI_API_CALL void ti_copy_image_device_to_device(TiRuntime runtime, const TiImageSlice *dst_image,
                                                const TiImageSlice *src_image);

/* Copy texels between an image and memory, where they are contiguous: x fastest, then y, then z. */
TI_API_CALL void ti_copy_memory_to_image(TiRuntime runtime, const TiImageSlice *dst_image,
                                         const TiMemorySlice *src_memory);
TI_API_CALL void ti_copy_image_to_memory(TiRuntime runtime, const TiMemorySlice *dst_memory,
                                         const TiImageSlice *src_image);

/* --- archives ----------------------------------------------------------------------------------------------------- */

/* Check an archive without any device. Returns TI_ERROR_SUCCESS or the code of the failure. */
TI_API_CALL TiError ti_check_aot_module(const void *tcm, uint64_t size);

TI_API_CALL TiAotModule ti_load_aot_module(TiRuntime runtime, const char *module_path);

/* The same from memory, which may be freed afterwards. */
TI_API_CALL TiAotModule ti_create_aot_module(TiRuntime runtime, const void *tcm, uint64_t size);
TI_API_CALL void ti_destroy_aot_module(TiAotModule aot_module);

/* Kernels, graphs and fields live as long as their module. Names of template instances are as in the archive. */
TI_API_CALL TiKernel ti_get_aot_module_kernel(TiAotModule aot_module, const char *name);
TI_API_CALL TiComputeGraph ti_get_aot_module_compute_graph(TiAotModule aot_module, const char *name);
TI_API_CALL TiError ti_get_aot_module_field(TiAotModule aot_module, const char *name, TiField *field);

/* Names in the archive, in ascending order; null after the last one. */
TI_API_CALL const char *ti_get_aot_module_kernel_name(TiAotModule aot_module, uint32_t number);
TI_API_CALL const char *ti_get_aot_module_compute_graph_name(TiAotModule aot_module, uint32_t number);
TI_API_CALL const char *ti_get_aot_module_field_name(TiAotModule aot_module, uint32_t number);

/* --- launches ----------------------------------------------------------------------------------------------------- */

/* Launch a kernel; do not wait, unless it prints or checks. args: one a parameter, except for ti.template() parameters.
   */
TI_API_CALL void ti_launch_kernel(TiRuntime runtime, TiKernel kernel, uint32_t arg_count, const TiArgument *args);

/* Launch the kernels of a graph. args: in any order. */
TI_API_CALL void ti_launch_compute_graph(TiRuntime runtime, TiComputeGraph compute_graph, uint32_t arg_count,
                                         const TiNamedArgument *args);

/* Wait, and copy a result of the last launch of a kernel. number: of the result; size: of the value. */
TI_API_CALL void ti_get_kernel_result(TiRuntime runtime, TiKernel kernel, uint32_t number, void *value, uint64_t size);

#ifdef __cplusplus
}
#endif

#endif
