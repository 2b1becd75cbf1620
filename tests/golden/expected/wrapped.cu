// shadesmith 0.1.0, cuda 7a3d834e, wrapped.py:7: wrapped(a: ndarray[i32, 2], n: i32, m: i32)

#define BLOCK 128

typedef unsigned int uint32_t;

// Quotient rounded toward zero; 0 if the divisor is 0.
__device__ inline int div_i32(int a, int b) {
    // x / 0 is undefined, and so is the lowest number / -1
    return b == 0 ? 0 : b == -1 ? int(-uint32_t(a)) : a / b;
}

// Remainder with the sign of the dividend; 0 if the divisor is 0.
__device__ inline int rem_i32(int a, int b) { return b == 0 || b == -1 ? 0 : a % b; }

// Python's //: quotient rounded toward minus infinity; 0 if the divisor is 0.
__device__ inline int floor_div_i32(int a, int b) {
    return div_i32(a, b) - (rem_i32(a, b) != 0 && (a ^ b) < 0);
}

// Python's % for a number from -b to 2 * b - 1, without a division.
__device__ inline int mod_near_i32(int a, int b) { return a < 0 ? a + b : a < b ? a : a - b; }

// How to divide by a number of the launch without a division.
struct Divisor { unsigned multiplier, shift; };

// n / d for n, d up to 2^31; a launch packs `by` for d.
__device__ inline unsigned divide(unsigned n, Divisor by) {
    return (__umulhi(n, by.multiplier) + n) >> by.shift;
}

// a % b for a >= 0 and b > 0, as `divide`.
__device__ inline int remainder_by(int a, int b, Divisor by) { return a - int(divide(a, by)) * b; }

using ivec2 = int2;

__device__ inline ivec2 floor_div(ivec2 a, int b) {
    return {floor_div_i32(a.x, b), floor_div_i32(a.y, b)};
}

struct Args {
    int *__restrict__ a_data;                 // a: ndarray[i32, 2]
    const uint32_t *__restrict__ table_data;  // table: field[u32, 100]
    int n;                                    // n: i32
    int m;                                    // m: i32
    int a_n0;                                 // a.shape[0]
    int a_n1;                                 // a.shape[1]
    Divisor by_a_n1;                          // to divide by a_n1 (launch_divisors)
    Divisor by_m;                             // to divide by m (launch_divisors)
};

#define a(i, j) args.a_data[(long long)(i) * args.a_n1 + (j)]
#define table(i) args.table_data[i]

// task 0 of 2: range_for over a
// wrapped.py:8  for i, j in a:
__device__ inline void task_0(const Args &args, int i, int j) {
    // wrapped.py:9  a[(i + 1) % a.shape[0], j // 2 % a.shape[1]] += (i - 1) % 8
    atomicAdd(&a(mod_near_i32(i + 1, args.a_n0), j >> 1), (i - 1) & 7);
}

extern "C" __global__ void __launch_bounds__(BLOCK) wrapped_0(const Args args) {
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x;
        index < unsigned(args.a_n0) * unsigned(args.a_n1); index += gridDim.x * BLOCK) {
        unsigned i = divide(index, args.by_a_n1);
        task_0(args, int(i), int(index - i * args.a_n1));
    }
}

// task 1 of 2: range_for over k
// wrapped.py:10  for k in range(n):
__device__ inline void task_1(const Args &args, int k) {
    // wrapped.py:11  tile = ti.Vector([k, n - 1 - k]) // 16
    ivec2 tile = floor_div(ivec2{k, args.n - 1 - k}, 16);
    // wrapped.py:12  a[tile.x, k % 16] = table[k % 100] % 10 + (k - m) // 4
    a(tile.x, k & 15) = (int)(table(k % 100) % 10u + (uint32_t)((k - args.m) >> 2));
    if (k > args.m && args.m > 0) {  // :13
        // wrapped.py:14  a[0, 0] += (k - m) // 4 + k % m
        atomicAdd(&a(0, 0), ((k - args.m) >> 2) + remainder_by(k, args.m, args.by_m));
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) wrapped_1(const Args args) {
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x; index < unsigned(max(args.n, 0));
        index += gridDim.x * BLOCK) {
        task_1(args, int(index));
    }
}
