/* --- 1  errors, memory of the host -------------------------------------------------------------------------------- */

enum { ERROR_TEXT_BYTES = 4096 };

static THREAD_LOCAL TiError last_error = TI_ERROR_SUCCESS;
static THREAD_LOCAL char last_error_text[ERROR_TEXT_BYTES];

PRINTF_LIKE(2, 3)
static bool fail(TiError error, const char *format, ...) {
    va_list values;
    va_start(values, format);
    last_error = error;
    vsnprintf(last_error_text, sizeof last_error_text, format, values);
    va_end(values);
    return false;
}

/* Put text before that of the last failure. */
PRINTF_LIKE(1, 2)
static bool fail_within(const char *format, ...) {
    char before[256], text[ERROR_TEXT_BYTES];
    va_list values;
    va_start(values, format);
    vsnprintf(before, sizeof before, format, values);
    va_end(values);
    memcpy(text, last_error_text, sizeof text);
    return fail(last_error, "%s: %.3800s", before, text);
}

static bool fail_without_memory(uint64_t size) {
    return fail(TI_ERROR_OUT_OF_MEMORY, "the host has no %llu bytes of memory left", (unsigned long long)size);
}

/* Return `size` bytes of zeros, or null after a failure. */
static void *take_zeroed(size_t size) {
    void *taken = calloc(1, size ? size : 1);
    if (!taken) {
        fail_without_memory(size);
    }
    return taken;
}

/* What handles of the header point to begins with this. Its memory is never freed, but taken again for a handle of the
   same kind, the longest given back first: so that one that was given back can be told from one that is there. */
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
    struct Handle *next; /* among those given back */
    uint32_t kind, is_live;
} Handle;

enum { HANDLE_LIVES = 0x5AADE511, HANDLES_KEPT = 256 }; /* HANDLES_KEPT: given back, before one is taken again */

static struct {
    Handle *first, *last;
    uint32_t count;
} given_back[HANDLE_KINDS];

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
static void *handle_take(HandleKind kind, size_t size) {
    Handle *taken = NULL;
    lock_handles();
    if (given_back[kind].count > HANDLES_KEPT) {
        taken = given_back[kind].first;
        given_back[kind].first = taken->next;
        given_back[kind].count--;
    }
    unlock_handles();
    if (taken) {
        memset(taken, 0, size);
    } else {
        taken = (Handle *)take_zeroed(size);
    }
    if (taken) {
        taken->kind = kind;
        taken->is_live = HANDLE_LIVES;
    }
    return taken;
}

static void handle_give_back(void *object) {
    Handle *handle = (Handle *)object;
    lock_handles();
    handle->is_live = 0;
    handle->next = NULL;
    if (given_back[handle->kind].count++) {
        given_back[handle->kind].last->next = handle;
    } else {
        given_back[handle->kind].first = handle;
    }
    given_back[handle->kind].last = handle;
    unlock_handles();
}

/* Check a handle that a caller gave. */
static bool check_handle(const void *object, HandleKind kind, const char *name) {
    static const char *const KINDS[] = {"runtime", "module", "memory", "image", "sampler", "kernel", "graph"};
    const Handle *handle = (const Handle *)object;
    if (!handle) {
        return fail(TI_ERROR_ARGUMENT_NULL, "%s is null", name);
    }
    if (handle->is_live == HANDLE_LIVES && handle->kind == (uint32_t)kind) {
        return true;
    }
    return fail(TI_ERROR_INVALID_ARGUMENT, "%s is no %s: %s", name, KINDS[kind],
                handle->is_live == HANDLE_LIVES ? "it is another thing" : "it was freed before");
}

/* Memory that is given back all at once. */
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
static void *arena_take(Arena *arena, size_t count, size_t size) {
    size_t wanted, block_size;
    ArenaBlock *block;
    void *taken;
    if (size && count > (SIZE_MAX >> 2) / size) {
        fail_without_memory(SIZE_MAX);
        return NULL;
    }
    wanted = (count * size + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    if (wanted > arena->left) {
        block_size = wanted > ARENA_BLOCK_BYTES ? wanted : (size_t)ARENA_BLOCK_BYTES;
        block = (ArenaBlock *)take_zeroed(sizeof(ArenaBlock) + block_size);
        if (!block) {
            return NULL;
        }
        block->next = arena->blocks;
        arena->blocks = block;
        arena->position = (uint8_t *)(block + 1);
        arena->left = block_size;
    }
    taken = arena->position;
    arena->position += wanted;
    arena->left -= wanted;
    return taken;
}

static void arena_free(Arena *arena) {
    while (arena->blocks) {
        ArenaBlock *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    memset(arena, 0, sizeof *arena);
}

static char *arena_text(Arena *arena, const char *text, size_t length) {
    char *copy = (char *)arena_take(arena, length + 1, 1);
    if (copy) {
        memcpy(copy, text, length);
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

/* Open the first of several libraries that is there; `names` ends with null. */
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
    FARPROC found = GetProcAddress((HMODULE)library, name);
#else
    void *found = dlsym(library, name);
#endif
    memcpy(&function, &found, sizeof function); /* C has no cast between the two kinds of pointer */
    return function;
}
