// shadesmith 0.1.0, c 76c12e2c, wrapped.py:7: wrapped(a: ndarray[i32, 2], n: i32, m: i32)
#include <stdint.h>

// Quotient rounded toward zero; 0 if the divisor is 0.
static inline int div_i32(int a, int b) {
    return b == 0 ? 0 : b == -1 ? -a : a / b;  // x / 0 and the lowest number / -1 trap on x86
}

// Remainder with the sign of the dividend; 0 if the divisor is 0.
static inline int rem_i32(int a, int b) { return b == 0 || b == -1 ? 0 : a % b; }

// Python's //: quotient rounded toward minus infinity; 0 if the divisor is 0.
static inline int floor_div_i32(int a, int b) {
    return div_i32(a, b) - (rem_i32(a, b) != 0 && (a ^ b) < 0);
}

typedef struct { int x, y; } ivec2;

static inline int atomic_add_i32(int *address, int value) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

static inline ivec2 ivec2_floor_div_vs(ivec2 a, int b) {
    return (ivec2){floor_div_i32(a.x, b), floor_div_i32(a.y, b)};
}

struct Args {
    int *restrict a_data;                 // a: ndarray[i32, 2]
    const uint32_t *restrict table_data;  // table: field[u32, 100]
    int n;                                // n: i32
    int m;                                // m: i32
    int a_n0;                             // a.shape[0]
    int a_n1;                             // a.shape[1]
};

#define a(i, j) args.a_data[(long long)(i) * args.a_n1 + (j)]
#define table(i) args.table_data[i]

// task 0 of 2: range_for over a
// wrapped.py:8  for i, j in a:
static inline void task_0(const struct Args args, int i, int j) {
    // wrapped.py:9  a[(i + 1) % a.shape[0], j // 2 % a.shape[1]] += (i - 1) % 8
    atomic_add_i32(&a((i + 1) % args.a_n0, (j >> 1) % args.a_n1), (i - 1) & 7);
}

void wrapped_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) \
        if ((long long)args.a_n0 * args.a_n1 >= 8192)
    for (int i = 0; i < args.a_n0; i++) {
        for (int j = 0; j < args.a_n1; j++) {
            task_0(args, i, j);
        }
    }
}

// task 1 of 2: range_for over k
// wrapped.py:10  for k in range(n):
static inline void task_1(const struct Args args, int k) {
    // wrapped.py:11  tile = ti.Vector([k, n - 1 - k]) // 16
    ivec2 tile = ivec2_floor_div_vs((ivec2){k, args.n - 1 - k}, 16);
    // wrapped.py:12  a[tile.x, k % 16] = table[k % 100] % 10 + (k - m) // 4
    a(tile.x, k & 15) = (int)(table(k % 100) % 10u + (uint32_t)((k - args.m) >> 2));
    if (k > args.m && args.m > 0) {  // :13
        // wrapped.py:14  a[0, 0] += (k - m) // 4 + k % m
        atomic_add_i32(&a(0, 0), ((k - args.m) >> 2) + k % args.m);
    }
}

void wrapped_1(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.n >= 8192)
    for (int k = 0; k < args.n; k++) {
        task_1(args, k);
    }
}
