// shadesmith 0.1.0, c 386fd010, path_tracer.py:52: render(image: ndarray[f32[3], 2])
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { spheres_n0 = 7 };  // shape of spheres
// captured
enum { PATHS = 256, WIDTH = 400, HEIGHT = 260, BOUNCES = 7, LAMP = 3, METAL = 1, GLASS = 2 };
static const float pi = 3.1415927f;  // ti.math.pi

typedef struct { uint32_t seed, index, draws; } Random;
typedef struct { uint32_t x, y; } RandomBits;

// seed: of the launch and task; index: of the thread.
static inline Random random_start(uint32_t seed, uint32_t index) {
    return (Random){seed, index, 0u};
}

// The next 64 random bits.
static inline RandomBits random_bits(Random *rng) {
    uint32_t x = rng->draws++;
    uint32_t y = rng->index;
    uint32_t key = rng->seed;
    for (int i = 0; i < 10; i++) {
        uint64_t product = (uint64_t)x * 0xD256D193u;
        x = (uint32_t)(product >> 32) ^ key ^ y;
        y = (uint32_t)product;
        key += 0x9E3779B9u;
    }
    return (RandomBits){x, y};
}

// Uniform in [0, 1), a multiple of 2^-24.
static inline float random_f32(Random *rng) {
    return (float)(random_bits(rng).x >> 8) * 5.9604644775390625e-08f;
}

typedef struct { float x, y, z; } vec3;

static inline vec3 vec3_add(vec3 a, vec3 b) { return (vec3){a.x + b.x, a.y + b.y, a.z + b.z}; }
static inline vec3 vec3_div_vs(vec3 a, float b) { return (vec3){a.x / b, a.y / b, a.z / b}; }
static inline float vec3_dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline vec3 vec3_mul_sv(float a, vec3 b) { return (vec3){a * b.x, a * b.y, a * b.z}; }
static inline vec3 vec3_mul(vec3 a, vec3 b) { return (vec3){a.x * b.x, a.y * b.y, a.z * b.z}; }
static inline float vec3_length(vec3 a) { return sqrtf(a.x * a.x + a.y * a.y + a.z * a.z); }
static inline vec3 vec3_normalize(vec3 a) { return vec3_div_vs(a, vec3_length(a)); }
static inline vec3 vec3_sub(vec3 a, vec3 b) { return (vec3){a.x - b.x, a.y - b.y, a.z - b.z}; }

typedef struct {
    vec3 centre;
    float radius;
    vec3 colour;
    int kind;
} Sphere;
_Static_assert(sizeof(Sphere) == 32, "must match the size on the host");

struct Args {
    vec3 *restrict image_data;            // image: ndarray[f32[3], 2]
    const Sphere *restrict spheres_data;  // spheres: field[Sphere, 7]
    int image_n0;                         // image.shape[0]
    int image_n1;                         // image.shape[1]
    uint32_t seed;                        // seed of the random numbers of this launch
};

#define image(i, j) args.image_data[(long long)(i) * args.image_n1 + (j)]
#define spheres(i) args.spheres_data[i]

// path_tracer.py:17  def hit_sphere(sphere, origin, ray):
static inline float hit_sphere(Sphere sphere, vec3 origin, vec3 ray) {
    // path_tracer.py:19  to = origin - sphere.centre
    vec3 to = vec3_sub(origin, sphere.centre);
    // path_tracer.py:20  b = dot(to, ray)
    float b = vec3_dot(to, ray);
    // path_tracer.py:21  root = b * b - dot(to, to) + sphere.radius**2
    float root = b * b - vec3_dot(to, to) + sphere.radius * sphere.radius;
    float t = 1e9f;  // :22
    if (root > 0.0f) {  // :23
        float near = -b - sqrtf(root), far = -b + sqrtf(root);  // :24
        t = near > 0.001f ? near : far > 0.001f ? far : 1e9f;  // :25
    }
    return t;  // :26
}

// ti.math.mix
static inline vec3 mix(vec3 x, vec3 y, float a) {
    return vec3_add(vec3_mul_sv(1.0f - a, x), vec3_mul_sv(a, y));
}

// path_tracer.py:30  def random_direction():
static inline vec3 random_direction(Random *rng) {
    // path_tracer.py:31  z, angle = 2 * ti.random() - 1, 2 * ti.math.pi * ti.random()
    float z = 2.0f * random_f32(rng) - 1.0f, angle = 2.0f * pi * random_f32(rng);
    float r = sqrtf(1.0f - z * z);  // :32
    return (vec3){r * cosf(angle), r * sinf(angle), z};  // :33
}

// ti.math.reflect
static inline vec3 reflect(vec3 x, vec3 n) {
    float k = vec3_dot(x, n);
    return vec3_sub(x, vec3_mul_sv(2.0f * k, n));
}

// ti.math.refract
static inline vec3 refract(vec3 x, vec3 n, float eta) {
    float cosine = vec3_dot(x, n);
    float k = 1.0f - eta * eta * (1.0f - cosine * cosine);
    vec3 result = vec3_mul_sv(0.0f, x);
    if (k >= 0.0f) {
        result = vec3_sub(vec3_mul_sv(eta, x), vec3_mul_sv(eta * cosine + sqrtf(k), n));
    }
    return result;
}

// path_tracer.py:37  def bounce(sphere, ray, normal):
static inline vec3 bounce(Random *rng, Sphere sphere, vec3 ray, vec3 normal) {
    // path_tracer.py:39  direction = normalize(normal + random_direction() * 0.999)
    vec3 random_direction_result = random_direction(rng);
    vec3 direction = vec3_normalize(vec3_add(normal, vec3_mul_sv(0.999f, random_direction_result)));
    if (sphere.kind == METAL) {  // :40
        // path_tracer.py:41  direction = normalize(reflect(ray, normal) + 0.05 *
        //     random_direction())
        vec3 random_direction_result_1 = random_direction(rng);
        direction = vec3_normalize(vec3_add(reflect(ray, normal),
            vec3_mul_sv(0.05f, random_direction_result_1)));
    } else if (sphere.kind == GLASS) {  // :42
        // path_tracer.py:43  inside = dot(ray, normal) > 0
        bool inside = vec3_dot(ray, normal) > 0.0f;
        // path_tracer.py:44  facing, ratio = -normal if inside else normal, 1.5 if inside else 1 /
        //     1.5
        vec3 facing = inside ? (vec3){-normal.x, -normal.y, -normal.z} : normal;
        float ratio = inside ? 1.5f : 0.6666667f;
        // path_tracer.py:45  mirror = 0.04 + 0.96 * (1 - ti.abs(dot(ray, normal))) ** 5  #
        //     Schlick's approximation
        float difference = 1.0f - fabsf(vec3_dot(ray, normal)), squared = difference * difference;
        float mirror = 0.04f + 0.96f * (difference * (squared * squared));
        vec3 bent = refract(ray, facing, ratio);  // :46
        // path_tracer.py:47  direction = reflect(ray, facing) if ti.random() < mirror or
        //     bent.norm() < 0.5 else normalize(bent)
        float random = random_f32(rng);
        direction = random < mirror || vec3_length(bent) < 0.5f ? reflect(ray, facing)
            : vec3_normalize(bent);
    }
    return direction;  // :48
}

// path_tracer.py:53  for i, j in image:
static inline void task(const struct Args args, int i, int j, uint32_t index) {
    Random rng = random_start(args.seed, index);
    vec3 total = {0.0f, 0.0f, 0.0f};  // :54
    // path_tracer.py:55  for _ in range(PATHS):
    for (int k = 0; k < PATHS; k++) {
        vec3 origin = {0.0f, 1.3f, -4.6f}, share = {1.0f, 1.0f, 1.0f};  // :56
        // path_tracer.py:58  vec3((i + ti.random() - WIDTH / 2) / HEIGHT, (j + ti.random() - HEIGHT
        //     / 2) / HEIGHT - 0.12, 1.1)
        float random_x = random_f32(&rng), random_y = random_f32(&rng);
        // path_tracer.py:57  ray = normalize( ...
        vec3 ray = vec3_normalize((vec3){(i + random_x - WIDTH / 2.0f) / HEIGHT,
            (j + random_y - HEIGHT / 2.0f) / HEIGHT - 0.12f, 1.1f});
        // path_tracer.py:60  for _ in range(BOUNCES):
        for (int l = 0; l < BOUNCES; l++) {
            // path_tracer.py:61  nearest, which = 1e9, -1
            float nearest = 1e9f;
            int which = -1;
            // path_tracer.py:62  for k in range(spheres.shape[0]):
            for (int k_1 = 0; k_1 < spheres_n0; k_1++) {
                // path_tracer.py:63  t = hit_sphere(spheres[k], origin, ray)
                float t = hit_sphere(spheres(k_1), origin, ray);
                // path_tracer.py:64  if t < nearest:
                which += (k_1 - which) * (int)(t < nearest);  // without a branch (short_extremes)
                nearest = t < nearest ? t : nearest;
            }
            if (which < 0) {  // :66
                // path_tracer.py:67  total += share * ti.math.mix(vec3(0.75), vec3(0.25, 0.4,
                //     0.75), 0.5 + 0.5 * ray.y)
                total = vec3_add(total,
                    vec3_mul(share, mix((vec3){0.75f, 0.75f, 0.75f}, (vec3){0.25f, 0.4f, 0.75f},
                    0.5f + 0.5f * ray.y)));
                break;  // :68
            }
            Sphere sphere = spheres(which);  // :69
            if (sphere.kind == LAMP) {  // :70
                // path_tracer.py:71  total += share * sphere.colour
                total = vec3_add(total, vec3_mul(share, sphere.colour));
                break;  // :72
            }
            // path_tracer.py:73  share *= sphere.colour
            share = vec3_mul(share, sphere.colour);
            // path_tracer.py:74  origin += nearest * ray
            origin = vec3_add(origin, vec3_mul_sv(nearest, ray));
            // path_tracer.py:75  ray = bounce(sphere, ray, (origin - sphere.centre) /
            //     sphere.radius)
            ray = bounce(&rng, sphere, ray,
                vec3_div_vs(vec3_sub(origin, sphere.centre), sphere.radius));
        }
    }
    // path_tracer.py:76  image[i, j] = total / PATHS
    image(i, j) = vec3_div_vs(total, (float)PATHS);
}

void render_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) \
        if ((long long)args.image_n0 * args.image_n1 >= 64)
    for (int i = 0; i < args.image_n0; i++) {
        for (int j = 0; j < args.image_n1; j++) {
            task(args, i, j, ((uint32_t)(i) * args.image_n1 + j));
        }
    }
}
