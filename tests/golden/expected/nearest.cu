// shadesmith 0.1.0, cuda 8412c06d, nearest.py:24:
// search(points: ndarray[f32[2], 1], found: ndarray[i32, 1])

#define BLOCK 128

// As sqrtf by one instruction: of a subnormal number it is 0.
__device__ inline float normal_sqrt_f32(float x) {
    asm("sqrt.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
}

struct vec2 { float x, y; };

__device__ inline float length(vec2 a) { return normal_sqrt_f32(a.x * a.x + a.y * a.y); }

struct Args {
    const vec2 *points_data;  // points: ndarray[f32[2], 1]
    int *found_data;          // found: ndarray[i32, 1]
    int points_n;             // points.shape[0]
    int found_n;              // found.shape[0]
};

#define points(i) args.points_data[i]
#define found(i) args.found_data[i]

struct nearest_results {
    int k;
    float d;
};

// nearest.py:6  def distance(a: vec2, b: vec2) -> ti.f32:
__device__ float distance(vec2 a, vec2 b) {
    // nearest.py:7  return (a - b).norm()
    return length(vec2{a.x - b.x, a.y - b.y});
}

// nearest.py:11  def nearest(points: ti.types.ndarray(dtype=vec2, ndim=1), p: vec2, visited:
//     ti.ref(ti.i32)) -> (ti.i32, ti.f32):
__device__ nearest_results nearest(const Args &args, vec2 p, int &visited) {
    int best = -1;  // :12
    float least = 1e9f;  // :13
    // nearest.py:14  for k in range(points.shape[0]):
    for (int k = 0; k < args.points_n; k++) {
        float d = distance(points(k), p);  // :15
        if (d < 1e-6f) {  // :16
            // nearest.py:17  return k, d
            return nearest_results{k, d};
        }
        if (d < least) {  // :18
            // nearest.py:19  best, least = k, d
            best = k;
            least = d;
        }
        visited += 1;  // :20
    }
    // nearest.py:21  return best, least
    return nearest_results{best, least};
}

// a launch of up to 32,768 iterations has blocks of 32 threads (few_threads)
// nearest.py:25  for i in found:
extern "C" __global__ void __launch_bounds__(BLOCK) search_0(const Args args) {
    unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= unsigned(args.found_n)) return;
    int i = index;
    int visited = 0;  // :26
    // nearest.py:27  k, d = nearest(points, vec2(i, 0), visited)
    nearest_results results = nearest(args, vec2{(float)i, 0.0f}, visited);
    int k = results.k;
    float d = results.d;
    found(i) = d < 2.0f ? k : -visited;  // :28
}
