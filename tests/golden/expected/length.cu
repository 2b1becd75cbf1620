// shadesmith 0.1.0, cuda 480bac6c, length.py:4: length(x: f32, y: f32)

struct Result {
    float value;  // f32
};

struct Args {
    Result *result;  // what the kernel returns
    float x;         // x: f32
    float y;         // y: f32
};

__device__ inline void task(const Args &args) {
    // length.py:5  return ti.sqrt(x * x + y * y)
    args.result->value = sqrtf(args.x * args.x + args.y * args.y);
}

extern "C" __global__ void length_0(const Args args) {
    task(args);
}
