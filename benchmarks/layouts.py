"""A 3-D particle update on fields of each layout, against the same update written by hand in CUDA C, in the same run.

usage: python benchmarks/layouts.py [--repeat N] [--log2 N] [--targets cuda,vulkan]     needs an NVIDIA GPU with CuPy
Each row: GB/s by hand, GB/s of shadesmith, ratio as median [lowest, highest] of interleaved rounds. By hand means
`__restrict__` pointers, each value read once and written once: 48 bytes a particle.
"""

from __future__ import annotations

import argparse

import cupy
from gpu import compare

import shadesmith as ti

HAND = r"""
struct Particle { float px, py, pz, vx, vy, vz; };
struct Block { float3 pos[64], vel[64]; };
#define UPDATE(px, py, pz, vx, vy, vz) \
    vx -= k * px * dt; vy -= k * py * dt; vz -= k * pz * dt; px += vx * dt; py += vy * dt; pz += vz * dt;
extern "C" __global__ void soa(float *__restrict__ px, float *__restrict__ py, float *__restrict__ pz,
                               float *__restrict__ vx, float *__restrict__ vy, float *__restrict__ vz,
                               float k, float dt, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { UPDATE(px[i], py[i], pz[i], vx[i], vy[i], vz[i]) }
}
extern "C" __global__ void aos(Particle *__restrict__ p, float k, float dt, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { Particle q = p[i]; UPDATE(q.px, q.py, q.pz, q.vx, q.vy, q.vz) p[i] = q; }
}
extern "C" __global__ void two(float3 *__restrict__ p, float3 *__restrict__ v, float k, float dt, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { float3 a = p[i], b = v[i]; UPDATE(a.x, a.y, a.z, b.x, b.y, b.z) p[i] = a; v[i] = b; }
}
extern "C" __global__ void blocks(Block *__restrict__ blocks, float k, float dt, int n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float3 *p = &blocks[i / 64].pos[i % 64], *v = &blocks[i / 64].vel[i % 64], a = *p, b = *v;
        UPDATE(a.x, a.y, a.z, b.x, b.y, b.z)
        *p = a;
        *v = b;
    }
}
"""
BYTES = 48
"""Read and written for each particle."""


def update_of(pos: ti.MatrixField, vel: ti.MatrixField):
    """Return the update of two vector fields."""

    @ti.kernel
    def update(k: ti.f32, dt: ti.f32):
        for i in pos:
            vel[i] -= k * pos[i] * dt
            pos[i] += vel[i] * dt

    return update


def make_vectors(n: int, layout: ti.Layout):
    """Return the update of two vector fields made with a shape."""
    return update_of(*(ti.Vector.field(3, ti.f32, n, layout=layout) for _ in range(2)))


def make_nodes(n: int, layout: ti.Layout):
    """Return the update of two vector fields in one node, or in one each."""
    pos, vel = (ti.Vector.field(3, ti.f32) for _ in range(2))
    particles = ti.root.dense(ti.i, n)
    particles.place(pos)
    (particles if layout == ti.Layout.AOS else ti.root.dense(ti.i, n)).place(vel)
    return update_of(pos, vel)


def make_blocks(n: int, layout: ti.Layout):
    """Return the update of particles in blocks of 64, in each block one array after the other (AoSoA)."""
    pos, vel = (ti.Vector.field(3, ti.f32) for _ in range(2))
    blocks = ti.root.dense(ti.i, n // 64)
    for field in (pos, vel):
        blocks.dense(ti.i, 64).place(field)
    return update_of(pos, vel)


def make_structs(n: int, layout: ti.Layout):
    """Return the update of a field of structs."""
    vec3 = ti.types.vector(3, ti.f32)
    particles = ti.types.struct(pos=vec3, vel=vec3).field(shape=n, layout=layout)

    @ti.kernel
    def update(k: ti.f32, dt: ti.f32):
        for i in particles:
            particles[i].vel -= k * particles[i].pos * dt
            particles[i].pos += particles[i].vel * dt

    return update


def run(arch, name: str, make, layout: ti.Layout, by_hand, arrays: list[tuple[int, ...]], repeat: int, n: int) -> None:
    """Compare one layout with its hand-written form; the field is freed before the next."""
    ti.init(arch=arch, enable_fallback=False)
    update = make(n, layout)
    memory = [cupy.ones(shape, cupy.float32) for shape in arrays]
    numbers = cupy.float32(0.5), cupy.float32(0.001)
    wait = cupy.cuda.Stream.null.synchronize
    launch = (lambda: by_hand((-(-n // 256),), (256,), (*memory, *numbers, n)), wait)
    compare(name, BYTES * n, launch, (lambda: update(0.5, 0.001), ti.sync), repeat)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--log2", type=int, default=26)
    parser.add_argument("--targets", default="cuda,vulkan")
    arguments = parser.parse_args()
    module = cupy.RawModule(code=HAND)
    n = 1 << arguments.log2
    rows = [
        ("SoA, vector fields", make_vectors, ti.Layout.SOA, "soa", [(n,)] * 6),
        ("AoS, vector fields", make_vectors, ti.Layout.AOS, "two", [(n, 3)] * 2),
        ("SoA, struct field", make_structs, ti.Layout.SOA, "two", [(n, 3)] * 2),
        ("AoS, struct field", make_structs, ti.Layout.AOS, "aos", [(n, 6)]),
        ("SoA, two nodes", make_nodes, ti.Layout.SOA, "two", [(n, 3)] * 2),
        ("AoS, one node", make_nodes, ti.Layout.AOS, "aos", [(n, 6)]),
        ("AoSoA, blocks of 64", make_blocks, ti.Layout.SOA, "blocks", [(n, 6)]),
    ]
    for target in arguments.targets.split(","):
        for name, make, layout, by_hand, arrays in rows:
            kernel = module.get_function(by_hand)
            run(getattr(ti, target), f"{target}, {name}", make, layout, kernel, arrays, arguments.repeat, n)


if __name__ == "__main__":
    main()
