"""One function of the source stands for those that differ only in their arrays or in a type: bit by bit as before."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path

import numpy as np
import pytest

import shadesmith as ti

N = 6
vec2, vec3 = ti.math.vec2, ti.math.vec3


@ti.func
def sample(qf, u, v):
    I = ti.Vector([int(u), int(v)])
    I = ti.max(0, ti.min(N - 1, I))
    return qf[I]


@ti.func
def lerp(a, b, t):
    return a + t * (b - a)


@ti.func
def bilerp(vf, x, y):
    s, t = x - 0.5, y - 0.5
    iu, iv = ti.floor(s), ti.floor(t)
    below = lerp(sample(vf, iu, iv), sample(vf, iu + 1, iv), s - iu)
    above = lerp(sample(vf, iu, iv + 1), sample(vf, iu + 1, iv + 1), s - iu)
    return lerp(below, above, t - iv)


def field_of(kind, seed, shape=(N, N)):
    made = ti.field(ti.f32, shape) if kind == 1 else ti.Vector.field(kind, ti.f32, shape)
    rng = np.random.default_rng(seed)
    made.from_numpy(rng.standard_normal(made.to_numpy().shape).astype(np.float32))
    return made


def emitted(kernel, *args, arch):
    """Return the source of a kernel, also for an architecture that is not here."""
    return kernel.inspect(*args, arch=arch).module.source()


def definitions(source: str, name: str) -> int:
    """Count the definitions of functions whose names start with `name`."""
    heads = [
        line for line in source.splitlines() if "(" in line and line.endswith(("{", "}")) and line[:1] not in " /#"
    ]
    return sum(f" {name}" in line.split("(")[0] for line in heads)


def advect_reference(velocity, dye):
    def bilinear(array, x, y):
        s, t = x - np.float32(0.5), y - np.float32(0.5)
        iu, iv = np.floor(s), np.floor(t)

        def at(u, v):
            return array[int(max(0, min(N - 1, int(u)))), int(max(0, min(N - 1, int(v))))]

        low = at(iu, iv) + (s - iu) * (at(iu + 1, iv) - at(iu, iv))
        high = at(iu, iv + 1) + (s - iu) * (at(iu + 1, iv + 1) - at(iu, iv + 1))
        return low + (t - iv) * (high - low)

    moved = np.zeros_like(dye)
    for i in range(N):
        for j in range(N):
            v = bilinear(velocity, np.float32(i + 0.5), np.float32(j + 0.5))
            moved[i, j] = bilinear(dye, np.float32(i + 0.5) - v[0], np.float32(j + 0.5) - v[1])
    return moved


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_fields_of_several_types_are_sampled_by_one_function(target, kind: int) -> None:
    ti.init(arch=target)
    velocity, dye = field_of(2, 1), field_of(kind, 2)
    moved = field_of(kind, 3)

    @ti.kernel
    def advect():
        for i, j in velocity:
            v = bilerp(velocity, i + 0.5, j + 0.5)
            moved[i, j] = bilerp(dye, i + 0.5 - v.x, j + 0.5 - v.y)

    advect()
    expected = advect_reference(velocity.to_numpy(), dye.to_numpy())
    assert np.allclose(moved.to_numpy(), expected, rtol=1e-4, atol=1e-5)
    source = emitted(advect, arch=ti.cuda)
    assert [definitions(source, name) for name in ("sample", "bilerp")] == [1, 1]
    assert definitions(source, "lerp_") == 0  # an overload, if not a template
    without_templates = emitted(advect, arch=ti.cpu)
    assert definitions(without_templates, "sample") == (1 if kind == 2 else 2)


@ti.func
def total(values, i):
    s = values[i] * 2
    if i > 0:
        s += values[i - 1]
    return s


@ti.func
def add_to(values, i, amount):
    values[i] += amount
    if values[0] < amount:
        values[0] = amount


def test_arrays_are_written_through_parameters(target) -> None:
    ti.init(arch=target)
    a, b, c = (ti.field(ti.f32, N) for _ in range(3))
    for k, values in enumerate((a, b, c)):
        values.from_numpy(np.arange(N, dtype=np.float32) + k)
    x, y = (ti.ndarray(ti.i32, N) for _ in range(2))
    x.from_numpy(np.arange(N, dtype=np.int32))
    y.from_numpy(np.arange(N, dtype=np.int32)[::-1].copy())

    @ti.kernel
    def run(x: ti.types.ndarray(ti.i32, 1), y: ti.types.ndarray(ti.i32, 1)):
        for _ in range(1):
            for i in range(1, N):
                add_to(a, i, total(b, i))
                add_to(b, i, total(a, i))
                add_to(c, i, total(c, i))
                add_to(x, i, total(y, i))
                add_to(y, i, total(x, i))

    arrays = [values.to_numpy() for values in (a, b, c, x, y)]

    def total_of(values, i):
        return values[i] * 2 + (values[i - 1] if i > 0 else 0)

    def add(values, i, amount):
        values[i] += amount
        values[0] = max(values[0], amount)

    A, B, C, X, Y = arrays
    for i in range(1, N):
        for target_, source in ((A, B), (B, A), (C, C), (X, Y), (Y, X)):
            add(target_, i, total_of(source, i))
    run(x, y)
    for values, expected in zip((a, b, c, x, y), arrays):
        assert np.array_equal(values.to_numpy(), expected)
    assert definitions(emitted(run, x, y, arch=ti.cuda), "add_to") <= 2  # of i32 it adds with other functions


def test_fields_of_different_sizes_keep_their_functions(target) -> None:
    ti.init(arch=target)
    fine, coarse = field_of(1, 1, (8, 8)), field_of(1, 2, (4, 4))
    out = ti.field(ti.f32, (4, 4))

    @ti.func
    def mean(grid, i, j):
        s = 0.0
        for a, b in ti.static(ti.ndrange(2, 2)):
            s += grid[i + a, j + b] * 0.25
        return s

    @ti.kernel
    def run():
        for i, j in ti.ndrange(3, 3):
            out[i, j] = mean(fine, 2 * i, 2 * j) + mean(coarse, i, j)

    run()
    F, C = fine.to_numpy(), coarse.to_numpy()
    for i in range(3):
        for j in range(3):
            expected = F[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].mean() + C[i : i + 2, j : j + 2].mean()
            assert out[i, j] == pytest.approx(expected, rel=1e-5)


def test_names_that_are_taken(target) -> None:
    """A parameter has the name of a field, a local variable is called T, and so is a field."""
    ti.init(arch=target)
    T, Type, x = field_of(3, 1, N), field_of(2, 2, N), field_of(1, 3, N)
    out = ti.field(ti.f32, N)

    @ti.func
    def norm(x, k):
        T = x[k]
        Type = T * 2.0
        Element = Type + T
        if k > 2:
            Element -= T
        return Element.norm()

    @ti.func
    def scaled(i, T, j):
        a = T * i
        a += T * j
        a *= 0.5
        return a

    @ti.kernel
    def run():
        for i in out:
            out[i] = norm(T, i) + norm(Type, i) + scaled(1.0, T[i], 2.0).sum() + scaled(3.0, x[i], 4.0)

    run()
    T_, Type_, X = T.to_numpy(), Type.to_numpy(), x.to_numpy()
    factor = np.where(np.arange(N) > 2, 2.0, 3.0)
    expected = factor * (np.linalg.norm(T_, axis=1) + np.linalg.norm(Type_, axis=1)) + 1.5 * T_.sum(1) + 3.5 * X
    assert np.allclose(out.to_numpy(), expected, rtol=1e-4)


def test_many_arguments_behind_a_pointer(target) -> None:
    """On Vulkan `Args` is a readonly block then, whose members a call takes as copies."""
    ti.init(arch=target)
    fields = [field_of(1, k, (N, N)) for k in range(20)]
    out = ti.field(ti.f32, (N, N))

    @ti.func
    def near(values, i, j):
        s = values[i, j]
        if i > 0:
            s += values[i - 1, j]
        if j > 0:
            s += values[i, j - 1]
        return s

    @ti.kernel
    def run():
        for i, j in out:
            s = 0.0
            for k in ti.static(range(20)):
                s += near(fields[k], i, j)
            out[i, j] = s

    run()
    expected = np.zeros((N, N))
    for values in fields:
        array = values.to_numpy().astype(np.float64)
        expected += array
        expected[1:] += array[:-1]
        expected[:, 1:] += array[:, :-1]
    assert np.allclose(out.to_numpy(), expected, rtol=1e-4, atol=1e-5)
    assert definitions(emitted(run, arch=ti.vulkan), "near") == 1


KINDS = ("f32", "f64", "i32", "i64", "i16")
"""A negative float is no unsigned number, and a large one no i8."""
BODIES = (
    "    r = a[i] + {c}\n    if i > 2:\n        r = r - a[i - 1]\n    return r\n",
    "    r = x + x\n    if x > {c}:\n        r = x * x - r\n    return r\n",
    "    a[i] = a[i] + x\n    if x > 1:\n        a[i] = a[i] - {c}\n    return a[i]\n",
    "    return ti.max(a[i], x) // {c} + ti.abs(x)\n",
    "    s = a[i] * 0\n    for k in range(i):\n        s += a[k] * x\n    return s\n",
)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(40))
def test_generated_functions_of_several_types(target, seed: int, tmp_path: Path) -> None:
    """Random functions called with arrays and numbers of random types: the interpreter knows no shared functions."""
    chosen = random.Random(seed)
    types = [chosen.choice(KINDS) for _ in range(4)]
    text = "import shadesmith as ti\n\n"
    names = []
    for number in range(3):
        names.append(f"f{number}")
        body = chosen.choice(BODIES).format(c=chosen.choice(("1", "2", "3")))
        if number and chosen.random() < 0.5:
            body = body.replace("return ", f"r{number} = {names[-2]}(a, i, x)\n    return r{number} + ", 1)
        text += f"@ti.func\ndef f{number}(a, i, x):\n{body}\n\n"
    text += "def make(fields, outs):\n    @ti.kernel\n    def run():\n        for _ in range(1):\n            for i in range(8):\n"
    for k in range(4):
        for name in names:
            other = chosen.randrange(4)
            text += f"                outs[{k}][i] = outs[{k}][i] + {name}(fields[{k}], i, fields[{other}][i])\n"
    text = text.replace("outs[", "OUT").replace("fields[", "IN")
    text += "    return run\n"
    for k in range(4):
        text = text.replace(f"OUT{k}]", f"out{k}").replace(f"IN{k}]", f"in{k}")
    text = text.replace("def make(fields, outs):", "def make(in0, in1, in2, in3, out0, out1, out2, out3):")
    path = tmp_path / f"generated_{seed}.py"
    path.write_text(text, encoding="utf-8")

    def results(arch):
        ti.init(arch=arch, log_level=ti.ERROR, fast_math=False)
        specification = importlib.util.spec_from_file_location(path.stem, path)
        assert specification is not None and specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        fields = [ti.field(getattr(ti, kind), 8) for kind in types]
        outs = [ti.field(ti.f64, 8) for _ in types]
        for values, kind in zip(fields, types):
            values.from_numpy((np.arange(8) % 5).astype(values.to_numpy().dtype))
        run = module.make(*fields, *outs)
        run()
        return [values.to_numpy() for values in (*fields, *outs)]

    for found, expected in zip(results(target), results(ti.python)):
        assert np.array_equal(found, expected, equal_nan=True), text


def test_functions_are_one_if_what_they_are_specialised_on_makes_no_difference() -> None:
    """Levels of a grid: those that are hashed all do the same."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    y = ti.field(ti.i32, (4, 64))

    @ti.func
    def index(i: ti.i32, size: ti.template()) -> ti.i32:
        result = i
        if ti.static(size < 20):
            result = i * size + i // size
        else:
            for k in range(i):
                result = (result * 31) ^ (k >> 3)
        return result

    @ti.kernel
    def fill():
        for i in range(64):
            y[0, i] = index(i, 5) + index(i + 1, 5)
            y[1, i] = index(i, 15) + index(i + 1, 15)
            y[2, i] = index(i, 25) + index(i + 1, 25)
            y[3, i] = index(i, 35) + index(i + 1, 35)

    text = emitted(fill, arch=ti.cuda)
    assert definitions(text, "index") == 3 and text.count("with size = ") == 2
