// shadesmith 0.1.0, c ade5edf6, nearest.py:24:
// search(points: ndarray[f32[2], 1], found: ndarray[i32, 1])
#include <math.h>

typedef struct { float x, y; } vec2;

static inline float vec2_length(vec2 a) { return sqrtf(a.x * a.x + a.y * a.y); }

struct Args {
    const vec2 *points_data;  // points: ndarray[f32[2], 1]
    int *found_data;          // found: ndarray[i32, 1]
    int points_n;             // points.shape[0]
    int found_n;              // found.shape[0]
};

#define points(i) args.points_data[i]
#define found(i) args.found_data[i]

typedef struct {
    int k;
    float d;
} nearest_results;

// nearest.py:6  def distance(a: vec2, b: vec2) -> ti.f32:
static inline float distance(vec2 a, vec2 b) {
    // nearest.py:7  return (a - b).norm()
    return vec2_length((vec2){a.x - b.x, a.y - b.y});
}

// nearest.py:11  def nearest(points: ti.types.ndarray(dtype=vec2, ndim=1), p: vec2, visited:
//     ti.ref(ti.i32)) -> (ti.i32, ti.f32):
static inline nearest_results nearest(const struct Args args, vec2 p, int *visited) {
    int best = -1;  // :12
    float least = 1e9f;  // :13
    // nearest.py:14  for k in range(points.shape[0]):
    for (int k = 0; k < args.points_n; k++) {
        float d = distance(points(k), p);  // :15
        if (d < 1e-6f) {  // :16
            // nearest.py:17  return k, d
            return (nearest_results){k, d};
        }
        if (d < least) {  // :18
            // nearest.py:19  best, least = k, d
            best = k;
            least = d;
        }
        *visited += 1;  // :20
    }
    // nearest.py:21  return best, least
    return (nearest_results){best, least};
}

// nearest.py:25  for i in found:
static inline void task(const struct Args args, int i) {
    int visited = 0;  // :26
    // nearest.py:27  k, d = nearest(points, vec2(i, 0), visited)
    nearest_results results = nearest(args, (vec2){(float)i, 0.0f}, &visited);
    int k = results.k;
    float d = results.d;
    found(i) = d < 2.0f ? k : -visited;  // :28
}

void search_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.found_n >= 64)
    for (int i = 0; i < args.found_n; i++) {
        task(args, i);
    }
}
