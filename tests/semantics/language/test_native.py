"""`ti.native`: functions whose body in GLSL, CUDA C or C the program writes, with a Python body that says what it means."""

from __future__ import annotations

import pytest

import shadesmith as ti

BITS = """
    unsigned result = 0;
    for (int k = 0; k < 32; k++) {
        result |= (x >> k & 1u) << (31 - k);
    }
    return result ^ seed;
"""


@ti.native(glsl="return bitfieldReverse(x) ^ seed;", cuda="return __brev(x) ^ seed;", c=BITS)
def reversed_bits(x: ti.u32, seed: ti.u32) -> ti.u32:
    result = ti.u32(0)
    for k in range(32):
        result |= ((x >> k) & 1) << (31 - k)
    return result ^ seed


@ti.native(c="*a += 1; *b = *a * 2.0f;", glsl="a += 1; b = float(a) * 2.0;", cuda="a += 1; b = a * 2.0f;")
def step(a: ti.ref(ti.i32), b: ti.ref(ti.f32)):
    a += 1
    b = a * 2.0  # noqa: F841 - a reference


@pytest.mark.targets("cpu", "vulkan", "python")
def test_each_target_runs_its_snippet_or_the_body(target: str, pytestconfig: pytest.Config) -> None:
    if target == "cuda" and pytestconfig.getoption("--emulated-cuda"):
        pytest.skip("the host has no __brev")
    out = ti.field(ti.u32, 40)

    @ti.kernel
    def run():
        for i in out:
            out[i] = reversed_bits(ti.u32(i * i), ti.u32(i))

    run()
    assert out.to_numpy().tolist() == [int(f"{i * i:032b}"[::-1], 2) ^ i for i in range(40)]


@pytest.mark.one_target
def test_references(target: str) -> None:
    @ti.kernel
    def run() -> ti.f32:
        result = 0.0
        for _ in range(1):
            n = 4
            x = 0.0
            for _ in range(3):
                step(n, x)
            result = x + n
        return result

    assert run() == 21.0


def test_sources_have_the_snippets_and_other_languages_the_body() -> None:
    ti.init(arch=ti.python)

    @ti.native(glsl="return fma(a, a, 1.0);")
    def square(a: ti.f32) -> ti.f32:
        return a * a + 1.0

    @ti.kernel
    def run(a: ti.f32) -> ti.f32:
        return square(a)

    glsl, c = run.source(2.0, arch=ti.vulkan), run.source(2.0, arch=ti.cpu)
    assert "float square(float a) { return fma(a, a, 1.0); }" in glsl and "return a * a + 1.0f;" in c
    keys = {run.key(2.0, arch=ti.vulkan)}
    square.snippets = (("GLSL", "return fma(a, a, 2.0);"),)
    keys.add(run.key(2.0, arch=ti.vulkan))
    assert len(keys) == 2


def test_mistakes() -> None:
    with pytest.raises(ti.TaichiSyntaxError, match="`ti.native` has no snippet"):
        ti.native()
    with pytest.raises(ti.TaichiSyntaxError, match="must be type annotated"):

        @ti.native(c="return x;")
        def untyped(x) -> ti.i32:
            return x
