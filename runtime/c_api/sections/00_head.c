/* shadesmith.c: the runtime behind shadesmith.h, in one file. C99, and C++ as well.

   Generated: `make c-api` in shadesmith's repository joins the files of runtime/c_api/sections. Edit those.

   In this order:
   - errors, handles, memory of the host
   - SHA-256, CRC-32, inflate
   - zip: the members of an archive
   - JSON: the parser
   - JSON: access to values, and errors with their paths
   - numbers: scalar types, texel formats, half precision
   - manifest: its data
   - manifest: types and shapes
   - manifest: expressions, parameters, arrays, textures
   - manifest: the argument block, loops and tasks
   - manifest: files, results, sites and modules of kernels
   - manifest: tables of kernels, fields and graphs
   - manifest: members of the archive, requirements
   - SPIR-V: validation of shaders
   - cubins, PTX, and all binaries of an archive
   - devices: what Vulkan and CUDA have in common
   - Vulkan: declarations
   - Vulkan: functions, features and state of a device
   - Vulkan: errors, loading of functions
   - Vulkan: choice and creation of a device
   - Vulkan: memory, command buffers, copies
   - Vulkan: images and samplers
   - Vulkan: kernels
   - Vulkan: launches
   - CUDA
   - modules: archives on a device
   - launches: arguments, evaluation, iterations
   - reports: prints and failed checks
   - functions of shadesmith.h: errors, runtimes, memory
   - functions of shadesmith.h: images and samplers
   - functions of shadesmith.h: modules
   - functions of shadesmith.h: launches, graphs, results

   An archive is untrusted data: everything up to the binaries of an archive checks each number before it uses it.
   `fail` reports an error: it records code and message for ti_get_last_error and returns false, so that a function that
   reads something can `return fail(...)`. */

#if !defined(_WIN32) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include "shadesmith.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#include <pthread.h>
#endif

#if defined(_MSC_VER)
#define THREAD_LOCAL __declspec(thread)
#define PRINTF_LIKE(format_number, first_number)
#else
#define THREAD_LOCAL __thread
#define PRINTF_LIKE(format_number, first_number) __attribute__((format(printf, format_number, first_number)))
#endif

/* Vulkan handles have 64 bits on every platform, and device addresses are stored in pointers. */
typedef char pointers_have_64_bit[sizeof(void *) == 8 ? 1 : -1];
