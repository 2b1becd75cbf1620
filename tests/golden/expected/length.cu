// shadesmith 0.1.0, cuda 876330db, length.py:4: length(x: f32, y: f32)

struct Result {
    float value;  // f32
};

struct Args {
    Result *result;  // what the kernel returns
    float x;         // x: f32
    float y;         // y: f32
};

extern "C" __global__ void length_0(const Args args) {
    // length.py:5  return ti.sqrt(x * x + y * y)
    args.result->value = sqrtf(args.x * args.x + args.y * args.y);
}
