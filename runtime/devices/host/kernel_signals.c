/* Signals while a compiled kernel runs: accesses outside its memory (SIGSEGV), and Ctrl-C (SIGINT).

A kernel cannot be unwound by siglongjmp: an OpenMP thread that leaves its team hangs all others. So

- an access outside memory gets memory. The handler maps pages of one scratch file below the address, records address
  and instruction, and returns: the access is repeated, and the kernel goes on to its end in every thread. Python then
  raises an error, and the pages are taken away again. The scratch file has at most SCRATCH bytes, however much is
  touched.
- Ctrl-C gives a kernel GRACE to end. Then a timer interrupts all threads again and again, and a thread that is in a
  kernel's own code returns from its outermost function there, to libffi or to libgomp, which ends the parallel region
  as always. Kernels hold no locks and no memory, so leaving them at any instruction is safe.
- A kernel that exhausts its stack, or executes an instruction that traps (an integer divided by zero, `__builtin_trap`),
  is left in the same way. A thread needs an alternate stack for the former: the main thread and libgomp's have one.
- A kernel that runs longer than the watchdog allows (`watch`) is left in the same way, by a timer and a signal of its
  own, so that it does not matter what a program does with SIGINT. Other kernels go on.

Only accesses by kernels are handled: the instruction is in a library of `state.libraries`, or the address is in a guard
of our allocations and a kernel is on the stack, or a shader of lavapipe, which leaves out the instruction. Everything
else goes to the handlers that were there before.

`state` is allocated by Python (`kernel_signals.py` declares the same structs). Python's functions hold no lock while a
handler can run in the same thread. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

enum {
    FAULTS = 64,
    WINDOWS = 2048,
    GUARDS = 2048,
    LIBRARIES = 8192,
    SCRATCH = 16 << 20,
    SMALLEST_WINDOW = 1 << 16,
    STACK_WORDS = 1024,     /* searched for the address of a kernel */
    STACK_MARGIN = 1 << 20, /* an unmapped address so near to the stack pointer is a stack overflow */
    ALTERNATE_STACK = 1 << 17,
};
#define GRACE 1000000000L   /* [ns] */
#define REPEAT 20000000L    /* [ns] */
#define IDLE 100            /* [REPEAT] */
#define FAULTED 1
#define INTERRUPTED 2
#define EXPIRED 2  /* why a library was left; 1: Ctrl-C */
#define EXHAUSTED 4
#define TRAPPED 8
#define INACCESSIBLE 16
#define MOST_FRAMES 4096
#define MOST_FRAMES_OF_RECURSION (1 << 22)
#define WATCHDOG (SIGRTMIN + 9)
#define CACHE_LINE 64

struct guard { uint64_t low, first, end, high; };  /* guards are [low, first) and [end, high), the rest may be used */
struct library { uint64_t start, end, left, deadline, launches; char name[104]; };
/* left: why threads were made to leave it. deadline: of the launches that run now [ns of CLOCK_MONOTONIC] */
struct fault { uint64_t address, instruction; int32_t library, writes; };
struct window { uint64_t address, size; };

struct state {
    int32_t attention;  /* bits FAULTED, INTERRUPTED: read by Python after every launch */
    int32_t lock;
    int32_t scratch;    /* a file descriptor */
    uint32_t fault_count, window_count;
    int32_t interrupts; /* 1: Ctrl-C is handled */
    struct fault faults[FAULTS];
    struct window windows[WINDOWS];
    struct guard guards[GUARDS];
    struct library libraries[LIBRARIES];
};

static struct state *state;
static struct sigaction previous_fault, previous_interrupt;
static volatile int dying;
static uint64_t page;
static char alternate_stack[ALTERNATE_STACK];
static timer_t timer;
static pid_t timer_process;
static volatile int armed, idle;  /* idle: how often in a row the main thread was seen outside all kernels */
static _Unwind_Reason_Code (*backtrace_)(_Unwind_Trace_Fn, void *);
static _Unwind_Word (*word_)(struct _Unwind_Context *, int);
static _Unwind_Ptr (*instruction_)(struct _Unwind_Context *);
static _Unwind_Word (*frame_)(struct _Unwind_Context *);

/* --- registers */

#if defined(__x86_64__)
static const struct { int dwarf, saved; } SAVED[] = {
    {3, REG_RBX}, {6, REG_RBP}, {12, REG_R12}, {13, REG_R13}, {14, REG_R14}, {15, REG_R15}};
static uint64_t instruction_of(ucontext_t *c) { return c->uc_mcontext.gregs[REG_RIP]; }
static uint64_t stack_of(ucontext_t *c) { return c->uc_mcontext.gregs[REG_RSP]; }
static int writes(ucontext_t *c) { return (c->uc_mcontext.gregs[REG_ERR] & 2) != 0; }
static void resume(ucontext_t *c, struct _Unwind_Context *frame) {
    for (unsigned k = 0; k < sizeof SAVED / sizeof *SAVED; k++)
        c->uc_mcontext.gregs[SAVED[k].saved] = word_(frame, SAVED[k].dwarf);
    c->uc_mcontext.gregs[REG_RSP] = frame_(frame);
    c->uc_mcontext.gregs[REG_RIP] = instruction_(frame);
}
#elif defined(__aarch64__)
static uint64_t instruction_of(ucontext_t *c) { return c->uc_mcontext.pc; }
static uint64_t stack_of(ucontext_t *c) { return c->uc_mcontext.sp; }
static int writes(ucontext_t *c) { return -1; }
static void resume(ucontext_t *c, struct _Unwind_Context *frame) { }
#else
#error "this processor's registers are not known"
#endif

/* --- what an address belongs to */

static int library_of(uint64_t address) {
    for (int k = 0; k < LIBRARIES && state->libraries[k].end; k++)
        if (address >= state->libraries[k].start && address < state->libraries[k].end)
            return k;
    return -1;
}

static int guard_of(uint64_t address) {
    for (int k = 0; k < GUARDS; k++) {
        const struct guard *g = &state->guards[k];
        if (address >= g->low && address < g->high && (address < g->first || address >= g->end))
            return k;
    }
    return -1;
}

/* Return the library of a kernel with an address on the stack, -1 if there is none. */
static int library_on_stack(uint64_t stack) {
    uint64_t words[STACK_WORDS];
    struct iovec to = {words, sizeof words}, from = {(void *)stack, sizeof words};
    ssize_t size = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    if (size < 0) {  /* the end of the stack is nearer */
        from.iov_len = to.iov_len = page - stack % page;
        size = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    }
    for (ssize_t k = 0; k < size / 8; k++) {
        int found = library_of(words[k]);
        if (found >= 0)
            return found;
    }
    return -1;
}

/* --- accesses outside memory */

static void acquire(void) {
    while (__atomic_exchange_n(&state->lock, 1, __ATOMIC_ACQUIRE))
        ;
}

static void release(void) { __atomic_store_n(&state->lock, 0, __ATOMIC_RELEASE); }

/* Map a window of the scratch file around an address; the lock is held. Return whether the access can be repeated. */
static int open_window(uint64_t address, int guard) {
    uint32_t count = state->window_count;
    for (uint32_t k = 0; k < count; k++)
        if (address - state->windows[k].address < state->windows[k].size)
            return 1;  /* another thread was here first */
    if (count == WINDOWS)
        return 0;
    uint64_t size = SMALLEST_WINDOW, low = 0, high = UINT64_MAX;
    if (guard >= 0) {
        const struct guard *g = &state->guards[guard];
        low = address < g->first ? g->low : g->end;
        high = address < g->first ? g->first : g->high;
        for (uint32_t k = 16; k < count && size < SCRATCH; k += 16)
            size *= 2;
    }
    uint64_t begin = address & ~(size - 1), end = begin + size;
    begin = begin < low ? low : begin;
    end = end > high ? high : end;
    int flags = MAP_SHARED | (guard >= 0 ? MAP_FIXED : MAP_FIXED_NOREPLACE);
    void *at = mmap((void *)begin, end - begin, PROT_READ | PROT_WRITE, flags, state->scratch, 0);
    if (at == MAP_FAILED && guard < 0) {
        begin = address & ~(page - 1);
        end = begin + page;
        at = mmap((void *)begin, page, PROT_READ | PROT_WRITE, flags, state->scratch, 0);
    }
    if (at == MAP_FAILED)
        return 0;
    if (at != (void *)begin) {  /* a kernel before 4.17 takes the address as a hint */
        munmap(at, end - begin);
        return 0;
    }
    state->windows[count] = (struct window){begin, end - begin};
    state->window_count = count + 1;
    return 1;
}

/* --- accesses by shaders on lavapipe */

static int driver = -1;  /* the place of lavapipe in `state.libraries`, -1 without it */
static void *disassembler;
static size_t (*disassemble)(void *, const void *, uint64_t, uint64_t, char *, size_t);
static uint64_t made_start, made_end;  /* code of the driver, found last */

/* Return whether code was made in this process: it is in memory of no file. */
static int is_made_code(uint64_t address) {
    if (address >= made_start && address < made_end)
        return 1;
    FILE *file = fopen("/proc/self/maps", "r");  /* such a thread holds no lock of the C library */
    char line[512];
    int found = 0;
    while (file && !found && fgets(line, sizeof line, file)) {
        unsigned long start, end, node;
        char access[5];
        if (sscanf(line, "%lx-%lx %4s %*s %*s %lu", &start, &end, access, &node) == 4 && address >= start &&
            address < end) {
            found = access[2] == 'x' && !node && !strchr(line, '[');
            made_start = found ? start : 0;
            made_end = found ? end : 0;
        }
    }
    if (file)
        fclose(file);
    return found;
}

/* Let a shader leave out an instruction whose access failed; return whether it does. */
static int skip_instruction(siginfo_t *info, ucontext_t *context) {
#if defined(__x86_64__)
    uint64_t at = instruction_of(context);
    char text[128];
    if (driver < 0 || info->si_code <= 0 || !is_made_code(at))
        return 0;
    acquire();
    size_t size = disassemble(disassembler, (const void *)at, 15, at, text, sizeof text);
    if (size && state->fault_count < FAULTS)
        state->faults[state->fault_count++] = (struct fault){(uint64_t)info->si_addr, at, driver, writes(context)};
    if (size)
        __atomic_fetch_or(&state->attention, FAULTED, __ATOMIC_RELEASE);
    release();
    context->uc_mcontext.gregs[REG_RIP] += size;
    if (size && *(const unsigned char *)at == 0xf0)  /* a compare-and-swap has swapped: else its loop would not end */
        context->uc_mcontext.gregs[REG_EFL] |= 1 << 6;
    return size != 0;
#else
    return 0;
#endif
}

/* --- accesses by kernels in C */

static int recover(siginfo_t *info, ucontext_t *context, int *library) {
    uint64_t address = (uint64_t)info->si_addr, stack = stack_of(context);
    *library = library_of(instruction_of(context));
    if (info->si_code != SEGV_MAPERR && info->si_code != SEGV_ACCERR)
        return 0;
    int guard = guard_of(address);
    if (*library < 0 && guard >= 0)
        *library = library_on_stack(stack);
    if (*library < 0)
        return 0;
    if (guard < 0 && (info->si_code != SEGV_MAPERR || address - stack + STACK_MARGIN < 2 * STACK_MARGIN))
        return 0;
    acquire();
    uint32_t windows = state->window_count;
    int is_open = open_window(address, guard);
    if (is_open && windows != state->window_count && state->fault_count < FAULTS)
        state->faults[state->fault_count++] =
            (struct fault){address, instruction_of(context), *library, writes(context)};
    if (is_open)
        __atomic_fetch_or(&state->attention, FAULTED, __ATOMIC_RELEASE);
    release();
    return is_open;
}

static char *append(char *end, const char *text) {
    while (*text)
        *end++ = *text++;
    return end;
}

/* Name the kernel before the process ends. */
static void report(siginfo_t *info, ucontext_t *context, int library) {
    char message[512], digits[17], *end = message;
    uint64_t address = (uint64_t)info->si_addr;
    for (int k = 0; k < 16; k++)
        digits[k] = "0123456789abcdef"[address >> (60 - 4 * k) & 15];
    digits[16] = 0;
    int overflow = address - stack_of(context) + STACK_MARGIN < 2 * STACK_MARGIN;
    end = append(end, "shadesmith: kernel `");
    end = append(end, state->libraries[library].name);
    end = append(end, overflow ? "` needs more stack than its thread has, at address 0x"
                               : "` accessed memory that cannot be accessed, at address 0x");
    end = append(end, digits);
    end = append(end, ". Hint: `ti.init(debug=True)` checks all indices and names the line.\n");
    (void)!write(2, message, end - message);
}

static void pass_on(const struct sigaction *previous, int number, siginfo_t *info, void *context) {
    if (previous->sa_flags & SA_SIGINFO)
        previous->sa_sigaction(number, info, context);
    else if (previous->sa_handler == SIG_DFL)
        signal(number, SIG_DFL);  /* the instruction is repeated, and the process ends as without a handler */
    else if (previous->sa_handler != SIG_IGN)
        previous->sa_handler(number);
}

static int leave_kernel(ucontext_t *context, int why);

static int is_overflow(siginfo_t *info, ucontext_t *context) {
    uint64_t distance = (uint64_t)info->si_addr - stack_of(context) + STACK_MARGIN;
    return info->si_code == SEGV_MAPERR || info->si_code == SEGV_ACCERR ? distance < 2 * STACK_MARGIN : 0;
}

static void on_fault(int number, siginfo_t *info, void *context) {
    int saved = errno, library = -1;
    if (!dying && (skip_instruction(info, context) || recover(info, context, &library))) {
        errno = saved;
        return;
    }
    if (!dying && library >= 0 && leave_kernel(context, is_overflow(info, context) ? EXHAUSTED : INACCESSIBLE)) {
        errno = saved;
        return;
    }
    if (dying) {  /* a handler that was there before has sent the signal again */
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    if (library >= 0)
        report(info, context, library);
    dying = previous_fault.sa_flags & SA_SIGINFO || previous_fault.sa_handler != SIG_DFL;
    pass_on(&previous_fault, number, info, context);
    if (info->si_code <= 0 && previous_fault.sa_handler == SIG_DFL)
        raise(number);
    errno = saved;
}

/* --- Ctrl-C */

struct walk { ucontext_t *context; int library, frames, found, why; };

/* Find the frame that called the outermost function of the kernel's library: that of libffi or libgomp. */
static _Unwind_Reason_Code leave(struct _Unwind_Context *frame, void *argument) {
    struct walk *walk = argument;
    int library = library_of(instruction_(frame));
    if (!walk->found) {  /* frames of this handler */
        walk->found = instruction_(frame) == instruction_of(walk->context);
        return ++walk->frames > 64 ? _URC_END_OF_STACK : _URC_NO_REASON;
    }
    if (library == walk->library)
        return ++walk->frames > (walk->why == EXHAUSTED ? MOST_FRAMES_OF_RECURSION : MOST_FRAMES)
                   ? _URC_END_OF_STACK
                   : _URC_NO_REASON;
    walk->found = 2;
    __atomic_fetch_or(&state->libraries[walk->library].left, walk->why, __ATOMIC_RELAXED);
    __atomic_fetch_or(&state->attention, INTERRUPTED, __ATOMIC_RELEASE);
    resume(walk->context, frame);
    return _URC_END_OF_STACK;
}

/* Let this thread return from the kernel in which it was interrupted; return whether it will. */
static int leave_kernel(ucontext_t *context, int why) {
#if defined(__x86_64__)
    struct walk walk = {context, library_of(instruction_of(context)), 0, 0, why};
    if (backtrace_ && walk.library >= 0)
        backtrace_(leave, &walk);
    return walk.found == 2;
#else
    return 0;
#endif
}

static struct sigaction previous_traps[3];
static const int TRAPS[3] = {SIGFPE, SIGILL, SIGBUS};

static void on_trap(int number, siginfo_t *info, void *context) {
    int saved = errno;
    if (info->si_code <= 0 || !leave_kernel(context, TRAPPED))
        for (int k = 0; k < 3; k++)
            if (TRAPS[k] == number)
                pass_on(&previous_traps[k], number, info, context);
    errno = saved;
}

/* Give a thread of libgomp's a stack for handlers: its own one may be exhausted. */
static void equip(void *unused) {
    stack_t stack;
    if (sigaltstack(0, &stack) || !(stack.ss_flags & SS_DISABLE))
        return;
    void *memory = mmap(0, ALTERNATE_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) {
        stack = (stack_t){.ss_sp = memory, .ss_size = ALTERNATE_STACK};
        sigaltstack(&stack, 0);
    }
}

static void equip_threads(void) {
    static int equipped;
    void *openmp = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!openmp)
        return;
    void (*parallel)(void (*)(void *), void *, unsigned, unsigned) = dlsym(openmp, "GOMP_parallel");
    int (*threads)(void) = dlsym(openmp, "omp_get_max_threads");
    int (*is_parallel)(void) = dlsym(openmp, "omp_in_parallel");
    if (parallel && threads && is_parallel && !is_parallel() && threads() > equipped) {
        equipped = threads();
        parallel(equip, 0, 0, 0);
    }
}

static _Unwind_Reason_Code is_kernel(struct _Unwind_Context *frame, void *found) {
    *(int *)found = library_of(instruction_(frame)) >= 0;
    return *(int *)found ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static int main_is_in_kernel(ucontext_t *context) {
    int found = 0;
    if (library_of(instruction_of(context)) >= 0)
        return 1;
    if (library_on_stack(stack_of(context)) >= 0)  /* old words may be there */
        backtrace_(is_kernel, &found);
    return found;
}

static void set_timer(long first, long repeat) {
    if (timer_process != getpid()) {
        struct sigevent event = {0};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = SIGINT;
        event.sigev_value.sival_ptr = &timer;
        ((int *)&event)[4] = getpid();  /* sigev_notify_thread_id: the main thread */
        int id = 0;
        if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id))
            return;
        timer = (timer_t)(intptr_t)id;
        timer_process = getpid();
    }
    struct itimerspec times = {{0, repeat}, {first / 1000000000L, first % 1000000000L}};
    syscall(SYS_timer_settime, (int)(intptr_t)timer, 0, &times, 0);
    armed = first != 0;
}

/* Send a signal of a timer to all other threads, so that those in a kernel leave it. */
static void interrupt_threads(int signal, void *timer) {
    struct entry { uint64_t inode, offset; unsigned short size; unsigned char type; char name[]; };
    char buffer[4096] __attribute__((aligned(8)));
    pid_t process = getpid(), own = syscall(SYS_gettid);
    int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (long size; folder >= 0 && (size = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0;)
        for (long at = 0; at < size; at += ((struct entry *)(buffer + at))->size) {
            pid_t thread = 0;
            for (const char *c = ((struct entry *)(buffer + at))->name; *c >= '0' && *c <= '9'; c++)
                thread = thread * 10 + *c - '0';
            siginfo_t info = {0};
            info.si_signo = signal;
            info.si_code = SI_QUEUE;
            info.si_pid = process;
            info.si_uid = getuid();
            info.si_value.sival_ptr = timer;
            if (thread && thread != own)
                syscall(SYS_rt_tgsigqueueinfo, process, thread, signal, &info);
        }
    if (folder >= 0)
        close(folder);
}

static void on_interrupt(int number, siginfo_t *info, void *context) {
    int saved = errno, is_main = syscall(SYS_gettid) == getpid();
    if ((info->si_code == SI_TIMER || info->si_code == SI_QUEUE) && info->si_value.sival_ptr == &timer) {
        if (is_main && armed) {  /* `take_faults` ends this. One look may find no kernel where the stack is unreadable */
            idle = main_is_in_kernel(context) ? 0 : idle + 1;
            if (idle > IDLE)
                set_timer(0, 0);
        }
        if (armed) {
            if (is_main)
                interrupt_threads(SIGINT, &timer);
            struct walk walk = {context, library_of(instruction_of(context)), 0, 0, 1};
            if (walk.library >= 0)
                backtrace_(leave, &walk);
        }
    } else if (!is_main && syscall(SYS_tgkill, getpid(), getpid(), SIGINT) == 0) {
        /* The system may give the process's signal to any thread; the main thread is the one that waits. */
    } else {
        if (is_main && main_is_in_kernel(context)) {
            idle = 0;
            set_timer(armed ? 1 : GRACE, REPEAT);
            __atomic_fetch_or(&state->attention, INTERRUPTED, __ATOMIC_RELEASE);
        }
        pass_on(&previous_interrupt, number, info, context);
    }
    errno = saved;
}

/* --- the watchdog */

static timer_t watchdog;
static pid_t watchdog_process;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + time.tv_nsec;
}

static void on_watchdog(int number, siginfo_t *info, void *context) {
    int saved = errno;
    if (info->si_value.sival_ptr == &watchdog) {
        if (info->si_code == SI_TIMER)
            interrupt_threads(number, &watchdog);
        struct walk walk = {context, library_of(instruction_of(context)), 0, 0, EXPIRED};
        uint64_t deadline = walk.library >= 0 ? state->libraries[walk.library].deadline : 0;
        if (deadline && now() >= deadline)
            backtrace_(leave, &walk);
    }
    errno = saved;
}

/* Return whether this system has a watchdog; install its handler. */
static int start_watchdog(void) {
#if defined(__x86_64__)
    if (!word_ || !instruction_ || !frame_ || !backtrace_)
        return 0;
    if (watchdog_process == getpid())
        return 1;
    struct sigaction wanted = {0};
    wanted.sa_sigaction = on_watchdog;
    wanted.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigfillset(&wanted.sa_mask);
    struct sigevent event = {0};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = WATCHDOG;
    event.sigev_value.sival_ptr = &watchdog;
    ((int *)&event)[4] = getpid();  /* sigev_notify_thread_id: the main thread */
    int id = 0;
    if (sigaction(WATCHDOG, &wanted, 0) || syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id))
        return 0;
    watchdog = (timer_t)(intptr_t)id;
    watchdog_process = getpid();
    return 1;
#else
    return 0;
#endif
}

/* --- what Python calls */

/* Give the launch of libraries a time limit, 0 at its end. Return whether it will be stopped. */
int watch(const int32_t *libraries, int count, uint64_t nanoseconds) {
    uint64_t earliest = 0, deadline = now() + nanoseconds;
    acquire();
    int works = start_watchdog();
    for (int l = 0; l < count; l++) {
        struct library *library = &state->libraries[libraries[l]];
        if (nanoseconds) {
            library->launches++;
            library->deadline = deadline;
        } else if (--library->launches == 0)
            library->deadline = 0;
    }
    for (int k = 0; k < LIBRARIES && state->libraries[k].end; k++) {
        uint64_t other = state->libraries[k].deadline;
        if (other && (!earliest || other < earliest))
            earliest = other;
    }
    struct itimerspec times = {{0, earliest ? REPEAT : 0}, {earliest / 1000000000u, earliest % 1000000000u}};
    if (works)
        syscall(SYS_timer_settime, (int)(intptr_t)watchdog, TIMER_ABSTIME, &times, 0);
    release();
    return works;
}

static void unlock_child(void) {
    state->lock = 0;
    armed = 0;
}

static int handle(int number, void (*handler)(int, siginfo_t *, void *), struct sigaction *previous, int flags) {
    struct sigaction now, wanted = {0};
    if (sigaction(number, 0, &now))
        return errno;
    if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == handler)
        return 0;
    if (number == SIGINT && !(now.sa_flags & SA_SIGINFO) && (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN))
        return 0;
    *previous = now;
    wanted.sa_sigaction = handler;
    wanted.sa_flags = flags | SA_SIGINFO | SA_ONSTACK;
    sigfillset(&wanted.sa_mask);
    return sigaction(number, &wanted, 0) ? errno : 0;
}

/* Install the handlers, or install them again if others have replaced them; return an error's number. */
int install(struct state *given, int interrupts) {
    if (!state) {
        page = sysconf(_SC_PAGESIZE);
        void *unwinder = dlopen("libgcc_s.so.1", RTLD_NOW);
        if (unwinder) {
            word_ = dlsym(unwinder, "_Unwind_GetGR");
            instruction_ = dlsym(unwinder, "_Unwind_GetIP");
            frame_ = dlsym(unwinder, "_Unwind_GetCFA");
            backtrace_ = dlsym(unwinder, "_Unwind_Backtrace");
        }
        given->scratch = memfd_create("shadesmith", MFD_CLOEXEC);
        if (given->scratch < 0 || ftruncate(given->scratch, SCRATCH))
            return errno;
        pthread_atfork(0, 0, unlock_child);
        stack_t stack;
        if (!sigaltstack(0, &stack) && stack.ss_flags & SS_DISABLE) {
            stack = (stack_t){.ss_sp = alternate_stack, .ss_size = sizeof alternate_stack};
            sigaltstack(&stack, 0);
        }
        state = given;
    }
    int failed = handle(SIGSEGV, on_fault, &previous_fault, 0);
#if defined(__x86_64__)
    for (int k = 0; k < 3 && !failed && word_ && instruction_ && frame_ && backtrace_; k++)
        failed = handle(TRAPS[k], on_trap, &previous_traps[k], 0);
    if (!failed)
        equip_threads();
    if (!failed && interrupts && word_ && instruction_ && frame_ && backtrace_) {
        state->interrupts = 1;
        failed = handle(SIGINT, on_interrupt, &previous_interrupt, 0);
    }
#endif
    return failed;
}

struct range { uint64_t address, start, end; };

static int find_range(struct dl_phdr_info *object, size_t size, void *argument) {
    struct range *range = argument;
    uint64_t start = UINT64_MAX, end = 0;
    for (int k = 0; k < object->dlpi_phnum; k++)
        if (object->dlpi_phdr[k].p_type == PT_LOAD) {
            uint64_t low = object->dlpi_addr + object->dlpi_phdr[k].p_vaddr, high = low + object->dlpi_phdr[k].p_memsz;
            start = low < start ? low : start;
            end = high > end ? high : end;
        }
    if (range->address < start || range->address >= end)
        return 0;
    range->start = start;
    range->end = end;
    return 1;
}

/* Enter the library with a function; return its number, -1 if there is no place. */
int add_library(uint64_t function, const char *name) {
    struct range range = {function, 0, 0};
    if (!dl_iterate_phdr(find_range, &range))
        return -1;
    acquire();
    int number = 0;
    while (number < LIBRARIES && state->libraries[number].start)
        number++;
    if (number < LIBRARIES) {
        struct library *place = &state->libraries[number];
        strncpy(place->name, name, sizeof place->name - 1);
        place->left = place->deadline = place->launches = 0;
        place->start = range.start;
        __atomic_store_n(&place->end, range.end, __ATOMIC_RELEASE);
    }
    release();
    return number < LIBRARIES ? number : -1;
}

/* Enter the driver lavapipe; return its number, -1 if there is no place. given, function: LLVM's disassembler. */
int add_driver(void *given, void *function) {
    acquire();
    disassembler = given;
    disassemble = function;
    for (int number = 0; driver < 0 && number < LIBRARIES; number++)
        if (!state->libraries[number].start) {
            state->libraries[number] = (struct library){.start = 1, .end = 1, .name = "of lavapipe"};
            driver = number;
        }
    release();
    return driver;
}

/* Remove a library before it is unloaded. `end` stays above 0: it ends no search. */
void remove_library(int number) {
    acquire();
    state->libraries[number].end = 1;
    state->libraries[number].start = 0;
    for (uint32_t k = 0; k < state->fault_count; k++)
        if (state->faults[k].library == number)
            state->faults[k].library = -1;
    release();
}

static void close_window(struct window window) {
    if (guard_of(window.address) >= 0)
        mmap((void *)window.address, window.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
             -1, 0);
    else
        munmap((void *)window.address, window.size);
}

/* Unmap memory with guards: [base, base + size). */
void unmap(int guard, uint64_t base, uint64_t size) {
    acquire();
    uint32_t kept = 0;
    for (uint32_t k = 0; k < state->window_count; k++)
        if (state->windows[k].address - base >= size)
            state->windows[kept++] = state->windows[k];
    state->window_count = kept;
    state->guards[guard] = (struct guard){0};
    munmap((void *)base, size);
    release();
}

/* Move the faults of these libraries to `taken`, which has room for FAULTS; return their number.

With the last of them the windows are closed. left: why threads were made to leave one of the libraries, else 0. */
int take_faults(const int32_t *libraries, int count, struct fault *taken, int32_t *left) {
    uint32_t found = 0, kept = 0;
    acquire();
    for (uint32_t k = 0; k < state->fault_count; k++) {
        int is_own = 0;
        for (int l = 0; l < count; l++)
            is_own |= state->faults[k].library == libraries[l];
        if (is_own)
            taken[found++] = state->faults[k];
        else if (state->faults[k].library >= 0)
            state->faults[kept++] = state->faults[k];
    }
    state->fault_count = kept;
    if (!kept) {
        for (uint32_t k = 0; k < state->window_count; k++)
            close_window(state->windows[k]);
        state->window_count = 0;
        fallocate(state->scratch, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, SCRATCH);
        __atomic_fetch_and(&state->attention, ~FAULTED, __ATOMIC_RELEASE);
    }
    *left = 0;
    for (int l = 0; l < count; l++) {
        *left |= state->libraries[libraries[l]].left;
        state->libraries[libraries[l]].left = 0;
    }
    release();
    if (syscall(SYS_gettid) == getpid()) {
        if (armed)
            set_timer(0, 0);
        __atomic_fetch_and(&state->attention, ~INTERRUPTED, __ATOMIC_RELEASE);
    }
    return found;
}
