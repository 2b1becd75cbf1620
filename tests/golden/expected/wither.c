// shadesmith 0.1.0, c 6c23daeb, wither.py:9: wither(dt: f32)
#include <stdbool.h>
#include <stdint.h>

enum { alive_n0 = 64 };  // alive.shape[0]
enum { alive_n1 = 48 };  // alive.shape[1]

static inline bool bit_is_set(const uint32_t *mask, uint32_t bit) {
    return (__atomic_load_n(&mask[bit / 32u], __ATOMIC_RELAXED) >> bit % 32u & 1u) != 0u;
}

// Clear a bit; returns whether this thread cleared it.
static inline bool clear_bit(uint32_t *mask, uint32_t bit) {
    uint32_t one = 1u << bit % 32u;
    return bit_is_set(mask, bit)
        && (__atomic_fetch_and(&mask[bit / 32u], ~one, __ATOMIC_RELAXED) & one) != 0u;
}

typedef struct {
    int alive;
    float age;
} GridCell;
_Static_assert(sizeof(GridCell) == 8, "must match the cell size on the host");

struct Args {
    GridCell *grid;       // alive: field[i32, 64x48], age: field[f32, 64x48]
    uint32_t *grid_mask;  // grid: a bit per cell, set if the cell is active
    float dt;             // dt: f32
};

#define grid_is_active(i, j) bit_is_set(args.grid_mask, (long long)(i) * 48 + (j))
#define alive(i, j) args.grid[(long long)(i) * 48 + (j)].alive
#define age(i, j) args.grid[(long long)(i) * 48 + (j)].age

static inline bool deactivate_grid(const struct Args args, int i, int j) {
    return clear_bit(args.grid_mask, i * 48 + j);
}

// wither.py:10  for i, j in alive:
static inline void task(const struct Args args, int i, int j) {
    if (grid_is_active(i, j)) {
        age(i, j) += args.dt;  // :11, not atomic: no other iteration writes it (demote_atomics)
        if (age(i, j) > 9.0f) {  // :12
            // wither.py:13  ti.deactivate(grid, [i, j])
            if (deactivate_grid(args, i, j)) {
                alive(i, j) = 0;
                age(i, j) = 0.0f;
            }
        }
    }
}

void wither_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int i = 0; i < alive_n0; i++) {
        for (int j = 0; j < alive_n1; j++) {
            task(args, i, j);
        }
    }
}
