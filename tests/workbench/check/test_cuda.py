"""Mistakes in edited CUDA C: each is refused before anything runs, at its line, in its own words. No GPU is needed."""

from __future__ import annotations

import pytest
from golden_kernels import compiled
from seeded_edits import Seed, diagnostics_of, expect_refusal

from shadesmith.runtime.devices.cuda import nvrtc
from shadesmith.transpiler.errors import TaichiRuntimeError

SWAPPED = (r"(    float w;.*?\n)(    int n;.*?\n)", r"\2\1")
BOUNDS = r"__launch_bounds__\(BLOCK\)"
GREEDY = (
    "float held[200];\n    #pragma unroll\n    for (int k = 0; k < 200; k++) held[k] = args.a_data[k * i];\n"
    "    __syncthreads();\n    #pragma unroll\n    for (int k = 0; k < 200; k++) args.b_data[k] = held[k] * held[199 - k];\n"
    "    if (0 < i"
)
MISTAKES = (
    Seed("another type", "jacobi", (("float w;", "double w;"),), "double w", "`w` of `Args` has another type: expected `float`, found `double`"),
    Seed("another sign", "jacobi", (("int n; ", "unsigned n; "),), "unsigned n", "`n` of `Args` has another type: expected `int`, found `unsigned`"),
    Seed("moved", "jacobi", (SWAPPED,), "float w", "`w` of `Args` is at another offset: expected byte 16, found byte 20"),
    Seed("missing", "jacobi", ((r"    int b_n1;.*?\n", ""), (r"args\.b_n1\b", "8")), "struct Args {", "`b_n1` of `Args` is missing"),
    Seed("renamed", "jacobi", (("int b_n1; ", "int stride; "), (r"args\.b_n1", "args.stride")), "int stride", "`b_n1` of `Args` is missing, found `stride` in its place"),
    Seed("extra", "jacobi", (("int b_n1; ", "int b_n1, more; "),), "more", "`Args` has a member `more`"),
    Seed("extra in a gap", "saxpy", (("(    int x_n;.*?\n)", r"\1    int more;\n"),), "int more", "`Args` has a member `more`"),
    Seed("other elements", "jacobi", (("float .b_data", "double *b_data"),), "double *b_data", "`b_data` of `Args` points to elements of another type: expected `float`, found `double`"),
    Seed("wider elements", "jacobi", (("const float .a_data", "const float4 *a_data"), (r"args\.a_data\[", "((const float *)args.a_data)[")), "float4 *a_data", "`a_data` of `Args` points to elements of another type: expected `float`, found `float4`"),
    Seed("surface for a pointer", "texture_add", (("cudaSurfaceObject_t in_ten", "float *in_ten"),), "float *in_ten", "`in_ten` of `Args` has another type: expected `cudaSurfaceObject_t`, found `float"),
    Seed("const dropped", "jacobi", (("const float .a_data", "float *a_data"),), "float *a_data", "`a_data` of `Args` lost its `const`"),
    Seed("store to read-only", "jacobi", ((r"b\(i, j\) = a", "a(i, j) = a"),), "a(i, j) = a", "`a` is stored to here, but the kernel in Python only reads it"),
    Seed("atomic on read-only", "jacobi", (("float s = ", "atomicAdd(&a(i, j), 1.0f); float s = "),), "atomicAdd", "`a` is stored to here"),
    Seed("const lost on the way", "jacobi", (("float s = ", "float *p = args.a_data; p[0] = 1; float s = "),), "float *p", "`a` is stored to here"),
    Seed("const cast away", "jacobi", (("float s = ", "float *p = (float *)args.a_data; p[0] = 1; float s = "),), "float *p", "`a` loses its `const` here"),
    Seed("entry renamed", "jacobi", (("jacobi_0", "jacobi_step"),), "jacobi_step", "the kernel `jacobi_0` is missing, found `jacobi_step`"),
    Seed("entry missing", "normalize", ((r'extern "C" __global__ void normalize_0.*?\n}\n', ""),), "normalize_1", "the kernel `normalize_0` is missing"),
    Seed("extern C dropped", "jacobi", (('extern "C" ', ""),), "jacobi_0", '`jacobi_0` lost its `extern "C"`'),
    Seed("global dropped", "jacobi", (("__global__ ", ""),), "jacobi_0", "`jacobi_0` lost its `__global__`"),
    Seed("device for global", "jacobi", ((f"__global__ void {BOUNDS}", "__device__ void"),), "jacobi_0", "`jacobi_0` lost its `__global__`"),
    Seed("more parameters", "jacobi", ((r"const Args args\) \{", "const Args args, int turns) {"),), "int turns", "`jacobi_0` has other parameters or another result"),
    Seed("arguments by pointer", "jacobi", ((r"const Args args\) \{", "const Args *given) {\n    const Args args = *given;"),), "given)", "`jacobi_0` has other parameters or another result"),
    Seed("bounds below the block", "jacobi", ((BOUNDS, "__launch_bounds__(64)"),), "__launch_bounds__(64)", "compiled for blocks of up to 64 threads, but `BLOCK` is 128"),
    Seed("another shape of block", "jacobi", ((BOUNDS, "__block_size__((BLOCK / 2, 2, 1))"),), "__block_size__", "compiled for blocks of 64 x 2 x 1 threads"),
    Seed("block too large", "jacobi", (("BLOCK 128", "BLOCK 2048"),), "BLOCK 2048", "a block of 2048 threads is more than the device supports: 1024"),
    Seed("block of none", "jacobi", (("BLOCK 128", "BLOCK 0"),), "BLOCK 0", "`BLOCK` is 0"),
    Seed("block unreadable", "jacobi", (("BLOCK 128", "BLOCK sizeof(int)"),), "BLOCK sizeof", "`BLOCK` is not an integer that the launcher can read"),
    Seed("block not said", "jacobi", (("#define BLOCK 128\n", ""), ("BLOCK", "128"), ("BLOCK", "128")), "jacobi_0", "`BLOCK` is missing"),
    Seed("items unreadable", "jacobi", (("#define BLOCK 128\n", "#define BLOCK 128\n#define ITEMS x\n"),), "ITEMS x", "`ITEMS` is not an integer"),
    Seed("too many registers", "jacobi", ((f"{BOUNDS} ", ""), ("BLOCK 128", "BLOCK 1024"), (r"if \(0 < i", GREEDY)), "jacobi_0", "registers a thread"),
    Seed("struct moved", "particles", (("vec3 pos, vel;", "vec3 vel, pos;"),), "vec3 vel, pos", "`pos` of `Particle` is at another offset: expected byte 0, found byte 12"),
    Seed("struct member retyped", "particles", (("bool alive", "int alive"),), "int alive", "`alive` of `Particle` has another type: expected `bool`, found `int`"),
    Seed("struct aligned", "particles", ((r"struct Plane \{", "struct __align__(32) Plane {"), (r"static_assert\(sizeof\(Plane\)[^\n]*\n", "")), "Plane {", "`Plane` has another size: expected 16 bytes"),
    Seed("arguments renamed", "jacobi", ((r"struct Args \{", "struct Arguments {"),), "struct Arguments", "the struct `Args` is missing"),
    Seed("shared memory beyond the limit", "tiles", ((r"tile\[64\]", "tile[64000]"),), "tile[64000]", "a block needs 256000 bytes of shared memory, more than the 49152 bytes"),
    Seed("shared memory of unknown size", "tiles", ((r"__shared__ float tile\[64\]", "extern __shared__ float tile[]"),), "tile[]", "the launcher allocates no dynamic shared memory"),
    Seed("function without body", "jacobi", (("float s = ", "extern __device__ float smooth(int); float s = smooth(i) + "),), "smooth(i)", "function `smooth` is declared, but not defined"),
    Seed("what this GPU lacks", "jacobi", (("float s = ", 'asm("tcgen05.fence::before_thread_sync;"); float s = '),), "asm", "lacks `tcgen05.fence`"),
)  # fmt: skip


@pytest.fixture(autouse=True)
def needs_nvrtc() -> None:
    try:
        nvrtc.load_nvrtc()
    except TaichiRuntimeError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("seed", MISTAKES, ids=lambda seed: seed.name)
def test_each_mistake_is_refused_at_its_line(seed: Seed) -> None:
    expect_refusal("cuda", seed)


@pytest.mark.parametrize(
    ("changes", "at", "says"),
    [
        ((("float s = ", "float s = q + "),), "q + a", 'error: identifier "q" is undefined'),
        (((r"(float s = [^;]*);", r"\1"),), "b(i, j) = ", 'error: expected a ";"'),
        (((r"\}\n\Z", ""),), "jacobi_0", "error: the source ends before all brackets are closed"),
        (((r"\Z", "}\n"),), "}", "error: expected a declaration"),
        ((("float s = ", '\n#line 900 "else.cu"\nfloat s = q + '),), "q + a", 'error: identifier "q" is undefined'),
        ((("float s = ", 'asm("no.such.thing;"); float s = '),), "asm", "error: .*no"),
    ],
)
def test_a_syntax_error_is_shown_on_the_users_file(changes: tuple[tuple[str, str], ...], at: str, says: str) -> None:
    expect_refusal("cuda", Seed("", "jacobi", changes, at, says))


def test_an_empty_text_lacks_the_arguments() -> None:
    assert "the struct `Args` is missing" in diagnostics_of("cuda", {0: "\n"}, "jacobi")


def test_the_check_compiles_for_the_architecture_of_the_device() -> None:
    from dataclasses import replace

    from shadesmith.runtime.devices.capabilities import portable

    text = compiled("jacobi", "cuda").files[0].text
    text = text.replace("float s = ", "#if __CUDA_ARCH__ < 800\n#error too old\n#endif\nfloat s = ")
    old = replace(portable("cuda"), extra=(("device", "Tesla T4"), ("arch", "sm_75")))
    assert diagnostics_of("cuda", {0: text}, "jacobi") == ""
    assert "too old" in diagnostics_of("cuda", {0: text}, "jacobi", old)
