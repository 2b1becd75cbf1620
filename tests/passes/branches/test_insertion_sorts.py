"""Pass `insertion_sorts`: few numbers are sorted without branches in C; results are those of the loops, NaN included."""

from __future__ import annotations

import random

import numpy as np
import pytest
import written_programs

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

MOVED = "(insertion_sorts)"
N = 70

HEAD = """
import shadesmith as ti
N, M = 70, COUNT
@ti.kernel
def sorts(x: ti.template(), y: ti.template(), z: ti.template()):
    for i in range(N):
        a = ti.Vector([x[i, k] for k in range(M)])
        d = ti.Vector([k for k in range(M)])
"""
TAIL = """
        for k in ti.static(range(M)):
            y[i, k], z[i, k] = a[k], d[k]
"""
FORMS = {
    "breaks": """
        for p in range(1, M):
            v = a[p]
            q = p - 1
            while q >= 0:
                if STOPS:
                    break
                a[q + 1] = a[q]
                q -= 1
            a[q + 1] = v
""",
    "conditions": """
        for p in RANGE:
            v = a[p]
            j = p
            while j > 0 and GOES_ON:
                a[j] = a[j - 1]
                j -= 1
            a[j] = v
""",
    "places": """
        for p in range(START, M):
            v, w = a[p], d[p]
            q = p - 1
            while q > -1 and GOES_ON_Q:
                d[q + 1] = d[q]
                a[q + 1] = a[q]
                q = q - 1
            a[q + 1] = v
            d[q + 1] = w
""",
}


def kernel_of(body: str, tmp_path, count: int = 7):
    """Return a kernel that sorts rows of numbers."""
    source = HEAD.replace("COUNT", str(count)) + body + TAIL
    path = tmp_path / f"sorts_{len(list(tmp_path.iterdir()))}.py"
    path.write_text(source)
    return written_programs.load(path).sorts


def filled(form: str, stops: str = "a[q] <= v", goes_on: str = "a[j - 1] > v", start: int = 1) -> str:
    text = FORMS[form].replace("STOPS", stops).replace("GOES_ON_Q", goes_on.replace("j - 1", "q"))
    text = text.replace("GOES_ON", goes_on).replace("START", str(start))
    return text.replace("RANGE", "ti.static(range(1, M))" if start == 1 else f"range({start}, M)")


def start(arch=ti.cpu, kind=ti.f32, count=7, **options) -> list:
    ti.init(arch=arch, log_level=ti.ERROR, enable_fallback=False, **options)
    fields = [ti.field(kind, (N, count)), ti.field(kind, (N, count)), ti.field(ti.i32, (N, count))]
    generator = np.random.default_rng(0)
    numbers = generator.integers(-3, 4, (N, count)) * 1.0
    numbers[:5] = np.arange(count)
    numbers[5:10] = np.arange(count)[::-1]
    if kind in (ti.f32, ti.f64):
        special = [np.nan, np.inf, -np.inf, -0.0, 0.0]
        numbers = np.where(generator.random((N, count)) < 0.3, generator.choice(special, (N, count)), numbers)
    else:
        numbers[::7, 0], numbers[::5, count - 1] = -(2**31), 2**31 - 1
    fields[0].from_numpy(numbers.astype({ti.f32: np.float32, ti.f64: np.float64, ti.i32: np.int32}[kind]))
    return fields


def results(kernel, arch, kind=ti.f32, count=7, **options) -> tuple[np.ndarray, np.ndarray]:
    fields = start(arch, kind, count, fast_math=False, **options)
    kernel(*fields)
    return fields[1].to_numpy(), fields[2].to_numpy()


def are_same(ours, expected) -> bool:
    """Whether sorted numbers and their places are equal, with the signs of zeros."""
    is_number = ~np.isnan(ours[0])
    signs = np.array_equal(np.signbit(ours[0])[is_number], np.signbit(expected[0])[is_number])
    return signs and np.array_equal(ours[0], expected[0], equal_nan=True) and np.array_equal(ours[1], expected[1])


@pytest.mark.sampled(2, each="form")
@pytest.mark.parametrize("kind", [ti.f32, ti.f64, ti.i32], ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_results_are_those_of_the_interpreter(form, kind, tmp_path):
    kernel = kernel_of(filled(form), tmp_path)
    assert MOVED in kernel.source(*start(kind=kind))
    assert are_same(results(kernel, ti.cpu, kind), results(kernel, ti.python, kind))


def test_numbers_are_selected_in_lanes(tmp_path):
    source = kernel_of(filled("breaks"), tmp_path).source(*start())
    assert "while" not in source and "if (" not in source and "simd" in source
    assert "moves = moves && !(before <= v);" in source and "a[q + 1] = moves ? before : here;" in source


def test_loops_stay_without_the_pass(tmp_path):
    kernel = kernel_of(filled("breaks"), tmp_path)
    fields = start(passes="-insertion_sorts")
    assert MOVED not in kernel.source(*fields) and "while (" in kernel.source(*fields)


def test_sixteen_numbers(tmp_path):
    kernel = kernel_of(filled("conditions"), tmp_path, 16)
    assert are_same(results(kernel, ti.cpu, count=16), results(kernel, ti.python, count=16))


CHANGED = {
    "another start": ("q = p - 1\n", "q = p - 2\n"),
    "another bound": ("while q >= 0:", "while q >= 1:"),
    "another step": ("q -= 1", "q -= 2"),
    "another place": ("a[q + 1] = v", "a[q] = v"),
    "another array": ("a[q + 1] = a[q]\n", "d[q + 1] = d[q]\n"),
    "another number": ("v = a[p]", "v = a[p - 1]"),
    "more than a move": ("q -= 1", "q -= 1\n                d[0] += 1"),
    "more after it": ("            a[q + 1] = v", "            a[q + 1] = v\n            d[0] = q"),
    "a comparison of others": ("if a[q] <= v:", "if a[q + 1] <= v:"),
}


@pytest.mark.parametrize("name", CHANGED)
def test_loops_that_do_something_else_stay(name, tmp_path):
    text = filled("breaks")
    assert CHANGED[name][0] in text
    kernel = kernel_of(text.replace(*CHANGED[name]), tmp_path)
    assert MOVED not in kernel.source(*start())


def test_gpus_have_loops(tmp_path):
    assert MOVED not in kernel_of(filled("breaks"), tmp_path).source(*start(ti.python), arch=ti.cuda)


def test_more_numbers_than_are_worth_it(tmp_path):
    assert MOVED not in kernel_of(filled("breaks"), tmp_path, 17).source(*start(count=17))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(12))
def test_random_sorts(seed, tmp_path):
    generator = random.Random(seed)
    count = generator.randint(2, 9)
    form = generator.choice(list(FORMS))
    first = generator.randint(1, max(1, count - 2))
    stops = generator.choice(["a[q] <= v", "a[q] < v", "v >= a[q]", "not a[q] > v", "a[q] >= v"])
    goes_on = generator.choice(["a[j - 1] > v", "v < a[j - 1]", "a[j - 1] >= v", "not a[j - 1] <= v", "a[j - 1] < v"])
    kernel = kernel_of(filled(form, stops, goes_on, first), tmp_path, count)
    kind = generator.choice([ti.f32, ti.f64, ti.i32])
    ours = results(kernel, ti.cpu, kind, count)
    assert are_same(ours, results(kernel, ti.python, kind, count))
    assert are_same(ours, results(kernel, ti.cpu, kind, count, passes="-insertion_sorts"))
