// CUDA C on the host, for small sizes: the threads of a block run one after the other, up to the next
// `__syncthreads`. The order of atomic operations, which a GPU leaves open, is theirs.
#pragma once
#include <algorithm>
#include <functional>
#include <math.h>
#include <ucontext.h>
#include <utility>
#include <vector>

#define __device__ static inline
#define __global__
#define __shared__ static
#define __constant__ static const
#define __launch_bounds__(...)
#define __restrict__ __restrict

struct float2 {
    float x, y;
};

struct float3 {
    float x, y, z;
};

struct int2 {
    int x, y;
};

struct int3 {
    int x, y, z;
};

struct Index {
    unsigned x, y, z;
};

static Index threadIdx, blockIdx, blockDim, gridDim;

using std::max;
using std::min;

static inline float rsqrtf(float x) {
    return 1.0f / sqrtf(x);
}

template <typename T> T atomicAdd(T *place, T value) {
    T old = *place;
    *place += value;
    return old;
}

// A thread that waits for its block: a stack of its own, switched by hand.
struct Fiber {
    ucontext_t context;
    std::vector<char> stack;
    bool is_done;
};

static ucontext_t scheduler;
static std::vector<Fiber> fibers;
static std::function<void()> body;

static inline void __syncthreads() {
    swapcontext(&fibers[threadIdx.x].context, &scheduler);
}

static void run_fiber() {
    body();
    fibers[threadIdx.x].is_done = true;
}

static void run_block() {
    fibers.resize(blockDim.x);
    for (Fiber &fiber : fibers) {
        fiber.stack.resize(1 << 16);
        fiber.is_done = false;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        fiber.context.uc_link = &scheduler;
        makecontext(&fiber.context, run_fiber, 0);
    }
    for (bool is_running = true; is_running;) {
        is_running = false;
        for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++) {
            if (!fibers[threadIdx.x].is_done) {
                swapcontext(&scheduler, &fibers[threadIdx.x].context);
                is_running = true;
            }
        }
    }
}

template <typename... Parameters, size_t... Positions>
void launch(
    void (*kernel)(Parameters...), void **arguments, std::index_sequence<Positions...>, bool waits
) {
    body = [&] { kernel(*static_cast<Parameters *>(arguments[Positions])...); };
    for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++) {
        for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) {
            if (waits) {
                run_block();
                continue;
            }
            for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++) {
                body();
            }
        }
    }
}

// waits: the kernel has a barrier, and so its threads need stacks.
template <typename... Parameters>
void launch(
    void (*kernel)(Parameters...), void **arguments, unsigned columns, unsigned rows,
    unsigned threads, bool waits
) {
    gridDim = {columns, rows, 1};
    blockDim = {threads, 1, 1};
    launch(kernel, arguments, std::index_sequence_for<Parameters...>(), waits);
}
