// shadesmith 0.1.0, c 1009e05c, length.py:4: length(x: f32, y: f32)
#include <math.h>

struct Result {
    float value;  // f32
};

struct Args {
    struct Result *result;  // what the kernel returns
    float x;                // x: f32
    float y;                // y: f32
};

static inline void task(const struct Args args) {
    // length.py:5  return ti.sqrt(x * x + y * y)
    args.result->value = sqrtf(args.x * args.x + args.y * args.y);
}

void length_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    task(args);
}
