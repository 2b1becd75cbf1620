"""Edges of the language where a program's result once differed from Taichi's: each is a test on every target."""

import operator

import numpy as np
import pytest

import shadesmith as ti

SMALL = {"i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "u32": 32}


def wrapped(value: int, kind: str) -> int:
    """Return an integer modulo 2^bits in the range of a type."""
    value &= (1 << SMALL[kind]) - 1
    return value - (1 << SMALL[kind]) if kind[0] == "i" and value >> (SMALL[kind] - 1) else value


# --- literals


def test_a_literal_has_the_type_that_is_called(target: str) -> None:
    ti.init(arch=getattr(ti, target))

    @ti.kernel
    def k(out: ti.types.ndarray(dtype=ti.f64, ndim=1)):
        out[0] = ti.f64(0.1)
        out[1] = ti.f64(1.2345e300)
        out[2] = ti.f64(1 / 3)
        out[3] = ti.f64(float(3)) + ti.f64(-0.1)
        out[4] = 0.1

    out = np.zeros(5)
    k(out)
    assert out.tolist() == [0.1, 1.2345e300, 1 / 3, 2.9, float(np.float32(0.1))]


@pytest.mark.parametrize("kind", ["i8", "u8", "i16", "u16", "u32", "i64"])
def test_a_power_has_the_type_of_its_base(target: str, kind: str) -> None:
    ti.init(arch=getattr(ti, target))
    number = getattr(ti, kind)

    @ti.kernel
    def k(x: number, n: ti.i32, out: ti.types.ndarray(dtype=ti.i64, ndim=1)):
        for e in ti.static(range(1, 10)):
            ti.static_assert((x**e).dtype == number)
            out[e] = x**e
            out[10 + e] = (ti.Vector([1, x], number) ** e)[1] + (ti.Matrix([[x, 1]], number) ** e)[0, 1]
        ti.static_assert((x**n).dtype == number)
        out[0] = x**n
        out[10] = (ti.Vector([1, x], number) ** n)[1] + (x ** ti.Vector([n, 0]))[1]

    out = np.zeros(20, np.int64)
    k(7, 3, out)
    bits = 64 if kind == "i64" else SMALL[kind]
    expected = [wrapped(7**e, kind) if bits < 64 else 7**e for e in (3, *range(1, 10))]
    assert out[:10].tolist() == expected
    assert out[10:].tolist() == [wrapped(value + 1, kind) if bits < 64 else value + 1 for value in expected]


# --- assert


@pytest.mark.parametrize("debug", [False, True])
def test_an_assert_does_what_its_operands_do(target: str, debug: bool) -> None:
    ti.init(arch=getattr(ti, target), debug=debug)
    calls = ti.field(ti.i32, shape=2)

    @ti.func
    def counted(x):
        calls[0] += 1
        return x

    @ti.kernel
    def k():
        for _ in range(1):
            assert counted(3) == 3
            assert ti.atomic_add(calls[1], 5) == 0, "once"
            assert calls[0] > 100 or counted(1) == 1

    k()
    assert calls.to_numpy().tolist() == [2, 5]


def test_an_assert_without_effects_leaves_nothing_behind() -> None:
    ti.init(arch=ti.cpu, debug=False)

    @ti.kernel
    def k(x: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in x:
            assert x[i] % 7 != 3, "seven"
            x[i] += 1

    assert "%" not in k.source(np.zeros(3, np.int32)).replace('% 7 != 3, "seven"', "")


# --- aliases of ti.math


@pytest.mark.parametrize("ip", ["i32", "i64"])
@pytest.mark.parametrize("fp", ["f32", "f64"])
def test_aliases_follow_the_default_types(ip: str, fp: str) -> None:
    ti.init(arch=ti.python, default_ip=getattr(ti, ip), default_fp=getattr(ti, fp))
    for letter, kind in (("", fp), ("i", ip), ("u", ip.replace("i", "u"))):
        assert [str(getattr(ti.math, f"{letter}vec{n}").dtype) for n in (2, 3, 4)] == [kind] * 3
    assert [str(getattr(ti.math, f"mat{n}").dtype) for n in (2, 3, 4)] == [fp] * 3


def test_default_up_may_still_be_chosen() -> None:
    ti.init(arch=ti.python, default_ip=ti.i64, default_up=ti.u32)
    assert ti.math.uvec2.dtype == ti.u32


def test_uvec_holds_64_bits(target: str) -> None:
    ti.init(arch=getattr(ti, target), default_ip=ti.i64)

    @ti.dataclass
    class Pair:
        p: ti.math.uvec2

    pairs = Pair.field(shape=2)

    @ti.kernel
    def k():
        pairs[1].p = ti.math.uvec2(2**63 - 1)

    k()
    assert pairs[1].p[0] == 2**63 - 1


# --- boundary="clamp"


def test_clamp_holds_for_indices_into_elements(target: str) -> None:
    ti.init(arch=getattr(ti, target))
    vector, matrix = ti.types.vector(3, ti.i32), ti.types.matrix(2, 3, ti.i32)

    @ti.kernel
    def read(
        x: ti.types.ndarray(dtype=vector, ndim=1, boundary="clamp"),
        m: ti.types.ndarray(dtype=matrix, ndim=1, boundary="clamp"),
        i: ti.i32,
        j: ti.i32,
    ) -> ti.i32:
        return x[i][j] + 100 * m[i][j, j] + 10000 * m[i][j, :].sum()

    @ti.kernel
    def write(
        x: ti.types.ndarray(dtype=vector, ndim=1, boundary="clamp"),
        m: ti.types.ndarray(dtype=matrix, ndim=1, boundary="clamp"),
        j: ti.i32,
    ):
        for i in range(1):
            x[j][j] += 50
            m[j][j, 0:2] = ti.Vector([7, 8])
            ti.atomic_max(m[j][j, j], 99)

    x, m = np.arange(6, dtype=np.int32).reshape(2, 3), np.arange(12, dtype=np.int32).reshape(2, 2, 3)
    for i, j in ((0, 0), (5, 5), (-4, -4), (1, 1), (2**30, -(2**30))):
        a, b, c = min(max(i, 0), 1), min(max(j, 0), 2), min(max(j, 0), 1)
        assert read(x, m, i, j) == x[a, b] + 100 * m[a, c, b] + 10000 * m[a, c].sum()
    write(x, m, 9)
    write(x, m, -9)
    assert x.tolist() == [[50, 1, 2], [3, 4, 55]]
    assert m.tolist() == [[[99, 8, 2], [3, 4, 5]], [[6, 7, 8], [7, 8, 99]]]


# --- crashes


def test_a_branch_whose_value_was_replaced(target: str) -> None:
    ti.init(arch=getattr(ti, target))

    @ti.kernel
    def k(g: ti.i32) -> ti.i32:
        v = g - ti.math.clz(-5)
        return (v if g <= -3 else v) + 1

    assert [k(-4), k(5)] == [-3, 6]


@pytest.mark.parametrize("kind", SMALL)
def test_constants_that_a_type_does_not_hold_wrap(target: str, kind: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    half = 1 << SMALL[kind] - 1
    constants = [half - 1, half, half + 1, 2 * half - 1, -half, -half - 1, -1]
    constants = [c for c in constants if -(2**31) <= c < 2**31 or wrapped(c, kind) == c]
    f = ti.field(getattr(ti, kind), shape=len(constants))

    @ti.kernel
    def add():
        for k in ti.static(range(len(constants))):
            f[k] += constants[k]

    own, number = [wrapped(c, kind) for c in constants], getattr(ti, kind)

    @ti.kernel
    def subtract(x: number):
        for k in ti.static(range(len(constants))):
            f[k] = x - ti.cast(own[k], number)

    f.fill(3)
    add()
    assert f.to_numpy().tolist() == [wrapped(3 + c, kind) for c in constants]
    subtract(3)
    assert f.to_numpy().tolist() == [wrapped(3 - c, kind) for c in constants]


@pytest.mark.parametrize("kind", SMALL)
def test_python_scope_wraps_as_taichi_does(kind: str) -> None:
    """All augmented operators on an element in Python scope: Python's number, modulo 2^bits (checked with Taichi)."""
    ti.init(arch=ti.python)
    f = ti.field(getattr(ti, kind), shape=2)
    for meaning in (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.and_,
                    operator.or_, operator.xor, operator.lshift, operator.rshift, operator.pow):  # fmt: skip
        for value in (1, 3, 200, 32768, 70000, 2**31, -1, -40000):
            if meaning in (operator.lshift, operator.rshift, operator.pow) and not 0 <= value < 40:
                continue
            f[1] = 5
            f[1] = meaning(f[1], value)
            assert f[1] == wrapped(meaning(5, value), kind), (meaning, value)


def test_a_loop_over_no_axes_runs_once(target: str) -> None:
    ti.init(arch=getattr(ti, target))
    n = ti.field(ti.i32, shape=())

    @ti.kernel
    def k():
        for I in ti.grouped(ti.ndrange()):
            n[I] += 1

    k()
    assert n[None] == 1

    @ti.kernel
    def ungrouped():
        for i in ti.ndrange():
            n[None] += i

    with pytest.raises(ti.TaichiSyntaxError, match="has no axes"):
        ungrouped()


def test_usage_of_what_is_no_sparse_grid() -> None:
    ti.init(arch=ti.cpu)
    dense, x = ti.field(ti.f32, shape=4), ti.field(ti.f32)
    node = ti.root.pointer(ti.i, 4)
    node.place(x)
    for wrong, found in ((node, "a pointer node"), (dense, "a field in a dense node"), (x, "a field in a pointer node"),
                         (3, "a int"), (dense.parent(), "a dense node")):  # fmt: skip
        with pytest.raises(ti.TaichiRuntimeError, match=found):
            ti.sparse.usage(wrong)


# --- others found by the table of types


def test_counts_of_bits_have_the_type_of_the_integer(target: str) -> None:
    ti.init(arch=getattr(ti, target))

    @ti.kernel
    def k(x: ti.i64, y: ti.u8) -> ti.i64:
        ti.static_assert(ti.math.popcnt(x).dtype == ti.i64)
        ti.static_assert(ti.math.clz(y).dtype == ti.u8)
        return (ti.math.popcnt(x) << 40) + ti.math.clz(y)

    assert k(255, 1) == (8 << 40) + 7


def test_cross_of_pairs_of_two_types(target: str) -> None:
    ti.init(arch=getattr(ti, target))

    @ti.kernel
    def k(a: ti.i32, b: ti.f32) -> ti.f32:
        return ti.Vector([a, 2]).cross(ti.Vector([b, 0.5]))

    assert k(3, 4.0) == 1.5 - 8.0


def test_a_literal_beyond_the_default_integer_that_a_variable_cannot_hold() -> None:
    ti.init(arch=ti.python)

    @ti.kernel
    def k() -> ti.i32:
        r: ti.i32 = 2147483648
        return r

    with pytest.raises(ti.TaichiTypeError, match="exceeded the range of default_ip"):
        k()


def test_sign_of_a_truth_value(target: str) -> None:
    ti.init(arch=getattr(ti, target))

    @ti.kernel
    def k(x: ti.u1) -> ti.f32:
        return ti.math.sign(x) + ti.floor(x) + abs(x)

    assert k(False) == 0.0
    assert k(True) > 0.0


MIXED = {
    ("u64", "i32", "i32"): ([1, -1, 0], 1, 1),
    ("i32", "i32", "u64"): ([-1, 0, 1], 0, 2**64 - 1),
    ("i8", "u8", "i8", "i32"): ([-5, 250, -5, -1], -5, 250),
    ("f32", "u64", "i32"): ([0.5, 1, -1], 0.5, 2.0**64),
    ("i32", "u64", "f32"): ([-1, 1, 0.5], -1, 1),
    ("u64", "i64", "u32", "i8"): ([1, -7, 3000000000, -5], 1, 4294967291),
}
"""Types of the arguments: values, least and greatest as Taichi 1.7.4 gives them."""


@pytest.mark.parametrize("kinds", MIXED, ids="-".join)
def test_minima_of_mixed_signs_are_taken_from_the_right(target: str, kinds: tuple[str, ...]) -> None:
    ti.init(arch=getattr(ti, target))
    values, least, greatest = MIXED[kinds]
    made = ti.types.struct(**{f"m{k}": getattr(ti, kind) for k, kind in enumerate(kinds)})

    @ti.kernel
    def k(s: made, out: ti.types.ndarray(dtype=ti.f64, ndim=1)):
        if ti.static(len(kinds) == 3):
            out[0], out[1] = ti.min(s.m0, s.m1, s.m2), max(s.m0, s.m1, s.m2)
        else:
            out[0], out[1] = ti.min(s.m0, s.m1, s.m2, s.m3), max(s.m0, s.m1, s.m2, s.m3)

    out = np.zeros(2)
    k(made(*values), out)
    assert out.tolist() == [float(least), float(greatest)]
