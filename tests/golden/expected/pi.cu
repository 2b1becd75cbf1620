// shadesmith 0.1.0, cuda ca259053, pi.py:4: pi(hits: ndarray[i32, 1], tries: i32)

#define BLOCK 128

typedef unsigned int uint32_t;
struct Random { uint32_t seed, index, draws; };
struct RandomBits { uint32_t x, y; };

// seed: of the launch and task; index: of the thread.
__device__ inline Random random_start(uint32_t seed, uint32_t index) {
    return Random{seed, index, 0u};
}

// The next 64 random bits.
__device__ inline RandomBits random_bits(Random &rng) {
    uint32_t x = rng.draws++;
    uint32_t y = rng.index;
    uint32_t key = rng.seed;
    for (int i = 0; i < 10; i++) {
        uint32_t high = __umulhi(x, 0xD256D193u);
        uint32_t low = x * 0xD256D193u;
        x = high ^ key ^ y;
        y = low;
        key += 0x9E3779B9u;
    }
    return RandomBits{x, y};
}

// Uniform in [0, 1), a multiple of 2^-24.
__device__ inline float random_f32(Random &rng) {
    return (float)(random_bits(rng).x >> 8) * 5.9604644775390625e-08f;
}

struct Args {
    int *__restrict__ hits_data;  // hits: ndarray[i32, 1]
    int tries;                    // tries: i32
    int hits_n;                   // hits.shape[0]
    uint32_t seed;                // seed of the random numbers of this launch
};

#define hits(i) args.hits_data[i]

// pi.py:5  for i in hits:
__device__ inline void task(const Args &args, int i, uint32_t index) {
    Random rng = random_start(args.seed, index);
    // pi.py:6  for _ in range(tries):
    int hits_i = hits(i);
    for (int j = 0; j < args.tries; j++) {
        // pi.py:7  x = ti.random()
        float x = random_f32(rng);
        // pi.py:8  y = ti.random()
        float y = random_f32(rng);
        if (x * x + y * y < 1.0f) {  // :9
            // pi.py:10  hits[i] += 1
            hits_i += 1;
        }
    }
    hits(i) = hits_i;  // stored once: no other iteration writes it (keep_elements)
}

// a launch of up to 32,768 iterations has blocks of 32 threads (few_threads)
extern "C" __global__ void __launch_bounds__(BLOCK) pi_0(const Args args) {
    unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < unsigned(args.hits_n)) task(args, int(index), index);
}
