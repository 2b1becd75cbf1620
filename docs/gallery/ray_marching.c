// shadesmith 0.1.0, c 19715593, ray_marching.py:60: render(image: ndarray[f32[3], 2])
#include <math.h>
#include <stdbool.h>

enum { shapes_n0 = 4 };  // shape of shapes
enum { WIDTH = 480, HEIGHT = 320 };  // captured

// The lesser of two, a number if one is NaN. Compilers vectorize it, while `fminf` is a call.
static inline float min_f32(float a, float b) {
    float least = a < b ? a : b;  // `b` if one is NaN
    return b != b ? a : least;
}

// The greater of two, a number if one is NaN. Compilers vectorize it, while `fmaxf` is a call.
static inline float max_f32(float a, float b) {
    float greatest = a > b ? a : b;  // `b` if one is NaN
    return b != b ? a : greatest;
}

// The lesser of two of which `b` is a number, the number if `a` is NaN.
static inline float at_most_f32(float a, float b) { return a < b ? a : b; }

typedef struct { float x, y, z; } vec3;

static inline vec3 vec3_abs(vec3 a) { return (vec3){fabsf(a.x), fabsf(a.y), fabsf(a.z)}; }
static inline vec3 vec3_add(vec3 a, vec3 b) { return (vec3){a.x + b.x, a.y + b.y, a.z + b.z}; }
static inline float vec3_dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline vec3 vec3_mul_sv(float a, vec3 b) { return (vec3){a * b.x, a * b.y, a * b.z}; }
static inline vec3 vec3_mul_vs(vec3 a, float b) { return (vec3){a.x * b, a.y * b, a.z * b}; }
static inline float vec3_length(vec3 a) { return sqrtf(a.x * a.x + a.y * a.y + a.z * a.z); }
static inline vec3 vec3_div_vs(vec3 a, float b) { return (vec3){a.x / b, a.y / b, a.z / b}; }
static inline vec3 vec3_normalize(vec3 a) { return vec3_div_vs(a, vec3_length(a)); }
static inline vec3 vec3_sub(vec3 a, vec3 b) { return (vec3){a.x - b.x, a.y - b.y, a.z - b.z}; }

typedef struct {
    vec3 centre, size, colour;
    bool is_box;
} Shape;
_Static_assert(sizeof(Shape) == 40, "must match the size on the host");

typedef struct {
    float distance;
    vec3 colour;
} Hit;

struct Args {
    vec3 *restrict image_data;          // image: ndarray[f32[3], 2]
    const Shape *restrict shapes_data;  // shapes: field[Shape, 4]
    int image_n0;                       // image.shape[0]
    int image_n1;                       // image.shape[1]
};

#define image(i, j) args.image_data[(long long)(i) * args.image_n1 + (j)]
#define shapes(i) args.shapes_data[i]

// ti.math.mix
static inline float mix(float x, float y, float a) { return x * (1.0f - a) + y * a; }

// ti.math.mix
static inline vec3 mix_vec3(vec3 x, vec3 y, float a) {
    return vec3_add(vec3_mul_vs(x, 1.0f - a), vec3_mul_vs(y, a));
}

// ray_marching.py:35  def nearest(shapes: ti.template(), p):
static inline Hit nearest(const struct Args args, vec3 p) {
    // ray_marching.py:36  hit = Hit(1e9, vec3(0.0))
    Hit hit = {1e9f, (vec3){0.0f, 0.0f, 0.0f}};
    // ray_marching.py:37  for k in range(shapes.shape[0]):
    for (int k = 0; k < shapes_n0; k++) {
        // ray_marching.py:22  d = p - self.centre
        vec3 d = vec3_sub(p, shapes(k).centre);
        // ray_marching.py:23  q = ti.abs(d) - self.size
        vec3 q = vec3_sub(vec3_abs(d), shapes(k).size);
        // ray_marching.py:24  outside = ti.max(q, 0.0).norm() + ti.min(q.max(), 0.0) - 0.06
        float outside = vec3_length((vec3){max_f32(q.x, 0.0f), max_f32(q.y, 0.0f),
            max_f32(q.z, 0.0f)}) + min_f32(max_f32(max_f32(q.x, q.y), q.z), 0.0f) - 0.06f;
        // ray_marching.py:25  return outside if self.is_box else d.norm() - self.size.x
        float d_f32 = shapes(k).is_box ? outside : vec3_length(d) - shapes(k).size.x;
        // ray_marching.py:39  h = clamp(0.5 + 0.5 * (hit.distance - d) / blend, 0.0, 1.0)
        float h = min_f32(max_f32(0.5f + 0.5f * (hit.distance - d_f32) / 0.35f, 0.0f), 1.0f);
        // ray_marching.py:40  hit = Hit(mix(hit.distance, d, h) - blend * h * (1 - h),
        //     mix(hit.colour, shapes[k].colour, h))
        hit = (Hit){mix(hit.distance, d_f32, h) - 0.35f * h * (1.0f - h),
            mix_vec3(hit.colour, shapes(k).colour, h)};
    }
    float tile = 0.75f + 0.25f * (((int)floorf(p.x) + (int)floorf(p.z)) & 1);  // :41
    if (p.y < hit.distance) {  // :42
        hit = (Hit){p.y, (vec3){0.8f * tile, 0.8f * tile, 0.75f * tile}};  // :43
    }
    return hit;  // :44
}

// ray_marching.py:48  def shadow(shapes: ti.template(), p, light):
static inline float shadow(const struct Args args, vec3 p, vec3 light) {
    float brightest = 1.0f, t = 0.05f;  // :49
    // ray_marching.py:50  for _ in range(40):
    for (int i = 0; i < 40; i++) {
        // ray_marching.py:51  d = nearest(shapes, p + t * light).distance
        float d = nearest(args, vec3_add(p, vec3_mul_sv(t, light))).distance;
        // ray_marching.py:52  brightest = ti.min(brightest, 9 * d / t)
        brightest = at_most_f32(9.0f * d / t, brightest);
        // ray_marching.py:53  t += clamp(d, 0.03, 0.4)
        t += min_f32(max_f32(d, 0.03f), 0.4f);
        if (brightest < 0.01f || t > 9.0f) {  // :54
            break;  // :55
        }
    }
    // ray_marching.py:56  return clamp(brightest, 0.0, 1.0)
    return min_f32(max_f32(brightest, 0.0f), 1.0f);
}

// ray_marching.py:61  for i, j in image:
static inline void task(const struct Args args, int i, int j) {
    // ray_marching.py:62  eye, light = vec3(0.0, 2.0, -5.5), normalize(vec3(0.6, 0.9, -0.5))
    vec3 eye = {0.0f, 2.0f, -5.5f};
    vec3 light = vec3_normalize((vec3){0.6f, 0.9f, -0.5f});
    // ray_marching.py:63  ray = normalize(vec3((i - WIDTH / 2) / HEIGHT, (j - HEIGHT / 2) / HEIGHT
    //     - 0.22, 1.0))
    vec3 ray = vec3_normalize((vec3){(i - WIDTH / 2.0f) / HEIGHT,
        (j - HEIGHT / 2.0f) / HEIGHT - 0.22f, 1.0f});
    // ray_marching.py:64  t, hit = 0.0, Hit(0.0, vec3(0.0))
    float t = 0.0f;
    Hit hit = {0.0f, (vec3){0.0f, 0.0f, 0.0f}};
    // ray_marching.py:65  for _ in range(120):
    for (int k = 0; k < 120; k++) {
        // ray_marching.py:66  hit = nearest(shapes, eye + t * ray)
        hit = nearest(args, vec3_add(eye, vec3_mul_sv(t, ray)));
        t += hit.distance;  // :67
        if (hit.distance < 0.001f || t > 30.0f) {  // :68
            break;  // :69
        }
    }
    // ray_marching.py:70  sky = mix(vec3(0.9, 0.9, 0.95), vec3(0.35, 0.55, 0.9), clamp(ray.y * 2,
    //     0.0, 1.0))
    vec3 sky = mix_vec3((vec3){0.9f, 0.9f, 0.95f}, (vec3){0.35f, 0.55f, 0.9f},
        min_f32(max_f32(ray.y * 2.0f, 0.0f), 1.0f));
    image(i, j) = sky;  // :71
    if (t < 30.0f) {  // :72
        // ray_marching.py:73  p, normal = eye + t * ray, vec3(0.0)
        vec3 p = vec3_add(eye, vec3_mul_sv(t, ray)), normal = {0.0f, 0.0f, 0.0f};
        // ray_marching.py:74  for k in ti.static(range(3)):
        #pragma GCC unroll 3
        for (int k = 0; k < 3; k++) {
            vec3 step = {0.0f, 0.0f, 0.0f};  // :75
            ((float *)&step)[k] = 0.001f;  // :76
            // ray_marching.py:77  normal[k] = nearest(shapes, p + step).distance - nearest(shapes,
            //     p - step).distance
            ((float *)&normal)[k] = nearest(args, vec3_add(p, step)).distance
                - nearest(args, vec3_sub(p, step)).distance;
        }
        // ray_marching.py:78  normal = normalize(normal)
        normal = vec3_normalize(normal);
        // ray_marching.py:79  diffuse = ti.max(dot(normal, light), 0.0) * shadow(shapes, p + 0.01 *
        //     normal, light)
        float diffuse = max_f32(vec3_dot(normal, light), 0.0f)
            * shadow(args, vec3_add(p, vec3_mul_sv(0.01f, normal)), light);
        // ray_marching.py:80  lit = hit.colour * (0.25 + 0.2 * normal.y + 0.85 * diffuse)
        vec3 lit = vec3_mul_sv(0.25f + 0.2f * normal.y + 0.85f * diffuse, hit.colour);
        // ray_marching.py:81  image[i, j] = mix(lit, sky, 1 - ti.exp(-0.003 * t * t))
        image(i, j) = mix_vec3(lit, sky, 1.0f - expf(-0.003f * t * t));
    }
}

void render_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) \
        if ((long long)args.image_n0 * args.image_n1 >= 64)
    for (int i = 0; i < args.image_n0; i++) {
        for (int j = 0; j < args.image_n1; j++) {
            task(args, i, j);
        }
    }
}
