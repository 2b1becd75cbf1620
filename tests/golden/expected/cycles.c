// shadesmith 0.1.0, c 062e1144, cycles.py:16: cycles(lengths: ndarray[i32, 1])

struct Args {
    int *restrict lengths_data;  // lengths: ndarray[i32, 1]
    int lengths_n;               // lengths.shape[0]
};

#define lengths(i) args.lengths_data[i]

static inline int halve(int n, int steps);

// cycles.py:12  def grow(n: ti.i32, steps: ti.i32) -> ti.i32:
static inline int grow(int n, int steps) { return n == 1 ? steps : halve(3 * n + 1, steps + 1); }

// cycles.py:5  def halve(n: ti.i32, steps: ti.i32) -> ti.i32:
static inline int halve(int n, int steps) {
    // cycles.py:6  if n % 2 == 0:
    if ((n & 1) == 0) {
        // cycles.py:7  return halve(n // 2, steps + 1)
        return halve(n >> 1, steps + 1);
    }
    return grow(n, steps);  // :8
}

// cycles.py:17  for n in lengths:
static inline void task(const struct Args args, int n) {
    lengths(n) = halve(n + 1, 0);  // :18
}

void cycles_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(dynamic, 64) if (args.lengths_n >= 64)
    for (int n = 0; n < args.lengths_n; n++) {
        task(args, n);
    }
}
