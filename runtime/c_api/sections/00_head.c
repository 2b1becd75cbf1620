/* shadesmith.c: the runtime behind shadesmith.h, in one file. C99, and C++ as well.

   In this order:
     1  errors, memory of the host
     2  SHA-256, CRC-32, inflate
     3  zip: the members of an archive
     4  JSON
     5  the manifest: kernels, graphs, fields as data
     6  SPIR-V and cubins: what a driver may be given
     7  devices: what a runtime asks of Vulkan and CUDA alike
     8  Vulkan
     9  CUDA
    10  archives on a device
    11  launches
    12  what kernels print, and checks that failed
    13  the functions of shadesmith.h

   An archive is data from a stranger: everything up to section 6 trusts no number in it. What is wrong is told by
   `fail`, which keeps code and text for ti_get_last_error and is false, so that a reader can `return fail(...)`. */

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
#define PRINTF_LIKE(text, first)
#else
#define THREAD_LOCAL __thread
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#endif

/* Handles of Vulkan are 64 bit wide everywhere and addresses of devices are put where pointers go. */
typedef char pointers_have_64_bit[sizeof(void *) == 8 ? 1 : -1];
