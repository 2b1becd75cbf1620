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

/* --- errors, handles, memory of the host -------------------------------------------------------------------------- */

enum { ERROR_MESSAGE_BYTES = 4096 };

static THREAD_LOCAL TiError last_error = TI_ERROR_SUCCESS;
static THREAD_LOCAL char last_error_message[ERROR_MESSAGE_BYTES];

PRINTF_LIKE(2, 3)
static bool fail(TiError error, const char *format, ...) {
    va_list values;
    va_start(values, format);
    last_error = error;
    vsnprintf(last_error_message, sizeof last_error_message, format, values);
    va_end(values);
    return false;
}

/* Prefix the message of the last failure. */
PRINTF_LIKE(1, 2)
static bool fail_within(const char *format, ...) {
    char before[256], message[ERROR_MESSAGE_BYTES];
    va_list values;
    va_start(values, format);
    vsnprintf(before, sizeof before, format, values);
    va_end(values);
    memcpy(message, last_error_message, sizeof message);
    return fail(last_error, "%s: %.3800s", before, message);
}

static bool fail_without_memory(uint64_t size) {
    return fail(TI_ERROR_OUT_OF_MEMORY, "the host has no %llu bytes of memory left", (unsigned long long)size);
}

/* Return `size` bytes of zeros, or null after a failure. */
static void *allocate_zeroed(size_t size) {
    void *memory = calloc(1, size ? size : 1);
    if (!memory) {
        fail_without_memory(size);
    }
    return memory;
}

/* The first member of every object that a public handle points to. Its memory is never freed: it is reused for a handle
   of the same kind, the one released longest ago first, so that a released handle can be told apart from a live one. */
typedef enum HandleKind {
    HANDLE_RUNTIME,
    HANDLE_MODULE,
    HANDLE_MEMORY,
    HANDLE_IMAGE,
    HANDLE_SAMPLER,
    HANDLE_KERNEL,
    HANDLE_GRAPH,
    HANDLE_KINDS
} HandleKind;

typedef struct Handle {
    struct Handle *next; /* in the list of released handles */
    uint32_t kind, is_live;
} Handle;

enum { HANDLE_MAGIC = 0x5AADE511, HANDLES_RETAINED = 256 }; /* handles released before the oldest is reused */

static struct {
    Handle *first, *last;
    uint32_t count;
} released_handles[HANDLE_KINDS];

#ifdef _WIN32
static SRWLOCK handle_lock = SRWLOCK_INIT;
static void lock_handles(void) {
    AcquireSRWLockExclusive(&handle_lock);
}
static void unlock_handles(void) {
    ReleaseSRWLockExclusive(&handle_lock);
}
#else
static pthread_mutex_t handle_lock = PTHREAD_MUTEX_INITIALIZER;
static void lock_handles(void) {
    pthread_mutex_lock(&handle_lock);
}
static void unlock_handles(void) {
    pthread_mutex_unlock(&handle_lock);
}
#endif

/* Return a zeroed object of a kind, whose first member is a Handle, or null after a failure. */
static void *handle_acquire(HandleKind kind, size_t size) {
    Handle *handle = NULL;
    lock_handles();
    if (released_handles[kind].count > HANDLES_RETAINED) {
        handle = released_handles[kind].first;
        released_handles[kind].first = handle->next;
        released_handles[kind].count--;
    }
    unlock_handles();
    if (handle) {
        memset(handle, 0, size);
    } else {
        handle = (Handle *)allocate_zeroed(size);
    }
    if (handle) {
        handle->kind = kind;
        handle->is_live = HANDLE_MAGIC;
    }
    return handle;
}

static void handle_release(void *object) {
    Handle *handle = (Handle *)object;
    lock_handles();
    handle->is_live = 0;
    handle->next = NULL;
    if (released_handles[handle->kind].count++) {
        released_handles[handle->kind].last->next = handle;
    } else {
        released_handles[handle->kind].first = handle;
    }
    released_handles[handle->kind].last = handle;
    unlock_handles();
}

/* Check a handle that the caller passes. */
static bool check_handle(const void *object, HandleKind kind, const char *name) {
    static const char *const KINDS[] = {"runtime", "module", "memory", "image", "sampler", "kernel", "graph"};
    const Handle *handle = (const Handle *)object;
    if (!handle) {
        return fail(TI_ERROR_ARGUMENT_NULL, "%s is null", name);
    }
    if (handle->is_live == HANDLE_MAGIC && handle->kind == (uint32_t)kind) {
        return true;
    }
    return fail(TI_ERROR_INVALID_ARGUMENT, "%s is no %s: %s", name, KINDS[kind],
                handle->is_live == HANDLE_MAGIC ? "it is a handle of another kind" : "it was freed before");
}

/* A block of memory that is freed together with all others of its arena. */
typedef struct ArenaBlock {
    struct ArenaBlock *next;
    uint64_t padding;
} ArenaBlock;

typedef struct Arena {
    ArenaBlock *blocks;
    uint8_t *position;
    size_t left;
} Arena;

enum { ARENA_BLOCK_BYTES = 16 << 10, ARENA_ALIGNMENT = 16 };

/* Return `count` zeroed items, or null after a failure. */
static void *arena_allocate(Arena *arena, size_t count, size_t size) {
    size_t bytes, block_size;
    ArenaBlock *block;
    void *items;
    if (size && count > (SIZE_MAX >> 2) / size) {
        fail_without_memory(SIZE_MAX);
        return NULL;
    }
    bytes = (count * size + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    if (bytes > arena->left) {
        block_size = bytes > ARENA_BLOCK_BYTES ? bytes : (size_t)ARENA_BLOCK_BYTES;
        block = (ArenaBlock *)allocate_zeroed(sizeof(ArenaBlock) + block_size);
        if (!block) {
            return NULL;
        }
        block->next = arena->blocks;
        arena->blocks = block;
        arena->position = (uint8_t *)(block + 1);
        arena->left = block_size;
    }
    items = arena->position;
    arena->position += bytes;
    arena->left -= bytes;
    return items;
}

static void arena_free(Arena *arena) {
    while (arena->blocks) {
        ArenaBlock *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    memset(arena, 0, sizeof *arena);
}

static char *arena_string(Arena *arena, const char *string, size_t length) {
    char *copy = (char *)arena_allocate(arena, length + 1, 1);
    if (copy) {
        memcpy(copy, string, length);
    }
    return copy;
}

static uint32_t little_u16(const uint8_t *data) {
    return (uint32_t)data[0] | (uint32_t)data[1] << 8;
}

static uint32_t little_u32(const uint8_t *data) {
    return little_u16(data) | little_u16(data + 2) << 16;
}

static uint64_t little_u64(const uint8_t *data) {
    return (uint64_t)little_u32(data) | (uint64_t)little_u32(data + 4) << 32;
}

static uint64_t smaller_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t larger_u64(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* Open the first of several libraries that exists; `names` ends with null. */
static void *open_library(const char *const *names) {
    void *library = NULL;
    for (; *names && !library; names++) {
#ifdef _WIN32
        library = (void *)LoadLibraryA(*names);
#else
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
#endif
    }
    return library;
}

typedef void (*AnyFunction)(void);

static AnyFunction library_function(void *library, const char *name) {
    AnyFunction function;
#ifdef _WIN32
    FARPROC address = GetProcAddress((HMODULE)library, name);
#else
    void *address = dlsym(library, name);
#endif
    memcpy(&function, &address, sizeof function); /* C has no cast between the two kinds of pointer */
    return function;
}

/* --- SHA-256, CRC-32, inflate ------------------------------------------------------------------------------------- */

static const uint32_t SHA256_ROUNDS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotated(uint32_t word, int count) {
    return word >> count | word << (32 - count);
}

static void sha256_block(uint32_t state[8], const uint8_t *block) {
    uint32_t w[64], v[8];
    int i;
    for (i = 0; i < 16; i++) {
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               (uint32_t)block[4 * i + 3];
    }
    for (; i < 64; i++) {
        uint32_t low = rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t high = rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + low + w[i - 7] + high;
    }
    memcpy(v, state, sizeof v);
    for (i = 0; i < 64; i++) {
        uint32_t high = rotated(v[4], 6) ^ rotated(v[4], 11) ^ rotated(v[4], 25);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t first = v[7] + high + choice + SHA256_ROUNDS[i] + w[i];
        uint32_t low = rotated(v[0], 2) ^ rotated(v[0], 13) ^ rotated(v[0], 22);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += first;
        v[0] = first + low + majority;
    }
    for (i = 0; i < 8; i++) {
        state[i] += v[i];
    }
}

/* Write the digest as 64 hexadecimal digits and a NUL. Source: FIPS 180-4. */
static void sha256_hex(const uint8_t *data, size_t size, char hex[65]) {
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint8_t tail[128];
    size_t whole = size / 64 * 64, rest = size - whole, tail_size = rest < 56 ? 64 : 128, i;
    for (i = 0; i < whole; i += 64) {
        sha256_block(state, data + i);
    }
    memset(tail, 0, sizeof tail);
    if (rest) {
        memcpy(tail, data + whole, rest);
    }
    tail[rest] = 0x80;
    for (i = 0; i < 8; i++) {
        tail[tail_size - 1 - i] = (uint8_t)((uint64_t)size * 8 >> 8 * i);
    }
    for (i = 0; i < tail_size; i += 64) {
        sha256_block(state, tail + i);
    }
    for (i = 0; i < 8; i++) {
        snprintf(hex + 8 * i, 9, "%08x", (unsigned)state[i]);
    }
}

static uint32_t crc32_of(const uint8_t *data, size_t size) {
    static const uint32_t NIBBLES[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    uint32_t crc = 0xffffffff;
    size_t i;
    for (i = 0; i < size; i++) {
        crc ^= data[i];
        crc = crc >> 4 ^ NIBBLES[crc & 15];
        crc = crc >> 4 ^ NIBBLES[crc & 15];
    }
    return ~crc;
}

/* Inflate. Source: RFC 1951. */
typedef struct BitReader {
    const uint8_t *data;
    size_t size, position;
    uint32_t bits;
    int count;
    bool is_over; /* the input ended before the requested bits */
} BitReader;

static uint32_t read_bits(BitReader *reader, int count) {
    uint32_t value;
    while (reader->count < count) {
        uint32_t next = 0;
        if (reader->position < reader->size) {
            next = reader->data[reader->position++];
        } else {
            reader->is_over = true;
        }
        reader->bits |= next << reader->count;
        reader->count += 8;
    }
    value = reader->bits & ((1u << count) - 1u);
    reader->bits >>= count;
    reader->count -= count;
    return value;
}

enum { HUFFMAN_BITS = 15, LITERAL_CODES = 288, DISTANCE_CODES = 32 };

/* Huffman codes by length: the number of codes of each length, and their symbols in order. */
typedef struct Huffman {
    uint16_t counts[HUFFMAN_BITS + 1];
    uint16_t symbols[LITERAL_CODES];
} Huffman;

/* Build the table of codes from their lengths. Return false if there are more codes than the bits allow, or fewer than
   they need; a single code of one bit is valid. */
static bool huffman_build(Huffman *table, const uint8_t *lengths, int count) {
    uint16_t offsets[HUFFMAN_BITS + 1];
    int left = 1, used = 0, i;
    memset(table, 0, sizeof *table);
    for (i = 0; i < count; i++) {
        table->counts[lengths[i]]++;
    }
    used = count - table->counts[0];
    table->counts[0] = 0;
    offsets[0] = offsets[1] = 0;
    for (i = 1; i <= HUFFMAN_BITS; i++) {
        left = 2 * left - table->counts[i];
        if (left < 0) {
            return false;
        }
        if (i < HUFFMAN_BITS) {
            offsets[i + 1] = (uint16_t)(offsets[i] + table->counts[i]);
        }
    }
    for (i = 0; i < count; i++) {
        if (lengths[i]) {
            table->symbols[offsets[lengths[i]]++] = (uint16_t)i;
        }
    }
    return left == 0 || used == 0 || (used == 1 && table->counts[1] == 1);
}

/* Return the next symbol, -1 if no code matches. */
static int huffman_read(BitReader *reader, const Huffman *table) {
    int code = 0, first = 0, index = 0, length;
    for (length = 1; length <= HUFFMAN_BITS; length++) {
        code |= (int)read_bits(reader, 1);
        if (reader->is_over) {
            return -1;
        }
        if (code - table->counts[length] < first) {
            return table->symbols[index + (code - first)];
        }
        index += table->counts[length];
        first = (first + table->counts[length]) << 1;
        code <<= 1;
    }
    return -1;
}

typedef struct Inflated {
    uint8_t *data;
    size_t size, position;
} Inflated;

static bool inflate_stored(BitReader *reader, Inflated *output) {
    size_t size;
    reader->bits = 0;
    reader->count = 0;
    if (reader->size - reader->position < 4) {
        return false;
    }
    size = little_u16(reader->data + reader->position);
    if (little_u16(reader->data + reader->position + 2) != (~(uint32_t)size & 0xffff)) {
        return false;
    }
    reader->position += 4;
    if (size > reader->size - reader->position || size > output->size - output->position) {
        return false;
    }
    if (size) {
        memcpy(output->data + output->position, reader->data + reader->position, size);
    }
    reader->position += size;
    output->position += size;
    return true;
}

static bool inflate_copy(BitReader *reader, Inflated *output, int symbol, const Huffman *distances) {
    static const uint16_t LENGTHS[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                         31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t LENGTH_BITS[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                            2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static const uint16_t DISTANCES[30] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                           33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                           1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    static const uint8_t DISTANCE_BITS[30] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                              6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
    size_t length, distance;
    if (symbol >= 29) {
        return false;
    }
    length = LENGTHS[symbol] + read_bits(reader, LENGTH_BITS[symbol]);
    symbol = huffman_read(reader, distances);
    if (symbol < 0 || symbol >= 30) {
        return false;
    }
    distance = DISTANCES[symbol] + read_bits(reader, DISTANCE_BITS[symbol]);
    if (reader->is_over || distance > output->position || length > output->size - output->position) {
        return false;
    }
    for (; length; length--, output->position++) {
        output->data[output->position] = output->data[output->position - distance];
    }
    return true;
}

static bool inflate_codes(BitReader *reader, Inflated *output, const Huffman *literals, const Huffman *distances) {
    for (;;) {
        int symbol = huffman_read(reader, literals);
        if (symbol == 256) {
            return true;
        }
        if (symbol < 0) {
            return false;
        }
        if (symbol > 256) {
            if (!inflate_copy(reader, output, symbol - 257, distances)) {
                return false;
            }
        } else {
            if (output->position == output->size) {
                return false;
            }
            output->data[output->position++] = (uint8_t)symbol;
        }
    }
}

static bool inflate_fixed(BitReader *reader, Inflated *output) {
    uint8_t lengths[LITERAL_CODES];
    Huffman literals, distances;
    memset(lengths, 8, 144);
    memset(lengths + 144, 9, 112);
    memset(lengths + 256, 7, 24);
    memset(lengths + 280, 8, 8);
    huffman_build(&literals, lengths, LITERAL_CODES);
    memset(lengths, 5, DISTANCE_CODES);
    huffman_build(&distances, lengths, DISTANCE_CODES);
    return inflate_codes(reader, output, &literals, &distances);
}

static bool inflate_dynamic(BitReader *reader, Inflated *output) {
    static const uint8_t ORDER[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[LITERAL_CODES + DISTANCE_CODES];
    Huffman literals, distances;
    int literal_count = (int)read_bits(reader, 5) + 257, distance_count = (int)read_bits(reader, 5) + 1;
    int order_count = (int)read_bits(reader, 4) + 4, i;
    if (literal_count > 286 || distance_count > 30) {
        return false;
    }
    memset(lengths, 0, sizeof lengths);
    for (i = 0; i < order_count; i++) {
        lengths[ORDER[i]] = (uint8_t)read_bits(reader, 3);
    }
    if (!huffman_build(&literals, lengths, 19)) {
        return false;
    }
    for (i = 0; i < literal_count + distance_count;) {
        int symbol = huffman_read(reader, &literals), repeat;
        uint8_t length = 0;
        if (symbol < 0 || (symbol == 16 && i == 0)) {
            return false;
        }
        if (symbol < 16) {
            lengths[i++] = (uint8_t)symbol;
            continue;
        }
        if (symbol == 16) {
            length = lengths[i - 1];
            repeat = 3 + (int)read_bits(reader, 2);
        } else {
            repeat = symbol == 17 ? 3 + (int)read_bits(reader, 3) : 11 + (int)read_bits(reader, 7);
        }
        if (repeat > literal_count + distance_count - i) {
            return false;
        }
        memset(lengths + i, length, (size_t)repeat);
        i += repeat;
    }
    return lengths[256] && huffman_build(&literals, lengths, literal_count) &&
           huffman_build(&distances, lengths + literal_count, distance_count) &&
           inflate_codes(reader, output, &literals, &distances);
}

/* Inflate to exactly `size` bytes from exactly `compressed_size` ones. */
static bool inflate(const uint8_t *compressed, size_t compressed_size, uint8_t *data, size_t size) {
    BitReader reader = {compressed, compressed_size, 0, 0, 0, false};
    Inflated output = {data, size, 0};
    bool is_last, is_good;
    do {
        uint32_t kind;
        is_last = read_bits(&reader, 1) != 0;
        kind = read_bits(&reader, 2);
        if (reader.is_over || kind == 3) {
            return false;
        }
        is_good = kind == 0   ? inflate_stored(&reader, &output)
                  : kind == 1 ? inflate_fixed(&reader, &output)
                              : inflate_dynamic(&reader, &output);
    } while (is_good && !is_last);
    return is_good && !reader.is_over && output.position == size && reader.position == compressed_size;
}

/* --- zip: the members of an archive ------------------------------------------------------------------------------- */

enum {
    MAX_MEMBERS = 4096,
    MAX_NAME_BYTES = 200,
    MAX_RATIO = 200,
    SMALL_MEMBER_BYTES = 4096,
    MAX_MANIFEST_BYTES = 4 << 20
};
static const uint64_t MAX_MEMBER_BYTES = 64u << 20;
static const uint64_t MAX_ARCHIVE_BYTES = 256u << 20;

enum { LOCAL_HEADER_BYTES = 30, CENTRAL_HEADER_BYTES = 46, END_RECORD_BYTES = 22 };
enum { FLAGS_ALLOWED = 0x0806 }; /* compression level and UTF-8 names; no other flag */
enum { METHOD_STORED = 0, METHOD_DEFLATED = 8 };

typedef struct ZipMember {
    const char *name;
    const uint8_t *data; /* in the archive, compressed or not */
    uint32_t compressed_size, size, crc, method;
    bool is_listed; /* in the manifest */
} ZipMember;

/* members: sorted by name. */
typedef struct Zip {
    const uint8_t *data;
    size_t size;
    ZipMember *members;
    uint32_t count;
} Zip;

static bool fail_zip(const char *message) {
    return fail(TI_ERROR_CORRUPTED_DATA, "the archive is damaged: %s", message);
}

/* Return whether a name is a relative path of plain characters, no component of which starts with a dot. */
static bool is_plain_path(const uint8_t *name, size_t length) {
    size_t start = 0, i;
    for (i = 0; i <= length; i++) {
        if (i == length || name[i] == '/') {
            if (i == start || name[start] == '.') {
                return false;
            }
            start = i + 1;
        } else if (!name[i] || !strchr("abcdefghijklmnopqrstuvwxyz0123456789_.-", name[i])) {
            return false;
        }
    }
    return true;
}

static int compare_members(const void *a, const void *b) {
    return strcmp(((const ZipMember *)a)->name, ((const ZipMember *)b)->name);
}

/* Read the local header of a member, which must agree with the central one. start: where the data of the member start.
 */
static bool zip_local_header(const Zip *zip, size_t offset, const uint8_t *central, size_t name_length, size_t *start) {
    const uint8_t *local = zip->data + offset;
    *start = 0;
    if (zip->size - offset < LOCAL_HEADER_BYTES || memcmp(local, "PK\3\4", 4)) {
        return fail_zip("a member does not start where the directory says");
    }
    /* version needed, flags, method, time, date, CRC, both sizes, length of the name */
    if (memcmp(local + 4, central + 6, 24) || little_u16(local + 26) != name_length) {
        return fail_zip("a member and the directory disagree");
    }
    *start = offset + LOCAL_HEADER_BYTES + name_length + little_u16(local + 28);
    if (*start > zip->size || memcmp(local + LOCAL_HEADER_BYTES, central + CENTRAL_HEADER_BYTES, name_length)) {
        return fail_zip("a member and the directory disagree about a name");
    }
    return true;
}

static bool zip_check_numbers(const uint8_t *central) {
    uint64_t compressed_size = little_u32(central + 20), size = little_u32(central + 24);
    uint32_t method = little_u16(central + 10), mode = little_u32(central + 38) >> 16;
    if (little_u16(central + 8) & ~(uint32_t)FLAGS_ALLOWED) {
        return fail_zip("a member is encrypted or streamed");
    }
    if (method != METHOD_STORED && method != METHOD_DEFLATED) {
        return fail(TI_ERROR_CORRUPTED_DATA,
                    "the archive has a member of method %u; stored and deflated ones can be read", method);
    }
    if ((mode & 0170000) != 0 && (mode & 0170000) != 0100000) {
        return fail_zip("a member is a link or a folder");
    }
    if (size > MAX_MEMBER_BYTES || compressed_size > MAX_MEMBER_BYTES) {
        return fail(TI_ERROR_CORRUPTED_DATA, "the archive has a member of %llu bytes; at most %llu are read",
                    (unsigned long long)larger_u64(size, compressed_size), (unsigned long long)MAX_MEMBER_BYTES);
    }
    if (method == METHOD_STORED ? size != compressed_size
                                : size > SMALL_MEMBER_BYTES && size > compressed_size * MAX_RATIO) {
        return fail_zip("the sizes of a member cannot be right");
    }
    return true;
}

/* Read one entry of the directory at `*position`. Members must be contiguous; `*end` is the end of the last one. */
static bool zip_member(Zip *zip, Arena *arena, ZipMember *member, size_t directory_end, size_t *position, size_t *end) {
    const uint8_t *central = zip->data + *position;
    size_t name_length, length, start;
    char *name;
    if (directory_end - *position < CENTRAL_HEADER_BYTES || memcmp(central, "PK\1\2", 4)) {
        return fail_zip("its directory is cut off");
    }
    name_length = little_u16(central + 28);
    length = CENTRAL_HEADER_BYTES + name_length + little_u16(central + 30) + little_u16(central + 32);
    if (length > directory_end - *position) {
        return fail_zip("its directory is cut off");
    }
    if (name_length > MAX_NAME_BYTES || !is_plain_path(central + CENTRAL_HEADER_BYTES, name_length)) {
        return fail_zip("a member has a name that is no plain relative path");
    }
    if (!zip_check_numbers(central)) {
        return false;
    }
    if (little_u32(central + 42) != *end) {
        return fail_zip("members overlap, or there are bytes between them");
    }
    if (!zip_local_header(zip, *end, central, name_length, &start)) {
        return false;
    }
    member->compressed_size = little_u32(central + 20);
    if (member->compressed_size > zip->size - start) {
        return fail_zip("a member is cut off");
    }
    name = arena_string(arena, (const char *)central + CENTRAL_HEADER_BYTES, name_length);
    if (!name) {
        return false;
    }
    member->name = name;
    member->data = zip->data + start;
    member->size = little_u32(central + 24);
    member->crc = little_u32(central + 16);
    member->method = little_u16(central + 10);
    *end = start + member->compressed_size;
    *position += length;
    return true;
}

/* Read the directory. Every byte of the archive belongs to a member or to the directory at its end. */
static bool zip_open(Zip *zip, Arena *arena, const uint8_t *data, size_t size) {
    const uint8_t *record;
    size_t directory, directory_end, position, end = 0;
    uint64_t total = 0;
    uint32_t i;
    zip->data = data;
    zip->size = size;
    if (size > MAX_ARCHIVE_BYTES) {
        return fail(TI_ERROR_CORRUPTED_DATA, "the archive has more than %llu bytes",
                    (unsigned long long)MAX_ARCHIVE_BYTES);
    }
    if (size < END_RECORD_BYTES || memcmp(data + size - END_RECORD_BYTES, "PK\5\6", 4)) {
        return fail(TI_ERROR_CORRUPTED_DATA,
                    "this is no archive, or its end is missing: no zip directory ends where the data end");
    }
    directory_end = size - END_RECORD_BYTES;
    record = data + directory_end;
    zip->count = little_u16(record + 10);
    directory = little_u32(record + 16);
    if (little_u32(record + 4) || little_u16(record + 8) != zip->count || little_u16(record + 20)) {
        return fail_zip("its last record is wrong");
    }
    if (zip->count > MAX_MEMBERS) {
        return fail(TI_ERROR_CORRUPTED_DATA, "the archive has %u members; at most %d are read", zip->count,
                    MAX_MEMBERS);
    }
    if (directory > directory_end || little_u32(record + 12) != directory_end - directory) {
        return fail_zip("its directory is not where its end record says");
    }
    zip->members = (ZipMember *)arena_allocate(arena, zip->count, sizeof(ZipMember));
    if (!zip->members) {
        return false;
    }
    position = directory;
    for (i = 0; i < zip->count; i++) {
        if (!zip_member(zip, arena, &zip->members[i], directory_end, &position, &end)) {
            return false;
        }
        total += zip->members[i].size;
    }
    if (position != directory_end || end != directory) {
        return fail_zip("there are bytes outside of its members");
    }
    if (total > MAX_ARCHIVE_BYTES) {
        return fail(TI_ERROR_CORRUPTED_DATA, "the members of the archive have more than %llu bytes",
                    (unsigned long long)MAX_ARCHIVE_BYTES);
    }
    qsort(zip->members, zip->count, sizeof(ZipMember), compare_members);
    for (i = 1; i < zip->count; i++) {
        if (!strcmp(zip->members[i - 1].name, zip->members[i].name)) {
            return fail(TI_ERROR_CORRUPTED_DATA, "the archive has two members `%s`", zip->members[i].name);
        }
    }
    return true;
}

static ZipMember *zip_find(const Zip *zip, const char *name) {
    uint32_t low = 0, high = zip->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(zip->members[middle].name, name);
        if (!order) {
            return &zip->members[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

/* Return the bytes of a member, its checksum verified, with a final NUL; the caller frees them. */
static uint8_t *zip_read(const ZipMember *member) {
    uint8_t *data = (uint8_t *)malloc((size_t)member->size + 1);
    if (!data) {
        fail_without_memory(member->size);
        return NULL;
    }
    data[member->size] = 0;
    if (member->method == METHOD_STORED) {
        memcpy(data, member->data, member->size);
    } else if (!inflate(member->data, member->compressed_size, data, member->size)) {
        fail(TI_ERROR_CORRUPTED_DATA, "the archive is damaged: `%s` cannot be inflated", member->name);
        free(data);
        return NULL;
    }
    if (crc32_of(data, member->size) != member->crc) {
        fail(TI_ERROR_CORRUPTED_DATA, "the archive is damaged: the checksum of `%s` is wrong", member->name);
        free(data);
        return NULL;
    }
    return data;
}

/* --- JSON: the parser --------------------------------------------------------------------------------------------- */

typedef enum JsonKind {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_INTEGER,
    JSON_REAL,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
} JsonKind;

/* count: number of items, or of bytes of a string. index: in its array. name: in its object. */
typedef struct Json {
    const struct Json *parent;
    struct Json *next;
    const char *name;
    union {
        int64_t integer;
        double real;
        const char *string;
        struct Json *first;
    } value;
    JsonKind kind;
    uint32_t count, index;
} Json;

enum { MAX_JSON_DEPTH = 64, MAX_JSON_VALUES = 1 << 19, MAX_UNSORTED_KEYS = 256 };

typedef struct JsonReader {
    Arena *arena;
    const char *position, *start, *end;
    uint32_t values;
    int depth;
} JsonReader;

static bool fail_json(const JsonReader *reader, const char *message) {
    const char *at;
    int line = 1;
    for (at = reader->start; at < reader->position && at < reader->end; at++) {
        line += *at == '\n';
    }
    return fail(TI_ERROR_CORRUPTED_DATA, "module.json, line %d: %s", line, message);
}

static void json_skip_blanks(JsonReader *reader) {
    while (reader->position < reader->end && strchr(" \n\r\t", *reader->position) && *reader->position) {
        reader->position++;
    }
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool json_hex(JsonReader *reader, uint32_t *code) {
    int i;
    *code = 0;
    for (i = 0; i < 4; i++, reader->position++) {
        int digit = reader->position < reader->end ? hex_digit(*reader->position) : -1;
        if (digit < 0) {
            return fail_json(reader, "four hexadecimal digits were expected after \\u");
        }
        *code = *code << 4 | (uint32_t)digit;
    }
    return true;
}

static char *put_utf8(char *to, uint32_t code) {
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* Read an escape sequence after its backslash. */
static bool json_escape(JsonReader *reader, char **to) {
    static const char LETTERS[] = "\"\\/bfnrt", MEANINGS[] = "\"\\/\b\f\n\r\t";
    const char *match;
    uint32_t code, low;
    char letter = reader->position < reader->end ? *reader->position++ : '\0';
    match = letter ? strchr(LETTERS, letter) : NULL;
    if (match) {
        *(*to)++ = MEANINGS[match - LETTERS];
        return true;
    }
    if (letter != 'u') {
        return fail_json(reader, "a string has an unknown escape sequence");
    }
    if (!json_hex(reader, &code)) {
        return false;
    }
    if (code >= 0xd800 && code < 0xdc00) {
        if (reader->end - reader->position < 2 || reader->position[0] != '\\' || reader->position[1] != 'u') {
            return fail_json(reader, "a string has an unpaired surrogate");
        }
        reader->position += 2;
        if (!json_hex(reader, &low)) {
            return false;
        }
        if (low < 0xdc00 || low > 0xdfff) {
            return fail_json(reader, "a string has an unpaired surrogate");
        }
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
        return fail_json(reader, "a string has an unpaired surrogate");
    }
    if (code == 0) {
        return fail_json(reader, "a string may not contain NUL");
    }
    *to = put_utf8(*to, code);
    return true;
}

/* Copy one UTF-8 character. */
static bool json_character(JsonReader *reader, char **to) {
    const uint8_t *at = (const uint8_t *)reader->position;
    size_t left = (size_t)(reader->end - reader->position), length, i;
    uint32_t code = at[0];
    if (code < 0x20) {
        return fail_json(reader, "a string has a control character, or does not end");
    }
    length = code < 0x80 ? 1 : code < 0xc2 ? 0 : code < 0xe0 ? 2 : code < 0xf0 ? 3 : code < 0xf5 ? 4 : 0;
    if (length == 0 || length > left) {
        return fail_json(reader, "a string is not UTF-8");
    }
    code &= length == 1 ? 0x7f : 0x3fu >> (length - 1);
    for (i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return fail_json(reader, "a string is not UTF-8");
        }
        code = code << 6 | (at[i] & 0x3f);
    }
    if ((length == 3 && code < 0x800) || (length == 4 && code < 0x10000) || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000)) {
        return fail_json(reader, "a string is not UTF-8");
    }
    memcpy(*to, at, length);
    *to += length;
    reader->position += length;
    return true;
}

/* Read a string after its opening quote; the result ends with a NUL. */
static const char *json_read_string(JsonReader *reader, uint32_t *length) {
    const char *scan = reader->position;
    char *string, *to;
    while (scan < reader->end && *scan != '"') {
        scan += *scan == '\\' && scan + 1 < reader->end ? 2 : 1;
    }
    if (scan >= reader->end) {
        fail_json(reader, "a string does not end");
        return NULL;
    }
    string = to = (char *)arena_allocate(reader->arena, (size_t)(scan - reader->position) + 1, 1);
    if (!string) {
        return NULL;
    }
    while (*reader->position != '"') {
        bool is_good;
        if (*reader->position == '\\') {
            reader->position++;
            is_good = json_escape(reader, &to);
        } else {
            is_good = json_character(reader, &to);
        }
        if (!is_good) {
            return NULL;
        }
    }
    reader->position++;
    *length = (uint32_t)(to - string);
    return string;
}

static bool json_digits(JsonReader *reader) {
    const char *start = reader->position;
    while (reader->position < reader->end && *reader->position >= '0' && *reader->position <= '9') {
        reader->position++;
    }
    return reader->position > start ? true : fail_json(reader, "a number has no digits");
}

static bool json_number(JsonReader *reader, Json *value) {
    const char *start = reader->position, *digits;
    bool is_negative = *start == '-', is_real = false;
    uint64_t magnitude = 0;
    char copy[64];
    reader->position += is_negative;
    digits = reader->position;
    if (!json_digits(reader)) {
        return false;
    }
    if (*digits == '0' && reader->position - digits > 1) {
        return fail_json(reader, "a number starts with 0");
    }
    if (reader->position < reader->end && *reader->position == '.') {
        is_real = true;
        reader->position++;
        if (!json_digits(reader)) {
            return false;
        }
    }
    if (reader->position < reader->end && (*reader->position == 'e' || *reader->position == 'E')) {
        is_real = true;
        reader->position++;
        if (reader->position < reader->end && (*reader->position == '+' || *reader->position == '-')) {
            reader->position++;
        }
        if (!json_digits(reader)) {
            return false;
        }
    }
    if (reader->position - start >= (ptrdiff_t)sizeof copy) {
        return fail_json(reader, "a number has too many digits");
    }
    if (is_real) {
        memcpy(copy, start, (size_t)(reader->position - start));
        copy[reader->position - start] = '\0';
        value->kind = JSON_REAL;
        value->value.real = strtod(copy, NULL);
        return value->value.real - value->value.real == 0 ? true : fail_json(reader, "a number is too large");
    }
    for (; digits < reader->position; digits++) {
        if (magnitude > (UINT64_MAX >> 1) / 10) {
            return fail_json(reader, "a number is too large");
        }
        magnitude = magnitude * 10 + (uint64_t)(*digits - '0');
    }
    if (magnitude > (uint64_t)INT64_MAX) {
        return fail_json(reader, "a number is too large");
    }
    value->kind = JSON_INTEGER;
    value->value.integer = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

static bool json_value(JsonReader *reader, Json *value);

/* Return whether an object has no item of this name yet. */
static bool json_is_new_name(const Json *object, const char *name) {
    const Json *item;
    if (object->count > MAX_UNSORTED_KEYS) {
        return false;
    }
    for (item = object->value.first; item; item = item->next) {
        if (!strcmp(item->name, name)) {
            return false;
        }
    }
    return true;
}

static bool json_name(JsonReader *reader, Json *item) {
    uint32_t length;
    const char *name;
    if (reader->position >= reader->end || *reader->position != '"') {
        return fail_json(reader, "a name in quotes was expected");
    }
    reader->position++;
    name = json_read_string(reader, &length);
    if (!name) {
        return false;
    }
    item->name = name;
    json_skip_blanks(reader);
    if (reader->position >= reader->end || *reader->position != ':') {
        return fail_json(reader, "`:` was expected after a name");
    }
    reader->position++;
    json_skip_blanks(reader);
    return true;
}

static bool json_items(JsonReader *reader, Json *value, char last_character) {
    Json *last = NULL;
    bool ascends = true;
    if (++reader->depth > MAX_JSON_DEPTH) {
        return fail_json(reader, "it is nested too deeply");
    }
    reader->position++;
    json_skip_blanks(reader);
    if (reader->position < reader->end && *reader->position == last_character) {
        reader->position++;
        reader->depth--;
        return true;
    }
    for (;;) {
        Json *item = (Json *)arena_allocate(reader->arena, 1, sizeof(Json));
        if (!item) {
            return false;
        }
        item->parent = value;
        item->index = value->count;
        if (value->kind == JSON_OBJECT) {
            if (!json_name(reader, item)) {
                return false;
            }
            /* Names must differ. Our archives have them in ascending order, which is checked at no cost. */
            ascends = ascends && (!last || strcmp(last->name, item->name) < 0);
            if (!ascends && !json_is_new_name(value, item->name)) {
                return fail_json(reader, "an object has the same name twice");
            }
        }
        if (!json_value(reader, item)) {
            return false;
        }
        if (last) {
            last->next = item;
        } else {
            value->value.first = item;
        }
        last = item;
        value->count++;
        json_skip_blanks(reader);
        if (reader->position < reader->end && *reader->position == last_character) {
            reader->position++;
            reader->depth--;
            return true;
        }
        if (reader->position >= reader->end || *reader->position != ',') {
            return fail_json(reader, "`,` or an end was expected");
        }
        reader->position++;
        json_skip_blanks(reader);
    }
}

static bool json_word(JsonReader *reader, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(reader->end - reader->position) < length || memcmp(reader->position, word, length)) {
        return fail_json(reader, "a value was expected");
    }
    reader->position += length;
    return true;
}

static bool json_value(JsonReader *reader, Json *value) {
    char first = reader->position < reader->end ? *reader->position : '\0';
    if (++reader->values > MAX_JSON_VALUES) {
        return fail_json(reader, "it has too many values");
    }
    switch (first) {
    case '{': value->kind = JSON_OBJECT; return json_items(reader, value, '}');
    case '[': value->kind = JSON_ARRAY; return json_items(reader, value, ']');
    case '"':
        reader->position++;
        value->kind = JSON_STRING;
        value->value.string = json_read_string(reader, &value->count);
        return value->value.string != NULL;
    case 'n': value->kind = JSON_NULL; return json_word(reader, "null");
    case 't': value->kind = JSON_TRUE; return json_word(reader, "true");
    case 'f': value->kind = JSON_FALSE; return json_word(reader, "false");
    default:
        if (first == '-' || (first >= '0' && first <= '9')) {
            return json_number(reader, value);
        }
        return fail_json(reader, "a value was expected");
    }
}

static bool json_parse(Arena *arena, const char *source, size_t size, Json *value) {
    JsonReader reader = {arena, source, source, source + size, 0, 0};
    memset(value, 0, sizeof *value);
    json_skip_blanks(&reader);
    if (!json_value(&reader, value)) {
        return false;
    }
    json_skip_blanks(&reader);
    return reader.position == reader.end ? true : fail_json(&reader, "something follows the last value");
}

/* --- JSON: access to values, and errors with their paths ---------------------------------------------------------- */

/* Write the path of a value: `$.kernels.paint.parameters[0]`. */
static size_t json_path(const Json *value, char *string, size_t size) {
    size_t length;
    int written;
    if (!value->parent) {
        written = snprintf(string, size, "$");
        return written > 0 ? (size_t)written : 0;
    }
    length = json_path(value->parent, string, size);
    if (length >= size) {
        return size - 1;
    }
    if (value->name) {
        written = snprintf(string + length, size - length, ".%.64s", value->name);
    } else {
        written = snprintf(string + length, size - length, "[%u]", value->index);
    }
    return written > 0 ? (size_t)smaller_u64(length + (size_t)written, size - 1) : length;
}

/* Fail with what was expected and what was found at a value of the manifest. */
static bool fail_value(const Json *value, const char *expected) {
    char path[512];
    json_path(value, path, sizeof path);
    switch (value->kind) {
    case JSON_INTEGER:
        return fail(TI_ERROR_CORRUPTED_DATA, "module.json: %s: %s was expected, %lld found", path, expected,
                    (long long)value->value.integer);
    case JSON_STRING:
        return fail(TI_ERROR_CORRUPTED_DATA, "module.json: %s: %s was expected, \"%.80s\" found", path, expected,
                    value->value.string);
    default: {
        static const char *const KINDS[] = {"null",     "false",    "true",   "a number",
                                            "a number", "a string", "a list", "an object"};
        return fail(TI_ERROR_CORRUPTED_DATA, "module.json: %s: %s was expected, %s found", path, expected,
                    KINDS[value->kind]);
    }
    }
}

static const Json *json_member(const Json *object, const char *name) {
    const Json *item;
    for (item = object->value.first; item; item = item->next) {
        if (!strcmp(item->name, name)) {
            return item;
        }
    }
    return NULL;
}

/* Find the members of an object, in the order of `names`, which ends with null. All must exist, except for those whose
   name starts with `?`; no others may. */
static bool json_fields(const Json *object, const char *const *names, const Json **fields) {
    uint32_t known = 0, i;
    char path[512];
    if (object->kind != JSON_OBJECT) {
        return fail_value(object, "an object");
    }
    for (i = 0; names[i]; i++) {
        bool is_optional = names[i][0] == '?';
        fields[i] = json_member(object, names[i] + is_optional);
        known += fields[i] != NULL;
        if (!fields[i] && !is_optional) {
            json_path(object, path, sizeof path);
            return fail(TI_ERROR_CORRUPTED_DATA, "module.json: %s has no `%s`", path, names[i]);
        }
    }
    if (known != object->count) {
        const Json *item;
        for (item = object->value.first; item; item = item->next) {
            for (i = 0; names[i] && strcmp(names[i] + (names[i][0] == '?'), item->name); i++) {
            }
            if (!names[i]) {
                json_path(item, path, sizeof path);
                return fail(TI_ERROR_CORRUPTED_DATA, "module.json: %s is no field that this version knows", path);
            }
        }
    }
    return true;
}

static bool json_integer(const Json *value, int64_t low, int64_t high, int64_t *integer) {
    char expected[96];
    *integer = low;
    if (value->kind == JSON_INTEGER && value->value.integer >= low && value->value.integer <= high) {
        *integer = value->value.integer;
        return true;
    }
    snprintf(expected, sizeof expected, "an integer from %lld to %lld", (long long)low, (long long)high);
    return fail_value(value, expected);
}

static bool json_u32(const Json *value, uint32_t low, uint32_t high, uint32_t *number) {
    int64_t integer = 0;
    if (!json_integer(value, low, high, &integer)) {
        return false;
    }
    *number = (uint32_t)integer;
    return true;
}

static bool json_u64(const Json *value, uint64_t high, uint64_t *number) {
    int64_t integer = 0;
    if (!json_integer(value, 0, (int64_t)high, &integer)) {
        return false;
    }
    *number = (uint64_t)integer;
    return true;
}

static bool json_bool(const Json *value, bool *truth) {
    *truth = false;
    if (value->kind != JSON_TRUE && value->kind != JSON_FALSE) {
        return fail_value(value, "true or false");
    }
    *truth = value->kind == JSON_TRUE;
    return true;
}

static bool json_string(const Json *value, const char **string) {
    *string = "";
    if (value->kind != JSON_STRING) {
        return fail_value(value, "a string");
    }
    *string = value->value.string;
    return true;
}

static bool json_array(const Json *value, uint32_t low, uint32_t high) {
    char expected[96];
    if (value->kind == JSON_ARRAY && value->count >= low && value->count <= high) {
        return true;
    }
    snprintf(expected, sizeof expected, "a list of %u to %u items", low, high);
    return fail_value(value, low == 0 && high == UINT32_MAX ? "a list" : expected);
}

/* --- numbers: scalar types, texel formats, half precision --------------------------------------------------------- */

enum {
    MAX_ARGS_BYTES = 64 << 10,
    MAX_CUDA_ARGS_BYTES = 4096,
    MAX_PUSH_BYTES = 128,
    MAX_BLOCK_DIM = 65536, /* of a task on the host; a shader and a device take fewer */
    MAX_SHADER_BLOCK = 1024,
    MAX_ITEMS = 1 << 16,
    MAX_PARAMETERS = 4096,
    MAX_TEXTURES = 128, /* every device supports these, in addition to all else that a shader binds */
    MAX_AXES = 64,
    MAX_TREES = 65536
};
static const int64_t MAX_ITERATIONS = INT32_MAX;
static const uint64_t MAX_TREE_BYTES = (uint64_t)1 << 40; /* of all trees together */
static const uint64_t MAX_BUFFER_BYTES = (uint64_t)1 << 40;

typedef struct ScalarType {
    const char *name;
    TiDataType type;
    uint32_t size;
} ScalarType;

static const ScalarType SCALAR_TYPES[] = {
    {"f16", TI_DATA_TYPE_F16, 2}, {"f32", TI_DATA_TYPE_F32, 4}, {"f64", TI_DATA_TYPE_F64, 8},
    {"i8", TI_DATA_TYPE_I8, 1},   {"i16", TI_DATA_TYPE_I16, 2}, {"i32", TI_DATA_TYPE_I32, 4},
    {"i64", TI_DATA_TYPE_I64, 8}, {"u1", TI_DATA_TYPE_U1, 1},   {"u8", TI_DATA_TYPE_U8, 1},
    {"u16", TI_DATA_TYPE_U16, 2}, {"u32", TI_DATA_TYPE_U32, 4}, {"u64", TI_DATA_TYPE_U64, 8},
};

static const ScalarType *scalar_named(const char *name) {
    size_t i;
    for (i = 0; i < sizeof SCALAR_TYPES / sizeof *SCALAR_TYPES; i++) {
        if (!strcmp(SCALAR_TYPES[i].name, name)) {
            return &SCALAR_TYPES[i];
        }
    }
    return NULL;
}

/* Return null for what is not a type, also if a caller cast an invalid number to one. */
static const ScalarType *scalar_of(TiDataType type) {
    size_t i;
    for (i = 0; i < sizeof SCALAR_TYPES / sizeof *SCALAR_TYPES; i++) {
        if (SCALAR_TYPES[i].type == type) {
            return &SCALAR_TYPES[i];
        }
    }
    return NULL;
}

/* Texel formats, indexed by TiFormat. vulkan: VkFormat, 0 if no image here has the format. spirv: image format of
   storage images, 0 if no kernel stores it. texel_size: [bytes]. element: type that a kernel reads and writes. */
typedef struct TexelFormat {
    const char *name;
    uint32_t vulkan, spirv, texel_size;
    TiDataType element;
} TexelFormat;

static const TexelFormat TEXEL_FORMATS[] = {
    {"unknown", 0, 0, 0, TI_DATA_TYPE_UNKNOWN},     {"r8", 9, 15, 1, TI_DATA_TYPE_F32},
    {"rg8", 16, 13, 2, TI_DATA_TYPE_F32},           {"rgba8", 37, 4, 4, TI_DATA_TYPE_F32},
    {"rgba8srgb", 43, 0, 4, TI_DATA_TYPE_F32},      {"bgra8", 44, 0, 4, TI_DATA_TYPE_F32},
    {"bgra8srgb", 50, 0, 4, TI_DATA_TYPE_F32},      {"r8u", 13, 39, 1, TI_DATA_TYPE_U32},
    {"rg8u", 20, 37, 2, TI_DATA_TYPE_U32},          {"rgba8u", 41, 32, 4, TI_DATA_TYPE_U32},
    {"r8i", 14, 29, 1, TI_DATA_TYPE_I32},           {"rg8i", 21, 27, 2, TI_DATA_TYPE_I32},
    {"rgba8i", 42, 23, 4, TI_DATA_TYPE_I32},        {"r16", 70, 14, 2, TI_DATA_TYPE_F32},
    {"rg16", 77, 12, 4, TI_DATA_TYPE_F32},          {"rgb16", 0, 0, 6, TI_DATA_TYPE_F32},
    {"rgba16", 91, 10, 8, TI_DATA_TYPE_F32},        {"r16u", 74, 38, 2, TI_DATA_TYPE_U32},
    {"rg16u", 81, 36, 4, TI_DATA_TYPE_U32},         {"rgb16u", 0, 0, 6, TI_DATA_TYPE_U32},
    {"rgba16u", 95, 31, 8, TI_DATA_TYPE_U32},       {"r16i", 75, 28, 2, TI_DATA_TYPE_I32},
    {"rg16i", 82, 26, 4, TI_DATA_TYPE_I32},         {"rgb16i", 0, 0, 6, TI_DATA_TYPE_I32},
    {"rgba16i", 96, 22, 8, TI_DATA_TYPE_I32},       {"r16f", 76, 9, 2, TI_DATA_TYPE_F32},
    {"rg16f", 83, 7, 4, TI_DATA_TYPE_F32},          {"rgb16f", 0, 0, 6, TI_DATA_TYPE_F32},
    {"rgba16f", 97, 2, 8, TI_DATA_TYPE_F32},        {"r32u", 98, 33, 4, TI_DATA_TYPE_U32},
    {"rg32u", 101, 35, 8, TI_DATA_TYPE_U32},        {"rgb32u", 0, 0, 12, TI_DATA_TYPE_U32},
    {"rgba32u", 107, 30, 16, TI_DATA_TYPE_U32},     {"r32i", 99, 24, 4, TI_DATA_TYPE_I32},
    {"rg32i", 102, 25, 8, TI_DATA_TYPE_I32},        {"rgb32i", 0, 0, 12, TI_DATA_TYPE_I32},
    {"rgba32i", 108, 21, 16, TI_DATA_TYPE_I32},     {"r32f", 100, 3, 4, TI_DATA_TYPE_F32},
    {"rg32f", 103, 6, 8, TI_DATA_TYPE_F32},         {"rgb32f", 0, 0, 12, TI_DATA_TYPE_F32},
    {"rgba32f", 109, 1, 16, TI_DATA_TYPE_F32},      {"depth16", 0, 0, 2, TI_DATA_TYPE_F32},
    {"depth24stencil8", 0, 0, 4, TI_DATA_TYPE_F32}, {"depth32f", 0, 0, 4, TI_DATA_TYPE_F32},
};
enum { FORMAT_COUNT = sizeof TEXEL_FORMATS / sizeof *TEXEL_FORMATS };

/* Return TI_FORMAT_UNKNOWN if no format has this name. */
static TiFormat format_named(const char *name) {
    uint32_t i;
    for (i = FORMAT_COUNT - 1; i && strcmp(TEXEL_FORMATS[i].name, name); i--) {
    }
    return (TiFormat)i;
}

static const char *format_name(TiFormat format) {
    return (uint32_t)format < FORMAT_COUNT ? TEXEL_FORMATS[format].name : "no format";
}

static const char *type_name(TiDataType type) {
    const ScalarType *scalar = scalar_of(type);
    return scalar ? scalar->name : "a struct";
}

static bool is_float_type(TiDataType type) {
    return type == TI_DATA_TYPE_F16 || type == TI_DATA_TYPE_F32 || type == TI_DATA_TYPE_F64;
}

static double half_to_double(uint16_t half) {
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double value = exponent == 0    ? ldexp(fraction, -24)
                   : exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                                    : ldexp(1024 + fraction, exponent - 25);
    return half >> 15 ? -value : value;
}

/* Round to nearest, ties to even, as IEEE 754 says. */
static uint16_t double_to_half(double value) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs(value), scaled, whole;
    int exponent;
    if (isnan(value)) {
        return (uint16_t)(sign | 0x7e00);
    }
    if (magnitude >= 65520.0) {
        return (uint16_t)(sign | 0x7c00);
    }
    frexp(magnitude, &exponent);
    exponent = exponent < -13 ? -13 : exponent; /* subnormal from here on */
    scaled = ldexp(magnitude, 11 - exponent);
    whole = floor(scaled);
    if (scaled - whole > 0.5 || (scaled - whole == 0.5 && fmod(whole, 2.0) != 0.0)) {
        whole += 1.0;
    }
    return (uint16_t)(sign | (uint16_t)((exponent + 13) * 1024 + (int)whole)); /* a carry goes into the exponent */
}

/* --- manifest: its data ------------------------------------------------------------------------------------------- */

typedef enum Operator {
    OP_CONST,
    OP_MEMBER,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_FLOORDIV,
    OP_MOD,
    OP_MIN,
    OP_MAX,
    OP_NEG,
    OP_SHL,
    OP_SAR,
    OP_BIT_AND,
    OP_BIT_OR,
    OP_BIT_XOR,
    OP_ABS,
    OP_RAW_DIV,
    OP_SELECT,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_EQ,
    OP_NE
} Operator;

static const struct {
    const char *name;
    uint32_t operands;
} OPERATORS[] = {
    {"const", 0},   {"member", 0}, {"add", 2}, {"sub", 2}, {"mul", 2},     {"floordiv", 2}, {"mod", 2},     {"min", 2},
    {"max", 2},     {"neg", 1},    {"shl", 2}, {"sar", 2}, {"bit_and", 2}, {"bit_or", 2},   {"bit_xor", 2}, {"abs", 1},
    {"raw_div", 2}, {"select", 3}, {"lt", 2},  {"le", 2},  {"gt", 2},      {"ge", 2},       {"eq", 2},      {"ne", 2},
};

/* A number that the host computes from the arguments. value: the constant, or the number of the member. */
typedef struct Expression {
    Operator operation;
    int64_t value;
    const struct Expression *operands[3];
} Expression;

typedef enum SourceKind {
    SOURCE_ARGUMENT,
    SOURCE_POINTER,
    SOURCE_GRADIENT,
    SOURCE_SHAPE,
    SOURCE_STRIDE,
    SOURCE_BEGIN,
    SOURCE_CAPACITY,
    SOURCE_TEXTURE_SHAPE,
    SOURCE_SEED,
    SOURCE_DIVISOR,
    SOURCE_TEMPORARIES,
    SOURCE_RESULT,
    SOURCE_REPORT
} SourceKind;

static const struct {
    const char *name;
    uint32_t operands;
} SOURCES[] = {{"argument", 2}, {"pointer", 1},       {"gradient", 1}, {"shape", 2},       {"stride", 2}, {"begin", 1},
               {"capacity", 1}, {"texture_shape", 2}, {"seed", 0},     {"divisor", 1},     {"temporaries", 0},
               {"result", 0},   {"report", 0}};

typedef enum ConstantKind { CONSTANT_NONE, CONSTANT_INTEGER, CONSTANT_ADDRESS } ConstantKind;

/* One member of the argument block. first, second: operands of its source. tree, value: the parts of its constant. */
typedef struct BlockMember {
    const char *name;
    TiDataType type;
    uint32_t offset, size;
    SourceKind source;
    uint32_t first, second;
    ConstantKind constant;
    uint32_t tree;
    int64_t value;
} BlockMember;

typedef enum ParameterKind {
    PARAMETER_SCALAR,
    PARAMETER_MATRIX,
    PARAMETER_STRUCT,
    PARAMETER_NDARRAY,
    PARAMETER_TEMPLATE,
    PARAMETER_TEXTURE,
    PARAMETER_RW_TEXTURE
} ParameterKind;

/* types: of the numbers of a scalar, matrix or struct, in order. type: of the elements of an ndarray, UNKNOWN for
   structs; of the components of texels. element_size: size of an element with its shape [bytes]. format: of texels that
   are loaded and stored. gradient: number of the parameter that is the gradient of this ndarray, 0 for none. */
typedef struct Parameter {
    const char *name;
    ParameterKind kind;
    const TiDataType *types;
    uint32_t count;
    TiDataType type;
    TiNdShape element_shape;
    uint32_t dim_count;
    uint64_t element_size;
    TiFormat format;
    uint32_t gradient;
} Parameter;

/* parameter: number of the parameter that is the array, -1 for a field. */
typedef struct ArrayBinding {
    const char *name;
    int32_t parameter;
    uint32_t dim_count;
} ArrayBinding;

/* parameter: number of the parameter that is the texture. Its index in the list is its binding. */
typedef struct TextureBinding {
    uint32_t parameter;
    bool is_storage;
} TextureBinding;

typedef struct LoopAxis {
    const char *name;
    const Expression *start; /* null if only the device knows it */
    int64_t step;
} LoopAxis;

typedef struct IndexComponent {
    uint32_t axis;
    int64_t extent, weight;
} IndexComponent;

/* few_block: threads of a block for up to FEW_ITERATIONS, 0 if it is block_dim. extents: null if only the device knows the number of iterations. axes: of the loop, none for serial tasks. order: how
   an iteration number is split into indices. */
typedef struct Task {
    const char *name, *entry;
    uint32_t file, block_dim, few_block, items;
    bool is_serial, is_strided, is_folded;
    const Expression **extents;
    uint32_t extent_count, axis_count, order_count;
    LoopAxis *axes;
    IndexComponent *order;
    uint32_t loop_line;
} Task;

typedef struct ResultValue {
    TiDataType type;
    uint32_t offset, size;
} ResultValue;

typedef enum SiteKind { SITE_PRINT, SITE_CHECK, SITE_CALL } SiteKind;

/* One value of a record. words_type: its type in the record; type: its type in Python. */
typedef struct SiteValue {
    TiDataType words_type, type;
    uint32_t dim_count, dims[2], count;
} SiteValue;

/* A print or a check. parts: of a print; message: of a check; frames: its location in Python, and the calls that lead
   to it. */
typedef struct Site {
    SiteKind kind;
    uint32_t task, value_count, word_count;
    SiteValue *values;
    const Json *parts, *frames;
    const char *message;
} Site;

/* A file of a kernel. code: what the device runs (SPIR-V or cubin); ptx: null, or PTX in addition to or instead of a
   cubin. */
typedef struct CodeFile {
    const char *name;
    const ZipMember *code, *ptx;
} CodeFile;

/* args_size: of the argument block [bytes]. divisors: numbers by which the code divides. unsupported: null, or what the kernel needs that this runtime does not
   support; then only its parameters are read. parameter_count: with the gradients of ndarrays, which come last;
   declared_count: without. */
typedef struct KernelData {
    const char *name;
    const char *unsupported;
    Parameter *parameters;
    BlockMember *members;
    ArrayBinding *arrays;
    TextureBinding *textures;
    CodeFile *files;
    Task *tasks;
    ResultValue *results;
    Site *sites;
    const Expression **divisors;
    uint32_t parameter_count, member_count, array_count, texture_count, file_count, task_count, result_count;
    uint32_t divisor_count;
    uint32_t site_count, declared_count;
    uint32_t args_size;
    uint64_t result_size, temporaries_size;
    bool is_recursive;
} KernelData;

typedef struct FieldData {
    const char *name;
    uint32_t tree;
    bool is_even;  /* the elements have constant strides */
    TiField field; /* without its memory */
} FieldData;

/* argument: of the graph, -1 for constants. */
typedef struct DispatchArgument {
    int32_t argument;
    TiArgument constant;
} DispatchArgument;

typedef struct Dispatch {
    uint32_t kernel;
    DispatchArgument *arguments;
    uint32_t argument_count;
} Dispatch;

typedef struct GraphData {
    const char *name;
    const char **argument_names;
    Dispatch *dispatches;
    uint32_t argument_count, dispatch_count;
} GraphData;

/* The contents of an archive. Strings and tables are allocated from `arena`; binaries stay in the bytes of the archive.
 */
typedef struct Manifest {
    Arena arena;
    Zip zip;
    TiArch arch; /* TI_ARCH_RESERVED for C */
    KernelData *kernels;
    GraphData *graphs;
    FieldData *fields;
    uint64_t *tree_sizes;
    uint32_t kernel_count, graph_count, field_count, tree_count;
    uint32_t cuda_arch, cuda_ptx; /* 90 for sm_90; 0 where there is none */
} Manifest;

/* --- manifest: types and shapes ----------------------------------------------------------------------------------- */

static const char *arch_name(TiArch arch) {
    return arch == TI_ARCH_VULKAN ? "vulkan" : arch == TI_ARCH_CUDA ? "cuda" : "c";
}

/* Return `count` zeroed items of `size` bytes for the items of a list or object; null only after a failure. */
static void *allocate_items(Arena *arena, const Json *value, size_t size) {
    return arena_allocate(arena, value->count ? value->count : 1, size);
}

static bool read_scalar_type(const Json *value, TiDataType *type, uint32_t *size) {
    const char *name;
    const ScalarType *scalar;
    if (!json_string(value, &name)) {
        return false;
    }
    scalar = scalar_named(strcmp(name, "pointer") ? name : "u64");
    if (!scalar) {
        return fail_value(value, "a scalar type (f32, i32, ...)");
    }
    *type = scalar->type;
    *size = scalar->size;
    return true;
}

/* Read extents; their product is at most `most`. */
static bool read_shape(const Json *value, uint32_t low, uint32_t high, uint64_t most, TiNdShape *shape,
                       uint64_t *count) {
    const Json *item;
    *count = 1;
    memset(shape, 0, sizeof *shape);
    if (!json_array(value, low, high)) {
        return false;
    }
    for (item = value->value.first; item; item = item->next) {
        if (!json_u32(item, 0, INT32_MAX, &shape->dims[shape->dim_count++])) {
            return false;
        }
        if (shape->dims[shape->dim_count - 1] && *count > most / shape->dims[shape->dim_count - 1]) {
            return fail_value(value, "smaller extents");
        }
        *count *= shape->dims[shape->dim_count - 1];
    }
    return true;
}

/* The memory layout of a type, as in C. Its scalars are written to `types` in order unless it is null. */
typedef struct TypeLayout {
    uint64_t size;
    uint32_t alignment, count;
    TiDataType *types;
} TypeLayout;

enum { MAX_NUMBERS = 4096 };
static const uint64_t MAX_ELEMENT_BYTES = 1 << 20;

static bool read_members(const Json *members, TypeLayout *layout);

static bool add_numbers(const Json *value, TypeLayout *layout, TiDataType type, uint32_t size, uint64_t count) {
    if (layout->count + count > MAX_NUMBERS) {
        return fail_value(value, "fewer numbers in one value");
    }
    layout->alignment = layout->alignment > size ? layout->alignment : size;
    layout->size = (layout->size + size - 1) / size * size + size * count;
    for (; count; count--, layout->count++) {
        if (layout->types) {
            layout->types[layout->count] = type;
        }
    }
    return true;
}

/* Append a type to the layout: "f32", {"shape", "element"} or {"struct", "members"}. */
static bool read_type(const Json *value, TypeLayout *layout) {
    static const char *const TENSOR[] = {"shape", "element", NULL}, *const STRUCT[] = {"struct", "members", NULL};
    const Json *fields[2];
    const char *name;
    TiDataType type;
    TiNdShape shape;
    uint64_t count = 1;
    uint32_t size;
    if (value->kind == JSON_STRING) {
        return read_scalar_type(value, &type, &size) && add_numbers(value, layout, type, size, 1);
    }
    if (value->kind == JSON_OBJECT && json_member(value, "struct")) {
        TypeLayout inner = {0, 1, layout->count, layout->types};
        if (!json_fields(value, STRUCT, fields) || !json_string(fields[0], &name) || !read_members(fields[1], &inner)) {
            return false;
        }
        layout->alignment = layout->alignment > inner.alignment ? layout->alignment : inner.alignment;
        layout->size = (layout->size + inner.alignment - 1) / inner.alignment * inner.alignment + inner.size;
        layout->count = inner.count;
        return true;
    }
    return json_fields(value, TENSOR, fields) && read_shape(fields[0], 1, 2, MAX_NUMBERS, &shape, &count) &&
           read_scalar_type(fields[1], &type, &size) && add_numbers(value, layout, type, size, count);
}

/* Read [[name, Type], ...]. The size of the layout is rounded up to where the next struct would start. */
static bool read_members(const Json *members, TypeLayout *layout) {
    const Json *item;
    const char *name;
    if (!json_array(members, 1, MAX_NUMBERS)) {
        return false;
    }
    for (item = members->value.first; item; item = item->next) {
        if (!json_array(item, 2, 2) || !json_string(item->value.first, &name) ||
            !read_type(item->value.first->next, layout)) {
            return false;
        }
    }
    layout->size = (layout->size + layout->alignment - 1) / layout->alignment * layout->alignment;
    return layout->size <= MAX_ELEMENT_BYTES ? true : fail_value(members, "a smaller struct");
}

/* Read the type of an element, a scalar or a struct given by its members, and its shape. */
static bool read_element(const Json *element, const Json *element_shape, const Json *members, const Json *size_bytes,
                         TiDataType *type, TiNdShape *shape, uint64_t *size) {
    TypeLayout layout = {0, 1, 0, NULL};
    const char *name;
    uint64_t count;
    int64_t stated;
    uint32_t scalar_size = 0;
    if (!read_shape(element_shape, 0, 2, MAX_NUMBERS, shape, &count)) {
        return false;
    }
    if (members->kind != JSON_NULL) {
        *type = TI_DATA_TYPE_UNKNOWN;
        if (!json_string(element, &name) || !read_members(members, &layout)) {
            return false;
        }
        *size = layout.size * count;
    } else {
        if (!read_scalar_type(element, type, &scalar_size)) {
            return false;
        }
        *size = scalar_size * count;
    }
    return json_integer(size_bytes, (int64_t)*size, (int64_t)*size, &stated);
}

/* --- manifest: expressions, parameters, arrays, textures ---------------------------------------------------------- */

/* The kernel that is being read, and what it is allocated from. */
typedef struct KernelReader {
    Manifest *manifest;
    Arena *arena;
    KernelData *kernel;
} KernelReader;

static const Expression *read_expression(const KernelReader *reader, const Json *value) {
    Expression *expression = (Expression *)arena_allocate(reader->arena, 1, sizeof(Expression));
    const char *name;
    const Json *item;
    uint32_t number, i;
    if (!expression || !json_array(value, 2, 4) || !json_string(value->value.first, &name)) {
        return NULL;
    }
    for (number = 0; number < sizeof OPERATORS / sizeof *OPERATORS && strcmp(OPERATORS[number].name, name); number++) {
    }
    item = value->value.first->next;
    expression->operation = (Operator)number;
    if (number == sizeof OPERATORS / sizeof *OPERATORS) {
        fail_value(value->value.first, "an operation that a host knows");
        return NULL;
    }
    if (value->count != (OPERATORS[number].operands ? OPERATORS[number].operands : 1) + 1) {
        fail_value(value, "another number of operands");
        return NULL;
    }
    if (expression->operation == OP_CONST) {
        return json_integer(item, INT64_MIN, INT64_MAX, &expression->value) ? expression : NULL;
    }
    if (expression->operation == OP_MEMBER) {
        if (!json_integer(item, 0, (int64_t)reader->kernel->member_count - 1, &expression->value)) {
            return NULL;
        }
        if (is_float_type(reader->kernel->members[expression->value].type)) {
            fail_value(item, "a member that is an integer");
            return NULL;
        }
        return expression;
    }
    for (i = 0; item; item = item->next, i++) {
        expression->operands[i] = read_expression(reader, item);
        if (!expression->operands[i]) {
            return NULL;
        }
    }
    return expression;
}

static bool read_parameter_types(const KernelReader *reader, const Json *value, Parameter *parameter) {
    static const char *const MATRIX[] = {"name", "kind", "type", "shape", NULL};
    static const char *const SCALAR[] = {"name", "kind", "type", NULL};
    static const char *const STRUCT[] = {"name", "kind", "type", "members", NULL};
    const Json *fields[4];
    TypeLayout layout = {0, 1, 0, NULL}, filled = {0, 1, 0, NULL};
    TiDataType type = TI_DATA_TYPE_UNKNOWN;
    TiNdShape shape;
    const char *name;
    uint64_t count = 1;
    uint32_t size = 0;
    if (!json_fields(value,
                     parameter->kind == PARAMETER_SCALAR   ? SCALAR
                     : parameter->kind == PARAMETER_MATRIX ? MATRIX
                                                           : STRUCT,
                     fields)) {
        return false;
    }
    if (parameter->kind == PARAMETER_STRUCT) {
        if (!json_string(fields[2], &name) || !read_members(fields[3], &layout)) {
            return false;
        }
    } else if (!read_scalar_type(fields[2], &type, &size) ||
               (parameter->kind == PARAMETER_MATRIX && !read_shape(fields[3], 1, 2, MAX_NUMBERS, &shape, &count)) ||
               !add_numbers(value, &layout, type, size, count)) {
        return false;
    }
    filled.types = (TiDataType *)arena_allocate(reader->arena, layout.count + 1, sizeof(TiDataType));
    if (!filled.types) {
        return false;
    }
    parameter->types = filled.types;
    parameter->count = layout.count;
    if (parameter->kind == PARAMETER_STRUCT ? !read_members(fields[3], &filled)
                                            : !add_numbers(value, &filled, type, size, count)) {
        return false;
    }
    parameter->type = parameter->types[0];
    return true;
}

static bool read_texture_parameter(const Json *value, Parameter *parameter) {
    static const char *const SAMPLED[] = {"name", "kind", "ndim", "element", NULL}, *const STORED[] = {"name", "kind",
                                                                                                       "ndim", "format",
                                                                                                       "lod",  NULL};
    const Json *fields[5];
    const char *string;
    uint32_t number;
    bool is_stored = parameter->kind == PARAMETER_RW_TEXTURE;
    if (!json_fields(value, is_stored ? STORED : SAMPLED, fields) ||
        !json_u32(fields[2], 1, 3, &parameter->dim_count) || !json_string(fields[3], &string)) {
        return false;
    }
    if (!is_stored) {
        return read_scalar_type(fields[3], &parameter->type, &number) &&
               (parameter->type == TI_DATA_TYPE_F32 || parameter->type == TI_DATA_TYPE_I32 ||
                        parameter->type == TI_DATA_TYPE_U32
                    ? true
                    : fail_value(fields[3], "f32, i32 or u32"));
    }
    parameter->format = format_named(string);
    parameter->type = TEXEL_FORMATS[parameter->format].element;
    return !json_u32(fields[4], 0, INT32_MAX, &number) ? false
           : TEXEL_FORMATS[parameter->format].spirv    ? true
                                                       : fail_value(fields[3], "a format that kernels store");
}

static bool read_parameter(const KernelReader *reader, const Json *value, Parameter *parameter) {
    static const char *const NDARRAY[] = {
        "name", "kind", "element", "element_shape", "ndim", "members", "gradient", "element_size_bytes", NULL};
    static const char *const TEMPLATE[] = {"name", "kind", "value", NULL};
    static const char *const KINDS[] = {"scalar", "matrix", "struct", "ndarray", "template", "texture", "rw_texture"};
    enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };
    const Json *fields[8], *kind = value->kind == JSON_OBJECT ? json_member(value, "kind") : NULL;
    const Json *name = value->kind == JSON_OBJECT ? json_member(value, "name") : NULL;
    const char *string;
    bool takes_gradient;
    uint32_t number;
    if (!kind || !name) {
        return fail_value(value, "an object with `name` and `kind`");
    }
    if (!json_string(name, &parameter->name) || !json_string(kind, &string)) {
        return false;
    }
    for (number = 0; number < KIND_COUNT && strcmp(KINDS[number], string); number++) {
    }
    if (number == KIND_COUNT) {
        return fail_value(kind, "scalar, matrix, struct, ndarray, texture, rw_texture or template");
    }
    parameter->kind = (ParameterKind)number;
    if (parameter->kind == PARAMETER_TEXTURE || parameter->kind == PARAMETER_RW_TEXTURE) {
        if (reader->manifest->arch != TI_ARCH_VULKAN) {
            reader->kernel->unsupported = "a texture";
            return true;
        }
        return read_texture_parameter(value, parameter);
    }
    if (parameter->kind == PARAMETER_TEMPLATE) {
        return json_fields(value, TEMPLATE, fields) && json_string(fields[2], &string);
    }
    if (parameter->kind != PARAMETER_NDARRAY) {
        return read_parameter_types(reader, value, parameter);
    }
    if (!json_fields(value, NDARRAY, fields) ||
        !read_element(fields[2], fields[3], fields[5], fields[7], &parameter->type, &parameter->element_shape,
                      &parameter->element_size) ||
        !json_u32(fields[4], 0, TI_MAX_DIM_COUNT, &parameter->dim_count) || !json_bool(fields[6], &takes_gradient)) {
        return false;
    }
    parameter->gradient = takes_gradient;
    return true;
}

static bool read_parameters(const KernelReader *reader, const Json *value) {
    const Json *item;
    if (!json_array(value, 0, MAX_PARAMETERS)) {
        return false;
    }
    reader->kernel->parameters = (Parameter *)arena_allocate(reader->arena, 2 * (size_t)value->count + 1, sizeof(Parameter));
    if (!reader->kernel->parameters) {
        return false;
    }
    for (item = value->value.first; item; item = item->next) {
        if (!read_parameter(reader, item, &reader->kernel->parameters[reader->kernel->parameter_count++])) {
            return false;
        }
    }
    return true;
}

/* Let the gradient of each ndarray that the kernel takes with one be a parameter, behind all others, in their order. */
static bool add_gradients(const KernelReader *reader) {
    KernelData *kernel = reader->kernel;
    uint32_t i;
    kernel->declared_count = kernel->parameter_count;
    for (i = 0; i < kernel->declared_count; i++) {
        Parameter *parameter = &kernel->parameters[i], *gradient;
        char name[256];
        if (!parameter->gradient) {
            continue;
        }
        gradient = &kernel->parameters[kernel->parameter_count];
        *gradient = *parameter;
        gradient->gradient = 0;
        snprintf(name, sizeof name, "%.240s.grad", parameter->name);
        gradient->name = arena_string(reader->arena, name, strlen(name));
        if (!gradient->name) {
            return false;
        }
        parameter->gradient = kernel->parameter_count++;
    }
    return true;
}

static bool read_array(const KernelReader *reader, const Json *value, ArrayBinding *array) {
    static const char *const FIELDS[] = {"name", "element", "element_shape", "ndim",  "shape", "parameter",
                                         "read", "written", "offset",        "place", NULL};
    const Json *fields[10];
    const KernelData *kernel = reader->kernel;
    const char *element;
    TiNdShape shape;
    uint64_t count;
    uint32_t parameter;
    bool truth;
    if (!json_fields(value, FIELDS, fields) || !json_string(fields[0], &array->name) ||
        !json_string(fields[1], &element) || !read_shape(fields[2], 0, 2, MAX_NUMBERS, &shape, &count) ||
        !json_u32(fields[3], 0, TI_MAX_DIM_COUNT, &array->dim_count) ||
        (fields[4]->kind != JSON_NULL && !read_shape(fields[4], 0, TI_MAX_DIM_COUNT, MAX_TREE_BYTES, &shape, &count)) ||
        !json_bool(fields[6], &truth) || !json_bool(fields[7], &truth) || !json_array(fields[8], 0, TI_MAX_DIM_COUNT)) {
        return false;
    }
    array->parameter = -1;
    if (fields[5]->kind == JSON_NULL) {
        return true;
    }
    if (!json_u32(fields[5], 0, kernel->parameter_count ? kernel->parameter_count - 1 : 0, &parameter)) {
        return false;
    }
    if (parameter >= kernel->parameter_count || (kernel->parameters[parameter].kind != PARAMETER_NDARRAY &&
                                                 kernel->parameters[parameter].kind != PARAMETER_TEMPLATE)) {
        return fail_value(fields[5], "the number of a parameter that is an array");
    }
    if (kernel->parameters[parameter].kind == PARAMETER_NDARRAY) {
        array->parameter = (int32_t)parameter;
        if (array->dim_count != kernel->parameters[parameter].dim_count) {
            return fail_value(fields[3], "the `ndim` of its parameter");
        }
    }
    return true;
}

/* Read a texture that a kernel binds, which is one of its parameters. */
static bool read_texture(const KernelReader *reader, const Json *value, TextureBinding *texture) {
    static const char *const FIELDS[] = {"name",    "parameter", "binding", "ndim",    "element", "format",
                                         "storage", "lod",       "read",    "written", NULL};
    const Json *fields[10];
    const KernelData *kernel = reader->kernel;
    const Parameter *parameter;
    const char *string;
    TiDataType type;
    uint32_t number, binding = (uint32_t)(texture - kernel->textures);
    bool truth;
    if (!json_fields(value, FIELDS, fields) || !json_string(fields[0], &string) ||
        !json_u32(fields[1], 0, kernel->parameter_count ? kernel->parameter_count - 1 : 0, &texture->parameter) ||
        !json_u32(fields[2], binding, binding, &number) || !json_bool(fields[6], &texture->is_storage) ||
        !json_u32(fields[7], 0, INT32_MAX, &number) || !json_bool(fields[8], &truth) || !json_bool(fields[9], &truth)) {
        return false;
    }
    parameter = &kernel->parameters[texture->parameter];
    if (texture->parameter >= kernel->parameter_count ||
        parameter->kind != (texture->is_storage ? PARAMETER_RW_TEXTURE : PARAMETER_TEXTURE)) {
        return fail_value(fields[1], "the number of a parameter that is such a texture");
    }
    if (!json_u32(fields[3], parameter->dim_count, parameter->dim_count, &number) ||
        !read_scalar_type(fields[4], &type, &number)) {
        return false;
    }
    if (type != parameter->type) {
        return fail_value(fields[4], "the element type of its parameter's texels");
    }
    if (texture->is_storage && !json_string(fields[5], &string)) {
        return false;
    }
    return (texture->is_storage ? format_named(string) == parameter->format : fields[5]->kind == JSON_NULL)
               ? true
               : fail_value(fields[5], "the format of its parameter");
}

/* --- manifest: the argument block, loops and tasks ---------------------------------------------------------------- */

/* Return whether a member is the address of memory. */
static bool is_address(const BlockMember *member) {
    return member->source == SOURCE_POINTER || member->source == SOURCE_GRADIENT ||
           member->source >= SOURCE_TEMPORARIES;
}

/* Check that the operands of a member's source exist. */
static bool check_source(const KernelReader *reader, const Json *value, const BlockMember *member) {
    const KernelData *kernel = reader->kernel;
    const Parameter *parameter;
    if (member->source == SOURCE_ARGUMENT) {
        if (member->first >= kernel->parameter_count) {
            return fail_value(value, "the number of a parameter");
        }
        parameter = &kernel->parameters[member->first];
        if (parameter->kind == PARAMETER_TEMPLATE
                ? member->constant == CONSTANT_NONE
                : member->second >= parameter->count) { /* 0 for arrays and textures */
            return fail_value(value, "a number of a parameter by value");
        }
        return parameter->kind == PARAMETER_TEMPLATE ||
                       is_float_type(parameter->types[member->second]) == is_float_type(member->type)
                   ? true
                   : fail_value(value, "an integer for an integer, and a float for a float");
    }
    if (member->source <= SOURCE_CAPACITY) {
        if (member->first >= kernel->array_count) {
            return fail_value(value, "the number of an array");
        }
        if ((member->source == SOURCE_SHAPE || member->source == SOURCE_STRIDE) &&
            member->second >= kernel->arrays[member->first].dim_count) {
            return fail_value(value, "an axis of the array");
        }
        if (member->source == SOURCE_GRADIENT && kernel->arrays[member->first].parameter >= 0 &&
            !kernel->parameters[kernel->arrays[member->first].parameter].gradient) {
            return fail_value(value, "an array whose parameter takes a gradient");
        }
        if (member->constant == CONSTANT_NONE &&
            (kernel->arrays[member->first].parameter < 0 || member->source == SOURCE_CAPACITY)) {
            return fail_value(value, "a constant, since no argument has its value");
        }
    }
    if (member->source == SOURCE_TEXTURE_SHAPE) {
        return member->first < kernel->texture_count &&
                       member->second < kernel->parameters[kernel->textures[member->first].parameter].dim_count
                   ? true
                   : fail_value(value, "an axis of a texture");
    }
    if (member->source == SOURCE_DIVISOR && (member->first >= kernel->divisor_count || member->size != 8)) {
        return fail_value(value, "the number of a divisor, of 8 bytes");
    }
    if (is_address(member) && member->size != 8) {
        return fail_value(value, "a member of 8 bytes for an address");
    }
    return true;
}

/* Return whether each launch passes the value of a member. */
static bool is_from_caller(const KernelData *kernel, const BlockMember *member) {
    if (member->source == SOURCE_ARGUMENT) {
        return kernel->parameters[member->first].kind != PARAMETER_TEMPLATE;
    }
    return member->source == SOURCE_SEED || member->source == SOURCE_DIVISOR ||
           member->source == SOURCE_TEXTURE_SHAPE ||
           (member->source < SOURCE_CAPACITY && kernel->arrays[member->first].parameter >= 0);
}

/* Read the source of a member's value, and its constant. */
static bool read_source(const KernelReader *reader, const Json *value, const Json *constant, BlockMember *member) {
    static const char *const ADDRESS[] = {"tree", "offset_bytes", NULL};
    const Json *fields[2], *item;
    const char *name;
    uint64_t offset;
    uint32_t number;
    if (!json_array(value, 1, 3) || !json_string(value->value.first, &name)) {
        return false;
    }
    for (number = 0; number < sizeof SOURCES / sizeof *SOURCES && strcmp(SOURCES[number].name, name); number++) {
    }
    if (number == sizeof SOURCES / sizeof *SOURCES || value->count != SOURCES[number].operands + 1) {
        return fail_value(value, "a source that a host knows");
    }
    member->source = (SourceKind)number;
    item = value->value.first->next;
    if ((item && !json_u32(item, 0, MAX_PARAMETERS, &member->first)) ||
        (item && item->next && !json_u32(item->next, 0, MAX_PARAMETERS, &member->second))) {
        return false;
    }
    if (constant->kind == JSON_INTEGER) {
        member->constant = CONSTANT_INTEGER;
        member->value = constant->value.integer;
    } else if (constant->kind != JSON_NULL) {
        if (!reader->manifest->tree_count) {
            return fail_value(constant, "null or a number, since there are no trees");
        }
        if (!json_fields(constant, ADDRESS, fields) ||
            !json_u32(fields[0], 0, reader->manifest->tree_count - 1, &member->tree) ||
            !json_u64(fields[1], reader->manifest->tree_sizes[member->tree], &offset)) {
            return false;
        }
        if (member->size != 8 || (member->source != SOURCE_POINTER && member->source != SOURCE_GRADIENT)) {
            return fail_value(constant, "a number, since the member is no address of an array");
        }
        member->constant = CONSTANT_ADDRESS;
        member->value = (int64_t)offset;
    }
    if (!check_source(reader, value, member)) {
        return false;
    }
    if (member->constant == CONSTANT_INTEGER && is_address(member)) {
        return fail_value(constant, "null or an offset in a tree, since the member is an address");
    }
    return member->constant == CONSTANT_NONE || !is_from_caller(reader->kernel, member)
               ? true
               : fail_value(constant, "null, since an argument has its value");
}

/* Read the members of the argument block. They are in ascending order, each at a multiple of its size, as in the struct
   of the shader. */
static bool read_block(const KernelReader *reader, const Json *value, const Json *constants) {
    static const char *const FIELDS[] = {"name", "type", "offset_bytes", "size_bytes", "source", NULL};
    KernelData *kernel = reader->kernel;
    const Json *item, *constant, *fields[5];
    uint32_t end = 0;
    if (!json_array(value, 0, MAX_PARAMETERS) || !json_array(constants, value->count, value->count)) {
        return false;
    }
    kernel->members = (BlockMember *)allocate_items(reader->arena, value, sizeof(BlockMember));
    if (!kernel->members) {
        return false;
    }
    constant = constants->value.first;
    for (item = value->value.first; item; item = item->next, constant = constant->next) {
        BlockMember *member = &kernel->members[kernel->member_count++];
        uint32_t size;
        if (!json_fields(item, FIELDS, fields) || !json_string(fields[0], &member->name) ||
            !read_scalar_type(fields[1], &member->type, &size) || !json_u32(fields[3], size, size, &member->size) ||
            !json_u32(fields[2], end, kernel->args_size, &member->offset) ||
            !read_source(reader, fields[4], constant, member)) {
            return false;
        }
        end = member->offset + member->size;
        if (member->offset % (member->source == SOURCE_DIVISOR ? 4 : member->size) || end > kernel->args_size) {
            return fail_value(fields[2], "a multiple of the member's size, within the block");
        }
    }
    return true;
}

static bool read_loop(const KernelReader *reader, const Json *value, Task *task) {
    static const char *const FIELDS[] = {"line", "names", "begins", "steps", "order", NULL};
    const Json *fields[5], *name, *start, *step, *item;
    if (value->kind == JSON_NULL) {
        return true;
    }
    if (!json_fields(value, FIELDS, fields) || !json_u32(fields[0], 0, INT32_MAX, &task->loop_line) ||
        !json_array(fields[1], 0, MAX_AXES) || !json_array(fields[2], fields[1]->count, fields[1]->count) ||
        !json_array(fields[3], fields[1]->count, fields[1]->count) || !json_array(fields[4], 0, 256)) {
        return false;
    }
    task->axes = (LoopAxis *)allocate_items(reader->arena, fields[1], sizeof(LoopAxis));
    task->order = (IndexComponent *)allocate_items(reader->arena, fields[4], sizeof(IndexComponent));
    if (!task->axes || !task->order) {
        return false;
    }
    name = fields[1]->value.first;
    start = fields[2]->value.first;
    step = fields[3]->value.first;
    for (; name; name = name->next, start = start->next, step = step->next) {
        LoopAxis *axis = &task->axes[task->axis_count++];
        if (!json_string(name, &axis->name) || !json_integer(step, INT32_MIN, INT32_MAX, &axis->step)) {
            return false;
        }
        if (start->kind != JSON_NULL && !(axis->start = read_expression(reader, start))) {
            return false;
        }
    }
    if (fields[4]->count && !task->axis_count) {
        return fail_value(fields[4], "an empty list");
    }
    for (item = fields[4]->value.first; item; item = item->next) {
        IndexComponent *component = &task->order[task->order_count++];
        if (!json_array(item, 3, 3) || !json_u32(item->value.first, 0, task->axis_count - 1, &component->axis) ||
            !json_integer(item->value.first->next, 1, INT32_MAX, &component->extent) ||
            !json_integer(item->value.first->next->next, 1, INT32_MAX, &component->weight)) {
            return false;
        }
    }
    return true;
}

static bool check_array_indices(const Json *value, uint32_t array_count) {
    const Json *item;
    int64_t index;
    if (!json_array(value, 0, MAX_PARAMETERS)) {
        return false;
    }
    for (item = value->value.first; item; item = item->next) {
        if (!json_integer(item, -1, (int64_t)array_count - 1, &index)) {
            return false;
        }
    }
    return true;
}

static bool read_task(const KernelReader *reader, const Json *value, Task *task) {
    static const char *const FIELDS[] = {"name",   "kind",    "entry",        "file", "block_dim", "extents", "reads",
                                         "writes", "strided", "serial_turns", "loop", "folded",    "items",   "?few_block",
                                         NULL};
    const Json *fields[14], *item;
    const char *kind;
    if (!json_fields(value, FIELDS, fields) || !json_string(fields[0], &task->name) || !json_string(fields[1], &kind) ||
        !json_string(fields[2], &task->entry) || !json_u32(fields[3], 0, reader->kernel->file_count - 1, &task->file) ||
        !json_u32(fields[4], 1, MAX_BLOCK_DIM, &task->block_dim) ||
        !check_array_indices(fields[6], reader->kernel->array_count) ||
        !check_array_indices(fields[7], reader->kernel->array_count) || !json_bool(fields[8], &task->is_strided) ||
        (fields[9]->kind != JSON_NULL && !read_expression(reader, fields[9])) ||
        !json_bool(fields[11], &task->is_folded) || !json_u32(fields[12], 1, MAX_ITEMS, &task->items) ||
        (fields[13] && !json_u32(fields[13], 1, MAX_BLOCK_DIM, &task->few_block))) {
        return false;
    }
    task->is_serial = !strcmp(kind, "serial");
    if (fields[5]->kind != JSON_NULL) {
        if (!json_array(fields[5], 0, MAX_AXES)) {
            return false;
        }
        task->extents = (const Expression **)allocate_items(reader->arena, fields[5], sizeof(const Expression *));
        if (!task->extents) {
            return false;
        }
        for (item = fields[5]->value.first; item; item = item->next) {
            if (!(task->extents[task->extent_count++] = read_expression(reader, item))) {
                return false;
            }
        }
    }
    return read_loop(reader, fields[10], task);
}

/* --- manifest: files, results, sites and modules of kernels ------------------------------------------------------- */

/* Find a member of the archive that the manifest lists. */
static const ZipMember *find_listed(const KernelReader *reader, const Json *value) {
    const char *name;
    const ZipMember *member;
    if (!json_string(value, &name)) {
        return NULL;
    }
    member = zip_find(&reader->manifest->zip, name);
    if (!member || !member->is_listed) {
        fail_value(value, "a member of the archive that `members` lists");
        return NULL;
    }
    return member;
}

static bool read_binary(const KernelReader *reader, const Json *value, CodeFile *file) {
    static const char *const SPIRV[] = {"spirv", NULL}, *const CUDA[] = {"cubin", "ptx", NULL},
                             *const C[] = {"shared_object", NULL};
    const Json *fields[2];
    switch (reader->manifest->arch) {
    case TI_ARCH_VULKAN:
        return json_fields(value, SPIRV, fields) && (file->code = find_listed(reader, fields[0])) != NULL;
    case TI_ARCH_CUDA:
        if (!json_fields(value, CUDA, fields) ||
            (fields[0]->kind != JSON_NULL && !(file->code = find_listed(reader, fields[0]))) ||
            (fields[1]->kind != JSON_NULL && !(file->ptx = find_listed(reader, fields[1])))) {
            return false;
        }
        return file->code || file->ptx ? true : fail_value(value, "a cubin or PTX");
    default: return json_fields(value, C, fields) && (file->code = find_listed(reader, fields[0])) != NULL;
    }
}

static bool read_file(const KernelReader *reader, const Json *value, CodeFile *file) {
    static const char *const FIELDS[] = {"name", "source", "binary", "lines", "?translations", NULL},
                             *const PLACES = "[line, file, line]";
    const Json *fields[5], *item;
    if (!json_fields(value, FIELDS, fields) || !json_string(fields[0], &file->name) ||
        !find_listed(reader, fields[1]) || !read_binary(reader, fields[2], file) ||
        !json_array(fields[3], 0, UINT32_MAX)) {
        return false;
    }
    for (item = fields[3]->value.first; item; item = item->next) {
        if (item->kind != JSON_ARRAY || item->count != 3 || item->value.first->kind != JSON_INTEGER ||
            item->value.first->next->kind != JSON_STRING || item->value.first->next->next->kind != JSON_INTEGER) {
            return fail_value(item, PLACES);
        }
    }
    if (fields[4] && fields[4]->kind != JSON_OBJECT) {
        return fail_value(fields[4], "an object");
    }
    for (item = fields[4] ? fields[4]->value.first : NULL; item; item = item->next) {
        if (!find_listed(reader, item)) {
            return false;
        }
    }
    return true;
}

/* Read one result; a struct has a result for each of its members. */
static bool read_result(const KernelReader *reader, const Json *value, uint32_t capacity) {
    static const char *const FIELDS[] = {"type", "shape", "offset_bytes", "members", NULL};
    KernelData *kernel = reader->kernel;
    const Json *fields[4], *item;
    ResultValue *result;
    TiNdShape shape;
    uint64_t count;
    const char *name;
    uint32_t size;
    if (!json_fields(value, FIELDS, fields) || !read_shape(fields[1], 0, 2, MAX_NUMBERS, &shape, &count) ||
        !json_array(fields[3], 0, MAX_NUMBERS)) {
        return false;
    }
    for (item = fields[3]->value.first; item; item = item->next) {
        if (!json_array(item, 2, 2) || !json_string(item->value.first, &name) ||
            !read_result(reader, item->value.first->next, capacity)) {
            return false;
        }
    }
    if (fields[3]->count) {
        return true;
    }
    if (kernel->result_count == capacity) {
        return fail_value(value, "fewer results");
    }
    result = &kernel->results[kernel->result_count++];
    if (!read_scalar_type(fields[0], &result->type, &size) ||
        !json_u32(fields[2], 0, (uint32_t)kernel->result_size, &result->offset)) {
        return false;
    }
    result->size = size * (uint32_t)count;
    return result->offset + (uint64_t)result->size <= kernel->result_size
               ? true
               : fail_value(value, "an offset within the results");
}

static bool read_results(const KernelReader *reader, const Json *value) {
    enum { CAPACITY = 1024 };
    const Json *item;
    if (!json_array(value, 0, CAPACITY)) {
        return false;
    }
    if (value->count &&
        !(reader->kernel->results = (ResultValue *)arena_allocate(reader->arena, CAPACITY, sizeof(ResultValue)))) {
        return false;
    }
    for (item = value->value.first; item; item = item->next) {
        if (!read_result(reader, item, CAPACITY)) {
            return false;
        }
    }
    return true;
}

static bool read_site_value(const Json *value, SiteValue *site_value) {
    static const char *const FIELDS[] = {"type", "python_type", "shape", NULL};
    const Json *fields[3];
    TiNdShape shape;
    uint64_t count;
    uint32_t size;
    if (!json_fields(value, FIELDS, fields) || !read_scalar_type(fields[0], &site_value->words_type, &size) ||
        !read_scalar_type(fields[1], &site_value->type, &size) ||
        !read_shape(fields[2], 0, 2, MAX_NUMBERS, &shape, &count)) {
        return false;
    }
    if (scalar_of(site_value->words_type)->size < 4) {
        return fail_value(fields[0], "a type of 32 or 64 bits");
    }
    site_value->dim_count = shape.dim_count;
    memcpy(site_value->dims, shape.dims, sizeof site_value->dims);
    site_value->count = (uint32_t)count;
    return true;
}

static bool check_parts(const Json *parts, uint32_t value_count) {
    const Json *item;
    int64_t number;
    const char *string;
    if (!json_array(parts, 0, UINT32_MAX)) {
        return false;
    }
    for (item = parts->value.first; item; item = item->next) {
        if (item->kind != JSON_STRING &&
            (!json_array(item, 2, 2) || !json_integer(item->value.first, 0, (int64_t)value_count - 1, &number) ||
             !json_string(item->value.first->next, &string))) {
            return false;
        }
    }
    return true;
}

static bool check_frames(const Json *frames) {
    static const char *const FIELDS[] = {"file", "function", "span", "text", NULL};
    const Json *fields[4], *item, *number;
    const char *string;
    int64_t line;
    if (!json_array(frames, 1, 4096)) {
        return false;
    }
    for (item = frames->value.first; item; item = item->next) {
        if (!json_fields(item, FIELDS, fields) || !json_string(fields[0], &string) ||
            !json_string(fields[1], &string) || !json_array(fields[2], 4, 4) || !json_string(fields[3], &string)) {
            return false;
        }
        for (number = fields[2]->value.first; number; number = number->next) {
            if (!json_integer(number, 0, INT32_MAX, &line)) {
                return false;
            }
        }
    }
    return true;
}

static bool read_site(const KernelReader *reader, const Json *value, Site *site) {
    static const char *const FIELDS[] = {"kind",     "frames", "task",  "values", "?parts",
                                         "?message", "?array", "?axes", NULL};
    const Json *fields[8], *item;
    const char *kind;
    if (!json_fields(value, FIELDS, fields) || !json_string(fields[0], &kind) || !check_frames(fields[1]) ||
        !json_u32(fields[2], 0, reader->kernel->task_count - 1, &site->task) || !json_array(fields[3], 0, 4096)) {
        return false;
    }
    site->kind = !strcmp(kind, "print") ? SITE_PRINT : !strcmp(kind, "call") ? SITE_CALL : SITE_CHECK;
    site->frames = fields[1];
    site->values = (SiteValue *)allocate_items(reader->arena, fields[3], sizeof(SiteValue));
    if (!site->values) {
        return false;
    }
    for (item = fields[3]->value.first; item; item = item->next) {
        SiteValue *site_value = &site->values[site->value_count++];
        if (!read_site_value(item, site_value)) {
            return false;
        }
        site->word_count += site_value->count * (scalar_of(site_value->words_type)->size / 4);
    }
    if (site->kind == SITE_PRINT) {
        site->parts = fields[4];
        return site->parts ? check_parts(site->parts, site->value_count) : fail_value(value, "a print with `parts`");
    }
    if (site->kind == SITE_CHECK) {
        return fields[5] ? json_string(fields[5], &site->message) : fail_value(value, "a check with a `message`");
    }
    return true;
}

/* Read the numbers by which the code divides. */
static bool read_divisors(const KernelReader *reader, const Json *value) {
    KernelData *kernel = reader->kernel;
    const Json *item;
    uint32_t i = 0;
    kernel->divisors = (const Expression **)allocate_items(reader->arena, value, sizeof(const Expression *));
    if (!kernel->divisors) {
        return false;
    }
    for (item = value->value.first; item; item = item->next) {
        if (!(kernel->divisors[i++] = read_expression(reader, item))) {
            return false;
        }
    }
    return true;
}

static bool read_interface(const KernelReader *reader, const Json *value, const Json *constants, const Json **sites) {
    static const char *const FIELDS[] = {"members", "args_size_bytes",   "arrays",
                                         "results", "result_size_bytes", "temporaries_size_bytes",
                                         "reports", "?textures",         "?divisors",
                                         NULL};
    KernelData *kernel = reader->kernel;
    const Json *fields[9], *item;
    uint32_t most = reader->manifest->arch == TI_ARCH_CUDA ? (uint32_t)MAX_CUDA_ARGS_BYTES : (uint32_t)MAX_ARGS_BYTES;
    if (!json_fields(value, FIELDS, fields) || !json_u32(fields[1], 0, most, &kernel->args_size) ||
        !json_u64(fields[4], MAX_ELEMENT_BYTES, &kernel->result_size) ||
        !json_u64(fields[5], MAX_BUFFER_BYTES, &kernel->temporaries_size) ||
        !json_array(fields[2], 0, MAX_PARAMETERS)) {
        return false;
    }
    kernel->arrays = (ArrayBinding *)allocate_items(reader->arena, fields[2], sizeof(ArrayBinding));
    if (!kernel->arrays) {
        return false;
    }
    for (item = fields[2]->value.first; item; item = item->next) {
        if (!read_array(reader, item, &kernel->arrays[kernel->array_count++])) {
            return false;
        }
    }
    *sites = fields[6];
    if (fields[7]) {
        if (!json_array(fields[7], 0, MAX_TEXTURES) ||
            !(kernel->textures = (TextureBinding *)allocate_items(reader->arena, fields[7], sizeof(TextureBinding)))) {
            return false;
        }
        for (item = fields[7]->value.first; item; item = item->next) {
            if (!read_texture(reader, item, &kernel->textures[kernel->texture_count++])) {
                return false;
            }
        }
    }
    if (fields[8] && !json_array(fields[8], 0, MAX_PARAMETERS)) {
        return false;
    }
    kernel->divisor_count = fields[8] ? fields[8]->count : 0;
    return read_block(reader, fields[0], constants) && (!fields[8] || read_divisors(reader, fields[8])) &&
           read_results(reader, fields[3]) && json_array(fields[6], 0, 65536);
}

static bool read_module(const KernelReader *reader, const Json *value, const Json *constants) {
    static const char *const FIELDS[] = {"kernel", "target", "files", "tasks", "interface", "options", NULL};
    KernelData *kernel = reader->kernel;
    const Json *fields[6], *item, *sites, *recursive;
    const char *string;
    if (!json_fields(value, FIELDS, fields) || !json_string(fields[0], &string) || !json_string(fields[1], &string) ||
        !json_array(fields[2], 0, 4096) || !json_array(fields[3], 0, 4096)) {
        return false;
    }
    if (strcmp(string, arch_name(reader->manifest->arch))) {
        return fail_value(fields[1], "the target of the archive");
    }
    if (fields[5]->kind != JSON_OBJECT) {
        return fail_value(fields[5], "an object");
    }
    recursive = json_member(fields[5], "recursive");
    if (recursive && !json_bool(recursive, &kernel->is_recursive)) {
        return false;
    }
    kernel->files = (CodeFile *)allocate_items(reader->arena, fields[2], sizeof(CodeFile));
    kernel->tasks = (Task *)allocate_items(reader->arena, fields[3], sizeof(Task));
    if (!kernel->files || !kernel->tasks) {
        return false;
    }
    for (item = fields[2]->value.first; item; item = item->next) {
        if (!read_file(reader, item, &kernel->files[kernel->file_count++])) {
            return false;
        }
    }
    if (fields[3]->count && !kernel->file_count) {
        return fail_value(fields[2], "a file for the tasks");
    }
    if (!read_interface(reader, fields[4], constants, &sites)) {
        return false;
    }
    for (item = fields[3]->value.first; item; item = item->next) {
        if (!read_task(reader, item, &kernel->tasks[kernel->task_count++])) {
            return false;
        }
    }
    kernel->sites = (Site *)allocate_items(reader->arena, sites, sizeof(Site));
    if (!kernel->sites) {
        return false;
    }
    for (item = sites->value.first; item; item = item->next) {
        if (!kernel->task_count) {
            return fail_value(item, "a task that it belongs to");
        }
        if (!read_site(reader, item, &kernel->sites[kernel->site_count++])) {
            return false;
        }
    }
    return true;
}

/* --- manifest: tables of kernels, fields and graphs --------------------------------------------------------------- */

/* Reads an item of a table. The first member of every item is its name. */
typedef bool (*ReadItem)(Manifest *manifest, const Json *value, void *item);

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Read the items of an object into a table in ascending order of names. */
static void *read_table(Manifest *manifest, const Json *value, size_t size, ReadItem read, uint32_t *count) {
    uint8_t *table;
    const Json *item;
    if (value->kind != JSON_OBJECT) {
        fail_value(value, "an object");
        return NULL;
    }
    table = (uint8_t *)allocate_items(&manifest->arena, value, size);
    if (!table) {
        return NULL;
    }
    for (item = value->value.first; item; item = item->next) {
        void *entry = table + size * (*count)++;
        *(const char **)entry = item->name;
        if (!read(manifest, item, entry)) {
            return NULL;
        }
    }
    qsort(table, *count, size, compare_names);
    return table;
}

/* Return the index of a name in a table whose items start with their names, `count` if it is not in the table. */
static uint32_t find_named(const void *table, uint32_t count, size_t size, const char *name) {
    const void *match = count ? bsearch(&name, table, count, size, compare_names) : NULL;
    return match ? (uint32_t)((size_t)((const uint8_t *)match - (const uint8_t *)table) / size) : count;
}

static bool read_kernel(Manifest *manifest, const Json *value, void *item) {
    static const char *const FIELDS[] = {"parameters", "module", "constants", "template", "key", "edited", NULL};
    KernelReader reader = {manifest, &manifest->arena, (KernelData *)item};
    const Json *fields[6];
    const char *string;
    return json_fields(value, FIELDS, fields) && read_parameters(&reader, fields[0]) &&
           json_array(fields[2], 0, MAX_PARAMETERS) && json_string(fields[4], &string) &&
           (fields[5]->kind == JSON_NULL || json_string(fields[5], &string)) &&
           (fields[3]->kind == JSON_NULL || fields[3]->kind == JSON_OBJECT
                ? true
                : fail_value(fields[3], "null or an object")) &&
           (reader.kernel->unsupported || read_module(&reader, fields[1], fields[2])) && add_gradients(&reader);
}

static bool read_field(Manifest *manifest, const Json *value, void *entry) {
    static const char *const FIELDS[] = {"tree",          "offset_bytes", "element", "element_shape",      "shape",
                                         "strides_bytes", "offset",       "members", "element_size_bytes", NULL};
    const Json *fields[9], *item;
    FieldData *data = (FieldData *)entry;
    TiField *field = &data->field;
    uint64_t count, end;
    uint32_t axis = 0;
    if (!json_fields(value, FIELDS, fields)) {
        return false;
    }
    if (!manifest->tree_count) {
        return fail_value(fields[0], "the number of a tree");
    }
    if (!json_u32(fields[0], 0, manifest->tree_count - 1, &data->tree) ||
        !json_u64(fields[1], manifest->tree_sizes[data->tree], &field->slice.offset) ||
        !read_element(fields[2], fields[3], fields[7], fields[8], &field->elem_type, &field->elem_shape,
                      &field->elem_size) ||
        !read_shape(fields[4], 0, TI_MAX_DIM_COUNT, MAX_TREE_BYTES, &field->shape, &count) ||
        !json_array(fields[6], 0, TI_MAX_DIM_COUNT)) {
        return false;
    }
    if (fields[6]->value.first && fields[6]->count != field->shape.dim_count) {
        return fail_value(fields[6], "as many numbers as the shape has, or none");
    }
    data->is_even = fields[5]->kind != JSON_NULL;
    if (!data->is_even) {
        return true;
    }
    if (!json_array(fields[5], field->shape.dim_count, field->shape.dim_count)) {
        return false;
    }
    end = field->slice.offset + field->elem_size;
    for (item = fields[5]->value.first; item; item = item->next, axis++) {
        if (!json_u64(item, MAX_TREE_BYTES, &field->strides[axis])) {
            return false;
        }
        if (field->shape.dims[axis] > 1) {
            if (field->strides[axis] > MAX_TREE_BYTES / field->shape.dims[axis]) {
                return fail_value(item, "a smaller distance");
            }
            end += (field->shape.dims[axis] - 1) * field->strides[axis];
        }
    }
    if (count && end > manifest->tree_sizes[data->tree]) {
        return fail_value(value, "a field within its tree");
    }
    field->slice.size = count ? end - field->slice.offset : 0;
    return true;
}

static bool read_trees(Manifest *manifest, const Json *value) {
    static const char *const FIELDS[] = {"size_bytes", NULL};
    const Json *fields[1], *item;
    uint64_t left = MAX_TREE_BYTES;
    if (!json_array(value, 0, MAX_TREES)) {
        return false;
    }
    manifest->tree_sizes = (uint64_t *)allocate_items(&manifest->arena, value, sizeof(uint64_t));
    if (!manifest->tree_sizes) {
        return false;
    }
    for (item = value->value.first; item; item = item->next) {
        if (!json_fields(item, FIELDS, fields) ||
            !json_u64(fields[0], left, &manifest->tree_sizes[manifest->tree_count])) {
            return false;
        }
        left -= manifest->tree_sizes[manifest->tree_count++];
    }
    return true;
}

/* Write a number of a graph as the bits of a type. `bits` has at least the size of the type. */
static bool read_typed_number(const Json *value, TiDataType type, void *bits) {
    double real = value->kind == JSON_REAL ? value->value.real : (double)value->value.integer;
    float single = (float)real;
    uint16_t half = double_to_half(real);
    if (value->kind != JSON_INTEGER && (value->kind != JSON_REAL || !is_float_type(type))) {
        return fail_value(value, is_float_type(type) ? "a number" : "an integer");
    }
    switch (type) {
    case TI_DATA_TYPE_F16: memcpy(bits, &half, sizeof half); break;
    case TI_DATA_TYPE_F32: memcpy(bits, &single, sizeof single); break;
    case TI_DATA_TYPE_F64: memcpy(bits, &real, sizeof real); break;
    default: memcpy(bits, &value->value.integer, scalar_of(type)->size);
    }
    return true;
}

/* Read a number, or a list of numbers, that a dispatch of a graph passes to a parameter. */
static bool read_dispatch_number(const Json *value, const Parameter *parameter, TiArgument *argument) {
    TiTensor *tensor = &argument->value.tensor;
    const Json *item;
    if (parameter->kind == PARAMETER_SCALAR) {
        argument->type = TI_ARGUMENT_TYPE_SCALAR;
        argument->value.scalar.type = is_float_type(parameter->type) ? parameter->type : TI_DATA_TYPE_I64;
        return read_typed_number(value, argument->value.scalar.type, &argument->value.scalar.value);
    }
    if (parameter->kind != PARAMETER_MATRIX || !json_array(value, parameter->count, parameter->count) ||
        (uint64_t)parameter->count * scalar_of(parameter->type)->size > sizeof tensor->contents.data) {
        return fail_value(value, "the name of an argument, or numbers for a parameter that takes them");
    }
    argument->type = TI_ARGUMENT_TYPE_TENSOR;
    tensor->type = parameter->type;
    for (item = value->value.first; item; item = item->next) {
        if (!read_typed_number(item, parameter->type,
                               tensor->contents.data.x8 +
                                   tensor->contents.length++ * scalar_of(parameter->type)->size)) {
            return false;
        }
    }
    return true;
}

/* Return how many arguments a caller passes for the first parameters. */
static uint32_t passed_count(const KernelData *kernel, uint32_t parameter_count) {
    uint32_t count = 0, i;
    for (i = 0; i < parameter_count; i++) {
        count += kernel->parameters[i].kind != PARAMETER_TEMPLATE;
    }
    return count;
}

static bool read_dispatch(Manifest *manifest, const GraphData *graph, const Json *value, Dispatch *dispatch) {
    static const char *const FIELDS[] = {"kernel", "arguments", NULL};
    const Json *fields[2], *item;
    const KernelData *kernel;
    const char *name;
    uint32_t parameter = 0, count;
    if (!json_fields(value, FIELDS, fields) || !json_string(fields[0], &name)) {
        return false;
    }
    dispatch->kernel = find_named(manifest->kernels, manifest->kernel_count, sizeof(KernelData), name);
    if (dispatch->kernel == manifest->kernel_count) {
        return fail_value(fields[0], "the name of a kernel of this archive");
    }
    kernel = &manifest->kernels[dispatch->kernel];
    count = passed_count(kernel, kernel->declared_count);
    if (!json_array(fields[1], count, count)) {
        return false;
    }
    dispatch->arguments = (DispatchArgument *)allocate_items(&manifest->arena, fields[1], sizeof(DispatchArgument));
    if (!dispatch->arguments) {
        return false;
    }
    for (item = fields[1]->value.first; item; item = item->next, parameter++) {
        DispatchArgument *argument = &dispatch->arguments[dispatch->argument_count++];
        while (kernel->parameters[parameter].kind == PARAMETER_TEMPLATE) {
            parameter++;
        }
        argument->argument = -1;
        if (item->kind == JSON_STRING) {
            argument->argument = (int32_t)find_named(graph->argument_names, graph->argument_count, sizeof(const char *),
                                                     item->value.string);
            if (argument->argument == (int32_t)graph->argument_count) {
                return fail_value(item, "the name of an argument of the graph");
            }
        } else if (!read_dispatch_number(item, &kernel->parameters[parameter], &argument->constant)) {
            return false;
        }
    }
    return true;
}

static bool read_graph(Manifest *manifest, const Json *value, void *entry) {
    static const char *const FIELDS[] = {"arguments", "dispatches", NULL};
    const Json *fields[2], *item;
    GraphData *graph = (GraphData *)entry;
    uint32_t i;
    if (!json_fields(value, FIELDS, fields) || !json_array(fields[0], 0, MAX_PARAMETERS) ||
        !json_array(fields[1], 0, 65536)) {
        return false;
    }
    graph->argument_names = (const char **)allocate_items(&manifest->arena, fields[0], sizeof(const char *));
    graph->dispatches = (Dispatch *)allocate_items(&manifest->arena, fields[1], sizeof(Dispatch));
    if (!graph->argument_names || !graph->dispatches) {
        return false;
    }
    for (item = fields[0]->value.first; item; item = item->next) {
        const Json *name = item->kind == JSON_OBJECT ? json_member(item, "name") : NULL;
        if (!name) {
            return fail_value(item, "an object with a `name`");
        }
        if (!json_string(name, &graph->argument_names[graph->argument_count++])) {
            return false;
        }
    }
    qsort(graph->argument_names, graph->argument_count, sizeof(const char *), compare_names);
    for (i = 1; i < graph->argument_count; i++) {
        if (!strcmp(graph->argument_names[i - 1], graph->argument_names[i])) {
            return fail_value(fields[0], "arguments whose names differ");
        }
    }
    for (item = fields[1]->value.first; item; item = item->next) {
        if (!read_dispatch(manifest, graph, item, &graph->dispatches[graph->dispatch_count++])) {
            return false;
        }
    }
    return true;
}

/* --- manifest: members of the archive, requirements --------------------------------------------------------------- */

/* Compare a member of the archive with its entry in the manifest. */
static bool check_member(Manifest *manifest, const Json *value) {
    static const char *const FIELDS[] = {"size", "sha256", NULL};
    const Json *fields[2];
    ZipMember *member = zip_find(&manifest->zip, value->name);
    const char *expected;
    char actual[65];
    uint8_t *data;
    uint64_t size;
    if (!json_fields(value, FIELDS, fields) || !json_u64(fields[0], MAX_MEMBER_BYTES, &size) ||
        !json_string(fields[1], &expected)) {
        return false;
    }
    if (!member || !strcmp(value->name, "module.json")) {
        return fail(TI_ERROR_CORRUPTED_DATA, "the archive has no member `%.200s`, which module.json lists",
                    value->name);
    }
    if (member->size != size) {
        return fail(TI_ERROR_CORRUPTED_DATA, "the archive is damaged: `%s` has %u bytes, not %llu as module.json says",
                    member->name, member->size, (unsigned long long)size);
    }
    data = zip_read(member);
    if (!data) {
        return false;
    }
    sha256_hex(data, member->size, actual);
    free(data);
    member->is_listed = true;
    return strcmp(actual, expected)
               ? fail(TI_ERROR_CORRUPTED_DATA, "the archive is damaged: `%s` has another SHA-256 than module.json says",
                      member->name)
               : true;
}

static bool check_members(Manifest *manifest, const Json *value) {
    const Json *item;
    uint32_t i;
    if (value->kind != JSON_OBJECT) {
        return fail_value(value, "an object");
    }
    for (item = value->value.first; item; item = item->next) {
        if (!check_member(manifest, item)) {
            return false;
        }
    }
    for (i = 0; i < manifest->zip.count; i++) {
        if (!manifest->zip.members[i].is_listed && strcmp(manifest->zip.members[i].name, "module.json")) {
            return fail(TI_ERROR_CORRUPTED_DATA, "the archive has a member `%s`, which module.json does not list",
                        manifest->zip.members[i].name);
        }
    }
    return true;
}

/* Read the number after a prefix: 90 of "sm_90". */
static bool read_architecture(const Json *value, const char *prefix, uint32_t *number) {
    const char *string;
    size_t length = strlen(prefix);
    char *end;
    unsigned long actual;
    if (value->kind == JSON_NULL) {
        return true;
    }
    if (!json_string(value, &string)) {
        return false;
    }
    if (strncmp(string, prefix, length) || string[length] < '1' || string[length] > '9') {
        return fail_value(value, "a name like sm_90 or compute_90");
    }
    actual = strtoul(string + length, &end, 10);
    if (actual > 9999 || strlen(end) > 1) { /* a letter may follow: sm_90a */
        return fail_value(value, "a name like sm_90 or compute_90");
    }
    *number = (uint32_t)actual;
    return true;
}

static bool read_requirements(Manifest *manifest, const Json *value) {
    static const char *const VULKAN[] = {"spirv", "capabilities", "extensions", "features", "subgroup_size", NULL};
    static const char *const CUDA[] = {"arch", "ptx", NULL};
    static const char *const C[] = {"system", "machine", "cpu", "?openmp", NULL};
    const Json *fields[5];
    switch (manifest->arch) {
    case TI_ARCH_VULKAN: return json_fields(value, VULKAN, fields); /* the shaders declare their capabilities */
    case TI_ARCH_CUDA:
        return json_fields(value, CUDA, fields) && read_architecture(fields[0], "sm_", &manifest->cuda_arch) &&
               read_architecture(fields[1], "compute_", &manifest->cuda_ptx);
    default: return json_fields(value, C, fields);
    }
}

static bool read_manifest(Manifest *manifest, const Json *value) {
    static const char *const FIELDS[] = {"format",  "version",      "shadesmith", "target", "requires",
                                         "options", "capabilities", "members",    "trees",  "fields",
                                         "kernels", "graphs",       NULL};
    const Json *fields[12], *format, *version;
    const char *arch;
    format = value->kind == JSON_OBJECT ? json_member(value, "format") : NULL;
    if (!format || format->kind != JSON_STRING || strcmp(format->value.string, "shadesmith-module")) {
        return fail(TI_ERROR_INCOMPATIBLE_MODULE,
                    "this is no archive of shadesmith: `format` in module.json does not say so");
    }
    version = json_member(value, "version");
    if (version && version->kind == JSON_INTEGER && version->value.integer > 1) {
        return fail(TI_ERROR_INCOMPATIBLE_MODULE,
                    "the archive has format version %lld; this runtime reads version 1. Take shadesmith.c from the "
                    "newer package",
                    (long long)version->value.integer);
    }
    if (!json_fields(value, FIELDS, fields)) {
        return false;
    }
    if (version->kind != JSON_INTEGER || version->value.integer != 1) {
        return fail_value(version, "1");
    }
    if (!json_string(fields[2], &arch) || !json_string(fields[3], &arch)) {
        return false;
    }
    manifest->arch = !strcmp(arch, "vulkan") ? TI_ARCH_VULKAN : !strcmp(arch, "cuda") ? TI_ARCH_CUDA : TI_ARCH_RESERVED;
    if (manifest->arch == TI_ARCH_RESERVED && strcmp(arch, "c")) {
        return fail_value(fields[3], "vulkan, cuda or c");
    }
    if (!read_requirements(manifest, fields[4]) || !check_members(manifest, fields[7]) ||
        !read_trees(manifest, fields[8])) {
        return false;
    }
    manifest->fields =
        (FieldData *)read_table(manifest, fields[9], sizeof(FieldData), read_field, &manifest->field_count);
    if (!manifest->fields) {
        return false;
    }
    manifest->kernels =
        (KernelData *)read_table(manifest, fields[10], sizeof(KernelData), read_kernel, &manifest->kernel_count);
    if (!manifest->kernels) {
        return false;
    }
    manifest->graphs =
        (GraphData *)read_table(manifest, fields[11], sizeof(GraphData), read_graph, &manifest->graph_count);
    return manifest->graphs != NULL;
}

static void manifest_close(Manifest *manifest) {
    arena_free(&manifest->arena);
    memset(manifest, 0, sizeof *manifest);
}

/* --- SPIR-V: validation of shaders -------------------------------------------------------------------------------- */

/* Drivers crash on damaged modules (mesa 22.3 does), so every word is checked first: instructions are complete and
   known, ids are defined, and the entry point and the argument block are those of the manifest. */

enum {
    SPIRV_MAGIC = 0x07230203,
    SPIRV_HEADER_WORDS = 5,
    SPIRV_MAX_BOUND = 1 << 22,
    SPIRV_MODEL_COMPUTE = 5,
    SPIRV_MODE_LOCAL_SIZE = 17,
    SPIRV_STORAGE_UNIFORM_CONSTANT = 0,
    SPIRV_STORAGE_INPUT = 1,
    SPIRV_STORAGE_WORKGROUP = 4,
    SPIRV_STORAGE_PRIVATE = 6,
    SPIRV_STORAGE_FUNCTION = 7,
    SPIRV_STORAGE_PUSH_CONSTANT = 9,
    SPIRV_DECORATION_BINDING = 33,
    SPIRV_DECORATION_DESCRIPTOR_SET = 34,
    SPIRV_DECORATION_OFFSET = 35
};

enum {
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_TYPE_VECTOR = 23,
    OP_TYPE_IMAGE = 25,
    OP_TYPE_SAMPLED_IMAGE = 27,
    OP_TYPE_STRUCT = 30,
    OP_TYPE_POINTER = 32,
    OP_FUNCTION_END = 56,
    OP_VARIABLE = 59,
    OP_DECORATE = 71,
    OP_MEMBER_DECORATE = 72
};

/* Operands of instructions: T the type of the result, R the result, i an id, l a word, s a string; at the end I: ids,
   L: words, X: words or ids. Source: SPIR-V Specification 1.6, section 3.49. */
static const struct {
    uint16_t first, last;
    const char *operands;
} INSTRUCTIONS[] = {
    {0, 0, ""},
    {1, 1, "TR"},
    {2, 2, "s"},
    {3, 3, "llX"},
    {4, 4, "s"},
    {5, 5, "is"},
    {6, 6, "ils"},
    {7, 7, "Rs"},
    {8, 8, "ill"},
    {10, 10, "s"},
    {11, 11, "Rs"},
    {12, 12, "TRilI"},
    {14, 14, "ll"},
    {15, 15, "lisI"},
    {16, 16, "ilL"},
    {17, 17, "l"},
    {19, 20, "R"},
    {21, 21, "Rll"},
    {22, 22, "RlL"},
    {23, 24, "Ril"},
    {25, 25, "RillllllL"},
    {26, 26, "R"},
    {27, 27, "Ri"},
    {28, 28, "Rii"},
    {29, 29, "Ri"},
    {30, 30, "RI"},
    {32, 32, "Rli"},
    {33, 33, "RiI"},
    {39, 39, "il"},
    {41, 42, "TR"},
    {43, 43, "TRL"},
    {44, 44, "TRI"},
    {46, 46, "TR"},
    {48, 49, "TR"},
    {50, 50, "TRL"},
    {51, 51, "TRI"},
    {52, 52, "TRlX"},
    {54, 54, "TRli"},
    {55, 55, "TR"},
    {56, 56, ""},
    {57, 57, "TRiI"},
    {59, 59, "TRlI"},
    {60, 60, "TRiii"},
    {61, 61, "TRiL"},
    {62, 62, "iiL"},
    {63, 63, "iiL"},
    {64, 64, "iiiL"},
    {65, 66, "TRiI"},
    {67, 67, "TRiiI"},
    {68, 68, "TRil"},
    {70, 70, "TRiiI"},
    {71, 71, "ilX"},
    {72, 72, "illX"},
    {73, 73, "R"},
    {74, 74, "iI"},
    {77, 77, "TRii"},
    {78, 78, "TRiii"},
    {79, 79, "TRiiL"},
    {80, 80, "TRI"},
    {81, 81, "TRiL"},
    {82, 82, "TRiiL"},
    {83, 84, "TRi"},
    {86, 86, "TRii"},
    {87, 98, "TRiiX"},
    {99, 99, "iiiX"},
    {100, 100, "TRi"},
    {101, 107, "TRI"},
    {109, 124, "TRi"},
    {126, 127, "TRi"},
    {128, 152, "TRii"},
    {154, 160, "TRi"},
    {161, 167, "TRii"},
    {168, 168, "TRi"},
    {169, 169, "TRiii"},
    {170, 191, "TRii"},
    {194, 199, "TRii"},
    {200, 200, "TRi"},
    {201, 201, "TRiiii"},
    {202, 203, "TRiii"},
    {204, 205, "TRi"},
    {224, 224, "iii"},
    {225, 225, "ii"},
    {227, 227, "TRiii"},
    {228, 228, "iiii"},
    {229, 229, "TRiiii"},
    {230, 231, "TRiiiiii"},
    {232, 233, "TRiii"},
    {234, 242, "TRiiii"},
    {245, 245, "TRI"},
    {246, 246, "iilL"},
    {247, 247, "il"},
    {248, 248, "R"},
    {249, 249, "i"},
    {250, 250, "iiiL"},
    {251, 251, "iiX"},
    {252, 253, ""},
    {254, 254, "i"},
    {255, 255, ""},
    {317, 317, ""},
    {330, 330, "s"},
    {331, 332, "ilI"},
    {333, 333, "TRi"},
    {334, 336, "TRii"},
    {337, 337, "TRiii"},
    {338, 340, "TRii"},
    {341, 341, "TRiii"},
    {342, 342, "TRilI"},
    {343, 344, "TRii"},
    {345, 348, "TRiii"},
    {349, 364, "TRilI"},
    {365, 366, "TRiii"},
    {400, 400, "TRi"},
    {401, 403, "TRii"},
    {5056, 5056, "TRi"},
    {5614, 5615, "TRiiii"},
    {6035, 6035, "TRiiii"},
};

/* A module while it is checked. definitions: for each id the word at which its instruction starts, 0 for none. */
typedef struct Spirv {
    const char *name;
    uint32_t *words;
    uint32_t count, bound;
    uint32_t *definitions;
} Spirv;

static bool fail_spirv(const Spirv *module, uint32_t position, const char *message) {
    return fail(TI_ERROR_CORRUPTED_DATA, "`%s` is not a shader that a driver may read: %s (word %u)", module->name,
                message, position);
}

static const char *operands_of(uint32_t opcode) {
    size_t low = 0, high = sizeof INSTRUCTIONS / sizeof *INSTRUCTIONS;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (opcode < INSTRUCTIONS[middle].first) {
            high = middle;
        } else if (opcode > INSTRUCTIONS[middle].last) {
            low = middle + 1;
        } else {
            return INSTRUCTIONS[middle].operands;
        }
    }
    return NULL;
}

/* Return the number of words of a string, 0 if it does not end. */
static uint32_t string_word_count(const uint32_t *words, uint32_t count) {
    uint32_t i;
    for (i = 0; i < count; i++) {
        if (!(words[i] & 0xff) || !(words[i] >> 8 & 0xff) || !(words[i] >> 16 & 0xff) || !(words[i] >> 24)) {
            return i + 1;
        }
    }
    return 0;
}

/* Check one id. The first pass records the results, the second one requires all other ids to be recorded. */
static bool spirv_id(Spirv *module, uint32_t start, uint32_t position, bool is_result, bool is_first) {
    uint32_t id = module->words[position];
    if (id == 0 || id >= module->bound) {
        return fail_spirv(module, position, "an id is out of its bound");
    }
    if (is_result && is_first) {
        if (module->definitions[id]) {
            return fail_spirv(module, position, "an id is defined twice");
        }
        module->definitions[id] = start;
    }
    return is_result || is_first || module->definitions[id] ? true
                                                            : fail_spirv(module, position, "an id is not defined");
}

/* Check the operands of one instruction from `start` to `end`. */
static bool spirv_operands(Spirv *module, const char *operands, uint32_t start, uint32_t end, bool is_first) {
    uint32_t position = start + 1, length;
    for (; *operands; operands++) {
        switch (*operands) {
        case 'L':
        case 'X': return true;
        case 'I':
            for (; position < end; position++) {
                if (!spirv_id(module, start, position, false, is_first)) {
                    return false;
                }
            }
            return true;
        case 's':
            length = string_word_count(module->words + position, end - position);
            if (!length) {
                return fail_spirv(module, position, "a string does not end");
            }
            position += length;
            break;
        default:
            if (position >= end) {
                return fail_spirv(module, start, "an instruction has too few operands");
            }
            if (*operands != 'l' && !spirv_id(module, start, position, *operands == 'R', is_first)) {
                return false;
            }
            position++;
        }
    }
    return position == end ? true : fail_spirv(module, start, "an instruction has too many operands");
}

static bool spirv_instructions(Spirv *module, bool is_first) {
    uint32_t position = SPIRV_HEADER_WORDS, end, opcode = 0;
    while (position < module->count) {
        const char *operands;
        opcode = module->words[position] & 0xffff;
        end = position + (module->words[position] >> 16);
        if (end == position || end > module->count) {
            return fail_spirv(module, position, "an instruction ends outside the module");
        }
        operands = operands_of(opcode);
        if (!operands) {
            return fail_spirv(module, position, "an instruction is none of a compute shader that this runtime knows");
        }
        if (!spirv_operands(module, operands, position, end, is_first)) {
            return false;
        }
        position = end;
    }
    return opcode == OP_FUNCTION_END ? true : fail_spirv(module, position, "it does not end with a function");
}

/* Return the first word of the instruction that defines an id if it has this opcode, else null. */
static const uint32_t *spirv_definition(const Spirv *module, uint32_t id, uint32_t opcode) {
    const uint32_t *instruction =
        id < module->bound && module->definitions[id] ? module->words + module->definitions[id] : NULL;
    return instruction && (*instruction & 0xffff) == opcode ? instruction : NULL;
}

/* Return the size of a scalar, vector or pointer [bytes], 0 for other types. */
static uint32_t spirv_type_size(const Spirv *module, uint32_t id) {
    const uint32_t *type = module->words + module->definitions[id];
    switch (*type & 0xffff) {
    case OP_TYPE_INT:
    case OP_TYPE_FLOAT: return type[2] / 8;
    case OP_TYPE_VECTOR: {
        const uint32_t *component = module->words + module->definitions[type[2]];
        uint32_t opcode = *component & 0xffff;
        return opcode == OP_TYPE_INT || opcode == OP_TYPE_FLOAT ? component[2] / 8 * (type[3] & 0xff) : 0;
    }
    case OP_TYPE_POINTER: return 8;
    default: return 0;
    }
}

/* Check that the members of a struct have the offsets of the members of the kernel's argument block. */
static bool spirv_check_struct(const Spirv *module, uint32_t structure, const KernelData *kernel) {
    const uint32_t *type = spirv_definition(module, structure, OP_TYPE_STRUCT);
    uint32_t position, i, member_count;
    if (!type) {
        return fail_spirv(module, 0, "its arguments are no struct");
    }
    member_count = (*type >> 16) - 2;
    for (position = SPIRV_HEADER_WORDS; position < module->count; position += module->words[position] >> 16) {
        const uint32_t *instruction = module->words + position;
        if ((*instruction & 0xffff) != OP_MEMBER_DECORATE || *instruction >> 16 != 5 || instruction[1] != structure ||
            instruction[3] != SPIRV_DECORATION_OFFSET) {
            continue;
        }
        for (i = 0; i < kernel->member_count && kernel->members[i].offset != instruction[4]; i++) {
        }
        if (i == kernel->member_count || instruction[2] >= member_count ||
            instruction[4] + (uint64_t)spirv_type_size(module, type[2 + instruction[2]]) > kernel->args_size) {
            return fail_spirv(module, position, "its arguments have other offsets than the manifest says");
        }
    }
    return true;
}

/* Check the block of push constants: the arguments themselves, or their address. */
static bool spirv_check_arguments(const Spirv *module, const KernelData *kernel) {
    uint32_t position;
    for (position = SPIRV_HEADER_WORDS; position < module->count; position += module->words[position] >> 16) {
        const uint32_t *instruction = module->words + position, *pointer, *block;
        if ((*instruction & 0xffff) != OP_VARIABLE || instruction[3] != SPIRV_STORAGE_PUSH_CONSTANT) {
            continue;
        }
        pointer = spirv_definition(module, instruction[1], OP_TYPE_POINTER);
        if (!pointer) {
            return fail_spirv(module, position, "a variable is no pointer");
        }
        if (kernel->args_size <= MAX_PUSH_BYTES) {
            return spirv_check_struct(module, pointer[3], kernel);
        }
        block = spirv_definition(module, pointer[3], OP_TYPE_STRUCT);
        pointer = block && *block >> 16 == 3 ? spirv_definition(module, block[2], OP_TYPE_POINTER) : NULL;
        return pointer ? spirv_check_struct(module, pointer[3], kernel)
                       : fail_spirv(module, position, "its push constants are not the address of its arguments");
    }
    return true;
}

/* Return the value of a decoration of an id, -1 if it has none. */
static int64_t spirv_decoration(const Spirv *module, uint32_t id, uint32_t decoration) {
    uint32_t position;
    for (position = SPIRV_HEADER_WORDS; position < module->count; position += module->words[position] >> 16) {
        const uint32_t *instruction = module->words + position;
        if ((*instruction & 0xffff) == OP_DECORATE && *instruction >> 16 == 4 && instruction[1] == id &&
            instruction[2] == decoration) {
            return instruction[3];
        }
    }
    return -1;
}

/* Check that the variable of a texture has the type that the kernel binds. */
static bool spirv_is_texture(const Spirv *module, uint32_t pointer_type, const TextureBinding *binding,
                             const Parameter *parameter) {
    const uint32_t *pointer = spirv_definition(module, pointer_type, OP_TYPE_POINTER), *type = NULL, *image, *number;
    if (pointer && !binding->is_storage) {
        type = spirv_definition(module, pointer[3], OP_TYPE_SAMPLED_IMAGE);
    }
    image = pointer && binding->is_storage ? spirv_definition(module, pointer[3], OP_TYPE_IMAGE)
            : type                         ? spirv_definition(module, type[2], OP_TYPE_IMAGE)
                                           : NULL;
    if (!image || image[3] != parameter->dim_count - 1 || image[5] || image[6] ||
        image[7] != (binding->is_storage ? 2u : 1u) || image[8] != TEXEL_FORMATS[parameter->format].spirv) {
        return false;
    }
    number = spirv_definition(module, image[2], parameter->type == TI_DATA_TYPE_F32 ? OP_TYPE_FLOAT : OP_TYPE_INT);
    return number && number[2] == 32 &&
           (parameter->type == TI_DATA_TYPE_F32 || number[3] == (parameter->type == TI_DATA_TYPE_I32));
}

/* Check the interface of a shader: only its arguments and the textures that the manifest lists. */
static bool spirv_check_variables(const Spirv *module, const KernelData *kernel) {
    uint32_t position, seen = 0;
    for (position = SPIRV_HEADER_WORDS; position < module->count; position += module->words[position] >> 16) {
        const uint32_t *instruction = module->words + position;
        int64_t binding;
        if ((*instruction & 0xffff) != OP_VARIABLE) {
            continue;
        }
        switch (instruction[3]) {
        case SPIRV_STORAGE_INPUT:
        case SPIRV_STORAGE_WORKGROUP:
        case SPIRV_STORAGE_PRIVATE:
        case SPIRV_STORAGE_FUNCTION:
        case SPIRV_STORAGE_PUSH_CONSTANT: break;
        case SPIRV_STORAGE_UNIFORM_CONSTANT:
            /* counted first, which bounds the time of the search */
            binding = ++seen > kernel->texture_count
                          ? -1
                          : spirv_decoration(module, instruction[2], SPIRV_DECORATION_BINDING);
            if (binding < 0 || binding >= kernel->texture_count ||
                spirv_decoration(module, instruction[2], SPIRV_DECORATION_DESCRIPTOR_SET) != 0 ||
                !spirv_is_texture(module, instruction[1], &kernel->textures[binding],
                                  &kernel->parameters[kernel->textures[binding].parameter])) {
                return fail_spirv(module, position, "a texture is another than the manifest says");
            }
            break;
        default: return fail_spirv(module, position, "a variable is neither the shader's own nor an argument");
        }
    }
    return true;
}

static bool spirv_string_is(const uint32_t *words, uint32_t count, const char *string) {
    size_t length = strlen(string) + 1, i;
    for (i = 0; i < length; i++) {
        if (i / 4 >= count || (char)(words[i / 4] >> 8 * (i % 4) & 0xff) != string[i]) {
            return false;
        }
    }
    return true;
}

/* Check that the entry point of a task exists, and its number of threads a group. */
static bool spirv_check_entry(const Spirv *module, const Task *task) {
    uint32_t position, function = 0;
    for (position = SPIRV_HEADER_WORDS; position < module->count; position += module->words[position] >> 16) {
        const uint32_t *instruction = module->words + position;
        uint32_t length = *instruction >> 16;
        switch (*instruction & 0xffff) {
        case OP_ENTRY_POINT:
            if (spirv_string_is(instruction + 3, length - 3, task->entry)) {
                if (instruction[1] != SPIRV_MODEL_COMPUTE) {
                    return fail_spirv(module, position, "it is a shader of another stage");
                }
                function = instruction[2];
            }
            break;
        case OP_EXECUTION_MODE:
            if (function && instruction[1] == function && instruction[2] == SPIRV_MODE_LOCAL_SIZE) {
                if (length != 6 || (uint64_t)instruction[3] * instruction[4] > MAX_SHADER_BLOCK ||
                    (uint64_t)instruction[3] * instruction[4] * instruction[5] != task->block_dim) {
                    return fail_spirv(module, position, "its groups have another size than the manifest says");
                }
            }
            break;
        }
    }
    return function ? true
                    : fail(TI_ERROR_CORRUPTED_DATA, "`%s` has no entry point `%.64s`", module->name, task->entry);
}

static bool spirv_check_tasks(const Spirv *module, const KernelData *kernel, uint32_t file) {
    uint32_t i;
    for (i = 0; i < kernel->task_count; i++) {
        if (kernel->tasks[i].file == file && !spirv_check_entry(module, &kernel->tasks[i])) {
            return false;
        }
    }
    return spirv_check_variables(module, kernel) && spirv_check_arguments(module, kernel);
}

/* Check the shader of one file of a kernel; the caller frees `data`. */
static bool check_spirv(const KernelData *kernel, uint32_t file, const uint8_t *data) {
    Spirv module;
    uint32_t size = kernel->files[file].code->size;
    bool is_good;
    memset(&module, 0, sizeof module);
    module.name = kernel->files[file].code->name;
    if (size % 4 || size < 4 * (SPIRV_HEADER_WORDS + 1) || little_u32(data) != SPIRV_MAGIC) {
        return fail_spirv(&module, 0, "it is no SPIR-V");
    }
    module.count = size / 4;
    module.bound = little_u32(data + 12);
    if (module.bound == 0 || module.bound > SPIRV_MAX_BOUND || little_u32(data + 4) > 0x00010600 ||
        little_u32(data + 16)) {
        return fail_spirv(&module, 0, "its header is wrong");
    }
    module.words = (uint32_t *)allocate_zeroed(size);
    module.definitions = (uint32_t *)allocate_zeroed((size_t)module.bound * sizeof(uint32_t));
    is_good = module.words && module.definitions;
    if (is_good) {
        memcpy(module.words, data, size); /* the host is little endian, as the devices are */
        is_good = spirv_instructions(&module, true) && spirv_instructions(&module, false) &&
                  spirv_check_tasks(&module, kernel, file);
    }
    free(module.words);
    free(module.definitions);
    return is_good;
}

/* --- cubins, PTX, and all binaries of an archive ------------------------------------------------------------------ */

/* Check that no part of an ELF file is outside of it, since cuModuleLoadData takes no size. Source: System V ABI,
   chapter 4. */
static bool check_cubin(const ZipMember *member, const uint8_t *data) {
    uint64_t size = member->size, sections, segments, i;
    uint32_t count, entry, segment_count, segment_entry;
    if (size < 64 || memcmp(data, "\177ELF\2\1", 6)) {
        return fail(TI_ERROR_CORRUPTED_DATA, "`%s` is no cubin", member->name);
    }
    segments = little_u64(data + 32);
    sections = little_u64(data + 40);
    segment_entry = little_u16(data + 54);
    segment_count = little_u16(data + 56);
    entry = little_u16(data + 58);
    count = little_u16(data + 60);
    if ((count && entry != 64) || sections > size || (uint64_t)count * 64 > size - sections ||
        (segment_count && segment_entry != 56) || segments > size || (uint64_t)segment_count * 56 > size - segments ||
        !count) {
        return fail(TI_ERROR_CORRUPTED_DATA, "`%s` is a damaged cubin", member->name);
    }
    for (i = 0; i < count; i++) {
        const uint8_t *section = data + sections + 64 * i;
        enum { NO_BITS = 8 };
        if (little_u32(section + 4) != NO_BITS &&
            (little_u64(section + 24) > size || little_u64(section + 32) > size - little_u64(section + 24))) {
            return fail(TI_ERROR_CORRUPTED_DATA, "`%s` is a damaged cubin: a section is outside of it", member->name);
        }
    }
    for (i = 0; i < segment_count; i++) {
        const uint8_t *segment = data + segments + 56 * i;
        if (little_u64(segment + 8) > size || little_u64(segment + 32) > size - little_u64(segment + 8)) {
            return fail(TI_ERROR_CORRUPTED_DATA, "`%s` is a damaged cubin: a segment is outside of it", member->name);
        }
    }
    return true;
}

/* Check that PTX is a string of the size that the archive says. */
static bool check_ptx(const ZipMember *member, const uint8_t *data) {
    if (memchr(data, 0, member->size) || !strstr((const char *)data, ".version")) {
        return fail(TI_ERROR_CORRUPTED_DATA, "`%s` is no PTX", member->name);
    }
    return true;
}

static bool check_file(const Manifest *manifest, const KernelData *kernel, uint32_t number) {
    const CodeFile *file = &kernel->files[number];
    uint8_t *code = file->code ? zip_read(file->code) : NULL, *ptx = file->ptx ? zip_read(file->ptx) : NULL;
    bool is_good = (code || !file->code) && (ptx || !file->ptx);
    if (is_good && manifest->arch == TI_ARCH_VULKAN) {
        is_good = check_spirv(kernel, number, code);
    } else if (is_good && manifest->arch == TI_ARCH_CUDA) {
        is_good = (!code || check_cubin(file->code, code)) && (!ptx || check_ptx(file->ptx, ptx));
    }
    free(code);
    free(ptx);
    return is_good ? true : fail_within("kernel `%s`", kernel->name);
}

/* Check all binaries that a driver would read. A member that several kernels name counts each time, so that an archive
   whose kernels all name one large member is refused instead of taking forever. */
static bool check_binaries(const Manifest *manifest) {
    uint64_t looked_at = 0;
    uint32_t i, k, task;
    for (i = 0; i < manifest->kernel_count; i++) {
        const KernelData *kernel = &manifest->kernels[i];
        for (k = 0; k < kernel->file_count; k++) {
            const CodeFile *file = &kernel->files[k];
            uint64_t size = (file->code ? file->code->size : 0) + (uint64_t)(file->ptx ? file->ptx->size : 0);
            for (looked_at += size, task = 0; task < kernel->task_count; task++) {
                looked_at += kernel->tasks[task].file == k ? size : 0;
            }
            if (looked_at > 2 * MAX_ARCHIVE_BYTES) {
                return fail(TI_ERROR_CORRUPTED_DATA, "the binaries of the archive are named too often");
            }
            if (!check_file(manifest, kernel, k)) {
                return false;
            }
        }
    }
    return true;
}

/* Read an archive. Its bytes must stay valid while the manifest is used. */
static bool manifest_open(Manifest *manifest, const void *data, size_t size) {
    const ZipMember *member;
    uint8_t *source = NULL;
    Json *value;
    bool is_good;
    memset(manifest, 0, sizeof *manifest);
    is_good = zip_open(&manifest->zip, &manifest->arena, (const uint8_t *)data, size);
    member = is_good ? zip_find(&manifest->zip, "module.json") : NULL;
    if (is_good && !member) {
        is_good = fail(TI_ERROR_INCOMPATIBLE_MODULE, "this is no archive of shadesmith: it has no module.json");
    } else if (is_good && member->size > MAX_MANIFEST_BYTES) {
        is_good = fail(TI_ERROR_CORRUPTED_DATA, "module.json has more than %d bytes", MAX_MANIFEST_BYTES);
    }
    source = is_good ? zip_read(member) : NULL;
    value = source ? (Json *)arena_allocate(&manifest->arena, 1, sizeof(Json)) : NULL;
    is_good = value && json_parse(&manifest->arena, (const char *)source, member->size, value) &&
              read_manifest(manifest, value) && check_binaries(manifest);
    free(source);
    if (!is_good) {
        manifest_close(manifest);
    }
    return is_good;
}

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

/* --- Vulkan: declarations ----------------------------------------------------------------------------------------- */

/* The part of vulkan_core.h that is used, with its names. Source: Vulkan 1.2 specification. */
typedef uint32_t VkBool32;
typedef uint64_t VkDeviceSize;
typedef uint64_t VkDeviceAddress;
typedef int32_t VkResult;
typedef struct VkInstance_T *VkInstance;
typedef struct VkPhysicalDevice_T *VkPhysicalDevice;
typedef struct VkDevice_T *VkDevice;
typedef struct VkQueue_T *VkQueue;
typedef struct VkCommandBuffer_T *VkCommandBuffer;
typedef uint64_t VkBuffer;
typedef uint64_t VkDeviceMemory;
typedef uint64_t VkFence;
typedef uint64_t VkCommandPool;
typedef uint64_t VkShaderModule;
typedef uint64_t VkPipeline;
typedef uint64_t VkPipelineLayout;
typedef uint64_t VkImage;
typedef uint64_t VkImageView;
typedef uint64_t VkSampler;
typedef uint64_t VkDescriptorSetLayout;
typedef uint64_t VkDescriptorPool;
typedef uint64_t VkDescriptorSet;

#ifdef _WIN32
#define VKAPI_CALL __stdcall
#else
#define VKAPI_CALL
#endif

enum {
    VK_SUCCESS = 0,
    VK_NOT_READY = 1,
    VK_TIMEOUT = 2,
    VK_ERROR_OUT_OF_HOST_MEMORY = -1,
    VK_ERROR_OUT_OF_DEVICE_MEMORY = -2,
    VK_ERROR_DEVICE_LOST = -4,
    VK_ERROR_FORMAT_NOT_SUPPORTED = -11
};

enum {
    VK_STRUCTURE_TYPE_APPLICATION_INFO = 0,
    VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO = 1,
    VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO = 2,
    VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO = 3,
    VK_STRUCTURE_TYPE_SUBMIT_INFO = 4,
    VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO = 5,
    VK_STRUCTURE_TYPE_FENCE_CREATE_INFO = 8,
    VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO = 12,
    VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO = 14,
    VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO = 15,
    VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO = 16,
    VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO = 18,
    VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO = 29,
    VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO = 30,
    VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO = 31,
    VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO = 32,
    VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO = 33,
    VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO = 34,
    VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET = 35,
    VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO = 39,
    VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO = 40,
    VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO = 42,
    VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER = 45,
    VK_STRUCTURE_TYPE_MEMORY_BARRIER = 46,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES = 49,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES = 50,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES = 51,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES = 52,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2 = 1000059000,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2 = 1000059001,
    VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO = 1000060000,
    VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO = 1000244001,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT = 1000260000,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_2_FEATURES_EXT = 1000273000
};

enum {
    VK_QUEUE_COMPUTE_BIT = 2,
    VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT = 1,
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT = 2,
    VK_MEMORY_PROPERTY_HOST_COHERENT_BIT = 4,
    VK_MEMORY_PROPERTY_HOST_CACHED_BIT = 8,
    VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT = 2,
    VK_SHADER_STAGE_COMPUTE_BIT = 0x20,
    VK_PIPELINE_BIND_POINT_COMPUTE = 1,
    VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT = 2,
    VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT = 1,
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT = 0x800,
    VK_PIPELINE_STAGE_TRANSFER_BIT = 0x1000,
    VK_PIPELINE_STAGE_HOST_BIT = 0x4000,
    VK_ACCESS_HOST_READ_BIT = 0x2000,
    VK_ACCESS_MEMORY_READ_BIT = 0x8000,
    VK_ACCESS_MEMORY_WRITE_BIT = 0x10000,
    VK_PHYSICAL_DEVICE_TYPE_CPU = 4,
    VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT = 0x1,
    VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT = 0x2,
    VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT = 0x1000,
    VK_FORMAT_FEATURE_TRANSFER_SRC_BIT = 0x4000,
    VK_FORMAT_FEATURE_TRANSFER_DST_BIT = 0x8000,
    VK_IMAGE_USAGE_TRANSFER_SRC_BIT = 0x1,
    VK_IMAGE_USAGE_TRANSFER_DST_BIT = 0x2,
    VK_IMAGE_USAGE_SAMPLED_BIT = 0x4,
    VK_IMAGE_USAGE_STORAGE_BIT = 0x8,
    VK_IMAGE_LAYOUT_GENERAL = 1,
    VK_IMAGE_ASPECT_COLOR_BIT = 1,
    VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK = 0,
    VK_BORDER_COLOR_INT_TRANSPARENT_BLACK = 1,
    VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER = 1,
    VK_DESCRIPTOR_TYPE_STORAGE_IMAGE = 3,
    VK_ACCESS_TRANSFER_WRITE_BIT = 0x1000,
    /* transfer source and destination, uniform, storage, index, vertex, device address */
    BUFFER_USAGE = 0x1 | 0x2 | 0x10 | 0x20 | 0x40 | 0x80 | 0x20000
};

typedef struct VkApplicationInfo {
    uint32_t sType;
    const void *pNext;
    const char *pApplicationName;
    uint32_t applicationVersion;
    const char *pEngineName;
    uint32_t engineVersion, apiVersion;
} VkApplicationInfo;

typedef struct VkInstanceCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags;
    const VkApplicationInfo *pApplicationInfo;
    uint32_t enabledLayerCount;
    const char *const *ppEnabledLayerNames;
    uint32_t enabledExtensionCount;
    const char *const *ppEnabledExtensionNames;
} VkInstanceCreateInfo;

typedef struct VkPhysicalDeviceLimits {
    uint32_t maxImageDimension1D, maxImageDimension2D, maxImageDimension3D, maxImageDimensionCube, maxImageArrayLayers;
    uint32_t maxTexelBufferElements, maxUniformBufferRange, maxStorageBufferRange, maxPushConstantsSize;
    uint32_t maxMemoryAllocationCount, maxSamplerAllocationCount;
    VkDeviceSize bufferImageGranularity, sparseAddressSpaceSize;
    uint32_t maxBoundDescriptorSets, maxPerStageDescriptorSamplers, maxPerStageDescriptorUniformBuffers;
    uint32_t maxPerStageDescriptorStorageBuffers, maxPerStageDescriptorSampledImages;
    uint32_t maxPerStageDescriptorStorageImages;
    uint32_t descriptorAndStageLimits[32]; /* maxPerStageDescriptorInputAttachments to
                                              maxFragmentCombinedOutputResources */
    uint32_t maxComputeSharedMemorySize, maxComputeWorkGroupCount[3], maxComputeWorkGroupInvocations;
    uint32_t maxComputeWorkGroupSize[3];
    uint64_t others[32]; /* subPixelPrecisionBits to nonCoherentAtomSize */
} VkPhysicalDeviceLimits;

typedef struct VkPhysicalDeviceProperties {
    uint32_t apiVersion, driverVersion, vendorID, deviceID, deviceType;
    char deviceName[256];
    uint8_t pipelineCacheUUID[16];
    VkPhysicalDeviceLimits limits;
    VkBool32 sparseProperties[5];
} VkPhysicalDeviceProperties;

typedef struct VkPhysicalDeviceProperties2 {
    uint32_t sType;
    void *pNext;
    VkPhysicalDeviceProperties properties;
} VkPhysicalDeviceProperties2;

typedef struct VkPhysicalDeviceVulkan11Properties {
    uint32_t sType;
    void *pNext;
    uint8_t deviceUUID[16], driverUUID[16], deviceLUID[8];
    uint32_t deviceNodeMask;
    VkBool32 deviceLUIDValid;
    uint32_t subgroupSize, subgroupSupportedStages, subgroupSupportedOperations;
    VkBool32 subgroupQuadOperationsInAllStages;
    uint32_t pointClippingBehavior, maxMultiviewViewCount, maxMultiviewInstanceIndex;
    VkBool32 protectedNoFault;
    uint32_t maxPerSetDescriptors;
    VkDeviceSize maxMemoryAllocationSize;
} VkPhysicalDeviceVulkan11Properties;

typedef struct VkPhysicalDeviceVulkan12Properties {
    uint32_t sType;
    void *pNext;
    uint32_t driverID;
    char driverName[256], driverInfo[256];
    uint8_t conformanceVersion[4];
    uint32_t denormBehaviorIndependence, roundingModeIndependence;
    VkBool32 signedZeroInfNanPreserve[3], denormPreserve[3], denormFlushToZero[3], roundingModeRTE[3],
        roundingModeRTZ[3];
    uint32_t others[29]; /* maxUpdateAfterBindDescriptorsInAllPools to filterMinmaxImageComponentMapping */
    uint64_t maxTimelineSemaphoreValueDifference;
    uint32_t framebufferIntegerColorSampleCounts;
} VkPhysicalDeviceVulkan12Properties;

/* Feature structs: the members are VkBool32, accessed by number. */
typedef struct Features10 {
    uint32_t sType;
    void *pNext;
    VkBool32 values[55];
} Features10; /* VkPhysicalDeviceFeatures2 */

typedef struct Features11 {
    uint32_t sType;
    void *pNext;
    VkBool32 values[12];
} Features11; /* VkPhysicalDeviceVulkan11Features */

typedef struct Features12 {
    uint32_t sType;
    void *pNext;
    VkBool32 values[47];
} Features12; /* VkPhysicalDeviceVulkan12Features */

typedef struct FeaturesAtomic {
    uint32_t sType;
    void *pNext;
    VkBool32 values[12];
} FeaturesAtomic; /* VkPhysicalDeviceShaderAtomicFloatFeaturesEXT and ...Float2FeaturesEXT */

typedef struct VkQueueFamilyProperties {
    uint32_t queueFlags, queueCount, timestampValidBits, minImageTransferGranularity[3];
} VkQueueFamilyProperties;

typedef struct VkMemoryType {
    uint32_t propertyFlags, heapIndex;
} VkMemoryType;

typedef struct VkMemoryHeap {
    VkDeviceSize size;
    uint32_t flags;
} VkMemoryHeap;

typedef struct VkPhysicalDeviceMemoryProperties {
    uint32_t memoryTypeCount;
    VkMemoryType memoryTypes[32];
    uint32_t memoryHeapCount;
    VkMemoryHeap memoryHeaps[16];
} VkPhysicalDeviceMemoryProperties;

typedef struct VkExtensionProperties {
    char extensionName[256];
    uint32_t specVersion;
} VkExtensionProperties;

typedef struct VkDeviceQueueCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags, queueFamilyIndex, queueCount;
    const float *pQueuePriorities;
} VkDeviceQueueCreateInfo;

typedef struct VkDeviceCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags, queueCreateInfoCount;
    const VkDeviceQueueCreateInfo *pQueueCreateInfos;
    uint32_t enabledLayerCount;
    const char *const *ppEnabledLayerNames;
    uint32_t enabledExtensionCount;
    const char *const *ppEnabledExtensionNames;
    const void *pEnabledFeatures;
} VkDeviceCreateInfo;

typedef struct VkBufferCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags;
    VkDeviceSize size;
    uint32_t usage, sharingMode, queueFamilyIndexCount;
    const uint32_t *pQueueFamilyIndices;
} VkBufferCreateInfo;

typedef struct VkMemoryRequirements {
    VkDeviceSize size, alignment;
    uint32_t memoryTypeBits;
} VkMemoryRequirements;

typedef struct VkMemoryAllocateFlagsInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags, deviceMask;
} VkMemoryAllocateFlagsInfo;

typedef struct VkMemoryAllocateInfo {
    uint32_t sType;
    const void *pNext;
    VkDeviceSize allocationSize;
    uint32_t memoryTypeIndex;
} VkMemoryAllocateInfo;

typedef struct VkBufferDeviceAddressInfo {
    uint32_t sType;
    const void *pNext;
    VkBuffer buffer;
} VkBufferDeviceAddressInfo;

typedef struct VkCommandPoolCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags, queueFamilyIndex;
} VkCommandPoolCreateInfo;

typedef struct VkCommandBufferAllocateInfo {
    uint32_t sType;
    const void *pNext;
    VkCommandPool commandPool;
    uint32_t level, commandBufferCount;
} VkCommandBufferAllocateInfo;

typedef struct VkCommandBufferBeginInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags;
    const void *pInheritanceInfo;
} VkCommandBufferBeginInfo;

typedef struct VkFenceCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags;
} VkFenceCreateInfo;

typedef struct VkSubmitInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t waitSemaphoreCount;
    const uint64_t *pWaitSemaphores;
    const uint32_t *pWaitDstStageMask;
    uint32_t commandBufferCount;
    const VkCommandBuffer *pCommandBuffers;
    uint32_t signalSemaphoreCount;
    const uint64_t *pSignalSemaphores;
} VkSubmitInfo;

typedef struct VkMemoryBarrier {
    uint32_t sType;
    const void *pNext;
    uint32_t srcAccessMask, dstAccessMask;
} VkMemoryBarrier;

typedef struct VkBufferCopy {
    VkDeviceSize srcOffset, dstOffset, size;
} VkBufferCopy;

typedef struct VkOffset3D {
    int32_t x, y, z;
} VkOffset3D;

typedef struct VkExtent3D {
    uint32_t width, height, depth;
} VkExtent3D;

typedef struct VkFormatProperties {
    uint32_t linearTilingFeatures, optimalTilingFeatures, bufferFeatures;
} VkFormatProperties;

typedef struct VkImageFormatProperties {
    VkExtent3D maxExtent;
    uint32_t maxMipLevels, maxArrayLayers, sampleCounts;
    VkDeviceSize maxResourceSize;
} VkImageFormatProperties;

typedef struct VkImageCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags, imageType, format;
    VkExtent3D extent;
    uint32_t mipLevels, arrayLayers, samples, tiling, usage, sharingMode, queueFamilyIndexCount;
    const uint32_t *pQueueFamilyIndices;
    uint32_t initialLayout;
} VkImageCreateInfo;

typedef struct VkImageSubresourceRange {
    uint32_t aspectMask, baseMipLevel, levelCount, baseArrayLayer, layerCount;
} VkImageSubresourceRange;

typedef struct VkImageSubresourceLayers {
    uint32_t aspectMask, mipLevel, baseArrayLayer, layerCount;
} VkImageSubresourceLayers;

typedef struct VkImageViewCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags;
    VkImage image;
    uint32_t viewType, format, components[4];
    VkImageSubresourceRange subresourceRange;
} VkImageViewCreateInfo;

typedef struct VkSamplerCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags, magFilter, minFilter, mipmapMode, addressModeU, addressModeV, addressModeW;
    float mipLodBias;
    VkBool32 anisotropyEnable;
    float maxAnisotropy;
    VkBool32 compareEnable;
    uint32_t compareOp;
    float minLod, maxLod;
    uint32_t borderColor;
    VkBool32 unnormalizedCoordinates;
} VkSamplerCreateInfo;

typedef struct VkImageMemoryBarrier {
    uint32_t sType;
    const void *pNext;
    uint32_t srcAccessMask, dstAccessMask, oldLayout, newLayout, srcQueueFamilyIndex, dstQueueFamilyIndex;
    VkImage image;
    VkImageSubresourceRange subresourceRange;
} VkImageMemoryBarrier;

typedef struct VkBufferImageCopy {
    VkDeviceSize bufferOffset;
    uint32_t bufferRowLength, bufferImageHeight;
    VkImageSubresourceLayers imageSubresource;
    VkOffset3D imageOffset;
    VkExtent3D imageExtent;
} VkBufferImageCopy;

typedef struct VkImageCopy {
    VkImageSubresourceLayers srcSubresource;
    VkOffset3D srcOffset;
    VkImageSubresourceLayers dstSubresource;
    VkOffset3D dstOffset;
    VkExtent3D extent;
} VkImageCopy;

typedef struct VkDescriptorSetLayoutBinding {
    uint32_t binding, descriptorType, descriptorCount, stageFlags;
    const VkSampler *pImmutableSamplers;
} VkDescriptorSetLayoutBinding;

typedef struct VkDescriptorSetLayoutCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags, bindingCount;
    const VkDescriptorSetLayoutBinding *pBindings;
} VkDescriptorSetLayoutCreateInfo;

typedef struct VkDescriptorPoolSize {
    uint32_t type, descriptorCount;
} VkDescriptorPoolSize;

typedef struct VkDescriptorPoolCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags, maxSets, poolSizeCount;
    const VkDescriptorPoolSize *pPoolSizes;
} VkDescriptorPoolCreateInfo;

typedef struct VkDescriptorSetAllocateInfo {
    uint32_t sType;
    const void *pNext;
    VkDescriptorPool descriptorPool;
    uint32_t descriptorSetCount;
    const VkDescriptorSetLayout *pSetLayouts;
} VkDescriptorSetAllocateInfo;

typedef struct VkDescriptorImageInfo {
    VkSampler sampler;
    VkImageView imageView;
    uint32_t imageLayout;
} VkDescriptorImageInfo;

typedef struct VkWriteDescriptorSet {
    uint32_t sType;
    const void *pNext;
    VkDescriptorSet dstSet;
    uint32_t dstBinding, dstArrayElement, descriptorCount, descriptorType;
    const VkDescriptorImageInfo *pImageInfo;
    const void *pBufferInfo, *pTexelBufferView;
} VkWriteDescriptorSet;

typedef struct VkShaderModuleCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags;
    size_t codeSize;
    const uint32_t *pCode;
} VkShaderModuleCreateInfo;

typedef struct VkPushConstantRange {
    uint32_t stageFlags, offset, size;
} VkPushConstantRange;

typedef struct VkPipelineLayoutCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags, setLayoutCount;
    const VkDescriptorSetLayout *pSetLayouts;
    uint32_t pushConstantRangeCount;
    const VkPushConstantRange *pPushConstantRanges;
} VkPipelineLayoutCreateInfo;

typedef struct VkPipelineShaderStageCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags, stage;
    VkShaderModule module;
    const char *pName;
    const void *pSpecializationInfo;
} VkPipelineShaderStageCreateInfo;

typedef struct VkComputePipelineCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags;
    VkPipelineShaderStageCreateInfo stage;
    VkPipelineLayout layout;
    VkPipeline basePipelineHandle;
    int32_t basePipelineIndex;
} VkComputePipelineCreateInfo;

typedef AnyFunction(VKAPI_CALL *PFN_vkGetInstanceProcAddr)(VkInstance, const char *);
typedef AnyFunction(VKAPI_CALL *PFN_vkGetDeviceProcAddr)(VkDevice, const char *);

/* --- Vulkan: functions, features and state of a device ------------------------------------------------------------ */

/* Vulkan functions, named without "vk". */
typedef struct VulkanApi {
    PFN_vkGetInstanceProcAddr GetInstanceProcAddr;
    PFN_vkGetDeviceProcAddr GetDeviceProcAddr;
    VkResult(VKAPI_CALL *CreateInstance)(const VkInstanceCreateInfo *, const void *, VkInstance *);
    void(VKAPI_CALL *DestroyInstance)(VkInstance, const void *);
    VkResult(VKAPI_CALL *EnumeratePhysicalDevices)(VkInstance, uint32_t *, VkPhysicalDevice *);
    void(VKAPI_CALL *GetPhysicalDeviceProperties)(VkPhysicalDevice, VkPhysicalDeviceProperties *);
    void(VKAPI_CALL *GetPhysicalDeviceProperties2)(VkPhysicalDevice, VkPhysicalDeviceProperties2 *);
    void(VKAPI_CALL *GetPhysicalDeviceFeatures2)(VkPhysicalDevice, Features10 *);
    void(VKAPI_CALL *GetPhysicalDeviceQueueFamilyProperties)(VkPhysicalDevice, uint32_t *, VkQueueFamilyProperties *);
    void(VKAPI_CALL *GetPhysicalDeviceMemoryProperties)(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties *);
    VkResult(VKAPI_CALL *EnumerateDeviceExtensionProperties)(VkPhysicalDevice, const char *, uint32_t *,
                                                             VkExtensionProperties *);
    VkResult(VKAPI_CALL *CreateDevice)(VkPhysicalDevice, const VkDeviceCreateInfo *, const void *, VkDevice *);
    void(VKAPI_CALL *DestroyDevice)(VkDevice, const void *);
    void(VKAPI_CALL *GetDeviceQueue)(VkDevice, uint32_t, uint32_t, VkQueue *);
    VkResult(VKAPI_CALL *DeviceWaitIdle)(VkDevice);
    VkResult(VKAPI_CALL *CreateBuffer)(VkDevice, const VkBufferCreateInfo *, const void *, VkBuffer *);
    void(VKAPI_CALL *DestroyBuffer)(VkDevice, VkBuffer, const void *);
    void(VKAPI_CALL *GetBufferMemoryRequirements)(VkDevice, VkBuffer, VkMemoryRequirements *);
    VkResult(VKAPI_CALL *AllocateMemory)(VkDevice, const VkMemoryAllocateInfo *, const void *, VkDeviceMemory *);
    void(VKAPI_CALL *FreeMemory)(VkDevice, VkDeviceMemory, const void *);
    VkResult(VKAPI_CALL *BindBufferMemory)(VkDevice, VkBuffer, VkDeviceMemory, VkDeviceSize);
    VkResult(VKAPI_CALL *MapMemory)(VkDevice, VkDeviceMemory, VkDeviceSize, VkDeviceSize, uint32_t, void **);
    VkDeviceAddress(VKAPI_CALL *GetBufferDeviceAddress)(VkDevice, const VkBufferDeviceAddressInfo *);
    VkResult(VKAPI_CALL *CreateCommandPool)(VkDevice, const VkCommandPoolCreateInfo *, const void *, VkCommandPool *);
    void(VKAPI_CALL *DestroyCommandPool)(VkDevice, VkCommandPool, const void *);
    VkResult(VKAPI_CALL *AllocateCommandBuffers)(VkDevice, const VkCommandBufferAllocateInfo *, VkCommandBuffer *);
    VkResult(VKAPI_CALL *BeginCommandBuffer)(VkCommandBuffer, const VkCommandBufferBeginInfo *);
    VkResult(VKAPI_CALL *EndCommandBuffer)(VkCommandBuffer);
    VkResult(VKAPI_CALL *CreateFence)(VkDevice, const VkFenceCreateInfo *, const void *, VkFence *);
    void(VKAPI_CALL *DestroyFence)(VkDevice, VkFence, const void *);
    VkResult(VKAPI_CALL *WaitForFences)(VkDevice, uint32_t, const VkFence *, VkBool32, uint64_t);
    VkResult(VKAPI_CALL *GetFenceStatus)(VkDevice, VkFence);
    VkResult(VKAPI_CALL *ResetFences)(VkDevice, uint32_t, const VkFence *);
    VkResult(VKAPI_CALL *QueueSubmit)(VkQueue, uint32_t, const VkSubmitInfo *, VkFence);
    void(VKAPI_CALL *CmdBindPipeline)(VkCommandBuffer, uint32_t, VkPipeline);
    void(VKAPI_CALL *CmdPushConstants)(VkCommandBuffer, VkPipelineLayout, uint32_t, uint32_t, uint32_t, const void *);
    void(VKAPI_CALL *CmdDispatch)(VkCommandBuffer, uint32_t, uint32_t, uint32_t);
    void(VKAPI_CALL *CmdPipelineBarrier)(VkCommandBuffer, uint32_t, uint32_t, uint32_t, uint32_t,
                                         const VkMemoryBarrier *, uint32_t, const void *, uint32_t, const void *);
    void(VKAPI_CALL *CmdCopyBuffer)(VkCommandBuffer, VkBuffer, VkBuffer, uint32_t, const VkBufferCopy *);
    void(VKAPI_CALL *CmdFillBuffer)(VkCommandBuffer, VkBuffer, VkDeviceSize, VkDeviceSize, uint32_t);
    VkResult(VKAPI_CALL *CreateShaderModule)(VkDevice, const VkShaderModuleCreateInfo *, const void *,
                                             VkShaderModule *);
    void(VKAPI_CALL *DestroyShaderModule)(VkDevice, VkShaderModule, const void *);
    VkResult(VKAPI_CALL *CreatePipelineLayout)(VkDevice, const VkPipelineLayoutCreateInfo *, const void *,
                                               VkPipelineLayout *);
    void(VKAPI_CALL *DestroyPipelineLayout)(VkDevice, VkPipelineLayout, const void *);
    VkResult(VKAPI_CALL *CreateComputePipelines)(VkDevice, uint64_t, uint32_t, const VkComputePipelineCreateInfo *,
                                                 const void *, VkPipeline *);
    void(VKAPI_CALL *DestroyPipeline)(VkDevice, VkPipeline, const void *);
    void(VKAPI_CALL *GetPhysicalDeviceFormatProperties)(VkPhysicalDevice, uint32_t, VkFormatProperties *);
    VkResult(VKAPI_CALL *GetPhysicalDeviceImageFormatProperties)(VkPhysicalDevice, uint32_t, uint32_t, uint32_t,
                                                                 uint32_t, uint32_t, VkImageFormatProperties *);
    VkResult(VKAPI_CALL *CreateImage)(VkDevice, const VkImageCreateInfo *, const void *, VkImage *);
    void(VKAPI_CALL *DestroyImage)(VkDevice, VkImage, const void *);
    void(VKAPI_CALL *GetImageMemoryRequirements)(VkDevice, VkImage, VkMemoryRequirements *);
    VkResult(VKAPI_CALL *BindImageMemory)(VkDevice, VkImage, VkDeviceMemory, VkDeviceSize);
    VkResult(VKAPI_CALL *CreateImageView)(VkDevice, const VkImageViewCreateInfo *, const void *, VkImageView *);
    void(VKAPI_CALL *DestroyImageView)(VkDevice, VkImageView, const void *);
    VkResult(VKAPI_CALL *CreateSampler)(VkDevice, const VkSamplerCreateInfo *, const void *, VkSampler *);
    void(VKAPI_CALL *DestroySampler)(VkDevice, VkSampler, const void *);
    VkResult(VKAPI_CALL *CreateDescriptorSetLayout)(VkDevice, const VkDescriptorSetLayoutCreateInfo *, const void *,
                                                    VkDescriptorSetLayout *);
    void(VKAPI_CALL *DestroyDescriptorSetLayout)(VkDevice, VkDescriptorSetLayout, const void *);
    VkResult(VKAPI_CALL *CreateDescriptorPool)(VkDevice, const VkDescriptorPoolCreateInfo *, const void *,
                                               VkDescriptorPool *);
    void(VKAPI_CALL *DestroyDescriptorPool)(VkDevice, VkDescriptorPool, const void *);
    VkResult(VKAPI_CALL *ResetDescriptorPool)(VkDevice, VkDescriptorPool, uint32_t);
    VkResult(VKAPI_CALL *AllocateDescriptorSets)(VkDevice, const VkDescriptorSetAllocateInfo *, VkDescriptorSet *);
    void(VKAPI_CALL *UpdateDescriptorSets)(VkDevice, uint32_t, const VkWriteDescriptorSet *, uint32_t, const void *);
    void(VKAPI_CALL *CmdBindDescriptorSets)(VkCommandBuffer, uint32_t, VkPipelineLayout, uint32_t, uint32_t,
                                            const VkDescriptorSet *, uint32_t, const uint32_t *);
    void(VKAPI_CALL *CmdClearColorImage)(VkCommandBuffer, VkImage, uint32_t, const void *, uint32_t,
                                         const VkImageSubresourceRange *);
    void(VKAPI_CALL *CmdCopyImage)(VkCommandBuffer, VkImage, uint32_t, VkImage, uint32_t, uint32_t,
                                   const VkImageCopy *);
    void(VKAPI_CALL *CmdCopyBufferToImage)(VkCommandBuffer, VkBuffer, VkImage, uint32_t, uint32_t,
                                           const VkBufferImageCopy *);
    void(VKAPI_CALL *CmdCopyImageToBuffer)(VkCommandBuffer, VkImage, uint32_t, VkBuffer, uint32_t,
                                           const VkBufferImageCopy *);
} VulkanApi;

enum { API_VERSION_1_2 = 1 << 22 | 2 << 12, MAX_DEVICES = 64, MAX_FAMILIES = 64 };
enum { MAX_RECORDED = 1024 }; /* maximum of launches in a command buffer; it is submitted from BATCH on */
enum { SLOTS = 8, BATCH = 64, ARGUMENT_ALIGNMENT = 64, ARGUMENT_BLOCK_BYTES = 128 << 10, STAGING_BYTES = 8 << 20 };
enum { DESCRIPTORS = 256 }; /* of each kind, in the pool of a command buffer; no kernel needs as many */
enum { GROUPS_X = 65535, STRIDED_GROUPS = 1024, STRIDED_THREADS = 1 << 20 };

/* The struct that a feature is in. */
typedef enum FeatureStruct {
    IN_CORE,
    IN_1_1,
    IN_1_2,
    IN_ATOMIC_FLOAT,
    IN_ATOMIC_FLOAT_2,
    IN_SUBGROUP,
    IN_FLOAT_CONTROLS,
    ALWAYS
} FeatureStruct;

enum { BUFFER_DEVICE_ADDRESS = 38, SCALAR_BLOCK_LAYOUT = 31 }; /* in VkPhysicalDeviceVulkan12Features */

/* A SPIR-V capability, and the device feature that it requires. number: of the member of the struct; a bit of
   VkSubgroupFeatureFlagBits; the index of the float control. */
typedef struct Capability {
    uint32_t capability;
    const char *name;
    FeatureStruct structure;
    uint32_t number;
} Capability;

static const Capability CAPABILITIES[] = {
    {0, "Matrix", ALWAYS, 0},
    {1, "Shader", ALWAYS, 0},
    {9, "Float16", IN_1_2, 7},
    {10, "Float64", IN_CORE, 39},
    {11, "Int64", IN_CORE, 40},
    {12, "Int64Atomics", IN_1_2, 5},
    {22, "Int16", IN_CORE, 41},
    {39, "Int8", IN_1_2, 8},
    {43, "Sampled1D", ALWAYS, 0},
    {44, "Image1D", ALWAYS, 0},
    {49, "StorageImageExtendedFormats", IN_CORE, 29},
    {50, "ImageQuery", ALWAYS, 0},
    {61, "GroupNonUniform", IN_SUBGROUP, 0},
    {62, "GroupNonUniformVote", IN_SUBGROUP, 1},
    {63, "GroupNonUniformArithmetic", IN_SUBGROUP, 2},
    {64, "GroupNonUniformBallot", IN_SUBGROUP, 3},
    {65, "GroupNonUniformShuffle", IN_SUBGROUP, 4},
    {66, "GroupNonUniformShuffleRelative", IN_SUBGROUP, 5},
    {67, "GroupNonUniformClustered", IN_SUBGROUP, 6},
    {68, "GroupNonUniformQuad", IN_SUBGROUP, 7},
    {4433, "StorageBuffer16BitAccess", IN_1_1, 0},
    {4434, "UniformAndStorageBuffer16BitAccess", IN_1_1, 1},
    {4435, "StoragePushConstant16", IN_1_1, 2},
    {4448, "StorageBuffer8BitAccess", IN_1_2, 2},
    {4449, "UniformAndStorageBuffer8BitAccess", IN_1_2, 3},
    {4450, "StoragePushConstant8", IN_1_2, 4},
    {4464, "DenormPreserve", IN_FLOAT_CONTROLS, 1},
    {4465, "DenormFlushToZero", IN_FLOAT_CONTROLS, 2},
    {4466, "SignedZeroInfNanPreserve", IN_FLOAT_CONTROLS, 0},
    {4467, "RoundingModeRTE", IN_FLOAT_CONTROLS, 3},
    {4468, "RoundingModeRTZ", IN_FLOAT_CONTROLS, 4},
    {5347, "PhysicalStorageBufferAddresses", IN_1_2, BUFFER_DEVICE_ADDRESS},
    {5612, "AtomicFloat32MinMaxEXT", IN_ATOMIC_FLOAT_2, 3},
    {5613, "AtomicFloat64MinMaxEXT", IN_ATOMIC_FLOAT_2, 4},
    {6033, "AtomicFloat32AddEXT", IN_ATOMIC_FLOAT, 1},
    {6034, "AtomicFloat64AddEXT", IN_ATOMIC_FLOAT, 3},
};

/* Features that no SPIR-V capability requires by itself, but that shaders with some capability use. */
static const struct {
    FeatureStruct structure;
    uint32_t number;
} FURTHER_FEATURES[] = {
    {IN_1_2, 6},                   /* shaderSharedInt64Atomics */
    {IN_1_2, SCALAR_BLOCK_LAYOUT}, /* scalarBlockLayout */
    {IN_1_2, 34},                  /* shaderSubgroupExtendedTypes */
    {IN_ATOMIC_FLOAT, 0},          /* shaderBufferFloat32Atomics */
    {IN_ATOMIC_FLOAT, 2},          /* shaderBufferFloat64Atomics */
    {IN_ATOMIC_FLOAT, 4},          /* shaderSharedFloat32Atomics */
    {IN_ATOMIC_FLOAT, 5},          /* shaderSharedFloat32AtomicAdd */
    {IN_ATOMIC_FLOAT, 6},          /* shaderSharedFloat64Atomics */
    {IN_ATOMIC_FLOAT, 7},          /* shaderSharedFloat64AtomicAdd */
    {IN_ATOMIC_FLOAT_2, 8},        /* shaderSharedFloat32AtomicMinMax */
    {IN_ATOMIC_FLOAT_2, 9},        /* shaderSharedFloat64AtomicMinMax */
};

/* The features of a physical device, chained for Vulkan. */
typedef struct Features {
    Features10 core;
    Features11 v11;
    Features12 v12;
    FeaturesAtomic atomic, atomic_2;
    bool has_atomic, has_atomic_2;
} Features;

/* A command buffer. arguments: memory for argument blocks that are too long for push constants. descriptors: pool for
   the descriptor sets of its launches, which are freed when it is recorded again. */
typedef struct CommandSlot {
    VkCommandBuffer commands;
    VkFence fence;
    bool is_in_flight;
    TiMemory arguments;
    uint64_t arguments_used;
    VkDescriptorPool descriptors;
    uint32_t descriptors_used, sets_used;
} CommandSlot;

struct VulkanDevice {
    VulkanApi api;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    VkCommandPool pool;
    uint32_t family;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceVulkan11Properties properties_11;
    VkPhysicalDeviceVulkan12Properties properties_12;
    VkPhysicalDeviceMemoryProperties memory;
    Features features;
    bool is_software, is_mapped; /* is_mapped: the host accesses device memory at full speed */
    CommandSlot slots[SLOTS];
    CommandSlot *open; /* the one that is being recorded, or null */
    uint32_t next_slot, recorded;
    TiMemory staging;
    TiSampler default_samplers[2]; /* nearest, linear */
    bool is_lost;
};

/* layout: of the push constants and the textures; pipelines: one a task. functions, module: of CUDA, one function a
   task. */
struct Program {
    VkPipelineLayout layout;
    VkDescriptorSetLayout textures;
    VkPipeline *pipelines;
    void **functions;
    void *module;
    uint32_t task_count;
};

/* --- Vulkan: errors, loading of functions ------------------------------------------------------------------------- */

static const char *vulkan_result_name(VkResult result) {
    static const struct {
        VkResult result;
        const char *name;
    } NAMES[] = {{-1, "VK_ERROR_OUT_OF_HOST_MEMORY"},    {-2, "VK_ERROR_OUT_OF_DEVICE_MEMORY"},
                 {-3, "VK_ERROR_INITIALIZATION_FAILED"}, {-4, "VK_ERROR_DEVICE_LOST"},
                 {-5, "VK_ERROR_MEMORY_MAP_FAILED"},     {-7, "VK_ERROR_EXTENSION_NOT_PRESENT"},
                 {-8, "VK_ERROR_FEATURE_NOT_PRESENT"},   {-9, "VK_ERROR_INCOMPATIBLE_DRIVER"},
                 {-10, "VK_ERROR_TOO_MANY_OBJECTS"}};
    size_t i;
    for (i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (NAMES[i].result == result) {
            return NAMES[i].name;
        }
    }
    return "an error of Vulkan";
}

static bool vulkan_check(TiRuntime runtime, VkResult result, const char *action) {
    if (result >= 0) {
        return true;
    }
    if (result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY) {
        return fail(TI_ERROR_OUT_OF_MEMORY, "%s has no memory left for %s", runtime->name, action);
    }
    if (result == VK_ERROR_DEVICE_LOST) {
        runtime->vulkan->is_lost = true;
        return fail(TI_ERROR_INVALID_STATE,
                    "%s was lost (VK_ERROR_DEVICE_LOST) in %s: a kernel reached outside an array, or ran too long",
                    runtime->name, action);
    }
    return fail(TI_ERROR_INVALID_STATE, "%s: %s failed: %s (%d)", runtime->name, action, vulkan_result_name(result),
                (int)result);
}

/* Load a function through the loader, the instance or the device. */
static bool vulkan_function(VulkanDevice *vulkan, void *destination, const char *name) {
    AnyFunction function = vulkan->device ? vulkan->api.GetDeviceProcAddr(vulkan->device, name)
                                          : vulkan->api.GetInstanceProcAddr(vulkan->instance, name);
    if (!function) {
        return fail(TI_ERROR_NOT_SUPPORTED, "the Vulkan driver has no %s", name);
    }
    memcpy(destination, &function, sizeof function);
    return true;
}

/* The offset of a function in VulkanApi, and its name. */
typedef struct FunctionEntry {
    size_t offset;
    const char *name;
} FunctionEntry;

static bool vulkan_functions(VulkanDevice *vulkan, const FunctionEntry *entries, size_t count) {
    for (; count; count--, entries++) {
        if (!vulkan_function(vulkan, (uint8_t *)&vulkan->api + entries->offset, entries->name)) {
            return false;
        }
    }
    return true;
}

static const FunctionEntry INSTANCE_FUNCTIONS[] = {
    {offsetof(VulkanApi, GetDeviceProcAddr), "vkGetDeviceProcAddr"},
    {offsetof(VulkanApi, DestroyInstance), "vkDestroyInstance"},
    {offsetof(VulkanApi, EnumeratePhysicalDevices), "vkEnumeratePhysicalDevices"},
    {offsetof(VulkanApi, GetPhysicalDeviceProperties), "vkGetPhysicalDeviceProperties"},
    {offsetof(VulkanApi, GetPhysicalDeviceProperties2), "vkGetPhysicalDeviceProperties2"},
    {offsetof(VulkanApi, GetPhysicalDeviceFeatures2), "vkGetPhysicalDeviceFeatures2"},
    {offsetof(VulkanApi, GetPhysicalDeviceQueueFamilyProperties), "vkGetPhysicalDeviceQueueFamilyProperties"},
    {offsetof(VulkanApi, GetPhysicalDeviceMemoryProperties), "vkGetPhysicalDeviceMemoryProperties"},
    {offsetof(VulkanApi, EnumerateDeviceExtensionProperties), "vkEnumerateDeviceExtensionProperties"},
    {offsetof(VulkanApi, CreateDevice), "vkCreateDevice"},
    {offsetof(VulkanApi, GetPhysicalDeviceFormatProperties), "vkGetPhysicalDeviceFormatProperties"},
    {offsetof(VulkanApi, GetPhysicalDeviceImageFormatProperties), "vkGetPhysicalDeviceImageFormatProperties"},
};

static const FunctionEntry DEVICE_FUNCTIONS[] = {
    {offsetof(VulkanApi, DestroyDevice), "vkDestroyDevice"},
    {offsetof(VulkanApi, GetDeviceQueue), "vkGetDeviceQueue"},
    {offsetof(VulkanApi, DeviceWaitIdle), "vkDeviceWaitIdle"},
    {offsetof(VulkanApi, CreateBuffer), "vkCreateBuffer"},
    {offsetof(VulkanApi, DestroyBuffer), "vkDestroyBuffer"},
    {offsetof(VulkanApi, GetBufferMemoryRequirements), "vkGetBufferMemoryRequirements"},
    {offsetof(VulkanApi, AllocateMemory), "vkAllocateMemory"},
    {offsetof(VulkanApi, FreeMemory), "vkFreeMemory"},
    {offsetof(VulkanApi, BindBufferMemory), "vkBindBufferMemory"},
    {offsetof(VulkanApi, MapMemory), "vkMapMemory"},
    {offsetof(VulkanApi, GetBufferDeviceAddress), "vkGetBufferDeviceAddress"},
    {offsetof(VulkanApi, CreateCommandPool), "vkCreateCommandPool"},
    {offsetof(VulkanApi, DestroyCommandPool), "vkDestroyCommandPool"},
    {offsetof(VulkanApi, AllocateCommandBuffers), "vkAllocateCommandBuffers"},
    {offsetof(VulkanApi, BeginCommandBuffer), "vkBeginCommandBuffer"},
    {offsetof(VulkanApi, EndCommandBuffer), "vkEndCommandBuffer"},
    {offsetof(VulkanApi, CreateFence), "vkCreateFence"},
    {offsetof(VulkanApi, DestroyFence), "vkDestroyFence"},
    {offsetof(VulkanApi, WaitForFences), "vkWaitForFences"},
    {offsetof(VulkanApi, GetFenceStatus), "vkGetFenceStatus"},
    {offsetof(VulkanApi, ResetFences), "vkResetFences"},
    {offsetof(VulkanApi, QueueSubmit), "vkQueueSubmit"},
    {offsetof(VulkanApi, CmdBindPipeline), "vkCmdBindPipeline"},
    {offsetof(VulkanApi, CmdPushConstants), "vkCmdPushConstants"},
    {offsetof(VulkanApi, CmdDispatch), "vkCmdDispatch"},
    {offsetof(VulkanApi, CmdPipelineBarrier), "vkCmdPipelineBarrier"},
    {offsetof(VulkanApi, CmdCopyBuffer), "vkCmdCopyBuffer"},
    {offsetof(VulkanApi, CmdFillBuffer), "vkCmdFillBuffer"},
    {offsetof(VulkanApi, CreateShaderModule), "vkCreateShaderModule"},
    {offsetof(VulkanApi, DestroyShaderModule), "vkDestroyShaderModule"},
    {offsetof(VulkanApi, CreatePipelineLayout), "vkCreatePipelineLayout"},
    {offsetof(VulkanApi, DestroyPipelineLayout), "vkDestroyPipelineLayout"},
    {offsetof(VulkanApi, CreateComputePipelines), "vkCreateComputePipelines"},
    {offsetof(VulkanApi, DestroyPipeline), "vkDestroyPipeline"},
    {offsetof(VulkanApi, CreateImage), "vkCreateImage"},
    {offsetof(VulkanApi, DestroyImage), "vkDestroyImage"},
    {offsetof(VulkanApi, GetImageMemoryRequirements), "vkGetImageMemoryRequirements"},
    {offsetof(VulkanApi, BindImageMemory), "vkBindImageMemory"},
    {offsetof(VulkanApi, CreateImageView), "vkCreateImageView"},
    {offsetof(VulkanApi, DestroyImageView), "vkDestroyImageView"},
    {offsetof(VulkanApi, CreateSampler), "vkCreateSampler"},
    {offsetof(VulkanApi, DestroySampler), "vkDestroySampler"},
    {offsetof(VulkanApi, CreateDescriptorSetLayout), "vkCreateDescriptorSetLayout"},
    {offsetof(VulkanApi, DestroyDescriptorSetLayout), "vkDestroyDescriptorSetLayout"},
    {offsetof(VulkanApi, CreateDescriptorPool), "vkCreateDescriptorPool"},
    {offsetof(VulkanApi, DestroyDescriptorPool), "vkDestroyDescriptorPool"},
    {offsetof(VulkanApi, ResetDescriptorPool), "vkResetDescriptorPool"},
    {offsetof(VulkanApi, AllocateDescriptorSets), "vkAllocateDescriptorSets"},
    {offsetof(VulkanApi, UpdateDescriptorSets), "vkUpdateDescriptorSets"},
    {offsetof(VulkanApi, CmdBindDescriptorSets), "vkCmdBindDescriptorSets"},
    {offsetof(VulkanApi, CmdClearColorImage), "vkCmdClearColorImage"},
    {offsetof(VulkanApi, CmdCopyImage), "vkCmdCopyImage"},
    {offsetof(VulkanApi, CmdCopyBufferToImage), "vkCmdCopyBufferToImage"},
    {offsetof(VulkanApi, CmdCopyImageToBuffer), "vkCmdCopyImageToBuffer"},
};

/* --- Vulkan: choice and creation of a device ---------------------------------------------------------------------- */

static VkBool32 *feature_of(Features *features, FeatureStruct structure, uint32_t number) {
    switch (structure) {
    case IN_CORE: return &features->core.values[number];
    case IN_1_1: return &features->v11.values[number];
    case IN_1_2: return &features->v12.values[number];
    case IN_ATOMIC_FLOAT: return &features->atomic.values[number];
    case IN_ATOMIC_FLOAT_2: return &features->atomic_2.values[number];
    default: return NULL;
    }
}

static void features_chain(Features *features) {
    void **next = &features->core.pNext;
    features->core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    features->v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
    features->v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    features->atomic.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT;
    features->atomic_2.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_2_FEATURES_EXT;
    *next = &features->v11;
    features->v11.pNext = &features->v12;
    next = &features->v12.pNext;
    if (features->has_atomic) {
        *next = &features->atomic;
        next = &features->atomic.pNext;
    }
    if (features->has_atomic_2) {
        *next = &features->atomic_2;
        next = &features->atomic_2.pNext;
    }
    *next = NULL;
}

/* Query all features of a physical device, then leave only those enabled that our shaders may use. */
static void vulkan_read_features(VulkanDevice *vulkan) {
    Features *present = &vulkan->features, *used = (Features *)allocate_zeroed(sizeof(Features));
    size_t i;
    features_chain(present);
    vulkan->api.GetPhysicalDeviceFeatures2(vulkan->physical, &present->core);
    if (!used) {
        return;
    }
    used->has_atomic = present->has_atomic;
    used->has_atomic_2 = present->has_atomic_2;
    for (i = 0; i < sizeof CAPABILITIES / sizeof *CAPABILITIES; i++) {
        VkBool32 *supported = feature_of(present, CAPABILITIES[i].structure, CAPABILITIES[i].number);
        if (supported) {
            *feature_of(used, CAPABILITIES[i].structure, CAPABILITIES[i].number) = *supported;
        }
    }
    for (i = 0; i < sizeof FURTHER_FEATURES / sizeof *FURTHER_FEATURES; i++) {
        *feature_of(used, FURTHER_FEATURES[i].structure, FURTHER_FEATURES[i].number) =
            *feature_of(present, FURTHER_FEATURES[i].structure, FURTHER_FEATURES[i].number);
    }
    *present = *used;
    features_chain(present);
    free(used);
}

static bool vulkan_read_extensions(VulkanDevice *vulkan) {
    uint32_t count = 0, i;
    VkExtensionProperties *listed;
    if (vulkan->api.EnumerateDeviceExtensionProperties(vulkan->physical, NULL, &count, NULL) < 0) {
        return fail(TI_ERROR_INVALID_STATE, "the Vulkan driver does not list its extensions");
    }
    listed = (VkExtensionProperties *)allocate_zeroed((size_t)count * sizeof(VkExtensionProperties));
    if (!listed) {
        return false;
    }
    vulkan->api.EnumerateDeviceExtensionProperties(vulkan->physical, NULL, &count, listed);
    for (i = 0; i < count; i++) {
        vulkan->features.has_atomic |= !strcmp(listed[i].extensionName, "VK_EXT_shader_atomic_float");
        vulkan->features.has_atomic_2 |= !strcmp(listed[i].extensionName, "VK_EXT_shader_atomic_float2");
    }
    free(listed);
    return true;
}

/* Find a queue family that supports compute. */
static bool vulkan_find_family(VulkanDevice *vulkan, VkPhysicalDevice physical, uint32_t *family) {
    VkQueueFamilyProperties families[MAX_FAMILIES];
    uint32_t count = MAX_FAMILIES;
    vulkan->api.GetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    for (*family = 0; *family < count; (*family)++) {
        if (families[*family].queueFlags & VK_QUEUE_COMPUTE_BIT) {
            return true;
        }
    }
    return false;
}

/* Return whether a device can run shadesmith's shaders at all. */
static bool vulkan_is_able(VulkanDevice *vulkan, VkPhysicalDevice physical, VkPhysicalDeviceProperties *properties) {
    Features10 core;
    Features12 v12;
    uint32_t family;
    vulkan->api.GetPhysicalDeviceProperties(physical, properties);
    if (properties->apiVersion < API_VERSION_1_2 || !vulkan_find_family(vulkan, physical, &family)) {
        return false;
    }
    memset(&core, 0, sizeof core);
    memset(&v12, 0, sizeof v12);
    core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    core.pNext = &v12;
    v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    vulkan->api.GetPhysicalDeviceFeatures2(physical, &core);
    return v12.values[BUFFER_DEVICE_ADDRESS] && v12.values[SCALAR_BLOCK_LAYOUT];
}

/* Rank the types of devices by speed: other, integrated, discrete, virtual, processor. */
static uint32_t vulkan_rank(uint32_t device_type) {
    static const uint32_t RANKS[] = {3, 1, 0, 2, 4};
    return device_type < 5 ? RANKS[device_type] : 3;
}

/* Choose the device of this number among those that can run our shaders, the fastest types first. */
static bool vulkan_choose(VulkanDevice *vulkan, uint32_t device_index) {
    VkPhysicalDevice devices[MAX_DEVICES];
    VkPhysicalDeviceProperties properties;
    uint32_t count = MAX_DEVICES, able = 0, rank, i;
    if (vulkan->api.EnumeratePhysicalDevices(vulkan->instance, &count, devices) < 0) {
        return fail(TI_ERROR_NOT_SUPPORTED, "no Vulkan driver is installed");
    }
    for (rank = 0; rank < 5; rank++) {
        for (i = 0; i < count; i++) {
            if (!vulkan_is_able(vulkan, devices[i], &properties) || vulkan_rank(properties.deviceType) != rank) {
                continue;
            }
            if (able++ == device_index) {
                vulkan->physical = devices[i];
                return true;
            }
        }
    }
    return able ? fail(TI_ERROR_INVALID_ARGUMENT, "there is no Vulkan device %u; there are %u", device_index, able)
                : fail(TI_ERROR_NOT_SUPPORTED,
                       "no Vulkan 1.2 device with bufferDeviceAddress and scalarBlockLayout was found");
}

static bool vulkan_open_instance(VulkanDevice *vulkan) {
    static const char *const LIBRARIES[] = {
#if defined(_WIN32)
        "vulkan-1.dll",
#elif defined(__APPLE__)
        "libvulkan.1.dylib", "libMoltenVK.dylib",
#else
        "libvulkan.so.1", "libvulkan.so",
#endif
        NULL};
    VkApplicationInfo application;
    VkInstanceCreateInfo info;
    AnyFunction function;
    void *library = open_library(LIBRARIES);
    VkResult result;
    if (!library) {
        return fail(TI_ERROR_NOT_SUPPORTED, "the Vulkan loader (%s) is not installed", LIBRARIES[0]);
    }
    function = library_function(library, "vkGetInstanceProcAddr");
    if (!function) {
        return fail(TI_ERROR_NOT_SUPPORTED, "%s is no Vulkan loader", LIBRARIES[0]);
    }
    memcpy(&vulkan->api.GetInstanceProcAddr, &function, sizeof function);
    if (!vulkan_function(vulkan, &vulkan->api.CreateInstance, "vkCreateInstance")) {
        return false;
    }
    memset(&application, 0, sizeof application);
    memset(&info, 0, sizeof info);
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pApplicationName = "shadesmith";
    application.apiVersion = API_VERSION_1_2;
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    result = vulkan->api.CreateInstance(&info, NULL, &vulkan->instance);
    if (result < 0) {
        return fail(TI_ERROR_NOT_SUPPORTED, "no Vulkan driver could be started: %s", vulkan_result_name(result));
    }
    return vulkan_functions(vulkan, INSTANCE_FUNCTIONS, sizeof INSTANCE_FUNCTIONS / sizeof *INSTANCE_FUNCTIONS);
}

static void vulkan_read_properties(VulkanDevice *vulkan) {
    VkPhysicalDeviceProperties2 head;
    memset(&head, 0, sizeof head);
    head.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    head.pNext = &vulkan->properties_11;
    vulkan->properties_11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
    vulkan->properties_11.pNext = &vulkan->properties_12;
    vulkan->properties_12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
    vulkan->api.GetPhysicalDeviceProperties2(vulkan->physical, &head);
    vulkan->properties = head.properties;
    vulkan->is_software = head.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    vulkan->api.GetPhysicalDeviceMemoryProperties(vulkan->physical, &vulkan->memory);
}

/* Return the first memory type among `allowed` that has these properties, -1 if there is none. */
static int vulkan_memory_type(const VulkanDevice *vulkan, uint32_t allowed, uint32_t properties) {
    uint32_t i;
    for (i = 0; i < vulkan->memory.memoryTypeCount; i++) {
        if (allowed >> i & 1 && (vulkan->memory.memoryTypes[i].propertyFlags & properties) == properties) {
            return (int)i;
        }
    }
    return -1;
}

enum {
    MEMORY_LOCAL = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
    MEMORY_VISIBLE = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
    MEMORY_CACHED = MEMORY_VISIBLE | VK_MEMORY_PROPERTY_HOST_CACHED_BIT
};

static bool vulkan_create_device(TiRuntime runtime) {
    VulkanDevice *vulkan = runtime->vulkan;
    const char *extensions[2];
    const float priority = 1.0f;
    VkDeviceQueueCreateInfo queue;
    VkDeviceCreateInfo info;
    memset(&queue, 0, sizeof queue);
    memset(&info, 0, sizeof info);
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = vulkan->family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &vulkan->features.core;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    if (vulkan->features.has_atomic) {
        extensions[info.enabledExtensionCount++] = "VK_EXT_shader_atomic_float";
    }
    if (vulkan->features.has_atomic_2) {
        extensions[info.enabledExtensionCount++] = "VK_EXT_shader_atomic_float2";
    }
    info.ppEnabledExtensionNames = extensions;
    if (!vulkan_check(runtime, vulkan->api.CreateDevice(vulkan->physical, &info, NULL, &vulkan->device),
                      "opening the device")) {
        vulkan->device = NULL;
        return false;
    }
    if (!vulkan_functions(vulkan, DEVICE_FUNCTIONS, sizeof DEVICE_FUNCTIONS / sizeof *DEVICE_FUNCTIONS)) {
        return false;
    }
    vulkan->api.GetDeviceQueue(vulkan->device, vulkan->family, 0, &vulkan->queue);
    return true;
}

static bool vulkan_create_slots(TiRuntime runtime) {
    VulkanDevice *vulkan = runtime->vulkan;
    VkCommandPoolCreateInfo pool;
    VkCommandBufferAllocateInfo info;
    VkFenceCreateInfo fence;
    VkCommandBuffer commands[SLOTS];
    int i;
    memset(&pool, 0, sizeof pool);
    memset(&info, 0, sizeof info);
    memset(&fence, 0, sizeof fence);
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = vulkan->family;
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandBufferCount = SLOTS;
    fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    if (!vulkan_check(runtime, vulkan->api.CreateCommandPool(vulkan->device, &pool, NULL, &vulkan->pool),
                      "making a command pool")) {
        return false;
    }
    info.commandPool = vulkan->pool;
    if (!vulkan_check(runtime, vulkan->api.AllocateCommandBuffers(vulkan->device, &info, commands),
                      "making command buffers")) {
        return false;
    }
    for (i = 0; i < SLOTS; i++) {
        vulkan->slots[i].commands = commands[i];
        if (!vulkan_check(runtime, vulkan->api.CreateFence(vulkan->device, &fence, NULL, &vulkan->slots[i].fence),
                          "making a fence")) {
            return false;
        }
    }
    return true;
}

static bool vulkan_open(TiRuntime runtime, uint32_t device_index) {
    VulkanDevice *vulkan = (VulkanDevice *)allocate_zeroed(sizeof(VulkanDevice));
    runtime->vulkan = vulkan;
    if (!vulkan || !vulkan_open_instance(vulkan) || !vulkan_choose(vulkan, device_index)) {
        return false;
    }
    vulkan_find_family(vulkan, vulkan->physical, &vulkan->family);
    vulkan_read_properties(vulkan);
    snprintf(runtime->name, sizeof runtime->name, "%.255s", vulkan->properties.deviceName);
    /* Memory that the host accesses uncached (a window over PCIe) is read at a few MB/s, so it does not count as
       visible. */
    vulkan->is_mapped = vulkan_memory_type(vulkan, UINT32_MAX, MEMORY_LOCAL | MEMORY_CACHED) >= 0;
    if (!vulkan_read_extensions(vulkan)) {
        return false;
    }
    vulkan_read_features(vulkan);
    return vulkan_create_device(runtime) && vulkan_create_slots(runtime);
}

static void vulkan_close(TiRuntime runtime) {
    VulkanDevice *vulkan = runtime->vulkan;
    int i;
    if (!vulkan) {
        return;
    }
    for (i = 0; vulkan->device && i < SLOTS; i++) {
        if (vulkan->slots[i].fence) {
            vulkan->api.DestroyFence(vulkan->device, vulkan->slots[i].fence, NULL);
        }
        if (vulkan->slots[i].descriptors) {
            vulkan->api.DestroyDescriptorPool(vulkan->device, vulkan->slots[i].descriptors, NULL);
        }
    }
    if (vulkan->pool) {
        vulkan->api.DestroyCommandPool(vulkan->device, vulkan->pool, NULL);
    }
    if (vulkan->device && vulkan->api.DestroyDevice) {
        vulkan->api.DestroyDevice(vulkan->device, NULL);
    }
    if (vulkan->instance && vulkan->api.DestroyInstance) {
        vulkan->api.DestroyInstance(vulkan->instance, NULL);
    }
    free(vulkan);
    runtime->vulkan = NULL;
}

static bool vulkan_enter(TiRuntime runtime) {
    return runtime->vulkan->is_lost
               ? fail(TI_ERROR_INVALID_STATE, "%s was lost before; make a new runtime", runtime->name)
               : true;
}

static void vulkan_leave(TiRuntime runtime) {
    (void)runtime;
}

/* --- Vulkan: memory, command buffers, copies ---------------------------------------------------------------------- */

/* Allocate device memory for a buffer or an image. kinds: properties of memory, the best first; ends with -1. flags:
   null or a VkMemoryAllocateFlagsInfo. Return the properties of the allocation, -1 after a failure. */
static int vulkan_allocate_memory(TiRuntime runtime, const VkMemoryRequirements *needs, const int *kinds,
                                  const void *flags, VkDeviceMemory *memory) {
    VulkanDevice *vulkan = runtime->vulkan;
    VkMemoryAllocateInfo allocation;
    VkResult result;
    int type = -1;
    while (*kinds >= 0 && type < 0) {
        type = vulkan_memory_type(vulkan, needs->memoryTypeBits, (uint32_t)*kinds++);
    }
    if (type < 0) {
        fail(TI_ERROR_NOT_SUPPORTED, "%s has no memory of the kind that is needed", runtime->name);
        return -1;
    }
    if (needs->size > vulkan->memory.memoryHeaps[vulkan->memory.memoryTypes[type].heapIndex].size) {
        fail(TI_ERROR_OUT_OF_MEMORY, "%s has no %llu bytes of memory", runtime->name, (unsigned long long)needs->size);
        return -1;
    }
    memset(&allocation, 0, sizeof allocation);
    allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocation.pNext = flags;
    allocation.allocationSize = needs->size;
    allocation.memoryTypeIndex = (uint32_t)type;
    result = vulkan->api.AllocateMemory(vulkan->device, &allocation, NULL, memory);
    if (result >= 0) {
        return kinds[-1];
    }
    *memory = 0;
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY) {
        fail(TI_ERROR_OUT_OF_MEMORY, "%s has no %llu bytes of memory left", runtime->name,
             (unsigned long long)needs->size);
    } else {
        vulkan_check(runtime, result, "allocating memory");
    }
    return -1;
}

/* Create a buffer with its own memory. kinds: properties of memory, the best first; ends with -1. */
static bool vulkan_make_buffer(TiRuntime runtime, TiMemory memory, const int *kinds) {
    VulkanDevice *vulkan = runtime->vulkan;
    VkBufferCreateInfo info;
    VkMemoryRequirements needs;
    VkMemoryAllocateFlagsInfo flags;
    VkBufferDeviceAddressInfo address;
    int kind;
    if (memory->size > (uint64_t)INT64_MAX) { /* drivers round sizes up, some of them with an overflow */
        return fail(TI_ERROR_OUT_OF_MEMORY, "%s has no %llu bytes of memory", runtime->name,
                    (unsigned long long)memory->size);
    }
    memset(&info, 0, sizeof info);
    memset(&flags, 0, sizeof flags);
    memset(&address, 0, sizeof address);
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = rounded_up(larger_u64(memory->size, 16), 4);
    info.usage = BUFFER_USAGE;
    if (!vulkan_check(runtime, vulkan->api.CreateBuffer(vulkan->device, &info, NULL, &memory->buffer),
                      "making a buffer")) {
        memory->buffer = 0;
        return false;
    }
    vulkan->api.GetBufferMemoryRequirements(vulkan->device, memory->buffer, &needs);
    flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    kind = vulkan_allocate_memory(runtime, &needs, kinds, &flags, &memory->memory);
    if (kind < 0) {
        return false;
    }
    if (!vulkan_check(runtime, vulkan->api.BindBufferMemory(vulkan->device, memory->buffer, memory->memory, 0),
                      "binding memory")) {
        return false;
    }
    if (kind & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT &&
        !vulkan_check(runtime,
                      vulkan->api.MapMemory(vulkan->device, memory->memory, 0, UINT64_MAX, 0, &memory->visible),
                      "mapping memory")) {
        return false;
    }
    address.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
    address.buffer = memory->buffer;
    memory->address = vulkan->api.GetBufferDeviceAddress(vulkan->device, &address);
    return true;
}

static void vulkan_free_memory(TiRuntime runtime, TiMemory memory) {
    VulkanDevice *vulkan = runtime->vulkan;
    if (memory->buffer) {
        vulkan->api.DestroyBuffer(vulkan->device, memory->buffer, NULL);
    }
    if (memory->memory) {
        vulkan->api.FreeMemory(vulkan->device, memory->memory, NULL);
    }
    memory->buffer = memory->memory = 0;
    memory->visible = NULL;
}

static bool vulkan_wait_slot(TiRuntime runtime, CommandSlot *slot) {
    VulkanDevice *vulkan = runtime->vulkan;
    if (!slot->is_in_flight) {
        return true;
    }
    slot->is_in_flight = false;
    return vulkan_check(runtime, vulkan->api.WaitForFences(vulkan->device, 1, &slot->fence, 1, UINT64_MAX),
                        "waiting") &&
           vulkan_check(runtime, vulkan->api.ResetFences(vulkan->device, 1, &slot->fence), "resetting a fence");
}

/* Record a barrier between the commands before and after it. */
static void vulkan_barrier(VulkanDevice *vulkan, VkCommandBuffer commands, bool is_for_host) {
    VkMemoryBarrier barrier;
    const uint32_t work = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    memset(&barrier, 0, sizeof barrier);
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
    barrier.dstAccessMask = is_for_host ? (uint32_t)VK_ACCESS_HOST_READ_BIT
                                        : (uint32_t)(VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
    vulkan->api.CmdPipelineBarrier(commands, work, is_for_host ? (uint32_t)VK_PIPELINE_STAGE_HOST_BIT : work, 0, 1,
                                   &barrier, 0, NULL, 0, NULL);
}

/* Return the open command buffer, or open the next one that is free; null after a failure. */
static CommandSlot *vulkan_open_slot(TiRuntime runtime) {
    VulkanDevice *vulkan = runtime->vulkan;
    VkCommandBufferBeginInfo info;
    CommandSlot *slot = &vulkan->slots[vulkan->next_slot];
    if (vulkan->open) {
        return vulkan->open;
    }
    if (!vulkan_wait_slot(runtime, slot)) {
        return NULL;
    }
    if (slot->sets_used && !vulkan_check(runtime, vulkan->api.ResetDescriptorPool(vulkan->device, slot->descriptors, 0),
                                         "freeing descriptor sets")) {
        return NULL;
    }
    slot->sets_used = slot->descriptors_used = 0;
    slot->arguments_used = 0;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    if (!vulkan_check(runtime, vulkan->api.BeginCommandBuffer(slot->commands, &info), "recording")) {
        return NULL;
    }
    vulkan->recorded = 0;
    vulkan->next_slot = (vulkan->next_slot + 1) % SLOTS;
    vulkan->open = slot;
    return slot;
}

/* Return the open command buffer with a barrier after all earlier commands; null after a failure. */
static CommandSlot *vulkan_record(TiRuntime runtime) {
    CommandSlot *slot = vulkan_open_slot(runtime);
    if (slot) {
        vulkan_barrier(runtime->vulkan, slot->commands, false);
        runtime->vulkan->recorded++;
    }
    return slot;
}

static bool vulkan_flush(TiRuntime runtime) {
    VulkanDevice *vulkan = runtime->vulkan;
    CommandSlot *slot = vulkan->open;
    VkSubmitInfo info;
    if (!slot) {
        return true;
    }
    vulkan->open = NULL;
    vulkan_barrier(vulkan, slot->commands, true);
    if (!vulkan_check(runtime, vulkan->api.EndCommandBuffer(slot->commands), "recording")) {
        return false;
    }
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &slot->commands;
    slot->is_in_flight =
        vulkan_check(runtime, vulkan->api.QueueSubmit(vulkan->queue, 1, &info, slot->fence), "starting work");
    return slot->is_in_flight;
}

/* Submit the open command buffer if it holds enough. If the device is so far behind that no other command buffer is
   free, recording goes on instead of waiting for one. */
static bool vulkan_flush_if_full(TiRuntime runtime) {
    VulkanDevice *vulkan = runtime->vulkan;
    CommandSlot *next = &vulkan->slots[vulkan->next_slot];
    if (vulkan->recorded < BATCH || (vulkan->recorded < MAX_RECORDED && next->is_in_flight &&
                                     vulkan->api.GetFenceStatus(vulkan->device, next->fence) == VK_NOT_READY)) {
        return true;
    }
    return vulkan_flush(runtime);
}

static bool vulkan_wait(TiRuntime runtime) {
    bool is_good = vulkan_flush(runtime);
    int i;
    for (i = 0; i < SLOTS; i++) {
        is_good = vulkan_wait_slot(runtime, &runtime->vulkan->slots[i]) && is_good;
    }
    return is_good;
}

static const int DATA_MAPPED[] = {MEMORY_LOCAL | MEMORY_CACHED, MEMORY_LOCAL, 0, -1};
static const int DATA_LOCAL[] = {MEMORY_LOCAL, 0, -1};
static const int STAGING_KINDS[] = {MEMORY_CACHED, MEMORY_VISIBLE, -1};
static const int ARGUMENT_KINDS[] = {MEMORY_LOCAL | MEMORY_VISIBLE, MEMORY_VISIBLE, -1};

static bool vulkan_allocate(TiRuntime runtime, TiMemory memory) {
    VulkanDevice *vulkan = runtime->vulkan;
    CommandSlot *slot;
    if (!vulkan_make_buffer(runtime, memory, vulkan->is_mapped ? DATA_MAPPED : DATA_LOCAL)) {
        return false;
    }
    slot = vulkan_record(runtime);
    if (!slot) {
        return false;
    }
    vulkan->api.CmdFillBuffer(slot->commands, memory->buffer, 0, UINT64_MAX, 0);
    return true;
}

/* Allocate memory that the host can access, for the runtime's own use. */
static TiMemory vulkan_make_host_visible(TiRuntime runtime, uint64_t size, const int *kinds) {
    TiMemory memory = (TiMemory)handle_acquire(HANDLE_MEMORY, sizeof(struct TiMemory_t));
    if (!memory) {
        return NULL;
    }
    memory->runtime = runtime;
    memory->size = size;
    if (!vulkan_make_buffer(runtime, memory, kinds)) {
        vulkan_free_memory(runtime, memory);
        handle_release(memory);
        return NULL;
    }
    memory_list(memory);
    return memory;
}

static bool vulkan_record_copy(TiRuntime runtime, VkBuffer to, uint64_t to_offset, VkBuffer from, uint64_t from_offset,
                               uint64_t size) {
    CommandSlot *slot = vulkan_record(runtime);
    VkBufferCopy region = {from_offset, to_offset, size};
    if (!slot) {
        return false;
    }
    runtime->vulkan->api.CmdCopyBuffer(slot->commands, from, to, 1, &region);
    return true;
}

static bool vulkan_staging(TiRuntime runtime) {
    if (!runtime->vulkan->staging) {
        runtime->vulkan->staging = vulkan_make_host_visible(runtime, STAGING_BYTES, STAGING_KINDS);
    }
    return runtime->vulkan->staging != NULL;
}

static bool vulkan_read(TiRuntime runtime, TiMemory memory, uint64_t offset, void *to, uint64_t size) {
    if (memory->visible) {
        if (!vulkan_wait(runtime)) {
            return false;
        }
        memcpy(to, (const uint8_t *)memory->visible + offset, size);
        return true;
    }
    if (!vulkan_staging(runtime)) {
        return false;
    }
    while (size) {
        uint64_t piece = smaller_u64(size, STAGING_BYTES);
        TiMemory staging = runtime->vulkan->staging;
        if (!vulkan_record_copy(runtime, staging->buffer, 0, memory->buffer, offset, piece) || !vulkan_wait(runtime)) {
            return false;
        }
        memcpy(to, staging->visible, piece);
        to = (uint8_t *)to + piece;
        offset += piece;
        size -= piece;
    }
    return true;
}

static bool vulkan_write(TiRuntime runtime, TiMemory memory, uint64_t offset, const void *from, uint64_t size) {
    if (memory->visible) {
        if (!vulkan_wait(runtime)) {
            return false;
        }
        memcpy((uint8_t *)memory->visible + offset, from, size);
        return true;
    }
    if (!vulkan_staging(runtime)) {
        return false;
    }
    while (size) {
        uint64_t piece = smaller_u64(size, STAGING_BYTES);
        TiMemory staging = runtime->vulkan->staging;
        if (!vulkan_wait(runtime)) { /* until the staging memory is free again */
            return false;
        }
        memcpy(staging->visible, from, piece);
        if (!vulkan_record_copy(runtime, memory->buffer, offset, staging->buffer, 0, piece)) {
            return false;
        }
        from = (const uint8_t *)from + piece;
        offset += piece;
        size -= piece;
    }
    return true;
}

static bool vulkan_copy(TiRuntime runtime, TiMemory to, uint64_t to_offset, TiMemory from, uint64_t from_offset,
                        uint64_t size) {
    return vulkan_record_copy(runtime, to->buffer, to_offset, from->buffer, from_offset, size) &&
           vulkan_flush_if_full(runtime);
}

/* --- Vulkan: images and samplers ---------------------------------------------------------------------------------- */

/* Images stay in the layout GENERAL, which allows kernels to sample and store them and copies to access them: a launch
   need not know how an image was used before. */

static const VkImageSubresourceRange WHOLE_IMAGE = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
static const VkImageSubresourceLayers ONE_LEVEL = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};

static bool fail_format(TiRuntime runtime, TiFormat format, const char *action) {
    return fail(TI_ERROR_NOT_SUPPORTED, "%s has no images of the format %s that kernels %s", runtime->name,
                format_name(format), action);
}

/* Find the supported usage of images of a format and extent (VkImageUsageFlags). */
static bool vulkan_image_usage(TiRuntime runtime, TiImage image, bool is_stored, uint32_t *usage) {
    enum {
        NEEDED = VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT | VK_FORMAT_FEATURE_TRANSFER_SRC_BIT |
            VK_FORMAT_FEATURE_TRANSFER_DST_BIT,
        TILING_OPTIMAL = 0
    };
    VulkanDevice *vulkan = runtime->vulkan;
    const TexelFormat *format = &TEXEL_FORMATS[image->format];
    VkFormatProperties properties;
    VkImageFormatProperties limits;
    VkResult result;
    uint64_t size = (uint64_t)image->extent.width * image->extent.height; /* fits in 64 bits */
    memset(&properties, 0, sizeof properties);
    memset(&limits, 0, sizeof limits);
    if (format->vulkan) { /* few devices support three channels */
        vulkan->api.GetPhysicalDeviceFormatProperties(vulkan->physical, format->vulkan, &properties);
    }
    if ((properties.optimalTilingFeatures & NEEDED) != NEEDED) {
        return fail_format(runtime, image->format, "sample");
    }
    image->is_storage = format->spirv && properties.optimalTilingFeatures & VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT;
    image->is_interpolated = format->element == TI_DATA_TYPE_F32 &&
                             properties.optimalTilingFeatures & VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT;
    if (is_stored && !image->is_storage) {
        return fail_format(runtime, image->format, "store");
    }
    *usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    *usage |= image->is_storage ? (uint32_t)VK_IMAGE_USAGE_STORAGE_BIT : 0;
    result = vulkan->api.GetPhysicalDeviceImageFormatProperties(
        vulkan->physical, format->vulkan, (uint32_t)image->dimension, TILING_OPTIMAL, *usage, 0, &limits);
    if (result < 0) {
        return result == VK_ERROR_FORMAT_NOT_SUPPORTED
                   ? fail_format(runtime, image->format, "sample")
                   : vulkan_check(runtime, result, "asking for the limits of images");
    }
    if (image->extent.width > limits.maxExtent.width || image->extent.height > limits.maxExtent.height ||
        image->extent.depth > limits.maxExtent.depth) {
        return fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE,
                    "%s has no images of %u x %u x %u texels; they have at most %u x %u x %u", runtime->name,
                    image->extent.width, image->extent.height, image->extent.depth, limits.maxExtent.width,
                    limits.maxExtent.height, limits.maxExtent.depth);
    }
    return size <= limits.maxResourceSize / image->extent.depth / format->texel_size
               ? true
               : fail(TI_ERROR_OUT_OF_MEMORY, "%s makes no image of %u x %u x %u texels", runtime->name,
                      image->extent.width, image->extent.height, image->extent.depth);
}

/* Record the transition of an image to the layout GENERAL, and its clearing. */
static bool vulkan_clear_image(TiRuntime runtime, TiImage image) {
    const float zeros[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    const uint32_t work = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    VulkanDevice *vulkan = runtime->vulkan;
    VkImageMemoryBarrier barrier;
    CommandSlot *slot = vulkan_record(runtime);
    if (!slot) {
        return false;
    }
    memset(&barrier, 0, sizeof barrier);
    barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER;
    barrier.dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL;
    barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = UINT32_MAX;
    barrier.image = image->image;
    barrier.subresourceRange = WHOLE_IMAGE;
    vulkan->api.CmdPipelineBarrier(slot->commands, work, work, 0, 0, NULL, 0, NULL, 1, &barrier);
    vulkan->api.CmdClearColorImage(slot->commands, image->image, VK_IMAGE_LAYOUT_GENERAL, zeros, 1, &WHOLE_IMAGE);
    return true;
}

/* Create a zeroed image with its own memory. The caller frees it even after a failure. */
static bool vulkan_make_image(TiRuntime runtime, TiImage image, bool is_stored) {
    VulkanDevice *vulkan = runtime->vulkan;
    VkImageCreateInfo info;
    VkImageViewCreateInfo view;
    VkMemoryRequirements needs;
    memset(&info, 0, sizeof info);
    memset(&view, 0, sizeof view);
    info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
    info.imageType = (uint32_t)image->dimension;
    info.format = TEXEL_FORMATS[image->format].vulkan;
    info.extent.width = image->extent.width;
    info.extent.height = image->extent.height;
    info.extent.depth = image->extent.depth;
    info.mipLevels = info.arrayLayers = info.samples = 1;
    if (!vulkan_image_usage(runtime, image, is_stored, &info.usage)) {
        return false;
    }
    if (!vulkan_check(runtime, vulkan->api.CreateImage(vulkan->device, &info, NULL, &image->image), "an image")) {
        image->image = 0;
        return false;
    }
    vulkan->api.GetImageMemoryRequirements(vulkan->device, image->image, &needs);
    if (vulkan_allocate_memory(runtime, &needs, DATA_LOCAL, NULL, &image->memory) < 0 ||
        !vulkan_check(runtime, vulkan->api.BindImageMemory(vulkan->device, image->image, image->memory, 0),
                      "binding memory")) {
        return false;
    }
    view.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO;
    view.image = image->image;
    view.viewType = (uint32_t)image->dimension;
    view.format = info.format;
    view.subresourceRange = WHOLE_IMAGE;
    if (!vulkan_check(runtime, vulkan->api.CreateImageView(vulkan->device, &view, NULL, &image->view),
                      "making a view of an image")) {
        image->view = 0;
        return false;
    }
    return vulkan_clear_image(runtime, image);
}

/* Free an image that no launch uses any more. */
static void vulkan_free_image(TiImage image) {
    VulkanDevice *vulkan = image->runtime->vulkan;
    if (image->view) {
        vulkan->api.DestroyImageView(vulkan->device, image->view, NULL);
    }
    if (image->image) {
        vulkan->api.DestroyImage(vulkan->device, image->image, NULL);
    }
    if (image->memory) {
        vulkan->api.FreeMemory(vulkan->device, image->memory, NULL);
    }
    handle_release(image);
}

/* Free a sampler that no launch uses any more. */
static void vulkan_free_sampler(TiSampler sampler) {
    VulkanDevice *vulkan = sampler->runtime->vulkan;
    int i;
    for (i = 0; i < 2; i++) {
        if (sampler->handles[i]) {
            vulkan->api.DestroySampler(vulkan->device, sampler->handles[i], NULL);
        }
    }
    handle_release(sampler);
}

/* Create a sampler and add it to the list of its runtime. Vulkan and Taichi number filters and address modes alike. */
static TiSampler vulkan_make_sampler(TiRuntime runtime, const TiSamplerCreateInfo *create_info) {
    TiSampler sampler = (TiSampler)handle_acquire(HANDLE_SAMPLER, sizeof(struct TiSampler_t));
    VulkanDevice *vulkan = runtime->vulkan;
    VkSamplerCreateInfo info;
    int i;
    if (!sampler) {
        return NULL;
    }
    sampler->runtime = runtime;
    sampler->info = *create_info;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
    info.magFilter = (uint32_t)create_info->mag_filter;
    info.minFilter = (uint32_t)create_info->min_filter;
    info.addressModeU = info.addressModeV = info.addressModeW = (uint32_t)create_info->address_mode;
    for (i = 0; i < 2; i++) {
        info.borderColor = i ? VK_BORDER_COLOR_INT_TRANSPARENT_BLACK : VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK;
        if (!vulkan_check(runtime, vulkan->api.CreateSampler(vulkan->device, &info, NULL, &sampler->handles[i]),
                          "making a sampler")) {
            sampler->handles[i] = 0;
            vulkan_free_sampler(sampler);
            return NULL;
        }
    }
    sampler->next = runtime->samplers;
    if (sampler->next) {
        sampler->next->previous = sampler;
    }
    runtime->samplers = sampler;
    return sampler;
}

static VkOffset3D vulkan_offset(const TiImageOffset *offset) {
    VkOffset3D result;
    result.x = (int32_t)offset->x;
    result.y = (int32_t)offset->y;
    result.z = (int32_t)offset->z;
    return result;
}

static VkExtent3D vulkan_extent(const TiImageExtent *extent) {
    VkExtent3D result = {extent->width, extent->height, extent->depth};
    return result;
}

/* Copy texels between an image and memory, where they are contiguous. */
static bool vulkan_copy_texels(TiRuntime runtime, const TiImageSlice *slice, const TiMemorySlice *packed,
                               bool is_to_image) {
    VulkanDevice *vulkan = runtime->vulkan;
    CommandSlot *slot = vulkan_record(runtime);
    VkBufferImageCopy region;
    if (!slot) {
        return false;
    }
    memset(&region, 0, sizeof region);
    region.bufferOffset = packed->offset;
    region.imageSubresource = ONE_LEVEL;
    region.imageOffset = vulkan_offset(&slice->offset);
    region.imageExtent = vulkan_extent(&slice->extent);
    if (is_to_image) {
        vulkan->api.CmdCopyBufferToImage(slot->commands, packed->memory->buffer, slice->image->image,
                                         VK_IMAGE_LAYOUT_GENERAL, 1, &region);
    } else {
        vulkan->api.CmdCopyImageToBuffer(slot->commands, slice->image->image, VK_IMAGE_LAYOUT_GENERAL,
                                         packed->memory->buffer, 1, &region);
    }
    return vulkan_flush_if_full(runtime);
}

static bool vulkan_copy_image(TiRuntime runtime, const TiImageSlice *to, const TiImageSlice *from) {
    CommandSlot *slot = vulkan_record(runtime);
    VkImageCopy region;
    if (!slot) {
        return false;
    }
    region.srcSubresource = region.dstSubresource = ONE_LEVEL;
    region.srcOffset = vulkan_offset(&from->offset);
    region.dstOffset = vulkan_offset(&to->offset);
    region.extent = vulkan_extent(&from->extent);
    runtime->vulkan->api.CmdCopyImage(slot->commands, from->image->image, VK_IMAGE_LAYOUT_GENERAL, to->image->image,
                                      VK_IMAGE_LAYOUT_GENERAL, 1, &region);
    return vulkan_flush_if_full(runtime);
}

/* --- Vulkan: kernels ---------------------------------------------------------------------------------------------- */

/* Return whether a device supports a SPIR-V capability. */
static bool vulkan_has(VulkanDevice *vulkan, const Capability *capability) {
    const VkPhysicalDeviceVulkan12Properties *properties = &vulkan->properties_12;
    const VkBool32 *controls[5];
    uint32_t i = capability->number;
    VkBool32 *feature = feature_of(&vulkan->features, capability->structure, capability->number);
    if (feature) {
        return *feature != 0;
    }
    controls[0] = properties->signedZeroInfNanPreserve;
    controls[1] = properties->denormPreserve;
    controls[2] = properties->denormFlushToZero;
    controls[3] = properties->roundingModeRTE;
    controls[4] = properties->roundingModeRTZ;
    switch (capability->structure) {
    case IN_SUBGROUP:
        return vulkan->properties_11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT &&
               vulkan->properties_11.subgroupSupportedOperations >> i & 1;
    case IN_FLOAT_CONTROLS: return controls[i][0] || controls[i][1] || controls[i][2];
    default: return capability->structure == ALWAYS;
    }
}

/* Check that the device supports all capabilities of a shader. */
static bool vulkan_check_capabilities(TiRuntime runtime, const char *name, const uint8_t *code, uint32_t size) {
    uint32_t position;
    size_t i;
    for (position = SPIRV_HEADER_WORDS; position < size / 4; position += little_u32(code + 4 * position) >> 16) {
        uint32_t word = little_u32(code + 4 * position), capability;
        if ((word & 0xffff) != OP_CAPABILITY) {
            break; /* the capabilities are the first instructions */
        }
        capability = little_u32(code + 4 * position + 4);
        for (i = 0; i < sizeof CAPABILITIES / sizeof *CAPABILITIES && CAPABILITIES[i].capability != capability; i++) {
        }
        if (i == sizeof CAPABILITIES / sizeof *CAPABILITIES) {
            return fail(TI_ERROR_NOT_SUPPORTED, "`%s` needs capability %u of SPIR-V, which this runtime does not know",
                        name, capability);
        }
        if (!vulkan_has(runtime->vulkan, &CAPABILITIES[i])) {
            return fail(TI_ERROR_INCOMPATIBLE_MODULE, "`%s` needs %s, which %s does not have", name,
                        CAPABILITIES[i].name, runtime->name);
        }
    }
    return true;
}

static uint32_t vulkan_descriptor_type(const TextureBinding *texture) {
    return texture->is_storage ? VK_DESCRIPTOR_TYPE_STORAGE_IMAGE : VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
}

/* Create the descriptor set layout of the textures of a kernel, in the order of their bindings. */
static bool vulkan_make_texture_layout(TiRuntime runtime, const KernelData *kernel, Program *program) {
    VulkanDevice *vulkan = runtime->vulkan;
    const VkPhysicalDeviceLimits *limits = &vulkan->properties.limits;
    VkDescriptorSetLayoutBinding bindings[MAX_TEXTURES];
    VkDescriptorSetLayoutCreateInfo info;
    uint32_t stored = 0, sampled, i;
    memset(bindings, 0, sizeof bindings);
    memset(&info, 0, sizeof info);
    for (i = 0; i < kernel->texture_count; i++) {
        stored += kernel->textures[i].is_storage;
        bindings[i].binding = i;
        bindings[i].descriptorType = vulkan_descriptor_type(&kernel->textures[i]);
        bindings[i].descriptorCount = 1;
        bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    }
    sampled = kernel->texture_count - stored;
    if (stored > limits->maxPerStageDescriptorStorageImages || sampled > limits->maxPerStageDescriptorSampledImages ||
        sampled > limits->maxPerStageDescriptorSamplers) {
        return fail(TI_ERROR_INCOMPATIBLE_MODULE, "it samples %u textures and stores %u, more than %s takes", sampled,
                    stored, runtime->name);
    }
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    info.bindingCount = kernel->texture_count;
    info.pBindings = bindings;
    return vulkan_check(runtime, vulkan->api.CreateDescriptorSetLayout(vulkan->device, &info, NULL, &program->textures),
                        "making a layout of textures");
}

static bool vulkan_make_layout(TiRuntime runtime, const KernelData *kernel, Program *program) {
    VulkanDevice *vulkan = runtime->vulkan;
    VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 0};
    VkPipelineLayoutCreateInfo info;
    if (kernel->texture_count && !vulkan_make_texture_layout(runtime, kernel, program)) {
        return false;
    }
    range.size = kernel->args_size <= MAX_PUSH_BYTES ? (uint32_t)rounded_up(kernel->args_size, 4) : 8;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.setLayoutCount = kernel->texture_count ? 1 : 0;
    info.pSetLayouts = &program->textures;
    info.pushConstantRangeCount = range.size ? 1 : 0;
    info.pPushConstantRanges = &range;
    return vulkan_check(runtime, vulkan->api.CreatePipelineLayout(vulkan->device, &info, NULL, &program->layout),
                        "making a layout");
}

static bool vulkan_make_pipeline(TiRuntime runtime, const Task *task, const CodeFile *file, VkPipelineLayout layout,
                                 VkPipeline *pipeline) {
    VulkanDevice *vulkan = runtime->vulkan;
    VkShaderModuleCreateInfo shader;
    VkComputePipelineCreateInfo info;
    VkShaderModule module = 0;
    VkResult result;
    uint8_t *code;
    if (task->block_dim > vulkan->properties.limits.maxComputeWorkGroupInvocations ||
        task->block_dim > vulkan->properties.limits.maxComputeWorkGroupSize[0]) {
        return fail(TI_ERROR_INCOMPATIBLE_MODULE, "task `%s` has %u threads a group, more than %s takes", task->name,
                    task->block_dim, runtime->name);
    }
    code = zip_read(file->code);
    if (!code || !vulkan_check_capabilities(runtime, file->code->name, code, file->code->size)) {
        free(code);
        return false;
    }
    memset(&shader, 0, sizeof shader);
    memset(&info, 0, sizeof info);
    shader.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    shader.codeSize = file->code->size;
    shader.pCode = (const uint32_t *)(const void *)code; /* aligned by malloc */
    result = vulkan->api.CreateShaderModule(vulkan->device, &shader, NULL, &module);
    if (result >= 0) {
        info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
        info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
        info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
        info.stage.module = module;
        info.stage.pName = task->entry;
        info.layout = layout;
        result = vulkan->api.CreateComputePipelines(vulkan->device, 0, 1, &info, NULL, pipeline);
        vulkan->api.DestroyShaderModule(vulkan->device, module, NULL);
    }
    free(code);
    return vulkan_check(runtime, result, "making a pipeline") ? true : fail_within("task `%s`", task->name);
}

static bool vulkan_build(TiRuntime runtime, TiKernel kernel) {
    Program *program = kernel->program;
    uint32_t i;
    program->pipelines = (VkPipeline *)allocate_zeroed(kernel->data->task_count * sizeof(VkPipeline));
    if (!program->pipelines || !vulkan_make_layout(runtime, kernel->data, program)) {
        return false;
    }
    for (i = 0; i < kernel->data->task_count; i++) {
        const Task *task = &kernel->data->tasks[i];
        if (!vulkan_make_pipeline(runtime, task, &kernel->data->files[task->file], program->layout,
                                  &program->pipelines[i])) {
            program->pipelines[i] = 0;
            return false;
        }
    }
    return true;
}

static void vulkan_free_program(TiRuntime runtime, Program *program) {
    VulkanDevice *vulkan = runtime->vulkan;
    uint32_t i;
    for (i = 0; program->pipelines && i < program->task_count; i++) {
        if (program->pipelines[i]) {
            vulkan->api.DestroyPipeline(vulkan->device, program->pipelines[i], NULL);
        }
    }
    if (program->layout) {
        vulkan->api.DestroyPipelineLayout(vulkan->device, program->layout, NULL);
    }
    if (program->textures) {
        vulkan->api.DestroyDescriptorSetLayout(vulkan->device, program->textures, NULL);
    }
    free(program->pipelines);
}

/* --- Vulkan: launches --------------------------------------------------------------------------------------------- */

/* Find the grid of a task: groups a row, and rows. Every device supports 65,535 groups a row. */
static bool vulkan_grid(VulkanDevice *vulkan, TiKernel kernel, const Task *task, int64_t count, uint32_t *groups,
                        uint32_t *rows) {
    uint64_t group_iterations = (uint64_t)task->block_dim * task->items, needed;
    uint64_t most = GROUPS_X;
    *rows = 1;
    if (task->is_strided && !vulkan->is_software) { /* enough to keep a GPU busy; lavapipe ends long loops */
        most = smaller_u64(most, STRIDED_THREADS / task->block_dim);
    }
    if (count < 0) {
        *groups = (uint32_t)smaller_u64(most, STRIDED_GROUPS);
        return true;
    }
    needed = ((uint64_t)count + group_iterations - 1) / group_iterations;
    *groups = (uint32_t)smaller_u64(needed, most);
    if (needed <= most || task->is_strided) {
        return true;
    }
    if (!task->is_folded) {
        return fail(TI_ERROR_NOT_SUPPORTED,
                    "task `%s` of kernel `%s` needs %llu groups; its edited source has one row of %d", task->name,
                    kernel->data->name, (unsigned long long)needed, GROUPS_X);
    }
    *rows = (uint32_t)((needed + GROUPS_X - 1) / GROUPS_X);
    *groups = (uint32_t)((needed + *rows - 1) / *rows);
    return true;
}

/* Create the descriptor pool of a command buffer: one set a launch, for as many launches as it usually holds. */
static bool vulkan_make_descriptors(TiRuntime runtime, CommandSlot *slot) {
    VulkanDevice *vulkan = runtime->vulkan;
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, DESCRIPTORS},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, DESCRIPTORS}};
    VkDescriptorPoolCreateInfo info;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    info.maxSets = BATCH;
    info.poolSizeCount = 2;
    info.pPoolSizes = sizes;
    if (!vulkan_check(runtime, vulkan->api.CreateDescriptorPool(vulkan->device, &info, NULL, &slot->descriptors),
                      "making a pool of descriptors")) {
        slot->descriptors = 0;
        return false;
    }
    return true;
}

/* Return the sampler of a texture. Default samplers, for null, are created when first needed. */
static VkSampler vulkan_sampler_of(TiRuntime runtime, const TiTexture *texture) {
    bool is_integer = TEXEL_FORMATS[texture->image->format].element != TI_DATA_TYPE_F32;
    bool is_linear = !is_integer && texture->image->is_interpolated;
    TiSampler *sampler = &runtime->vulkan->default_samplers[is_linear];
    if (texture->sampler) {
        return texture->sampler->handles[is_integer];
    }
    if (!*sampler) {
        TiSamplerCreateInfo info = {TI_FILTER_NEAREST, TI_FILTER_NEAREST, TI_ADDRESS_MODE_REPEAT, 0.0f};
        info.mag_filter = info.min_filter = is_linear ? TI_FILTER_LINEAR : TI_FILTER_NEAREST;
        *sampler = vulkan_make_sampler(runtime, &info);
    }
    return *sampler ? (*sampler)->handles[is_integer] : 0;
}

/* Write and bind the descriptor set for the textures of a launch. The command buffer has capacity for it. */
static bool vulkan_bind_textures(TiRuntime runtime, TiKernel kernel, CommandSlot *slot) {
    VulkanDevice *vulkan = runtime->vulkan;
    const KernelData *data = kernel->data;
    VkDescriptorImageInfo images[MAX_TEXTURES];
    VkWriteDescriptorSet writes[MAX_TEXTURES];
    VkDescriptorSetAllocateInfo info;
    VkDescriptorSet set = 0;
    uint32_t i;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    info.descriptorPool = slot->descriptors;
    info.descriptorSetCount = 1;
    info.pSetLayouts = &kernel->program->textures;
    if (!vulkan_check(runtime, vulkan->api.AllocateDescriptorSets(vulkan->device, &info, &set),
                      "making a descriptor set")) {
        return false;
    }
    slot->sets_used++;
    slot->descriptors_used += data->texture_count;
    memset(writes, 0, data->texture_count * sizeof *writes);
    for (i = 0; i < data->texture_count; i++) {
        const TiTexture *texture = kernel->textures[i];
        images[i].sampler = 0;
        images[i].imageView = texture->image->view;
        images[i].imageLayout = VK_IMAGE_LAYOUT_GENERAL;
        if (!data->textures[i].is_storage && !(images[i].sampler = vulkan_sampler_of(runtime, texture))) {
            return false;
        }
        writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        writes[i].dstSet = set;
        writes[i].dstBinding = i;
        writes[i].descriptorCount = 1;
        writes[i].descriptorType = vulkan_descriptor_type(&data->textures[i]);
        writes[i].pImageInfo = &images[i];
    }
    vulkan->api.UpdateDescriptorSets(vulkan->device, data->texture_count, writes, 0, NULL);
    vulkan->api.CmdBindDescriptorSets(slot->commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel->program->layout, 0, 1,
                                      &set, 0, NULL);
    return true;
}

/* Return an open command buffer that has capacity for the textures of a launch, and for its arguments if they are too
   long for push constants. Null after a failure. */
static CommandSlot *vulkan_slot_for_launch(TiRuntime runtime, const KernelData *data) {
    CommandSlot *slot = runtime->vulkan->open;
    bool is_stored = data->args_size > MAX_PUSH_BYTES;
    bool is_full = slot && ((is_stored && slot->arguments_used + data->args_size > ARGUMENT_BLOCK_BYTES) ||
                            (data->texture_count &&
                             (slot->descriptors_used + data->texture_count > DESCRIPTORS || slot->sets_used == BATCH)));
    if (is_full && !vulkan_flush(runtime)) {
        return NULL;
    }
    slot = vulkan_open_slot(runtime);
    if (slot && is_stored && !slot->arguments) {
        slot->arguments = vulkan_make_host_visible(runtime, ARGUMENT_BLOCK_BYTES, ARGUMENT_KINDS);
        if (!slot->arguments) {
            return NULL;
        }
    }
    if (slot && data->texture_count && !slot->descriptors && !vulkan_make_descriptors(runtime, slot)) {
        return NULL;
    }
    return slot;
}

static bool vulkan_start(TiRuntime runtime, TiKernel kernel, const int64_t *counts) {
    VulkanDevice *vulkan = runtime->vulkan;
    const KernelData *data = kernel->data;
    CommandSlot *slot;
    const void *pushed = kernel->args;
    uint32_t pushed_size = (uint32_t)rounded_up(data->args_size, 4), groups, rows, i;
    uint64_t address;
    for (i = 0; i < data->task_count; i++) { /* before anything is recorded */
        if (!vulkan_grid(vulkan, kernel, &data->tasks[i], counts[i], &groups, &rows)) {
            return false;
        }
    }
    slot = vulkan_slot_for_launch(runtime, data);
    if (!slot || (data->texture_count && !vulkan_bind_textures(runtime, kernel, slot))) {
        return false;
    }
    if (data->args_size > MAX_PUSH_BYTES) {
        memcpy((uint8_t *)slot->arguments->visible + slot->arguments_used, kernel->args, data->args_size);
        address = slot->arguments->address + slot->arguments_used;
        slot->arguments_used = rounded_up(slot->arguments_used + data->args_size, ARGUMENT_ALIGNMENT);
        pushed = &address;
        pushed_size = sizeof address;
    }
    for (i = 0; i < data->task_count; i++) {
        vulkan_grid(vulkan, kernel, &data->tasks[i], counts[i], &groups, &rows);
        if (!groups) {
            continue;
        }
        vulkan_record(runtime);
        if (pushed_size) {
            vulkan->api.CmdPushConstants(slot->commands, kernel->program->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                         pushed_size, pushed);
        }
        vulkan->api.CmdBindPipeline(slot->commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel->program->pipelines[i]);
        vulkan->api.CmdDispatch(slot->commands, groups, rows, 1);
    }
    return vulkan_flush_if_full(runtime);
}

static const Backend VULKAN_BACKEND = {
    vulkan_enter, vulkan_leave, vulkan_close,        vulkan_allocate, vulkan_free_memory, vulkan_read, vulkan_write,
    vulkan_copy,  vulkan_build, vulkan_free_program, vulkan_start,    vulkan_flush,       vulkan_wait,
};

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

/* --- modules: archives on a device -------------------------------------------------------------------------------- */

enum {
    REPORT_HEADER_WORDS = 9,
    REPORT_RECORD_WORDS = 3,
    REPORT_PRINT_WORDS = (1 << 20) / 4,
    REPORT_FAILURE_WORDS = (64 << 10) / 4,
    REPORT_FIRST = REPORT_HEADER_WORDS + REPORT_PRINT_WORDS,
    REPORT_LAST = REPORT_FIRST + REPORT_FAILURE_WORDS
};

static bool clear_report(TiRuntime runtime) {
    const uint32_t header[REPORT_HEADER_WORDS] = {REPORT_HEADER_WORDS, REPORT_FIRST, 0, REPORT_FIRST, REPORT_LAST, 0, 0,
                                                  UINT32_MAX,          UINT32_MAX};
    return runtime->backend->write(runtime, runtime->report, 0, header, sizeof header);
}

/* Allocate the buffer that kernels write their prints and failed checks to, once a runtime. */
static bool find_report(TiRuntime runtime) {
    if (runtime->report) {
        return true;
    }
    runtime->report = memory_make(runtime, (uint64_t)REPORT_LAST * 4);
    return runtime->report && clear_report(runtime);
}

/* Write an integer into the argument block with the type of a member. */
static void put_integer(TiKernel kernel, const BlockMember *member, uint64_t value) {
    memcpy(kernel->args + member->offset, &value, member->size); /* the host is little endian */
}

/* Fill in the members that are known at load time: constants and the addresses of the kernel's own memory. */
static bool prepare_block(TiRuntime runtime, TiKernel kernel) {
    const KernelData *data = kernel->data;
    uint32_t i;
    for (i = 0; i < data->member_count; i++) {
        const BlockMember *member = &data->members[i];
        uint64_t address = 0;
        if (member->constant == CONSTANT_INTEGER) {
            put_integer(kernel, member, (uint64_t)member->value);
            continue;
        }
        if (member->constant == CONSTANT_ADDRESS) {
            put_integer(kernel, member, kernel->module->trees[member->tree]->address + (uint64_t)member->value);
            continue;
        }
        switch (member->source) {
        case SOURCE_RESULT: address = kernel->results ? kernel->results->address : 0; break;
        case SOURCE_TEMPORARIES: address = kernel->temporaries ? kernel->temporaries->address : 0; break;
        case SOURCE_REPORT:
            if (!find_report(runtime)) {
                return false;
            }
            address = runtime->report->address;
            break;
        default: continue;
        }
        put_integer(kernel, member, address);
    }
    return true;
}

static bool kernel_open(TiAotModule module, TiKernel kernel, const KernelData *data) {
    TiRuntime runtime = module->runtime;
    size_t args_bytes =
        runtime->arch == TI_ARCH_CUDA ? (size_t)CUDA_PARAMETER_BYTES : (size_t)rounded_up(data->args_size, 8) + 8;
    kernel->module = module;
    kernel->data = data;
    kernel->args =
        (uint8_t *)allocate_zeroed(args_bytes); /* CUDA reads as much as the parameter size of the function */
    kernel->counts = (int64_t *)allocate_zeroed((data->task_count + 1) * sizeof(int64_t));
    kernel->textures = (const TiTexture **)allocate_zeroed(data->texture_count * sizeof(const TiTexture *));
    kernel->program = (Program *)allocate_zeroed(sizeof(Program));
    if (!kernel->args || !kernel->counts || !kernel->textures || !kernel->program) {
        return false;
    }
    kernel->program->task_count = data->task_count;
    if (data->result_size && !(kernel->results = memory_make(runtime, data->result_size))) {
        return false;
    }
    if (data->temporaries_size && !(kernel->temporaries = memory_make(runtime, data->temporaries_size))) {
        return false;
    }
    return runtime->backend->build(runtime, kernel) && prepare_block(runtime, kernel);
}

static void kernel_close(TiRuntime runtime, TiKernel kernel) {
    if (kernel->program) {
        runtime->backend->free_program(runtime, kernel->program);
    }
    memory_free(kernel->results);
    memory_free(kernel->temporaries);
    free(kernel->program);
    free(kernel->textures);
    free(kernel->counts);
    free(kernel->args);
    handle_release(kernel);
}

/* Free a module that no launch uses any more. */
static void module_close(TiAotModule module) {
    TiRuntime runtime = module->runtime;
    uint32_t i;
    for (i = 0; module->kernels && i < module->manifest.kernel_count; i++) {
        if (module->kernels[i]) {
            kernel_close(runtime, module->kernels[i]);
        }
    }
    for (i = 0; module->graphs && i < module->manifest.graph_count; i++) {
        if (module->graphs[i]) {
            handle_release(module->graphs[i]);
        }
    }
    for (i = 0; module->trees && i < module->manifest.tree_count; i++) {
        memory_free(module->trees[i]);
    }
    free(module->kernels);
    free(module->graphs);
    free(module->trees);
    manifest_close(&module->manifest);
    free(module->bytes);
    handle_release(module);
}

static bool module_open(TiAotModule module) {
    TiRuntime runtime = module->runtime;
    Manifest *manifest = &module->manifest;
    uint32_t i;
    if (manifest->arch == TI_ARCH_RESERVED) {
        return fail(TI_ERROR_INCOMPATIBLE_MODULE,
                    "the archive is made for target c: compile its C files into your program instead");
    }
    if (manifest->arch != runtime->arch) {
        return fail(TI_ERROR_INCOMPATIBLE_MODULE, "the archive is made for target %s, and this runtime is one of %s",
                    arch_name(manifest->arch), arch_name(runtime->arch));
    }
    module->trees = (TiMemory *)allocate_zeroed(manifest->tree_count * sizeof(TiMemory));
    module->kernels = (TiKernel *)allocate_zeroed(manifest->kernel_count * sizeof(TiKernel));
    module->graphs = (TiComputeGraph *)allocate_zeroed(manifest->graph_count * sizeof(TiComputeGraph));
    if (!module->trees || !module->kernels || !module->graphs) {
        return false;
    }
    for (i = 0; i < manifest->tree_count; i++) {
        if (!(module->trees[i] = memory_make(runtime, manifest->tree_sizes[i]))) {
            return false;
        }
        module->trees[i]->is_tree = true;
    }
    for (i = 0; i < manifest->kernel_count; i++) {
        module->kernels[i] = (TiKernel)handle_acquire(HANDLE_KERNEL, sizeof(struct TiKernel_t));
        if (!module->kernels[i]) {
            return false;
        }
        if (!kernel_open(module, module->kernels[i], &manifest->kernels[i])) {
            return fail_within("kernel `%.100s`", manifest->kernels[i].name);
        }
    }
    for (i = 0; i < manifest->graph_count; i++) {
        module->graphs[i] = (TiComputeGraph)handle_acquire(HANDLE_GRAPH, sizeof(struct TiComputeGraph_t));
        if (!module->graphs[i]) {
            return false;
        }
        module->graphs[i]->module = module;
        module->graphs[i]->data = &manifest->graphs[i];
    }
    return true;
}

/* Create a module from the bytes of an archive, which it owns even after a failure. */
static TiAotModule module_make(TiRuntime runtime, uint8_t *bytes, size_t size) {
    TiAotModule module = (TiAotModule)handle_acquire(HANDLE_MODULE, sizeof(struct TiAotModule_t));
    if (!module) {
        free(bytes);
        return NULL;
    }
    module->runtime = runtime;
    module->bytes = bytes;
    if (!manifest_open(&module->manifest, bytes, size) || !module_open(module)) {
        if (module->trees) { /* its memory is still being cleared */
            runtime->backend->wait(runtime);
        }
        module_close(module);
        return NULL;
    }
    module->next = runtime->modules;
    if (module->next) {
        module->next->previous = module;
    }
    runtime->modules = module;
    return module;
}

/* Read a file of at most the maximum size of an archive; the caller frees it. */
static uint8_t *read_whole_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    long end = -1;
    if (!file) {
        fail(TI_ERROR_INVALID_ARGUMENT, "the archive `%.500s` cannot be opened", path);
        return NULL;
    }
    if (!fseek(file, 0, SEEK_END)) {
        end = ftell(file);
    }
    if (end < 0 || (uint64_t)end > MAX_ARCHIVE_BYTES) {
        fail(TI_ERROR_CORRUPTED_DATA, "`%.500s` is no archive: it is no file, or has more than %llu bytes", path,
             (unsigned long long)MAX_ARCHIVE_BYTES);
    } else {
        rewind(file);
        bytes = (uint8_t *)allocate_zeroed((size_t)end);
        if (bytes && fread(bytes, 1, (size_t)end, file) != (size_t)end) {
            fail(TI_ERROR_INVALID_ARGUMENT, "the archive `%.500s` cannot be read", path);
            free(bytes);
            bytes = NULL;
        }
        *size = (size_t)end;
    }
    fclose(file);
    return bytes;
}

/* --- launches: arguments, evaluation, iterations ------------------------------------------------------------------ */

/* A number that the caller passes: a real, or an integer by sign and magnitude. */
typedef struct Number {
    bool is_real, is_negative;
    double real;
    uint64_t magnitude;
} Number;

static Number number_of_integer(int64_t value) {
    Number number = {false, value < 0, 0.0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value};
    return number;
}

static Number number_of_real(double value) {
    Number number = {true, false, value, 0};
    return number;
}

/* Read a number of a type from memory. */
static Number read_number(TiDataType type, const void *from) {
    uint64_t bits = 0;
    float single;
    double real;
    uint32_t size = scalar_of(type)->size;
    memcpy(&bits, from, size);
    switch (type) {
    case TI_DATA_TYPE_F16: return number_of_real(half_to_double((uint16_t)bits));
    case TI_DATA_TYPE_F32: memcpy(&single, from, sizeof single); return number_of_real((double)single);
    case TI_DATA_TYPE_F64: memcpy(&real, from, sizeof real); return number_of_real(real);
    case TI_DATA_TYPE_I8:
    case TI_DATA_TYPE_I16:
    case TI_DATA_TYPE_I32:
    case TI_DATA_TYPE_I64:
        if (bits >> (8 * size - 1) & 1) {
            Number number = {false, true, 0.0, size == 8 ? 0 - bits : ((uint64_t)1 << 8 * size) - bits};
            return number;
        }
        break;
    default: break;
    }
    {
        Number number = {false, false, 0.0, bits};
        return number;
    }
}

/* Return whether a number is in the range of an integer type. */
static bool fits_integer(TiDataType type, Number number) {
    bool is_signed =
        type == TI_DATA_TYPE_I8 || type == TI_DATA_TYPE_I16 || type == TI_DATA_TYPE_I32 || type == TI_DATA_TYPE_I64;
    uint64_t most = type == TI_DATA_TYPE_U1 ? 1 : UINT64_MAX >> (64 - 8 * scalar_of(type)->size) >> (is_signed ? 1 : 0);
    return !number.is_real &&
           (number.is_negative ? is_signed && number.magnitude <= most + 1 : number.magnitude <= most);
}

/* Write a number of a parameter's type into the argument block, where small types may have larger members. Return false
   if it is out of range. */
static bool write_number(TiKernel kernel, const BlockMember *member, TiDataType type, Number number) {
    double real =
        number.is_real ? number.real : (number.is_negative ? -(double)number.magnitude : (double)number.magnitude);
    float single = (float)real;
    uint16_t half;
    uint64_t bits;
    uint8_t *address = kernel->args + member->offset;
    switch (member->type) {
    case TI_DATA_TYPE_F16:
        half = double_to_half(real);
        memcpy(address, &half, sizeof half);
        return true;
    case TI_DATA_TYPE_F32: memcpy(address, &single, sizeof single); return true;
    case TI_DATA_TYPE_F64: memcpy(address, &real, sizeof real); return true;
    default: break;
    }
    if (!fits_integer(type, number)) {
        return false;
    }
    bits = number.is_negative ? 0 - number.magnitude : number.magnitude;
    memcpy(address, &bits, member->size);
    return true;
}

static const char *argument_kind_name(TiArgumentType type) {
    switch (type) {
    case TI_ARGUMENT_TYPE_I32: return "an i32";
    case TI_ARGUMENT_TYPE_F32: return "an f32";
    case TI_ARGUMENT_TYPE_NDARRAY: return "an ndarray";
    case TI_ARGUMENT_TYPE_TEXTURE: return "a texture";
    case TI_ARGUMENT_TYPE_SCALAR: return "a scalar";
    case TI_ARGUMENT_TYPE_TENSOR: return "a tensor";
    case TI_ARGUMENT_TYPE_STRUCT: return "a struct";
    default: return "no argument that is known";
    }
}

/* Write extents as `(4, 8)`. */
static const char *format_shape(const TiNdShape *shape, char string[256]) {
    size_t length = 0;
    uint32_t i;
    string[length++] = '(';
    for (i = 0; i < shape->dim_count && i < TI_MAX_DIM_COUNT; i++) {
        length += (size_t)snprintf(string + length, 256 - length, i ? ", %u" : "%u", shape->dims[i]);
    }
    snprintf(string + length, 256 - length, ")");
    return string;
}

static bool check_ndarray(TiKernel kernel, const Parameter *parameter, const TiNdArray *array) {
    char actual[256], expected[256];
    uint64_t size = parameter->element_size;
    uint32_t i;
    if (array->shape.dim_count != parameter->dim_count) {
        return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` has %u dimensions, and the kernel takes %u",
                    parameter->name, array->shape.dim_count, parameter->dim_count);
    }
    if (array->elem_type != parameter->type) {
        return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` has elements of %s, and the kernel takes %s",
                    parameter->name, type_name(array->elem_type), type_name(parameter->type));
    }
    if (array->elem_shape.dim_count != parameter->element_shape.dim_count ||
        memcmp(array->elem_shape.dims, parameter->element_shape.dims,
               parameter->element_shape.dim_count * sizeof(uint32_t))) {
        return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` has elements of shape %s, and the kernel takes %s",
                    parameter->name, format_shape(&array->elem_shape, actual),
                    format_shape(&parameter->element_shape, expected));
    }
    for (i = 0; i < array->shape.dim_count; i++) {
        if (array->shape.dims[i] > INT32_MAX) {
            return fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE, "argument `%s` has an extent over 2^31 - 1", parameter->name);
        }
        if (array->shape.dims[i] && size > UINT64_MAX / array->shape.dims[i]) {
            return fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE, "argument `%s` is too large", parameter->name);
        }
        size *= array->shape.dims[i];
    }
    if (!array->memory) {
        return fail(TI_ERROR_ARGUMENT_NULL, "argument `%s` has no memory", parameter->name);
    }
    if (!check_handle(array->memory, HANDLE_MEMORY, "its memory")) {
        return fail_within("argument `%s`", parameter->name);
    }
    if (array->memory->runtime != kernel->module->runtime) {
        return fail(TI_ERROR_INVALID_ARGUMENT, "the memory of argument `%s` is of another runtime", parameter->name);
    }
    if (array->memory->mapped) {
        return fail(TI_ERROR_INVALID_STATE, "the memory of argument `%s` is mapped: call ti_unmap_memory first",
                    parameter->name);
    }
    return size <= array->memory->size ? true
                                       : fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE,
                                              "argument `%s` of shape %s needs %llu bytes, and its memory has %llu",
                                              parameter->name, format_shape(&array->shape, actual),
                                              (unsigned long long)size, (unsigned long long)array->memory->size);
}

static bool is_same_extent(const TiImageExtent *a, const TiImageExtent *b) {
    return a->width == b->width && a->height == b->height && a->depth == b->depth &&
           a->array_layer_count == b->array_layer_count;
}

/* Check that an image supports what a kernel does with it. */
static bool check_texels(const Parameter *parameter, const TiTexture *texture) {
    const TiImage image = texture->image;
    const TiSampler sampler = texture->sampler;
    TiDataType element = TEXEL_FORMATS[image->format].element;
    if (parameter->kind == PARAMETER_RW_TEXTURE) {
        if (image->format != parameter->format) {
            return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` has texels of %s, and the kernel takes %s",
                        parameter->name, format_name(image->format), format_name(parameter->format));
        }
        return image->is_storage ? true : fail_format(image->runtime, image->format, "store");
    }
    if (element != parameter->type) {
        return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` has texels of %s, which are %s, and the kernel takes %s",
                    parameter->name, format_name(image->format), type_name(element), type_name(parameter->type));
    }
    if (sampler && sampler->runtime != image->runtime) {
        return fail(TI_ERROR_INVALID_ARGUMENT, "the sampler of argument `%s` is of another runtime", parameter->name);
    }
    return image->is_interpolated || !sampler ||
                   (sampler->info.mag_filter != TI_FILTER_LINEAR && sampler->info.min_filter != TI_FILTER_LINEAR)
               ? true
               : fail(TI_ERROR_NOT_SUPPORTED,
                      "argument `%s` has a sampler with TI_FILTER_LINEAR, and %s does not interpolate texels of %s",
                      parameter->name, image->runtime->name, format_name(image->format));
}

static bool check_texture(TiKernel kernel, const Parameter *parameter, const TiTexture *texture) {
    const TiImage image = texture->image;
    if (!image) {
        return fail(TI_ERROR_ARGUMENT_NULL, "argument `%s` has no image", parameter->name);
    }
    if (!check_handle(image, HANDLE_IMAGE, "its image") ||
        (texture->sampler && !check_handle(texture->sampler, HANDLE_SAMPLER, "its sampler"))) {
        return fail_within("argument `%s`", parameter->name);
    }
    if (image->runtime != kernel->module->runtime) {
        return fail(TI_ERROR_INVALID_ARGUMENT, "the image of argument `%s` is of another runtime", parameter->name);
    }
    if ((uint32_t)image->dimension + 1 != parameter->dim_count) {
        return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` has an image of %u dimensions, and the kernel takes %u",
                    parameter->name, (uint32_t)image->dimension + 1, parameter->dim_count);
    }
    if (texture->dimension != image->dimension || texture->format != image->format ||
        !is_same_extent(&texture->extent, &image->extent)) {
        return fail(TI_ERROR_INVALID_ARGUMENT,
                    "argument `%s` has another dimension, extent or format than its image, which has %u x %u x %u "
                    "texels of %s",
                    parameter->name, image->extent.width, image->extent.height, image->extent.depth,
                    format_name(image->format));
    }
    return check_texels(parameter, texture);
}

/* Check an argument against its parameter, before anything is written. */
static bool check_argument(TiKernel kernel, const Parameter *parameter, const TiArgument *argument) {
    uint32_t offset = 0, i;
    TiArgumentType type = argument->type;
    bool fits = parameter->kind == PARAMETER_NDARRAY ? type == TI_ARGUMENT_TYPE_NDARRAY
                : parameter->kind == PARAMETER_SCALAR
                    ? type == TI_ARGUMENT_TYPE_I32 || type == TI_ARGUMENT_TYPE_F32 || type == TI_ARGUMENT_TYPE_SCALAR
                : parameter->kind == PARAMETER_MATRIX
                    ? type == TI_ARGUMENT_TYPE_TENSOR || type == TI_ARGUMENT_TYPE_STRUCT
                : parameter->kind == PARAMETER_STRUCT ? type == TI_ARGUMENT_TYPE_STRUCT
                                                      : type == TI_ARGUMENT_TYPE_TEXTURE;
    if (!fits) {
        static const char *const KINDS[] = {"a scalar", "a vector or matrix", "a struct", "an ndarray",
                                            "nothing",  "a texture",          "a texture"};
        return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` is %s, and the kernel takes %s", parameter->name,
                    argument_kind_name(type), KINDS[parameter->kind]);
    }
    if (type == TI_ARGUMENT_TYPE_NDARRAY) {
        return check_ndarray(kernel, parameter, &argument->value.ndarray);
    }
    if (type == TI_ARGUMENT_TYPE_TEXTURE) {
        return check_texture(kernel, parameter, &argument->value.texture);
    }
    if (type == TI_ARGUMENT_TYPE_SCALAR && !scalar_of(argument->value.scalar.type)) {
        return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` is a scalar of no known type", parameter->name);
    }
    if (type == TI_ARGUMENT_TYPE_TENSOR) {
        const TiTensor *tensor = &argument->value.tensor;
        if (tensor->type != parameter->type || tensor->contents.length != parameter->count ||
            (uint64_t)parameter->count * scalar_of(parameter->type)->size > sizeof tensor->contents.data) {
            return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` is %u numbers of %s, and the kernel takes %u of %s%s",
                        parameter->name, tensor->contents.length, type_name(tensor->type), parameter->count,
                        type_name(parameter->type),
                        (uint64_t)parameter->count * scalar_of(parameter->type)->size > sizeof tensor->contents.data
                            ? " (as TiStruct)"
                            : "");
        }
    }
    if (type == TI_ARGUMENT_TYPE_STRUCT) {
        for (i = 0; i < parameter->count; i++) {
            uint32_t size = scalar_of(parameter->types[i])->size;
            offset = (uint32_t)rounded_up(offset, size) + size;
        }
        if (!argument->value.structure.data || argument->value.structure.size < offset) {
            return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` has %llu bytes, and its numbers take %u",
                        parameter->name, (unsigned long long)argument->value.structure.size, offset);
        }
    }
    return true;
}

/* Return a component of an argument by value. */
static Number argument_number(const Parameter *parameter, const TiArgument *argument, uint32_t component) {
    uint32_t offset = 0, i;
    switch (argument->type) {
    case TI_ARGUMENT_TYPE_I32: return number_of_integer(argument->value.i32);
    case TI_ARGUMENT_TYPE_F32: return number_of_real((double)argument->value.f32);
    case TI_ARGUMENT_TYPE_SCALAR: return read_number(argument->value.scalar.type, &argument->value.scalar.value);
    case TI_ARGUMENT_TYPE_TENSOR:
        return read_number(parameter->type, argument->value.tensor.contents.data.x8 +
                                                (size_t)component * scalar_of(parameter->type)->size);
    default:
        for (i = 0; i < component; i++) {
            offset = (uint32_t)rounded_up(offset, scalar_of(parameter->types[i])->size) +
                     scalar_of(parameter->types[i])->size;
        }
        offset = (uint32_t)rounded_up(offset, scalar_of(parameter->types[component])->size);
        return read_number(parameter->types[component], (const uint8_t *)argument->value.structure.data + offset);
    }
}

/* Return the stride of an array along an axis [elements]. */
static uint64_t array_stride(const TiNdArray *array, uint32_t axis) {
    uint64_t stride = 1;
    for (axis++; axis < array->shape.dim_count; axis++) {
        stride *= array->shape.dims[axis];
    }
    return stride;
}

static uint32_t next_seed(TiRuntime runtime) {
    runtime->launches++;
    return runtime->random_seed * 0x9E3779B1u + runtime->launches * 0x85EBCA6Bu; /* as with ti.init(random_seed=...) */
}

/* Return an extent of a texture. */
static uint32_t texture_extent(const TiTexture *texture, uint32_t axis) {
    const TiImageExtent *extent = &texture->image->extent;
    return axis == 0 ? extent->width : axis == 1 ? extent->height : extent->depth;
}

/* Write the value of one member from the arguments. arguments: one a parameter, null for templates. */
static bool pack_member(TiRuntime runtime, TiKernel kernel, const BlockMember *member,
                        const TiArgument *const *arguments) {
    const KernelData *data = kernel->data;
    const TiNdArray *array = NULL;
    if (member->constant != CONSTANT_NONE) {
        return true;
    }
    if (member->source >= SOURCE_POINTER && member->source <= SOURCE_BEGIN) {
        array = &arguments[data->arrays[member->first].parameter]->value.ndarray;
    }
    switch (member->source) {
    case SOURCE_ARGUMENT: {
        const Parameter *parameter = &data->parameters[member->first];
        TiDataType type = parameter->types[member->second];
        if (!write_number(kernel, member, type, argument_number(parameter, arguments[member->first], member->second))) {
            return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` is no %s: it is out of range, or no integer",
                        parameter->name, type_name(type));
        }
        return true;
    }
    case SOURCE_POINTER: put_integer(kernel, member, array->memory->address); return true;
    case SOURCE_GRADIENT: {
        const Parameter *parameter = &data->parameters[data->arrays[member->first].parameter];
        put_integer(kernel, member, arguments[parameter->gradient]->value.ndarray.memory->address);
        return true;
    }
    case SOURCE_SHAPE: put_integer(kernel, member, array->shape.dims[member->second]); return true;
    case SOURCE_STRIDE:
        if (member->size < 8 && array_stride(array, member->second) > INT32_MAX) {
            return fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE, "argument `%s` is too large",
                        data->parameters[data->arrays[member->first].parameter].name);
        }
        put_integer(kernel, member, array_stride(array, member->second));
        return true;
    case SOURCE_BEGIN: put_integer(kernel, member, 0); return true;
    case SOURCE_TEXTURE_SHAPE:
        put_integer(kernel, member, texture_extent(kernel->textures[member->first], member->second));
        return true;
    case SOURCE_SEED: put_integer(kernel, member, next_seed(runtime)); return true;
    default: return true;
    }
}

/* Return the value of a member in the argument block. */
static int64_t packed_integer(TiKernel kernel, const BlockMember *member) {
    Number number = read_number(member->type, kernel->args + member->offset);
    return (int64_t)(number.is_negative ? 0 - number.magnitude : number.magnitude);
}

static int64_t floor_divided(int64_t a, int64_t b) {
    int64_t quotient = a / b;
    return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

/* Sums and products of integers. Return false if they overflow 64 bits. */
static bool added(int64_t a, int64_t b, int64_t *sum) {
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) {
        return false;
    }
    *sum = a + b;
    return true;
}

static bool multiplied(int64_t a, int64_t b, int64_t *product) {
    if (a && b && (a == INT64_MIN || b == INT64_MIN || (a < 0 ? -a : a) > INT64_MAX / (b < 0 ? -b : b))) {
        return false;
    }
    *product = a * b;
    return true;
}

static bool shifted(int64_t a, int64_t b, bool is_left, int64_t *value) {
    if (b < 0 || b > 62) {
        return false;
    }
    if (is_left) {
        return multiplied(a, (int64_t)1 << b, value);
    }
    *value = floor_divided(a, (int64_t)1 << b);
    return true;
}

/* Evaluate one operation with Python's meaning; a number divided by 0 is 0, as on devices. Return false if it overflows
   64 bits. */
static bool apply(Operator operation, int64_t a, int64_t b, int64_t c, int64_t *value) {
    switch (operation) {
    case OP_ADD: return added(a, b, value);
    case OP_SUB: return b != INT64_MIN && added(a, -b, value);
    case OP_MUL: return multiplied(a, b, value);
    case OP_SHL: return shifted(a, b, true, value);
    case OP_SAR: return shifted(a, b, false, value);
    case OP_NEG: *value = a == INT64_MIN ? a : -a; return a != INT64_MIN;
    case OP_ABS: *value = a < 0 && a != INT64_MIN ? -a : a; return a != INT64_MIN;
    case OP_FLOORDIV:
    case OP_MOD:
    case OP_RAW_DIV:
        if (a == INT64_MIN && b == -1) {
            return false;
        }
        *value = b == 0                     ? 0
                 : operation == OP_RAW_DIV  ? a / b
                 : operation == OP_FLOORDIV ? floor_divided(a, b)
                                            : a - floor_divided(a, b) * b;
        return true;
    case OP_MIN: *value = a < b ? a : b; return true;
    case OP_MAX: *value = a > b ? a : b; return true;
    case OP_BIT_AND: *value = a & b; return true;
    case OP_BIT_OR: *value = a | b; return true;
    case OP_BIT_XOR: *value = a ^ b; return true;
    case OP_SELECT: *value = a ? b : c; return true;
    case OP_LT: *value = a < b; return true;
    case OP_LE: *value = a <= b; return true;
    case OP_GT: *value = a > b; return true;
    case OP_GE: *value = a >= b; return true;
    case OP_EQ: *value = a == b; return true;
    case OP_NE: *value = a != b; return true;
    default: return false;
    }
}

static bool evaluate(TiKernel kernel, const Expression *expression, int64_t *value) {
    int64_t operands[3] = {0, 0, 0};
    int i;
    if (expression->operation == OP_CONST) {
        *value = expression->value;
        return true;
    }
    if (expression->operation == OP_MEMBER) {
        *value = packed_integer(kernel, &kernel->data->members[expression->value]);
        return true;
    }
    if (expression->operation == OP_SELECT) { /* the other operand is not evaluated */
        return evaluate(kernel, expression->operands[0], &operands[0]) &&
               evaluate(kernel, expression->operands[operands[0] ? 1 : 2], value);
    }
    for (i = 0; i < 3 && expression->operands[i]; i++) {
        if (!evaluate(kernel, expression->operands[i], &operands[i])) {
            return false;
        }
    }
    return apply(expression->operation, operands[0], operands[1], operands[2], value)
               ? true
               : fail(TI_ERROR_INVALID_ARGUMENT, "the bounds of a loop divide by zero or leave 64 bits");
}

/* Return the multiplier and the shift by which shaders divide by a number, as `packed_divisor` of Python. */
static uint64_t packed_divisor(int64_t number) {
    uint64_t divisor = (uint32_t)number, shift = 0;
    if (divisor == 0) { /* each quotient is 0 */
        return (uint64_t)31 << 32;
    }
    if (divisor > INT32_MAX) { /* without its sign */
        divisor = ((uint64_t)1 << 32) - divisor;
    }
    while (((uint64_t)1 << shift) < divisor) {
        shift++;
    }
    return (((((uint64_t)1 << shift) - divisor) << 32) / divisor + 1) | shift << 32;
}

/* Write the members that are computed from others. */
static bool pack_divisors(TiKernel kernel) {
    const KernelData *data = kernel->data;
    uint32_t i;
    for (i = 0; i < data->member_count; i++) {
        int64_t number;
        if (data->members[i].source == SOURCE_DIVISOR) {
            if (!evaluate(kernel, data->divisors[data->members[i].first], &number)) {
                return false;
            }
            put_integer(kernel, &data->members[i], packed_divisor(number));
        }
    }
    return true;
}

/* Find the number of iterations of a task, -1 if only the device knows it. */
static bool count_iterations(TiKernel kernel, const Task *task, int64_t *count) {
    uint32_t i;
    *count = task->is_serial ? 1 : -1;
    if (task->is_serial || !task->extents) {
        return true;
    }
    for (*count = 1, i = 0; i < task->extent_count; i++) {
        int64_t extent;
        if (!evaluate(kernel, task->extents[i], &extent)) {
            return fail_within("task `%s`", task->name);
        }
        if (extent <= 0) {
            *count = 0;
        } else if (*count && extent > INT64_MAX / *count) {
            *count = INT64_MAX;
        } else {
            *count *= extent;
        }
    }
    return *count <= MAX_ITERATIONS
               ? true
               : fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE,
                      "the loop of task `%s` has %lld iterations; a parallel loop has at most %lld", task->name,
                      (long long)*count, (long long)MAX_ITERATIONS);
}

static bool show_reports(TiRuntime runtime, TiKernel kernel);

/* Launch with one argument a parameter, null for templates. All arguments are checked before anything is changed. */
static bool launch(TiRuntime runtime, TiKernel kernel, const TiArgument *const *arguments) {
    const KernelData *data = kernel->data;
    uint32_t i;
    if (data->unsupported) {
        return fail(TI_ERROR_NOT_SUPPORTED, "kernel `%.100s` takes %s, which this runtime cannot give", data->name,
                    data->unsupported);
    }
    for (i = 0; i < data->parameter_count; i++) {
        if (data->parameters[i].kind != PARAMETER_TEMPLATE &&
            !check_argument(kernel, &data->parameters[i], arguments[i])) {
            return fail_within("kernel `%.100s`", data->name);
        }
    }
    for (i = 0; i < data->declared_count; i++) {
        uint32_t gradient = data->parameters[i].gradient;
        if (gradient && memcmp(&arguments[i]->value.ndarray.shape, &arguments[gradient]->value.ndarray.shape,
                               sizeof(uint32_t) * (1 + data->parameters[i].dim_count))) {
            return fail(TI_ERROR_INVALID_ARGUMENT, "argument `%s` has another shape than `%s`",
                        data->parameters[gradient].name, data->parameters[i].name);
        }
    }
    for (i = 0; i < data->texture_count; i++) {
        kernel->textures[i] = &arguments[data->textures[i].parameter]->value.texture;
    }
    for (i = 0; i < data->member_count; i++) {
        if (!pack_member(runtime, kernel, &data->members[i], arguments)) {
            return fail_within("kernel `%.100s`", data->name);
        }
    }
    if (!pack_divisors(kernel)) {
        return fail_within("kernel `%.100s`", data->name);
    }
    for (i = 0; i < data->task_count; i++) {
        if (!count_iterations(kernel, &data->tasks[i], &kernel->counts[i])) {
            return fail_within("kernel `%.100s`", data->name);
        }
    }
    if (!runtime->backend->start(runtime, kernel, kernel->counts)) {
        return fail_within("kernel `%.100s`", data->name);
    }
    return !data->site_count || show_reports(runtime, kernel);
}

/* --- reports: prints and failed checks ---------------------------------------------------------------------------- */

/* A string that grows. */
typedef struct StringBuilder {
    char *bytes;
    size_t length, capacity;
    bool is_failed;
} StringBuilder;

static void builder_add(StringBuilder *output, const char *bytes, size_t length) {
    if (output->length + length + 1 > output->capacity) {
        size_t capacity = (output->length + length + 1) * 2;
        char *larger = (char *)realloc(output->bytes, capacity);
        if (!larger) {
            output->is_failed = true;
            return;
        }
        output->bytes = larger;
        output->capacity = capacity;
    }
    memcpy(output->bytes + output->length, bytes, length);
    output->length += length;
    output->bytes[output->length] = '\0';
}

PRINTF_LIKE(2, 3)
static void builder_format(StringBuilder *output, const char *format, ...) {
    char bytes[1024];
    va_list values;
    int length;
    va_start(values, format);
    length = vsnprintf(bytes, sizeof bytes, format, values);
    va_end(values);
    builder_add(output, bytes, (size_t)(length < 0 ? 0 : length < (int)sizeof bytes ? length : (int)sizeof bytes - 1));
}

/* How a number is formatted, by C's printf or Python's `format`. letter: '\0' for the default. align: `<`, `>`, `^` or
   `=`; fill: the padding character; group: `,` or `_` between thousands, or '\0'. */
typedef struct NumberFormat {
    bool is_python, has_plus, has_blank, is_alternate;
    int width, precision; /* precision: -1 for none */
    char letter, align, fill, group;
} NumberFormat;

enum { MAX_WIDTH = 256, MAX_PRECISION = 64 };

static const char *read_digits(const char *output, int most, int *number) {
    for (*number = 0; *output >= '0' && *output <= '9'; output++) {
        *number = *number * 10 + (*output - '0');
        *number = *number > most ? most : *number;
    }
    return output;
}

/* Read a printf format specification. Return false if it is not one. */
static bool read_printf_format(const char *at, bool is_real, NumberFormat *format) {
    for (; *at && strchr("-+ #0", *at); at++) {
        format->has_plus |= *at == '+';
        format->has_blank |= *at == ' ';
        format->is_alternate |= *at == '#';
        if (*at == '-') {
            format->align = '<';
            format->fill = ' ';
        } else if (*at == '0' && format->align != '<') {
            format->align = '=';
            format->fill = '0';
        }
    }
    at = read_digits(at, MAX_WIDTH, &format->width);
    if (*at == '.') {
        at = read_digits(at + 1, MAX_PRECISION, &format->precision);
    }
    while (*at == 'h' || *at == 'l') {
        at++;
    }
    if (*at && strchr(is_real ? "feEgGF" : "diuxXo", *at)) {
        format->letter = *at++;
    }
    return !*at;
}

/* Read a format specification of Python: [[fill]align][sign][#][0][width][group][.precision][letter]. */
static bool read_python_format(const char *at, bool is_real, NumberFormat *format) {
    format->is_python = true;
    if (*at && at[1] && strchr("<>^=", at[1])) {
        format->fill = *at;
        format->align = at[1];
        at += 2;
    } else if (*at && strchr("<>^=", *at)) {
        format->align = *at++;
    }
    if (*at && strchr("+- ", *at)) {
        format->has_plus = *at == '+';
        format->has_blank = *at == ' ';
        at++;
    }
    if (*at == '#') {
        format->is_alternate = true;
        at++;
    }
    if (*at == '0') {
        format->fill = '0';
        format->align = format->align == '>' ? '=' : format->align;
    }
    at = read_digits(at, MAX_WIDTH, &format->width);
    if (*at == ',' || *at == '_') {
        format->group = *at++;
    }
    if (*at == '.') {
        at = read_digits(at + 1, MAX_PRECISION, &format->precision);
    }
    if (*at && strchr(is_real ? "feEgGF%" : "dxXob", *at)) {
        format->letter = *at++;
    }
    return !*at;
}

/* Read the format specification of an f-string. What neither printf nor this file supports is ignored. */
static NumberFormat read_format(const char *specification, bool is_real) {
    const NumberFormat plain = {false, false, false, false, 0, -1, '\0', '>', ' ', '\0'};
    NumberFormat format = plain;
    if (!read_printf_format(specification, is_real, &format)) {
        format = plain;
        if (!read_python_format(specification, is_real, &format)) {
            format = plain;
        }
    }
    return format;
}

static void add_repeated(StringBuilder *output, char character, int count) {
    for (; count > 0; count--) {
        builder_add(output, &character, 1);
    }
}

/* Append sign and digits, padded to the width. is_number: not nan or inf, which printf pads with blanks only. */
static void add_filled(StringBuilder *output, const NumberFormat *format, bool is_number, const char *sign,
                       const char *digits) {
    int length = (int)(strlen(sign) + strlen(digits)), capacity = format->width > length ? format->width - length : 0;
    char align = format->align, fill = format->fill;
    if (!is_number && !format->is_python && align == '=') {
        align = '>';
        fill = ' ';
    }
    add_repeated(output, fill, align == '>' ? capacity : align == '^' ? capacity / 2 : 0);
    builder_add(output, sign, strlen(sign));
    add_repeated(output, fill, align == '=' ? capacity : 0);
    builder_add(output, digits, strlen(digits));
    add_repeated(output, fill, align == '<' ? capacity : align == '^' ? capacity - capacity / 2 : 0);
}

/* Insert separators between the thousands of the integer part of a number. */
static void group_digits(char *digits, size_t size, char mark) {
    int whole = (int)strspn(digits, "0123456789"), marks = whole > 3 ? (whole - 1) / 3 : 0, i;
    size_t length = strlen(digits);
    if (!mark || length + (size_t)marks + 1 > size) {
        return;
    }
    memmove(digits + whole + marks, digits + whole, length - (size_t)whole + 1);
    for (i = whole - 1; marks; i--) {
        digits[i + marks] = digits[i];
        if ((whole - i) % 3 == 0) {
            digits[i + --marks] = mark;
        }
    }
}

/* Write a number in a base; `output` has capacity for 64 digits. */
static void write_digits(char *output, uint64_t magnitude, unsigned base, bool is_upper) {
    char reversed[65];
    int count = 0;
    do {
        reversed[count++] = (is_upper ? "0123456789ABCDEF" : "0123456789abcdef")[magnitude % base];
        magnitude /= base;
    } while (magnitude);
    while (count) {
        *output++ = reversed[--count];
    }
    *output = '\0';
}

static void add_integer(StringBuilder *output, const NumberFormat *format, Number number) {
    char digits[2 * MAX_PRECISION + 96], plain[65], sign[4];
    const char *mark = number.is_negative ? "-" : format->has_plus ? "+" : format->has_blank ? " " : "", *prefix = "";
    unsigned base = format->letter == 'x' || format->letter == 'X' ? 16
                    : format->letter == 'o'                        ? 8
                    : format->letter == 'b'                        ? 2
                                                                   : 10;
    int zeros;
    if (format->is_alternate) {
        prefix = format->letter == 'X' ? "0X" : base == 16 ? "0x" : base == 8 ? "0o" : base == 2 ? "0b" : "";
    }
    write_digits(plain, number.magnitude, base, format->letter == 'X');
    zeros = format->precision - (int)strlen(plain);
    zeros = zeros > 0 ? zeros : 0;
    memset(digits, '0', (size_t)zeros);
    memcpy(digits + zeros, plain, strlen(plain) + 1);
    group_digits(digits, sizeof digits, format->group);
    snprintf(sign, sizeof sign, "%s%s", mark, prefix);
    add_filled(output, format, true, sign, digits);
}

static void add_shortest(StringBuilder *output, double value, TiDataType type);

static void add_real(StringBuilder *output, const NumberFormat *format, double value, bool is_double) {
    char digits[MAX_PRECISION + 512];
    const char *sign = signbit(value) && !isnan(value) ? "-" : format->has_plus ? "+" : format->has_blank ? " " : "";
    char letter = format->letter ? format->letter : 'f';
    int precision = format->precision;
    bool is_upper = letter == 'E' || letter == 'G' || letter == 'F';
    StringBuilder shortest = {NULL, 0, 0, false};
    if (isnan(value) || isinf(value)) {
        add_filled(output, format, false, sign, isnan(value) ? (is_upper ? "NAN" : "nan") : (is_upper ? "INF" : "inf"));
        return;
    }
    if (format->is_python && !format->letter && precision < 0) {
        add_shortest(&shortest, fabs(value), TI_DATA_TYPE_F64);
        snprintf(digits, sizeof digits, "%.60s%s", shortest.bytes ? shortest.bytes : "",
                 shortest.bytes && !strpbrk(shortest.bytes, ".e") ? ".0" : "");
        free(shortest.bytes);
    } else {
        if (precision < 0) {
            precision = is_double && !format->is_python && letter != 'g' && letter != 'G' ? 12 : 6;
        }
        switch (letter) {
        case 'e':
            snprintf(digits, sizeof digits, format->is_alternate ? "%#.*e" : "%.*e", precision, fabs(value));
            break;
        case 'E':
            snprintf(digits, sizeof digits, format->is_alternate ? "%#.*E" : "%.*E", precision, fabs(value));
            break;
        case 'g':
            snprintf(digits, sizeof digits, format->is_alternate ? "%#.*g" : "%.*g", precision, fabs(value));
            break;
        case 'G':
            snprintf(digits, sizeof digits, format->is_alternate ? "%#.*G" : "%.*G", precision, fabs(value));
            break;
        case '%': snprintf(digits, sizeof digits, "%.*f%%", precision, 100.0 * fabs(value)); break;
        default: snprintf(digits, sizeof digits, format->is_alternate ? "%#.*f" : "%.*f", precision, fabs(value));
        }
    }
    group_digits(digits, sizeof digits, format->group);
    add_filled(output, format, true, sign, digits);
}

/* Append a float with the fewest digits that round-trip, as NumPy and Python write it, without `.0`. */
static void add_shortest(StringBuilder *output, double value, TiDataType type) {
    char scientific[40], digits[24];
    int precision, most = type == TI_DATA_TYPE_F64 ? 17 : type == TI_DATA_TYPE_F32 ? 9 : 5, exponent, count = 0, i;
    const char *at;
    if (isnan(value) || isinf(value)) {
        builder_format(output, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    for (precision = 0; precision < most; precision++) {
        double back;
        snprintf(scientific, sizeof scientific, "%.*e", precision, fabs(value));
        back = strtod(scientific, NULL);
        if (type == TI_DATA_TYPE_F16) {
            back = half_to_double(double_to_half(back));
        } else if (type == TI_DATA_TYPE_F32) {
            back = (double)strtof(scientific, NULL);
        }
        if (back == fabs(value)) {
            break;
        }
    }
    for (at = scientific; *at && *at != 'e'; at++) {
        if (*at >= '0' && *at <= '9' && count < (int)sizeof digits - 1) {
            digits[count++] = *at;
        }
    }
    exponent = atoi(at + 1);
    while (count > 1 && digits[count - 1] == '0') {
        count--;
    }
    builder_format(output, "%s", signbit(value) ? "-" : "");
    if (exponent < -4 || exponent >= 16) {
        builder_format(output, count > 1 ? "%c." : "%c", digits[0]);
        builder_add(output, digits + 1, (size_t)count - 1);
        builder_format(output, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
        return;
    }
    if (exponent < 0) {
        builder_format(output, "0.%.*s", -exponent - 1, "0000");
    }
    for (i = 0; i < count || i <= exponent; i++) {
        builder_add(output, i < count ? &digits[i] : "0", 1);
        if (i == exponent && i + 1 < count) {
            builder_add(output, ".", 1);
        }
    }
}

/* A record in the buffer. order: its number in the buffer. */
typedef struct Record {
    const Site *site;
    uint32_t iteration, order;
    const uint32_t *words;
} Record;

static void add_scalar(StringBuilder *output, const SiteValue *value, const uint32_t *words, const char *specification,
                       bool is_check) {
    Number number = read_number(value->words_type, words);
    bool is_real = is_float_type(value->type);
    NumberFormat format = read_format(specification, is_real);
    if (!is_real) {
        add_integer(output, &format, number);
    } else if (is_check && !*specification) {
        add_shortest(output, number.real, value->type);
    } else {
        add_real(output, &format, number.real, value->type == TI_DATA_TYPE_F64);
    }
}

/* Append a value of a record: a number, `[a, b]` or `[[a, b], [c, d]]`. */
static void add_value(StringBuilder *output, const Record *record, uint32_t number, const char *specification) {
    const Site *site = record->site;
    const SiteValue *value = &site->values[number];
    const uint32_t *words = record->words;
    uint32_t size, i, row = value->dim_count == 2 ? value->dims[1] : value->count;
    for (i = 0; i < number; i++) {
        words += site->values[i].count * (scalar_of(site->values[i].words_type)->size / 4);
    }
    size = scalar_of(value->words_type)->size / 4;
    if (value->dim_count == 2) {
        builder_add(output, "[", 1);
    }
    for (i = 0; i < value->count; i++) {
        if (value->dim_count && i % row == 0) {
            builder_add(output, i ? ", [" : "[", i ? 3 : 1);
        } else if (i) {
            builder_add(output, ", ", 2);
        }
        add_scalar(output, value, words + (size_t)i * size, specification, site->kind == SITE_CHECK);
        if (value->dim_count && i % row == row - 1) {
            builder_add(output, "]", 1);
        }
    }
    if (value->dim_count == 2) {
        builder_add(output, "]", 1);
    }
}

static void add_print(StringBuilder *output, const Record *record) {
    const Json *part;
    for (part = record->site->parts->value.first; part; part = part->next) {
        if (part->kind == JSON_STRING) {
            builder_add(output, part->value.string, part->count);
        } else {
            add_value(output, record, (uint32_t)part->value.first->value.integer,
                      part->value.first->next->value.string);
        }
    }
}

/* Append the message of a check: `i is {0:.2f}`; a doubled brace is a literal one. */
static void add_message(StringBuilder *output, const Record *record) {
    const char *at = record->site->message;
    while (*at) {
        char specification[32] = "";
        int number;
        const char *end;
        if ((*at == '{' || *at == '}') && at[1] == *at) {
            builder_add(output, at, 1);
            at += 2;
            continue;
        }
        end = *at == '{' ? strchr(at, '}') : NULL;
        if (!end) {
            builder_add(output, at++, 1);
            continue;
        }
        at = read_digits(at + 1, INT16_MAX, &number);
        if (*at == ':') {
            snprintf(specification, sizeof specification, "%.*s", (int)smaller_u64((uint64_t)(end - at - 1), 31),
                     at + 1);
        }
        if ((uint32_t)number < record->site->value_count) {
            add_value(output, record, (uint32_t)number, specification);
        }
        at = end + 1;
    }
}

/* Append the location of a site, after the calls that lead to it. */
static void add_frames(StringBuilder *output, const Site *site) {
    const Json *frame;
    for (frame = site->frames->value.first; frame; frame = frame->next) {
        const Json *span = json_member(frame, "span")->value.first;
        builder_format(output, "File \"%.200s\", line %lld, column %lld, in %.100s:\n",
                       json_member(frame, "file")->value.string, (long long)span->value.integer,
                       (long long)span->next->value.integer, json_member(frame, "function")->value.string);
        if (json_member(frame, "text")->count) {
            builder_format(output, "%.300s\n", json_member(frame, "text")->value.string);
        }
    }
}

/* Append the indices of an iteration: `i = 3, j = 1`. */
static void add_indices(StringBuilder *output, TiKernel kernel, const Task *task, uint32_t iteration) {
    int64_t values[MAX_AXES], start, extent, rest = iteration;
    uint32_t axis, i;
    bool is_known =
        task->axis_count > 0 && task->extents && (task->order_count || task->extent_count == task->axis_count);
    memset(values, 0, sizeof values);
    for (axis = 0; is_known && axis < task->axis_count; axis++) {
        is_known = task->axes[axis].start != NULL;
    }
    for (i = task->order_count; is_known && i > 0; i--) {
        const IndexComponent *component = &task->order[i - 1];
        values[component->axis] += rest % component->extent * component->weight;
        rest /= component->extent;
    }
    for (axis = task->axis_count; is_known && axis > 0; axis--) {
        const LoopAxis *loop = &task->axes[axis - 1];
        if (!task->order_count) {
            is_known = axis == 1 || (evaluate(kernel, task->extents[axis - 1], &extent) && extent > 0);
            if (is_known) {
                values[axis - 1] = axis == 1 ? rest : rest % extent;
                rest = axis == 1 ? 0 : rest / extent;
            }
        }
        is_known = is_known && evaluate(kernel, loop->start, &start);
        if (is_known) {
            uint64_t step = task->order_count ? 1 : (uint64_t)loop->step;
            values[axis - 1] = (int64_t)((uint64_t)start + step * (uint64_t)values[axis - 1]);
        }
    }
    if (!is_known) {
        builder_format(output, "iteration = %u", iteration);
    }
    for (axis = 0; is_known && axis < task->axis_count; axis++) {
        builder_format(output, "%s%.64s = %lld", axis ? ", " : "", task->axes[axis].name, (long long)values[axis]);
    }
}

static int compare_records(const void *a, const void *b) {
    const Record *one = (const Record *)a, *other = (const Record *)b;
    if (one->site->task != other->site->task) {
        return one->site->task < other->site->task ? -1 : 1;
    }
    if (one->iteration != other->iteration) {
        return one->iteration < other->iteration ? -1 : 1;
    }
    return one->order < other->order ? -1 : one->order > other->order;
}

/* Read the records of one part of the buffer, in the order in which they are shown; the caller frees them. A record
   that no site of this kernel writes ends them. */
static Record *find_records(const KernelData *data, const uint32_t *words, uint32_t count, uint32_t *record_count) {
    Record *records = (Record *)allocate_zeroed(((size_t)count / REPORT_RECORD_WORDS + 1) * sizeof(Record));
    uint32_t position = 0;
    *record_count = 0;
    while (records && position + REPORT_RECORD_WORDS <= count) {
        uint32_t site = words[position], size = words[position + 2], start = position + REPORT_RECORD_WORDS;
        if (site >= data->site_count || size != data->sites[site].word_count || size > count - start) {
            break;
        }
        records[*record_count].site = &data->sites[site];
        records[*record_count].iteration = words[position + 1];
        records[*record_count].order = *record_count;
        records[*record_count].words = words + start;
        (*record_count)++;
        position = start + size;
    }
    if (records) {
        qsort(records, *record_count, sizeof(Record), compare_records);
    }
    return records;
}

static void (*print_callback)(const char *text, uint64_t size, void *user);
static void *print_user;

static void show_prints(const KernelData *data, const uint32_t *words, uint32_t count) {
    StringBuilder output = {NULL, 0, 0, false};
    uint32_t record_count, i;
    Record *records = find_records(data, words, count, &record_count);
    for (i = 0; records && i < record_count; i++) {
        if (records[i].site->kind == SITE_PRINT) {
            add_print(&output, &records[i]);
        }
    }
    if (output.length && print_callback) {
        print_callback(output.bytes, output.length, print_user);
    } else if (output.length) {
        fwrite(output.bytes, 1, output.length, stdout);
        fflush(stdout);
    }
    free(output.bytes);
    free(records);
}

/* Fail with the first failed check, in the order of the loops. */
static bool fail_check(TiKernel kernel, const uint32_t *words, uint32_t count, uint32_t failures) {
    StringBuilder output = {NULL, 0, 0, false};
    uint32_t record_count, first, i;
    Record *records = find_records(kernel->data, words, count, &record_count);
    for (first = 0; records && first < record_count && records[first].site->kind != SITE_CHECK; first++) {
    }
    if (records && first < record_count) {
        const Record *record = &records[first];
        const Task *task = &kernel->data->tasks[record->site->task];
        for (i = first + 1;
             i < record_count && records[i].site->kind == SITE_CALL && records[i].iteration == record->iteration; i++) {
        }
        while (--i > first) {
            add_frames(&output, records[i].site);
        }
        add_frames(&output, record->site);
        add_message(&output, record);
        if (!task->is_serial) {
            builder_format(&output, "\n(in the parallel loop of line %u: ", task->loop_line);
            add_indices(&output, kernel, task, record->iteration);
            builder_format(&output, ")");
        }
    }
    fail(TI_ERROR_ASSERTION, "%u check%s of kernel `%.100s` failed%s%.3600s", failures, failures == 1 ? "" : "s",
         kernel->data->name, output.length ? ":\n" : "; none can be read", output.length ? output.bytes : "");
    free(output.bytes);
    free(records);
    return false;
}

/* Wait for a kernel that prints or checks, print its records and fail with its first failed check. */
static bool show_reports(TiRuntime runtime, TiKernel kernel) {
    const Backend *backend = runtime->backend;
    uint32_t header[REPORT_HEADER_WORDS], prints, failures;
    uint32_t *words;
    bool is_good, was_showing = runtime->is_showing; /* the print callback may launch kernels */
    if (!runtime->report || !backend->wait(runtime) ||
        !backend->read(runtime, runtime->report, 0, header, sizeof header)) {
        return runtime->report == NULL;
    }
    if (header[0] == REPORT_HEADER_WORDS && header[3] == REPORT_FIRST && !header[2] && !header[6]) {
        return true;
    }
    prints = (uint32_t)larger_u64(smaller_u64(header[0], REPORT_FIRST), REPORT_HEADER_WORDS) - REPORT_HEADER_WORDS;
    failures = (uint32_t)larger_u64(smaller_u64(header[3], REPORT_LAST), REPORT_FIRST) - REPORT_FIRST;
    words = (uint32_t *)allocate_zeroed(((size_t)prints + failures) * 4);
    is_good = words && backend->read(runtime, runtime->report, REPORT_HEADER_WORDS * 4, words, (uint64_t)prints * 4) &&
              backend->read(runtime, runtime->report, REPORT_FIRST * 4, words + prints, (uint64_t)failures * 4) &&
              clear_report(runtime);
    if (is_good) {
        runtime->is_showing = true;
        show_prints(kernel->data, words, prints);
        runtime->is_showing = was_showing;
        if (header[2]) {
            fprintf(stderr,
                    "shadesmith: kernel `%s`: the buffer for prints is full, %u prints of this launch are lost\n",
                    kernel->data->name, header[2]);
        }
        is_good = !header[6] || fail_check(kernel, words + prints, failures, header[6]);
    }
    free(words);
    return is_good;
}

/* --- functions of shadesmith.h: errors, runtimes, memory ---------------------------------------------------------- */

uint32_t ti_get_version(void) {
    return TI_C_API_VERSION;
}

void ti_get_available_archs(uint32_t *arch_count, TiArch *archs) {
    static const TiArch KNOWN[] = {TI_ARCH_VULKAN, TI_ARCH_CUDA};
    TiError error = last_error;
    char saved[ERROR_MESSAGE_BYTES];
    uint32_t count = 0, i;
    if (!arch_count) {
        fail(TI_ERROR_ARGUMENT_NULL, "arch_count is null");
        return;
    }
    memcpy(saved, last_error_message, sizeof saved);
    for (i = 0; i < 2; i++) {
        TiRuntime runtime = ti_create_runtime(KNOWN[i], 0);
        if (runtime) {
            if (archs && count < *arch_count) {
                archs[count] = KNOWN[i];
            }
            count++;
            ti_destroy_runtime(runtime);
        }
    }
    *arch_count = count;
    last_error = error; /* a missing device is not a failure here */
    memcpy(last_error_message, saved, sizeof saved);
}

TiError ti_get_last_error(uint64_t *message_size, char *message) {
    uint64_t size = strlen(last_error_message) + 1, copied;
    if (message_size) {
        copied = smaller_u64(*message_size, size);
        if (message && copied) {
            memcpy(message, last_error_message, (size_t)copied - 1);
            message[copied - 1] = '\0';
        }
        *message_size = size;
    }
    return last_error;
}

const char *ti_get_last_error_message(void) {
    return last_error_message;
}

void ti_set_last_error(TiError error, const char *message) {
    char saved[ERROR_MESSAGE_BYTES];
    snprintf(saved, sizeof saved, "%s", message ? message : ""); /* `message` may be that of the last failure */
    fail(error, "%s", saved);
}

void ti_set_print_callback(void (*callback)(const char *text, uint64_t size, void *user), void *user) {
    print_callback = callback;
    print_user = user;
}

/* Start a call on a runtime. */
static bool enter(TiRuntime runtime) {
    return check_handle(runtime, HANDLE_RUNTIME, "runtime") && runtime->backend->enter(runtime);
}

static void leave(TiRuntime runtime) {
    runtime->backend->leave(runtime);
}

/* Remove an image from the list of its runtime and free it. */
static void image_free(TiImage image) {
    if (image->previous) {
        image->previous->next = image->next;
    } else {
        image->runtime->images = image->next;
    }
    if (image->next) {
        image->next->previous = image->previous;
    }
    vulkan_free_image(image);
}

static void sampler_free(TiSampler sampler) {
    if (sampler->previous) {
        sampler->previous->next = sampler->next;
    } else {
        sampler->runtime->samplers = sampler->next;
    }
    if (sampler->next) {
        sampler->next->previous = sampler->previous;
    }
    vulkan_free_sampler(sampler);
}

/* Refuse to free a kernel while its prints are shown. */
static bool check_not_showing(TiRuntime runtime) {
    return runtime->is_showing ? fail(TI_ERROR_INVALID_STATE, "a print callback cannot free the runtime or its modules")
                               : true;
}

TiRuntime ti_create_runtime(TiArch arch, uint32_t device_index) {
    TiRuntime runtime;
    bool is_good;
    if (arch != TI_ARCH_VULKAN && arch != TI_ARCH_CUDA) {
        fail(TI_ERROR_NOT_SUPPORTED, "arch %d is none that this runtime knows: it has TI_ARCH_VULKAN and TI_ARCH_CUDA",
             (int)arch);
        return NULL;
    }
    runtime = (TiRuntime)handle_acquire(HANDLE_RUNTIME, sizeof(struct TiRuntime_t));
    if (!runtime) {
        return NULL;
    }
    runtime->arch = arch;
    runtime->backend = arch == TI_ARCH_VULKAN ? &VULKAN_BACKEND : &CUDA_BACKEND;
    snprintf(runtime->name, sizeof runtime->name, "the device");
    is_good = arch == TI_ARCH_VULKAN ? vulkan_open(runtime, device_index) : cuda_open(runtime, device_index);
    if (!is_good) {
        runtime->backend->close(runtime);
        handle_release(runtime);
        return NULL;
    }
    return runtime;
}

void ti_destroy_runtime(TiRuntime runtime) {
    bool has_entered;
    if (!check_handle(runtime, HANDLE_RUNTIME, "runtime") || !check_not_showing(runtime)) {
        return;
    }
    has_entered = runtime->backend->enter(runtime);
    if (has_entered) {
        runtime->backend->wait(runtime);
    }
    while (runtime->modules) {
        TiAotModule module = runtime->modules;
        runtime->modules = module->next;
        module_close(module);
    }
    while (runtime->images) {
        image_free(runtime->images);
    }
    while (runtime->samplers) {
        sampler_free(runtime->samplers);
    }
    while (runtime->memories) {
        memory_free(runtime->memories);
    }
    if (has_entered) {
        leave(runtime);
    }
    runtime->backend->close(runtime);
    handle_release(runtime);
}

const char *ti_get_runtime_device_name(TiRuntime runtime) {
    return check_handle(runtime, HANDLE_RUNTIME, "runtime") ? runtime->name : "";
}

void ti_flush(TiRuntime runtime) {
    if (enter(runtime)) {
        runtime->backend->flush(runtime);
        leave(runtime);
    }
}

void ti_wait(TiRuntime runtime) {
    if (enter(runtime)) {
        runtime->backend->wait(runtime);
        leave(runtime);
    }
}

void ti_set_runtime_random_seed(TiRuntime runtime, uint32_t seed) {
    if (check_handle(runtime, HANDLE_RUNTIME, "runtime")) {
        runtime->random_seed = seed;
    }
}

TiMemory ti_allocate_memory(TiRuntime runtime, const TiMemoryAllocateInfo *allocate_info) {
    TiMemory memory = NULL;
    if (!allocate_info) {
        fail(TI_ERROR_ARGUMENT_NULL, "allocate_info is null");
        return NULL;
    }
    if (allocate_info->export_sharing) {
        fail(TI_ERROR_NOT_SUPPORTED, "memory cannot be exported (export_sharing)");
        return NULL;
    }
    if (enter(runtime)) {
        memory = memory_make(runtime, allocate_info->size);
        if (memory) {
            memory->host_read = allocate_info->host_read != 0;
            memory->host_write = allocate_info->host_write != 0;
        }
        leave(runtime);
    }
    return memory;
}

/* Start a call on memory of a runtime. */
static bool enter_memory(TiRuntime runtime, TiMemory memory) {
    if (!check_handle(memory, HANDLE_MEMORY, "memory") || !check_handle(runtime, HANDLE_RUNTIME, "runtime")) {
        return false;
    }
    return memory->runtime == runtime ? enter(runtime)
                                      : fail(TI_ERROR_INVALID_ARGUMENT, "the memory is of another runtime");
}

static bool check_slice(const TiMemorySlice *slice, const char *name) {
    if (slice->offset > slice->memory->size || slice->size > slice->memory->size - slice->offset) {
        return fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE,
                    "%s reaches from byte %llu on over %llu bytes, and its memory has %llu", name,
                    (unsigned long long)slice->offset, (unsigned long long)slice->size,
                    (unsigned long long)slice->memory->size);
    }
    return slice->memory->mapped
               ? fail(TI_ERROR_INVALID_STATE, "the memory of %s is mapped: call ti_unmap_memory first", name)
               : true;
}

void ti_free_memory(TiRuntime runtime, TiMemory memory) {
    if (!enter_memory(runtime, memory)) {
        return;
    }
    if (memory->is_tree) {
        fail(TI_ERROR_INVALID_ARGUMENT, "the memory is a module's: it is freed with it, by ti_destroy_aot_module");
    } else {
        runtime->backend->wait(runtime);
        memory_free(memory);
    }
    leave(runtime);
}

void *ti_map_memory(TiRuntime runtime, TiMemory memory) {
    void *mapped = NULL;
    bool is_good;
    if (!enter_memory(runtime, memory)) {
        return NULL;
    }
    if (memory->mapped) {
        fail(TI_ERROR_INVALID_STATE, "the memory is mapped already");
    } else if (!memory->host_read && !memory->host_write) {
        fail(TI_ERROR_INVALID_STATE, "the memory was allocated with neither host_read nor host_write");
    } else if (memory->visible) {
        mapped = runtime->backend->wait(runtime) ? memory->visible : NULL;
    } else {
        /* also if only the host writes: bytes that it does not write must stay unchanged */
        mapped = allocate_zeroed((size_t)memory->size);
        is_good = mapped && runtime->backend->read(runtime, memory, 0, mapped, memory->size);
        if (!is_good) {
            free(mapped);
            mapped = NULL;
        }
        memory->is_staged = is_good;
    }
    if (mapped) {
        memory->mapped = mapped;
    }
    leave(runtime);
    return mapped;
}

void ti_unmap_memory(TiRuntime runtime, TiMemory memory) {
    if (!enter_memory(runtime, memory)) {
        return;
    }
    if (!memory->mapped) {
        fail(TI_ERROR_INVALID_STATE, "the memory is not mapped");
    } else if (memory->is_staged) {
        if (memory->host_write) {
            runtime->backend->write(runtime, memory, 0, memory->mapped, memory->size);
        }
        free(memory->mapped);
        memory->is_staged = false;
    }
    memory->mapped = NULL;
    leave(runtime);
}

void ti_read_memory(TiRuntime runtime, const TiMemorySlice *source, void *destination) {
    if (!source || !destination) {
        fail(TI_ERROR_ARGUMENT_NULL, "source or destination is null");
        return;
    }
    if (enter_memory(runtime, source->memory)) {
        if (check_slice(source, "source")) {
            runtime->backend->read(runtime, source->memory, source->offset, destination, source->size);
        }
        leave(runtime);
    }
}

void ti_write_memory(TiRuntime runtime, const TiMemorySlice *destination, const void *source) {
    if (!source || !destination) {
        fail(TI_ERROR_ARGUMENT_NULL, "source or destination is null");
        return;
    }
    if (enter_memory(runtime, destination->memory)) {
        if (check_slice(destination, "destination")) {
            runtime->backend->write(runtime, destination->memory, destination->offset, source, destination->size);
        }
        leave(runtime);
    }
}

void ti_copy_memory_device_to_device(TiRuntime runtime, const TiMemorySlice *dst_memory,
                                     const TiMemorySlice *src_memory) {
    if (!dst_memory || !src_memory) {
        fail(TI_ERROR_ARGUMENT_NULL, "dst_memory or src_memory is null");
        return;
    }
    if (!check_handle(src_memory->memory, HANDLE_MEMORY, "src_memory")) {
        return;
    }
    if (src_memory->memory->runtime != runtime) {
        fail(TI_ERROR_INVALID_ARGUMENT, "src_memory is of another runtime");
        return;
    }
    if (!enter_memory(runtime, dst_memory->memory)) {
        return;
    }
    if (check_slice(dst_memory, "dst_memory") && check_slice(src_memory, "src_memory")) {
        if (dst_memory->size != src_memory->size) {
            fail(TI_ERROR_INVALID_ARGUMENT, "dst_memory and src_memory have different sizes");
        } else if (dst_memory->memory == src_memory->memory &&
                   dst_memory->offset < src_memory->offset + src_memory->size &&
                   src_memory->offset < dst_memory->offset + dst_memory->size) {
            fail(TI_ERROR_INVALID_ARGUMENT, "dst_memory and src_memory overlap");
        } else if (dst_memory->size) {
            runtime->backend->copy(runtime, dst_memory->memory, dst_memory->offset, src_memory->memory,
                                   src_memory->offset, src_memory->size);
        }
    }
    leave(runtime);
}

uint64_t ti_get_memory_address(TiRuntime runtime, TiMemory memory) {
    if (!check_handle(memory, HANDLE_MEMORY, "memory") || !check_handle(runtime, HANDLE_RUNTIME, "runtime")) {
        return 0;
    }
    if (memory->runtime != runtime) {
        fail(TI_ERROR_INVALID_ARGUMENT, "the memory is of another runtime");
        return 0;
    }
    return memory->address;
}

/* --- functions of shadesmith.h: images and samplers --------------------------------------------------------------- */

/* Start a call on images of a runtime. */
static bool enter_images(TiRuntime runtime) {
    if (!check_handle(runtime, HANDLE_RUNTIME, "runtime")) {
        return false;
    }
    if (runtime->arch != TI_ARCH_VULKAN) {
        return fail(TI_ERROR_NOT_SUPPORTED, "images and samplers are for TI_ARCH_VULKAN, and this runtime is of %s",
                    arch_name(runtime->arch));
    }
    return enter(runtime);
}

static bool check_image_info(const TiImageAllocateInfo *info) {
    const TiImageExtent *extent = &info->extent;
    if ((uint32_t)info->dimension > TI_IMAGE_DIMENSION_3D || extent->array_layer_count != 1) {
        return fail(TI_ERROR_NOT_SUPPORTED,
                    "images have 1, 2 or 3 dimensions and 1 array layer; dimension %d with %u "
                    "layers was asked for",
                    (int)info->dimension, extent->array_layer_count);
    }
    if (info->mip_level_count != 1) {
        return fail(TI_ERROR_NOT_SUPPORTED, "images have 1 level; mip_level_count is %u", info->mip_level_count);
    }
    if (!extent->width || !extent->height || !extent->depth ||
        (extent->height > 1 && info->dimension == TI_IMAGE_DIMENSION_1D) ||
        (extent->depth > 1 && info->dimension != TI_IMAGE_DIMENSION_3D)) {
        return fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE,
                    "an image of %d dimensions cannot have %u x %u x %u texels: extents are at least 1, and 1 where "
                    "there is no axis",
                    (int)info->dimension + 1, extent->width, extent->height, extent->depth);
    }
    if ((uint32_t)info->format >= FORMAT_COUNT || info->format == TI_FORMAT_UNKNOWN) {
        return fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE, "format %d is none of TiFormat", (int)info->format);
    }
    if (info->export_sharing) {
        return fail(TI_ERROR_NOT_SUPPORTED, "images cannot be exported (export_sharing)");
    }
    return info->usage & ~(uint32_t)(TI_IMAGE_USAGE_STORAGE_BIT | TI_IMAGE_USAGE_SAMPLED_BIT)
               ? fail(TI_ERROR_NOT_SUPPORTED, "images are stored and sampled by kernels, and not attached (usage %#x)",
                      info->usage)
               : true;
}

TiImage ti_allocate_image(TiRuntime runtime, const TiImageAllocateInfo *allocate_info) {
    TiImage image;
    if (!allocate_info) {
        fail(TI_ERROR_ARGUMENT_NULL, "allocate_info is null");
        return NULL;
    }
    if (!enter_images(runtime)) {
        return NULL;
    }
    image = check_image_info(allocate_info) ? (TiImage)handle_acquire(HANDLE_IMAGE, sizeof(struct TiImage_t)) : NULL;
    if (image) {
        image->runtime = runtime;
        image->dimension = allocate_info->dimension;
        image->extent = allocate_info->extent;
        image->format = allocate_info->format;
        if (vulkan_make_image(runtime, image, (allocate_info->usage & TI_IMAGE_USAGE_STORAGE_BIT) != 0)) {
            image->next = runtime->images;
            if (image->next) {
                image->next->previous = image;
            }
            runtime->images = image;
        } else {
            vulkan_free_image(image);
            image = NULL;
        }
    }
    leave(runtime);
    return image;
}

/* Start a call on one image of a runtime. */
static bool enter_image(TiRuntime runtime, TiImage image) {
    if (!check_handle(image, HANDLE_IMAGE, "image") || !check_handle(runtime, HANDLE_RUNTIME, "runtime")) {
        return false;
    }
    return image->runtime == runtime ? enter(runtime)
                                     : fail(TI_ERROR_INVALID_ARGUMENT, "the image is of another runtime");
}

void ti_free_image(TiRuntime runtime, TiImage image) {
    if (enter_image(runtime, image)) {
        runtime->backend->wait(runtime);
        image_free(image);
        leave(runtime);
    }
}

TiSampler ti_create_sampler(TiRuntime runtime, const TiSamplerCreateInfo *create_info) {
    TiSampler sampler = NULL;
    if (!create_info) {
        fail(TI_ERROR_ARGUMENT_NULL, "create_info is null");
        return NULL;
    }
    if ((uint32_t)create_info->mag_filter > TI_FILTER_LINEAR || (uint32_t)create_info->min_filter > TI_FILTER_LINEAR ||
        (uint32_t)create_info->address_mode > TI_ADDRESS_MODE_CLAMP_TO_BORDER) {
        fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE, "a sampler cannot have the filters %d and %d, or the address mode %d",
             (int)create_info->mag_filter, (int)create_info->min_filter, (int)create_info->address_mode);
        return NULL;
    }
    if (!(create_info->max_anisotropy <= 1.0f)) {
        fail(TI_ERROR_NOT_SUPPORTED, "kernels name the level that they sample: max_anisotropy is 0 or 1");
        return NULL;
    }
    if (enter_images(runtime)) {
        sampler = vulkan_make_sampler(runtime, create_info);
        leave(runtime);
    }
    return sampler;
}

void ti_destroy_sampler(TiRuntime runtime, TiSampler sampler) {
    if (!check_handle(sampler, HANDLE_SAMPLER, "sampler") || !check_handle(runtime, HANDLE_RUNTIME, "runtime")) {
        return;
    }
    if (sampler->runtime != runtime) {
        fail(TI_ERROR_INVALID_ARGUMENT, "the sampler is of another runtime");
        return;
    }
    if (enter(runtime)) {
        runtime->backend->wait(runtime);
        sampler_free(sampler);
        leave(runtime);
    }
}

void ti_transition_image(TiRuntime runtime, TiImage image, TiImageLayout layout) {
    if (!enter_image(runtime, image)) {
        return;
    }
    switch (layout) {
    case TI_IMAGE_LAYOUT_SHADER_READ:
    case TI_IMAGE_LAYOUT_SHADER_WRITE:
    case TI_IMAGE_LAYOUT_SHADER_READ_WRITE:
    case TI_IMAGE_LAYOUT_TRANSFER_DST:
    case TI_IMAGE_LAYOUT_TRANSFER_SRC: break; /* GENERAL serves for all of these, and launches and copies are ordered */
    case TI_IMAGE_LAYOUT_UNDEFINED: fail(TI_ERROR_INVALID_ARGUMENT, "an image cannot go back to no layout"); break;
    default:
        fail(TI_ERROR_NOT_SUPPORTED, "images are for kernels and copies, neither attached nor presented (layout %d)",
             (int)layout);
    }
    leave(runtime);
}

/* Check a part of an image, and find how many bytes its contiguous texels take. */
static bool check_image_slice(const TiImageSlice *slice, const char *name, uint64_t *size) {
    const TiImageOffset *offset = &slice->offset;
    const TiImageExtent *extent = &slice->extent, *whole = &slice->image->extent;
    if ((uint64_t)offset->x + extent->width > whole->width || (uint64_t)offset->y + extent->height > whole->height ||
        (uint64_t)offset->z + extent->depth > whole->depth || offset->array_layer_offset ||
        extent->array_layer_count != 1 || slice->mip_level) {
        return fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE,
                    "%s of %u x %u x %u texels from (%u, %u, %u) on, level %u, layer %u of %u, is not within its "
                    "image of %u x %u x %u texels, 1 level and 1 layer",
                    name, extent->width, extent->height, extent->depth, offset->x, offset->y, offset->z,
                    slice->mip_level, offset->array_layer_offset, extent->array_layer_count, whole->width,
                    whole->height, whole->depth);
    }
    *size = (uint64_t)extent->width * extent->height * extent->depth * TEXEL_FORMATS[slice->image->format].texel_size;
    return true;
}

/* Copy texels from or to memory. */
static void copy_texels(TiRuntime runtime, const TiImageSlice *image, const char *image_name,
                        const TiMemorySlice *memory, const char *memory_name, bool is_to_image) {
    uint64_t size;
    if (!image || !memory) {
        fail(TI_ERROR_ARGUMENT_NULL, "%s or %s is null", image_name, memory_name);
        return;
    }
    if (!check_handle(memory->memory, HANDLE_MEMORY, memory_name)) {
        return;
    }
    if (memory->memory->runtime != runtime) {
        fail(TI_ERROR_INVALID_ARGUMENT, "%s is of another runtime", memory_name);
        return;
    }
    if (!enter_image(runtime, image->image)) {
        return;
    }
    if (check_image_slice(image, image_name, &size) && check_slice(memory, memory_name)) {
        uint32_t texel_size = TEXEL_FORMATS[image->image->format].texel_size;
        if (size != memory->size) {
            fail(TI_ERROR_INVALID_ARGUMENT, "%s has %llu bytes of texels, and %s has %llu", image_name,
                 (unsigned long long)size, memory_name, (unsigned long long)memory->size);
        } else if (memory->offset % texel_size) {
            fail(TI_ERROR_INVALID_ARGUMENT, "%s starts at byte %llu, which is no multiple of a texel's %u bytes",
                 memory_name, (unsigned long long)memory->offset, texel_size);
        } else if (size) {
            vulkan_copy_texels(runtime, image, memory, is_to_image);
        }
    }
    leave(runtime);
}

void ti_copy_memory_to_image(TiRuntime runtime, const TiImageSlice *dst_image, const TiMemorySlice *src_memory) {
    copy_texels(runtime, dst_image, "dst_image", src_memory, "src_memory", true);
}

void ti_copy_image_to_memory(TiRuntime runtime, const TiMemorySlice *dst_memory, const TiImageSlice *src_image) {
    copy_texels(runtime, src_image, "src_image", dst_memory, "dst_memory", false);
}

/* Return whether two parts of one image overlap along an axis. */
static bool do_overlap(uint32_t a, uint32_t b, uint32_t extent) {
    return a < b ? b - a < extent : a - b < extent;
}

void ti_copy_image_device_to_device(TiRuntime runtime, const TiImageSlice *dst_image, const TiImageSlice *src_image) {
    uint64_t dst_size, src_size;
    if (!dst_image || !src_image) {
        fail(TI_ERROR_ARGUMENT_NULL, "dst_image or src_image is null");
        return;
    }
    if (!check_handle(src_image->image, HANDLE_IMAGE, "src_image")) {
        return;
    }
    if (src_image->image->runtime != runtime) {
        fail(TI_ERROR_INVALID_ARGUMENT, "src_image is of another runtime");
        return;
    }
    if (!enter_image(runtime, dst_image->image)) {
        return;
    }
    if (check_image_slice(dst_image, "dst_image", &dst_size) && check_image_slice(src_image, "src_image", &src_size)) {
        const TiImageOffset *to = &dst_image->offset, *from = &src_image->offset;
        const TiImageExtent *extent = &src_image->extent;
        if (dst_image->image->format != src_image->image->format ||
            dst_image->image->dimension != src_image->image->dimension || !is_same_extent(&dst_image->extent, extent)) {
            fail(TI_ERROR_INVALID_ARGUMENT, "dst_image and src_image have different formats, dimensions or extents");
        } else if (dst_image->image == src_image->image && do_overlap(to->x, from->x, extent->width) &&
                   do_overlap(to->y, from->y, extent->height) && do_overlap(to->z, from->z, extent->depth)) {
            fail(TI_ERROR_INVALID_ARGUMENT, "dst_image and src_image overlap");
        } else if (src_size) {
            vulkan_copy_image(runtime, dst_image, src_image);
        }
    }
    leave(runtime);
}

/* --- functions of shadesmith.h: modules --------------------------------------------------------------------------- */

TiError ti_check_aot_module(const void *tcm, uint64_t size) {
    Manifest manifest;
    if (!tcm) {
        fail(TI_ERROR_ARGUMENT_NULL, "tcm is null");
        return last_error;
    }
    if (!manifest_open(&manifest, tcm, (size_t)size)) {
        return last_error;
    }
    manifest_close(&manifest);
    return TI_ERROR_SUCCESS;
}

TiAotModule ti_load_aot_module(TiRuntime runtime, const char *module_path) {
    TiAotModule module = NULL;
    uint8_t *bytes;
    size_t size = 0;
    if (!module_path) {
        fail(TI_ERROR_ARGUMENT_NULL, "module_path is null");
        return NULL;
    }
    if (!enter(runtime)) {
        return NULL;
    }
    bytes = read_whole_file(module_path, &size);
    if (bytes) {
        module = module_make(runtime, bytes, size);
        if (!module) {
            fail_within("%.200s", module_path);
        }
    }
    leave(runtime);
    return module;
}

TiAotModule ti_create_aot_module(TiRuntime runtime, const void *tcm, uint64_t size) {
    TiAotModule module = NULL;
    uint8_t *bytes;
    if (!tcm) {
        fail(TI_ERROR_ARGUMENT_NULL, "tcm is null");
        return NULL;
    }
    if (size > MAX_ARCHIVE_BYTES) {
        fail(TI_ERROR_CORRUPTED_DATA, "the archive has more than %llu bytes", (unsigned long long)MAX_ARCHIVE_BYTES);
        return NULL;
    }
    if (!enter(runtime)) {
        return NULL;
    }
    bytes = (uint8_t *)allocate_zeroed((size_t)size);
    if (bytes) {
        memcpy(bytes, tcm, (size_t)size);
        module = module_make(runtime, bytes, (size_t)size);
    }
    leave(runtime);
    return module;
}

void ti_destroy_aot_module(TiAotModule aot_module) {
    TiRuntime runtime;
    if (!check_handle(aot_module, HANDLE_MODULE, "aot_module")) {
        return;
    }
    runtime = aot_module->runtime;
    if (!check_not_showing(runtime) || !enter(runtime)) {
        return;
    }
    runtime->backend->wait(runtime);
    if (aot_module->previous) {
        aot_module->previous->next = aot_module->next;
    } else {
        runtime->modules = aot_module->next;
    }
    if (aot_module->next) {
        aot_module->next->previous = aot_module->previous;
    }
    module_close(aot_module);
    leave(runtime);
}

static bool check_name(TiAotModule aot_module, const char *name) {
    return check_handle(aot_module, HANDLE_MODULE, "aot_module") &&
           (name ? true : fail(TI_ERROR_ARGUMENT_NULL, "name is null"));
}

TiKernel ti_get_aot_module_kernel(TiAotModule aot_module, const char *name) {
    uint32_t i;
    if (!check_name(aot_module, name)) {
        return NULL;
    }
    i = find_named(aot_module->manifest.kernels, aot_module->manifest.kernel_count, sizeof(KernelData), name);
    if (i == aot_module->manifest.kernel_count) {
        fail(TI_ERROR_NAME_NOT_FOUND, "the archive has no kernel `%.200s`", name);
        return NULL;
    }
    if (aot_module->manifest.kernels[i].unsupported) {
        fail(TI_ERROR_NOT_SUPPORTED, "kernel `%.200s` takes %s, which this runtime cannot give", name,
             aot_module->manifest.kernels[i].unsupported);
        return NULL;
    }
    return aot_module->kernels[i];
}

TiComputeGraph ti_get_aot_module_compute_graph(TiAotModule aot_module, const char *name) {
    uint32_t i;
    if (!check_name(aot_module, name)) {
        return NULL;
    }
    i = find_named(aot_module->manifest.graphs, aot_module->manifest.graph_count, sizeof(GraphData), name);
    if (i == aot_module->manifest.graph_count) {
        fail(TI_ERROR_NAME_NOT_FOUND, "the archive has no graph `%.200s`", name);
        return NULL;
    }
    return aot_module->graphs[i];
}

TiError ti_get_aot_module_field(TiAotModule aot_module, const char *name, TiField *field) {
    const FieldData *data;
    uint32_t i;
    if (!check_name(aot_module, name)) {
        return last_error;
    }
    if (!field) {
        fail(TI_ERROR_ARGUMENT_NULL, "field is null");
        return last_error;
    }
    i = find_named(aot_module->manifest.fields, aot_module->manifest.field_count, sizeof(FieldData), name);
    if (i == aot_module->manifest.field_count) {
        fail(TI_ERROR_NAME_NOT_FOUND, "the archive has no field `%.200s`", name);
        return last_error;
    }
    data = &aot_module->manifest.fields[i];
    if (!data->is_even) {
        fail(TI_ERROR_NOT_SUPPORTED, "the elements of field `%.200s` have no constant strides: read it with a kernel",
             name);
        return last_error;
    }
    *field = data->field;
    field->slice.memory = aot_module->trees[data->tree];
    return TI_ERROR_SUCCESS;
}

const char *ti_get_aot_module_kernel_name(TiAotModule aot_module, uint32_t number) {
    return check_handle(aot_module, HANDLE_MODULE, "aot_module") && number < aot_module->manifest.kernel_count
               ? aot_module->manifest.kernels[number].name
               : NULL;
}

const char *ti_get_aot_module_compute_graph_name(TiAotModule aot_module, uint32_t number) {
    return check_handle(aot_module, HANDLE_MODULE, "aot_module") && number < aot_module->manifest.graph_count
               ? aot_module->manifest.graphs[number].name
               : NULL;
}

const char *ti_get_aot_module_field_name(TiAotModule aot_module, uint32_t number) {
    return check_handle(aot_module, HANDLE_MODULE, "aot_module") && number < aot_module->manifest.field_count
               ? aot_module->manifest.fields[number].name
               : NULL;
}

/* --- functions of shadesmith.h: launches, graphs, results --------------------------------------------------------- */

/* Expand the passed arguments to one entry a parameter, null for templates; the caller frees the list. */
static const TiArgument **spread_arguments(const KernelData *data, const TiArgument *args) {
    const TiArgument **arguments =
        (const TiArgument **)allocate_zeroed((data->parameter_count + 1) * sizeof(const TiArgument *));
    uint32_t i;
    for (i = 0; arguments && i < data->parameter_count; i++) {
        if (data->parameters[i].kind != PARAMETER_TEMPLATE) {
            arguments[i] = args++;
        }
    }
    return arguments;
}

void ti_launch_kernel(TiRuntime runtime, TiKernel kernel, uint32_t arg_count, const TiArgument *args) {
    const TiArgument **arguments;
    if (!check_handle(kernel, HANDLE_KERNEL, "kernel") || !check_handle(runtime, HANDLE_RUNTIME, "runtime")) {
        return;
    }
    if (arg_count && !args) {
        fail(TI_ERROR_ARGUMENT_NULL, "args is null");
        return;
    }
    if (kernel->module->runtime != runtime) {
        fail(TI_ERROR_INVALID_ARGUMENT, "kernel `%s` is of another runtime", kernel->data->name);
        return;
    }
    if (arg_count != passed_count(kernel->data, kernel->data->parameter_count)) {
        fail(TI_ERROR_INVALID_ARGUMENT, "kernel `%s` takes %u arguments, and %u were given", kernel->data->name,
             passed_count(kernel->data, kernel->data->parameter_count), arg_count);
        return;
    }
    if (!enter(runtime)) {
        return;
    }
    arguments = spread_arguments(kernel->data, args);
    if (arguments) {
        launch(runtime, kernel, arguments);
    }
    free(arguments);
    leave(runtime);
}

/* Find an argument of a graph by name among those passed. */
static const TiArgument *named_argument(const char *name, uint32_t arg_count, const TiNamedArgument *args) {
    uint32_t i;
    for (i = 0; i < arg_count; i++) {
        if (args[i].name && !strcmp(args[i].name, name)) {
            return &args[i].argument;
        }
    }
    return NULL;
}

static bool launch_dispatch(TiRuntime runtime, TiComputeGraph graph, const Dispatch *dispatch,
                            const TiArgument *const *graph_arguments) {
    TiKernel kernel = graph->module->kernels[dispatch->kernel];
    const TiArgument **arguments =
        (const TiArgument **)allocate_zeroed((kernel->data->parameter_count + 1) * sizeof(const TiArgument *));
    uint32_t i, next = 0;
    bool is_good = arguments != NULL;
    if (kernel->data->parameter_count > kernel->data->declared_count) {
        is_good = fail(TI_ERROR_NOT_SUPPORTED, "kernel `%.100s` takes gradients, which a graph passes to no kernel here",
                       kernel->data->name);
    }
    for (i = 0; is_good && i < kernel->data->parameter_count; i++) {
        if (kernel->data->parameters[i].kind != PARAMETER_TEMPLATE) {
            const DispatchArgument *argument = &dispatch->arguments[next++];
            arguments[i] = argument->argument < 0 ? &argument->constant : graph_arguments[argument->argument];
        }
    }
    is_good = is_good && launch(runtime, kernel, arguments);
    free(arguments);
    return is_good;
}

static bool launch_graph(TiRuntime runtime, TiComputeGraph graph, uint32_t arg_count, const TiNamedArgument *args) {
    const GraphData *data = graph->data;
    const TiArgument **graph_arguments =
        (const TiArgument **)allocate_zeroed((data->argument_count + 1) * sizeof(const TiArgument *));
    uint32_t i;
    bool is_good = graph_arguments != NULL;
    for (i = 0; is_good && i < arg_count; i++) {
        if (!args[i].name || find_named(data->argument_names, data->argument_count, sizeof(const char *),
                                        args[i].name) == data->argument_count) {
            is_good = fail(TI_ERROR_INVALID_ARGUMENT, "graph `%s` takes no argument `%.100s`", data->name,
                           args[i].name ? args[i].name : "null");
        }
    }
    for (i = 0; is_good && i < data->argument_count; i++) {
        graph_arguments[i] = named_argument(data->argument_names[i], arg_count, args);
        if (!graph_arguments[i]) {
            is_good = fail(TI_ERROR_ARGUMENT_NOT_FOUND, "graph `%s` takes argument `%s`, which is missing", data->name,
                           data->argument_names[i]);
        }
    }
    for (i = 0; is_good && i < data->dispatch_count; i++) {
        is_good = launch_dispatch(runtime, graph, &data->dispatches[i], graph_arguments) ||
                  fail_within("graph `%.100s`", data->name);
    }
    free(graph_arguments);
    return is_good;
}

void ti_launch_compute_graph(TiRuntime runtime, TiComputeGraph compute_graph, uint32_t arg_count,
                             const TiNamedArgument *args) {
    if (!check_handle(compute_graph, HANDLE_GRAPH, "compute_graph") ||
        !check_handle(runtime, HANDLE_RUNTIME, "runtime")) {
        return;
    }
    if (arg_count && !args) {
        fail(TI_ERROR_ARGUMENT_NULL, "args is null");
        return;
    }
    if (compute_graph->module->runtime != runtime) {
        fail(TI_ERROR_INVALID_ARGUMENT, "graph `%s` is of another runtime", compute_graph->data->name);
        return;
    }
    if (enter(runtime)) {
        launch_graph(runtime, compute_graph, arg_count, args);
        leave(runtime);
    }
}

void ti_get_kernel_result(TiRuntime runtime, TiKernel kernel, uint32_t number, void *value, uint64_t size) {
    if (!check_handle(kernel, HANDLE_KERNEL, "kernel") || !check_handle(runtime, HANDLE_RUNTIME, "runtime")) {
        return;
    }
    if (!value) {
        fail(TI_ERROR_ARGUMENT_NULL, "value is null");
        return;
    }
    if (kernel->module->runtime != runtime) {
        fail(TI_ERROR_INVALID_ARGUMENT, "kernel `%s` is of another runtime", kernel->data->name);
        return;
    }
    if (number >= kernel->data->result_count) {
        fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE, "kernel `%s` returns %u values", kernel->data->name,
             kernel->data->result_count);
        return;
    }
    if (size != kernel->data->results[number].size) {
        fail(TI_ERROR_INVALID_ARGUMENT, "result %u of kernel `%s` has %u bytes", number, kernel->data->name,
             kernel->data->results[number].size);
        return;
    }
    if (!size) { /* an empty vector, which has no address */
        return;
    }
    if (enter(runtime)) {
        runtime->backend->read(runtime, kernel->results, kernel->data->results[number].offset, value, size);
        leave(runtime);
    }
}
