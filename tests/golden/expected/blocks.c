// shadesmith 0.1.0, c 5953e203, blocks.py:11: sweep(dt: f32)
#include <math.h>
#include <stdbool.h>

static inline int f32_bits_to_i32(float x) {
    union { float number; int bits; } both = {x};
    return both.bits;
}

static inline float i32_bits_to_f32(int x) {
    union { int bits; float number; } both = {x};
    return both.number;
}

typedef struct { float x, y; } vec2;

static inline float atomic_add_f32(float *address, float value) {
    float old, new;
    const int relaxed = __ATOMIC_RELAXED;
    int *word = (int *)address, bits = __atomic_load_n(word, relaxed);
    do {
        old = i32_bits_to_f32(bits);
        new = old + value;
    } while (!__atomic_compare_exchange_n(word, &bits, f32_bits_to_i32(new), true, relaxed,
        relaxed));
    return old;
}

static inline float vec2_length(vec2 a) { return sqrtf(a.x * a.x + a.y * a.y); }

typedef struct {
    vec2 velocity;
    float mass;
} Cell;
_Static_assert(sizeof(Cell) == 12, "must match the cell size on the host");

typedef struct {
    Cell cells[12];
    float total;
} Block;
_Static_assert(sizeof(Block) == 148, "must match the cell size on the host");

struct Args {
    Block *restrict blocks;  // velocity: field[f32[2], 32x12], mass: field[f32, 32x12], total:
                             // field[f32, 8x4]
    float dt;                // dt: f32
};

#define velocity(i, j) \
    args.blocks[(unsigned)(i) / 4 * 4 + (unsigned)(j) / 3] \
    .cells[(unsigned)(i) % 4 * 3 + (unsigned)(j) % 3].velocity
#define mass(i, j) \
    args.blocks[(unsigned)(i) / 4 * 4 + (unsigned)(j) / 3] \
    .cells[(unsigned)(i) % 4 * 3 + (unsigned)(j) % 3].mass
#define total(i, j) args.blocks[(long long)(i) * 4 + (j)].total

// blocks.py:12  for i, j in velocity:
static inline void task(const struct Args args, int i, int j) {
    // not atomic: no other iteration writes it (demote_atomics)
    velocity(i, j).y -= 9.8f * args.dt;  // :13
    // blocks.py:14  total[i // 4, j // 3] += velocity[i, j].norm() * mass[i, j]
    atomic_add_f32(&total(i >> 2, j / 3), vec2_length(velocity(i, j)) * mass(i, j));
}

void sweep_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int i_0 = 0; i_0 < 8; i_0++) {
        for (int j_0 = 0; j_0 < 4; j_0++) {
            for (int i_1 = 0; i_1 < 4; i_1++) {
                for (int j_1 = 0; j_1 < 3; j_1++) {
                    task(args, i_0 * 4 + i_1, j_0 * 3 + j_1);
                }
            }
        }
    }
}
