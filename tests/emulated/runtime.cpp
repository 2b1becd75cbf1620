// The GPU that `cuda.h` needs: memory with a check of each access, and threads of a block as fibers, which change at
// random accesses and at barriers. Blocks run one after another, in a random order.
//
// Emitted sources are compiled with -fsanitize=kernel-address,undefined, whose functions are defined here: what they
// find ends the launch, with its source line for the caller.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <algorithm>
#include <vector>

struct Index {
    unsigned x, y, z;
};

struct Seen {
    unsigned lanes;
    unsigned long long values[32];
};

extern "C" {
Index threadIdx, blockIdx, blockDim, gridDim;
}

namespace {

// --- memory: one range of addresses, never used twice ----------------------------------------------------------------

const size_t ARENA_BYTES = 1ull << 38, ALIGNMENT = 256, GUARD_BYTES = 256, PAGE = 4096;

struct Allocation {
    uintptr_t begin, end;
};

uintptr_t arena, arena_end, next_free;
std::vector<Allocation> allocations;  // by address

bool is_allocated(uintptr_t place, size_t size) {
    auto after = std::upper_bound(
        allocations.begin(), allocations.end(), place,
        [](uintptr_t address, const Allocation &allocation) { return address < allocation.begin; }
    );
    return after != allocations.begin() && place + size <= (after - 1)->end;
}

// --- threads ---------------------------------------------------------------------------------------------------------

enum State { READY, AT_WARP, AT_BLOCK, AT_ACTIVE, DONE };
const size_t STACK_BYTES = 1 << 20;
const unsigned MAX_ACCESSES = 24;

struct Thread {
    ucontext_t start;
    jmp_buf place;             // where it goes on; jumps cost less than changes of a context, which call the kernel
    bool has_started;
    State state;
    unsigned lanes;            // AT_WARP: those that it waits for; AT_ACTIVE: the result
    unsigned long long value;  // what it gives
    int count, threads;        // the result of AT_BLOCK
    Seen seen;                 // the result of AT_WARP
};

std::vector<Thread> threads;
std::vector<char *> stacks;
jmp_buf scheduler;
Thread *running;
void (*body)(void *const *);
void *const *body_arguments;
char message[1000];
bool has_failed;
uint64_t random_state = 1;
unsigned accesses_left;

unsigned random_below(unsigned n) {
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(random_state >> 33) % n;
}

void note(const char *format, ...) {
    if (!has_failed) {
        va_list values;
        va_start(values, format);
        vsnprintf(message, sizeof message, format, values);
        va_end(values);
        has_failed = true;
    }
}

void wait(State state) {
    running->state = state;
    if (_setjmp(running->place) == 0) {
        _longjmp(scheduler, 1);
    }
}

__attribute__((noinline)) void resume(Thread *thread) {
    running = thread;
    if (_setjmp(scheduler) != 0) {
        return;
    }
    if (thread->has_started) {
        _longjmp(thread->place, 1);
    }
    thread->has_started = true;
    setcontext(&thread->start);
}

[[noreturn]] void end_launch() {
    running->state = DONE;
    _longjmp(scheduler, 1);
}

void run_thread() {
    body(body_arguments);
    end_launch();
}

// Let the lanes of one warp go on that wait for `__activemask` at one place.
void release_active(Thread *warp, unsigned size) {
    const Thread *first = std::find_if(warp, warp + size, [](const Thread &lane) { return lane.state == AT_ACTIVE; });
    unsigned active = 0;
    for (unsigned lane = 0; lane < size && first != warp + size; lane++) {
        bool is_here = warp[lane].state == AT_ACTIVE && warp[lane].value == first->value;
        active |= (is_here ? 1u : 0u) << lane;
    }
    for (unsigned lane = 0; lane < size; lane++) {
        if ((active >> lane & 1) != 0) {
            warp[lane].lanes = active;
            warp[lane].state = READY;
        }
    }
}

// Let the lanes of one warp go on whose collective is complete.
void release_warp(unsigned first) {
    unsigned alive = 0;
    bool is_ready = false;
    unsigned size = std::min<size_t>(32, threads.size() - first);
    Thread *warp = &threads[first];
    for (unsigned lane = 0; lane < size; lane++) {
        alive |= (warp[lane].state != DONE ? 1u : 0u) << lane;
        is_ready |= warp[lane].state == READY;
    }
    for (unsigned lane = 0; lane < size; lane++) {
        if (warp[lane].state != AT_WARP) {
            continue;
        }
        unsigned lanes = warp[lane].lanes & alive, arrived = 0;
        for (unsigned other = 0; other < size; other++) {
            bool is_same = warp[other].state == AT_WARP && warp[other].lanes == warp[lane].lanes;
            arrived |= (is_same ? 1u : 0u) << other;
        }
        if ((lanes & ~arrived) != 0) {
            continue;
        }
        Seen seen = {lanes, {}};
        for (unsigned other = 0; other < size; other++) {
            seen.values[other] = warp[other].value;
        }
        for (unsigned other = 0; other < size; other++) {
            if ((lanes >> other & 1) != 0) {
                warp[other].seen = seen;
                warp[other].state = READY;
                is_ready = true;
            }
        }
    }
    if (!is_ready) {
        release_active(warp, size);
    }
}

// Let the block go on if all of its threads have arrived.
void release_block() {
    int count = 0, alive = 0;
    for (const Thread &thread : threads) {
        if (thread.state != DONE && thread.state != AT_BLOCK) {
            return;
        }
        alive += thread.state == AT_BLOCK;
        count += thread.state == AT_BLOCK && thread.value != 0;
    }
    for (Thread &thread : threads) {
        if (thread.state == AT_BLOCK) {
            thread.state = READY;
            thread.count = count;
            thread.threads = alive;
        }
    }
}

void run_block(unsigned size) {
    threads.resize(size);
    while (stacks.size() < size) {
        void *stack = mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        stacks.push_back((char *)stack);
    }
    std::vector<unsigned> ready(size);
    unsigned waiting = 0;
    for (unsigned k = 0; k < size; k++) {
        Thread &thread = threads[k];
        thread.state = READY;
        thread.has_started = false;
        getcontext(&thread.start);
        thread.start.uc_stack.ss_sp = stacks[k];
        thread.start.uc_stack.ss_size = STACK_BYTES;
        makecontext(&thread.start, run_thread, 0);
        ready[k] = k;
    }
    while (!ready.empty()) {
        unsigned chosen = random_below(ready.size());
        threadIdx = {ready[chosen], 0, 0};
        accesses_left = random_below(MAX_ACCESSES);
        resume(&threads[ready[chosen]]);
        if (has_failed) {
            break;
        }
        if (running->state == READY) {
            continue;
        }
        unsigned warp = ready[chosen] / 32 * 32;
        ready[chosen] = ready.back();
        ready.pop_back();
        waiting += running->state != DONE;
        if (waiting == 0) {
            continue;
        }
        release_warp(warp);
        if (ready.empty()) {
            release_block();
        }
        ready.clear();
        waiting = 0;
        for (unsigned k = 0; k < size; k++) {
            if (threads[k].state == READY) {
                ready.push_back(k);
            }
            waiting += threads[k].state != READY && threads[k].state != DONE;
        }
    }
    running = nullptr;
    for (const Thread &thread : threads) {
        if (thread.state != DONE) {
            note("threads wait for each other for ever");
        }
    }
}

}  // namespace

extern "C" {

// Memory of zeros, 0 if there is none.
uintptr_t emulator_allocate(size_t size) {
    if (arena == 0) {
        void *range = mmap(nullptr, ARENA_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (range == MAP_FAILED) {
            return 0;
        }
        arena = next_free = (uintptr_t)range;
        arena_end = arena + ARENA_BYTES;
    }
    size_t taken = (size + GUARD_BYTES + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (taken > arena_end - next_free) {
        return 0;
    }
    uintptr_t begin = next_free, first_page = begin / PAGE * PAGE;
    next_free += taken;
    if (mprotect((void *)first_page, begin + taken - first_page, PROT_READ | PROT_WRITE) != 0) {
        return 0;
    }
    allocations.push_back({begin, begin + size});
    return begin;
}

void emulator_free(uintptr_t begin) {
    for (Allocation &allocation : allocations) {
        if (allocation.begin == begin) {
            uintptr_t first_page = (begin + PAGE - 1) / PAGE * PAGE, end_page = allocation.end / PAGE * PAGE;
            if (first_page < end_page) {
                madvise((void *)first_page, end_page - first_page, MADV_DONTNEED);
            }
            allocation.end = begin;
        }
    }
}

void emulator_fail(const char *what) {
    note("%s", what);
    end_launch();
}

void emulator_access(const volatile void *pointer, unsigned long size) {
    uintptr_t place = (uintptr_t)pointer;
    if (place < arena || place >= arena_end || running == nullptr) {
        if (place < 65536) {
            note("an access of address %p", (void *)place);
            end_launch();
        }
        return;
    }
    if (!is_allocated(place, size)) {
        note("an access of %lu bytes outside of all memory\n%p", size, __builtin_return_address(0));
        end_launch();
    }
    if (accesses_left-- == 0) {
        accesses_left = random_below(MAX_ACCESSES);
        wait(READY);
    }
}

int emulator_block(bool truth, int *alive) {
    Thread *thread = running;
    thread->value = truth;
    wait(AT_BLOCK);
    if (alive != nullptr) {
        *alive = thread->threads;
    }
    return thread->count;
}

const Seen *emulator_warp(unsigned lanes, unsigned long long value) {
    Thread *thread = running;
    thread->lanes = lanes;
    thread->value = value;
    if ((lanes >> threadIdx.x % 32 & 1) == 0) {
        emulator_fail("a collective of lanes without the calling one");
    }
    wait(AT_WARP);
    return &thread->seen;
}

unsigned emulator_active(unsigned long long place) {
    Thread *thread = running;
    thread->value = place;
    wait(AT_ACTIVE);
    return thread->lanes;
}

// Run a kernel; returns what it did wrong, null if nothing.
const char *emulator_launch(
    void (*kernel)(void *const *), void *const *arguments, unsigned columns, unsigned rows,
    unsigned block_size, uint64_t seed
) {
    body = kernel;
    body_arguments = arguments;
    has_failed = false;
    random_state = seed;
    gridDim = {columns, rows, 1};
    blockDim = {block_size, 1, 1};
    uint64_t blocks = (uint64_t)columns * rows, first = random_below(columns);
    for (uint64_t k = 0; k < blocks && !has_failed; k++) {
        uint64_t block = (first + k) % blocks;
        blockIdx = {(unsigned)(block % columns), (unsigned)(block / columns), 0};
        run_block(block_size);
    }
    return has_failed ? message : nullptr;
}

// --- what the compiler calls -----------------------------------------------------------------------------------------

#define ACCESSES(size)                                                                               \
    void __asan_load##size##_noabort(void *place) { emulator_access(place, size); }                  \
    void __asan_store##size##_noabort(void *place) { emulator_access(place, size); }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
void __asan_loadN_noabort(void *place, unsigned long size) { emulator_access(place, size); }
void __asan_storeN_noabort(void *place, unsigned long size) { emulator_access(place, size); }
void __asan_handle_no_return() {}

struct Location {
    const char *file;
    uint32_t line, column;
};

#define UNDEFINED(name, what)                                                                   \
    void __ubsan_handle_##name(const Location *at) {                                            \
        note("%s:%u:%u: %s", at->file, at->line, at->column, what);                             \
        end_launch();                                                                           \
    }
UNDEFINED(type_mismatch_v1, "an access of null, or of a misaligned place")
UNDEFINED(add_overflow, "a signed sum overflows")
UNDEFINED(sub_overflow, "a signed difference overflows")
UNDEFINED(mul_overflow, "a signed product overflows")
UNDEFINED(negate_overflow, "a signed negation overflows")
UNDEFINED(divrem_overflow, "a division by 0, or one that overflows")
UNDEFINED(shift_out_of_bounds, "a shift by the width or more, or of a negative number")
UNDEFINED(out_of_bounds, "an index out of an array's bounds")
UNDEFINED(builtin_unreachable, "what cannot be reached")
UNDEFINED(missing_return, "the end of a function that returns a value")
UNDEFINED(vla_bound_not_positive, "an array of no element")
UNDEFINED(load_invalid_value, "a bool or enumeration that holds another number")
UNDEFINED(float_cast_overflow, "a float out of the integer's range")
UNDEFINED(nonnull_arg, "a null argument")
UNDEFINED(pointer_overflow, "a pointer that overflows")
UNDEFINED(invalid_builtin, "clz or ctz of 0")
}
