"""Corners of the language that programs meet now and then, on every target."""

import math
from pathlib import Path

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.config import EFFECTIVE, OPTIONS

TINY = {ti.f32: 1e-40, ti.f64: 1e-310}
FTZ = ("vulkan", "cuda")
"""Targets that may take a subnormal f32 for 0."""


@pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
def test_frexp_splits_as_c_does(target: str, dtype: ti.types) -> None:
    @ti.kernel
    def split(x: dtype) -> (dtype, ti.i32):
        b = ti.frexp(x)
        return b.mantissa, b.exponent

    for x in (1.4, -0.3, 0.0, 1.0, 8.0, 3e30, -TINY[dtype]):
        if abs(x) == TINY[ti.f32] and target in FTZ:
            continue
        value = float(dtype.numpy.type(x))
        assert split(value) == math.frexp(value), x
    assert split(math.inf) == (math.inf, 0)


def test_frexp_unpacks_and_takes_an_index(target: str) -> None:
    @ti.kernel
    def split(n: ti.i32) -> ti.f32:
        mantissa, exponent = ti.frexp(n)
        pair = ti.frexp(n)
        return mantissa * 100 + exponent + pair[0] + pair[1] * 1000

    assert split(6) == pytest.approx(75 + 3 + 0.75 + 3000)


def test_frexp_in_python() -> None:
    assert ti.frexp(6.0) == (0.75, 3) and ti.frexp(6.0).exponent == 3


def test_stop_grad_is_the_value_itself(target: str) -> None:
    @ti.kernel
    def twice(x: ti.f32) -> ti.f32:
        return ti.stop_grad(x) * 2

    assert twice(1.5) == 3.0


def test_f_string_names_its_value(capfd: pytest.CaptureFixture[str]) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def show(x: ti.f32, n: ti.i32):
        print(f"{x=} {n = } {x:.2f}")

    show(1.5, 2)
    ti.sync()
    assert capfd.readouterr().out == "x=1.500000 n = 2 1.50\n"


def test_bounds_of_64_bits(target: str) -> None:
    @ti.kernel
    def count(n: ti.i64) -> ti.i32:
        total = 0
        for _ in range(n):
            total += 1
        return total

    assert count(5) == 5 and count(-5) == 0


def test_constant_bound_of_an_ndrange_beyond_32_bits_is_refused() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def literal():
        for _, _ in ti.ndrange(ti.i64(2**40), 2):
            pass

    with pytest.raises(ti.TaichiTypeError, match="exceeds i32"):
        literal()


def test_static_goes_through_python_sequences(target: str) -> None:
    @ti.kernel
    def total() -> ti.i32:
        s = 0
        for i, v in ti.static(enumerate([3, 5])):
            s += i * v
        for a, b in ti.static(zip([1, 2], [3, 4], strict=True)):
            s += a * b
        for a in ti.static(list(range(3))):
            s += a
        for i, (a, b) in ti.static(enumerate(zip([1, 2], [3, 4], strict=True))):
            s += i * a * b
        for a in ti.static(reversed(range(3))):
            s = s * 2 + a
        for a in ti.static(sorted([3, 1])):
            s = s * 2 + a
        return s

    assert total() == 909


def test_vector_field_of_a_size_from_python(target: str) -> None:
    n = 3
    field = ti.Vector.field(n, ti.f32, shape=(2,))

    @ti.kernel
    def fill() -> ti.f32:
        for i in field:
            for j in ti.static(range(n)):
                field[i][j] = i + j
        s = 0.0
        for j in ti.static(range(field.n)):
            s += field[1][j]
        for j in range(field[0].n):
            s += field[0][j] * 10
        return s

    assert fill() == 36.0


def test_operand_of_an_integer_variable_is_cut_first(target: str) -> None:
    """As where the variable is shared, and as in Taichi: `n += 1.9` adds 1."""
    out = ti.field(ti.i32, 6)

    @ti.kernel
    def change(x: ti.f32):
        a = -9
        a += x
        out[0] = a
        b = -9
        b *= x
        out[1] = b
        c = ti.Vector([-9, -9])
        c += x
        out[2] = c[1]
        d = ti.i8(100)
        d += 100.7
        out[3] = d
        out[4] = -9
        out[4] += x

    change(1.9)
    assert out.to_numpy().tolist() == [-8, -17, -8, -56, -8, 0]


def test_literal_that_does_not_fit_wraps_with_a_warning(target: str) -> None:
    x = ti.field(ti.u8, ())

    @ti.kernel
    def store():
        x[None] = 300

    with pytest.warns(ti.ShadesmithWarning, match="300 does not fit `u8` and wraps to 44"):
        store()
    assert x[None] == 44


@pytest.mark.parametrize("path", ["ti.aot.GfxRuntime140", "ti.aot.conventions"])
def test_missing_names_say_which_issue_brings_them(path: str) -> None:
    with pytest.raises(
        AttributeError, match=rf"{path} is not in this version.* come with a later issue of the roadmap"
    ):
        eval(path)
    assert not hasattr(ti, "no_such_name")


def test_numbers_agree_with_python_for_signs_and_shifts(target: str) -> None:
    out = ti.field(ti.i32, 8)

    @ti.kernel
    def compute(a: ti.i32, b: ti.i32):
        out[0] = -a % b
        out[1] = a % -b
        out[2] = -a // b
        out[3] = ti.raw_mod(-a, b)
        out[4] = -a >> 1
        out[5] = ti.bit_shr(-a, 1)
        out[6] = 1 < a < 10
        out[7] = ti.cast(ti.cast(-a, ti.u8), ti.i32)

    compute(7, 3)
    expected = [2, -2, -3, -1, -4, (2**32 - 7) >> 1, 1, 249]
    assert np.array_equal(out.to_numpy(), expected)


def test_status_page_has_every_option_with_an_effect() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "status.md").read_text()
    assert [name for name in OPTIONS if f"`{name}`" not in text] == []
    assert [name for name, effect in EFFECTIVE.items() if f"| `{name}` | " not in text or effect not in text] == []


def test_elements_of_arrays_passed_to_functions_are_no_lost_changes(
    target: str, recwarn: pytest.WarningsRecorder
) -> None:
    @ti.data_oriented
    class Grid:
        def __init__(self):
            self.x = ti.field(ti.f32, 4)

        @ti.func
        def store(self, i):
            self.x[i] = 9

        @ti.kernel
        def run(self):
            for i in range(4):
                self.store(i)

    @ti.func
    def put(f, i):
        f[i] = 3

    @ti.kernel
    def run(f: ti.template()):
        put(f, 2)

    grid = Grid()
    grid.run()
    run(grid.x)
    assert list(grid.x.to_numpy()) == [9, 9, 3, 9]
    assert not [w for w in recwarn if "is a copy of" in str(w.message)]


def test_functions_hand_templates_on_to_functions(target: str) -> None:
    """What the innermost function changes is the variable of the kernel, however often it was handed on."""

    @ti.func
    def swap(a: ti.template(), b: ti.template()):
        a, b = b, a

    @ti.func
    def order(a: ti.template(), b: ti.template()):
        if a > b:
            swap(a, b)

    @ti.kernel
    def compute(x: float, y: float) -> ti.math.vec2:
        low, high = x, y
        order(low, high)
        return ti.Vector([low, high])

    assert compute(3.0, 1.0).to_list() == [1, 3] and compute(1.0, 3.0).to_list() == [1, 3]
