// Balls and a box on a floor by sphere tracing, with a soft shadow and one reflection.

constexpr int width = 640, height = 360;
constexpr int max_steps = 96;
constexpr float far = 40.0f;
constexpr float epsilon = 1e-3f;
constexpr float ambient = 0.15f;

struct Ray {
    float3 o, d;
};

struct Hit {
    float t;
    float3 n, color;
};

__device__ float3 operator+(float3 a, float3 b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}

__device__ float3 operator-(float3 a, float3 b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}

__device__ float3 operator*(float s, float3 a) {
    return {s * a.x, s * a.y, s * a.z};
}

__device__ float dot(float3 a, float3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

__device__ float length(float3 a) {
    return sqrtf(dot(a, a));
}

__device__ float3 normalize(float3 a) {
    return (1 / length(a)) * a;
}

__device__ float3 mix(float3 a, float3 b, float t) {
    return (1 - t) * a + t * b;
}

__device__ float3 at(Ray ray, float t) {
    return ray.o + t * ray.d;
}

__device__ float box(float3 p, float3 size) {
    float3 q = {fabsf(p.x) - size.x, fabsf(p.y) - size.y, fabsf(p.z) - size.z};
    float3 outside = {fmaxf(q.x, 0.0f), fmaxf(q.y, 0.0f), fmaxf(q.z, 0.0f)};
    return length(outside) + fminf(fmaxf(fmaxf(q.x, q.y), q.z), 0.0f);
}

__device__ float sdf(float3 p) {
    float d = p.y;
    d = fminf(d, length(p - float3{0.0f, 1.0f, 0.0f}) - 1.0f);
    d = fminf(d, length(p - float3{2.2f, 0.6f, 0.5f}) - 0.6f);
    return fminf(d, box(p - float3{-2.0f, 0.7f, 0.4f}, {0.7f, 0.7f, 0.7f}));
}

__device__ float3 normal(float3 p) {
    float d = sdf(p);
    float x = sdf(p + float3{epsilon, 0.0f, 0.0f}) - d;
    float y = sdf(p + float3{0.0f, epsilon, 0.0f}) - d;
    float z = sdf(p + float3{0.0f, 0.0f, epsilon}) - d;
    return normalize({x, y, z});
}

__device__ float3 sky(float3 d) {
    return mix({1.0f, 0.9f, 0.8f}, {0.3f, 0.5f, 0.9f}, fmaxf(d.y, 0.0f));
}

__device__ Hit march(Ray ray) {
    Hit hit = {0.0f, {0.0f, 0.0f, 0.0f}, sky(ray.d)};
    float d = 1.0f;
    for (int steps = 0; steps < max_steps && hit.t < far && d > epsilon; steps++) {
        d = sdf(at(ray, hit.t));
        hit.t += d;
    }
    if (hit.t < far) {
        float3 p = at(ray, hit.t);
        hit.n = normal(p);
        if (p.y > 2 * epsilon) {
            hit.color = {0.9f, 0.3f, 0.2f};
        } else if (((int(floorf(p.x)) + int(floorf(p.z))) & 1) == 0) {
            hit.color = {0.8f, 0.8f, 0.8f};
        } else {
            hit.color = {0.3f, 0.3f, 0.3f};
        }
    }
    return hit;
}

__device__ float shadow(float3 p, float3 light) {
    float s = 1.0f;
    float t = 0.05f;
    for (int k = 0; k < 32; k++) {
        float d = sdf(p + t * light);
        s = fminf(s, 8.0f * d / t);
        t += fmaxf(d, 0.02f);
    }
    return fminf(fmaxf(s, 0.0f), 1.0f);
}

__device__ float3 shade(Ray ray, Hit hit, float3 light) {
    if (hit.t >= far) {
        return hit.color;
    }
    float lit = fmaxf(dot(hit.n, light), 0.0f) * shadow(at(ray, hit.t), light);
    return (ambient + (1 - ambient) * lit) * hit.color;
}

extern "C" __global__ void render(float3 *pixels, float time) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y;
    if (j >= height) {
        return;
    }
    float3 light = normalize({sinf(time), 1.5f, cosf(time)});
    float u = (2.0f * i - width) / height;
    float v = (2.0f * j - height) / height;
    Ray ray = {{0.0f, 2.0f, -5.0f}, normalize({u, v - 0.3f, 2.0f})};
    Hit hit = march(ray);
    float3 color = shade(ray, hit, light);
    if (hit.t < far) {
        float3 d = ray.d - 2 * dot(ray.d, hit.n) * hit.n;
        Ray mirror = {at(ray, hit.t) + 0.01f * hit.n, d};
        color = mix(color, shade(mirror, march(mirror), light), 0.25f);
    }
    pixels[i * height + j] = {sqrtf(color.x), sqrtf(color.y), sqrtf(color.z)};
}
