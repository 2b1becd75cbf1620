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
