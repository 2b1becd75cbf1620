"""The stage `lower_access`: random stencils over random layouts equal NumPy's, and addresses are shared and hoisted."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shadesmith as ti

COUNT = 60
LAYOUTS = ("ndarray", "vectors", "field", "offset", "order", "aos", "blocked", "inner", "soa", "members", "single", "pointer",
           "bitmasked", "quantised")  # fmt: skip


def placed(layout: str, name: str, shape: tuple[int, ...], choice: random.Random) -> tuple[Any, tuple[int, ...]]:
    """Return a field or ndarray of f32 and its first index; a name may be the path to the number."""
    axes = (ti.i, ti.ij, ti.ijk)[len(shape) - 1]
    zero = (0,) * len(shape)
    x, y = ti.field(ti.f32), ti.field(ti.i32)
    match layout:
        case "ndarray":
            return ti.ndarray(ti.f32, shape), zero
        case "vectors":
            return ti.Vector.ndarray(3, ti.f32, shape), zero
        case "field":
            return ti.field(ti.f32, shape), zero
        case "offset":
            first = tuple(choice.randrange(-9, 10) for _ in shape)
            return ti.field(ti.f32, shape, offset=first), first
        case "order":
            return ti.field(ti.f32, shape, order="".join(choice.sample("ijk"[: len(shape)], len(shape)))), zero
        case "aos":
            ti.root.dense(axes, shape).place(y, x)
        case "blocked":
            ti.root.dense(axes, [-(-n // 4) for n in shape]).dense(axes, 4).place(x)
        case "inner":
            block = ti.root.dense(axes, [-(-n // 2) for n in shape])
            block.dense(axes, 2).place(y)
            block.dense(axes, 2).place(x)
        case "soa":
            return ti.Vector.field(3, ti.f32, shape, layout=ti.Layout.SOA), zero
        case "members":
            return ti.Struct.field({"flag": ti.i32, "value": ti.f32}, shape=shape), zero
        case "single":
            ti.root.dense(axes, (1,) * len(shape)).dense(axes, shape).place(x)
        case "pointer":
            ti.root.pointer(axes, [-(-n // 4) for n in shape]).dense(axes, 4).place(x)
        case "bitmasked":
            ti.root.bitmasked(axes, shape).place(x)
        case "quantised":
            ti.root.dense(axes, shape).place(x)
    return x, zero


def element(layout: str, name: str, indices: str) -> str:
    """Return the number in an element."""
    return f"{name}[{indices}]" + {"vectors": "[1]", "soa": "[2]", "members": ".value"}.get(layout, "")


def numbers_of(layout: str, array: Any, shape: tuple[int, ...]) -> np.ndarray:
    found = array.to_numpy()
    if layout == "members":
        return found["value"]
    found = found[tuple(slice(n) for n in shape)]
    return found[..., 1 if layout == "vectors" else 2] if layout in ("vectors", "soa") else found


def filled(layout: str, array: Any, first: tuple[int, ...], values: np.ndarray) -> None:
    for index in np.ndindex(values.shape):
        at = tuple(np.add(index, first).tolist())
        if layout in ("vectors", "soa"):
            array[at] = [0.0, values[index], 0.0] if layout == "vectors" else [0.0, 0.0, values[index]]
        elif layout == "members":
            array[at].value = float(values[index])
        else:
            array[at] = float(values[index])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("number", range(COUNT))
def test_random_stencils_over_random_layouts(target: str, define_kernel: Callable[..., Any], number: int) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, passes="+lower_access")
    choice = random.Random(number)
    ndim = choice.choice((1, 2, 2, 3, 3))
    shape = tuple(choice.randrange(5, 8) for _ in range(ndim))
    layouts = [choice.choice(LAYOUTS) for _ in range(3)]
    if number % 4 == 0:
        layouts[1] = layouts[0]
    names = ["a", "b", "out"]
    given = {name: placed(layout, name, shape, choice) for name, layout in zip(names, layouts)}
    values = {}
    for name, layout in zip(names, layouts):
        values[name] = np.random.default_rng([number, len(values)]).integers(-9, 9, shape).astype(np.float32)
        filled(layout, *given[name], values[name])
    letters = "ijk"[:ndim]
    terms, expected = [], 0
    inner = tuple(slice(1, n - 1) for n in shape)
    for _ in range(choice.randrange(2, 7)):
        which = choice.randrange(2)
        moves = [choice.choice((-1, 0, 0, 1)) for _ in shape]
        factor = choice.randrange(1, 4)
        first = given[names[which]][1]
        indices = [f"{a} + ({m + f})" if m + f else a for a, m, f in zip(letters, moves, first)]
        terms.append(f"{element(layouts[which], names[which], ', '.join(indices))} * {factor}")
        moved = tuple(slice(1 + m, n - 1 + m) for m, n in zip(moves, shape))
        expected = expected + values[names[which]][moved] * factor
    at = ", ".join(f"{a} + ({f})" if f else a for a, f in zip(letters, given["out"][1]))
    store = element(layouts[2], "out", at)
    bounds = ", ".join(f"(1, {n - 1})" for n in shape)
    if ndim == 3 and choice.random() < 0.6:  # an inner loop, out of which addresses move
        text = f"for i, j in ti.ndrange((1, {shape[0] - 1}), (1, {shape[1] - 1})):\n        for k in range(1, {shape[2] - 1}):\n"
        body = " " * 12
    else:
        text, body = (
            f"for {', '.join(letters)} in ti.ndrange({bounds}):\n"
            if ndim > 1
            else f"for i in range(1, {shape[0] - 1}):\n",
            " " * 8,
        )
    operator = choice.choice(("=", "+="))
    arrays = [name for name, layout in zip(names, layouts) if layout in ("ndarray", "vectors")]
    parameters = ", ".join(
        f"{name}: ti.types.ndarray({'ti.math.vec3' if layouts[names.index(name)] == 'vectors' else 'ti.f32'}, {ndim})"
        for name in arrays
    )
    fields = {name: given[name][0] for name in names if name not in arrays}
    kernel = define_kernel(
        f"def stencil({parameters}):\n    {text}{body}{store} {operator} {' + '.join(terms)}\n", **fields
    )
    kernel(*(given[name][0] for name in arrays))
    result = values["out"].copy()
    result[inner] = expected if operator == "=" else result[inner] + expected
    for name, layout in zip(names, layouts):
        found = numbers_of(layout, given[name][0], shape)
        np.testing.assert_array_equal(found, result if name == "out" else values[name], err_msg=f"{layouts} {terms}")


u3 = ti.types.ndarray(ti.f32, 3)


@ti.kernel
def stencil(u: u3, v: u3):
    for i, j in ti.ndrange((1, u.shape[0] - 1), (1, u.shape[1] - 1)):
        for k in range(1, u.shape[2] - 1):
            v[i, j, k] = u[i, j, k + 1] + u[i, j, k - 1] + u[i, j + 1, k] + u[i - 1, j, k] - u[i, j, k]


@pytest.mark.parametrize("arch", ["cpu", "vulkan", "cuda"])
def test_addresses_of_a_stencil_are_shared_and_leave_the_loop(arch: str, request: pytest.FixtureRequest) -> None:
    if arch == "cuda" and request.config.getoption("--emulated-cuda"):
        pytest.skip("the emulated GPU marks all sums that may wrap")
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="+lower_access")
    arrays = np.zeros((4, 5, 6), np.float32), np.zeros((4, 5, 6), np.float32)
    text = stencil.source(*arrays, arch=arch)
    wide = {"cpu": "(int64_t)", "cuda": "(int64_t)", "vulkan": ""}[arch]
    row = f"u_row = ({wide}i * args.u_n1 + j) * args.u_n2"
    assert text.count("i * args.u_n1 + j) * args.u_n2") == 1 and row in text, text
    assert text.index(row) < text.index("for (int k = 1") < text.index("u_index = u_row + k;")
    for shown in ("u_at(u_index + 1)", "u_at(u_index - 1)", "u_at(u_index + args.u_n2)", "v_at(v_row + k) ="):
        assert shown in text, text
    assert "#define u_at(n) args.u_data" in text and "#define u(" not in text
    plain = stencil.source(*arrays, arch=arch) if not ti.init(arch=ti.python, log_level=ti.ERROR) else ""
    assert "u(i, j, k + 1)" in plain and "_at(" not in plain


def test_what_keeps_its_indices_is_named() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="+lower_access")
    s, x = ti.field(ti.f32), ti.field(ti.f32, (4, 4))
    ti.root.pointer(ti.ij, 4).dense(ti.ij, 4).place(s)

    @ti.kernel
    def both():
        for i, j in x:
            x[i, j] += s[i, j]

    text = both.source(arch=ti.cpu)
    assert "// `s` keeps its indices: cells of a sparse tree are found when it runs (lower_access)" in text
    assert "x_at((int64_t)i * x_n1 + j) += s(i, j);" in text, text


def test_indices_are_checked_before_it(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, passes="+lower_access", debug=True)
    x = ti.field(ti.f32, (4, 5))

    @ti.kernel
    def outside(j: ti.i32):
        for i in range(4):
            x[i, j] = 1.0

    outside(4)
    with pytest.raises((AssertionError, RuntimeError), match="x"):
        outside(5)  # the next row: in bounds by its number


def test_it_is_a_pass_like_others() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    entry = next(entry for entry in ti.passes() if entry.name == "lower_access")
    assert not entry.is_on and "lower_access (only with passes='+lower_access')" in str(ti.passes())
    x = ti.field(ti.f32, (4, 5))

    @ti.kernel(passes="+lower_access")
    def add():
        for i, j in x:
            x[i, j] += 1.0

    with ti.trace() as trace:
        add()
    assert "lower_access" in str(trace)
    step = next(step for step in add.inspect().passes if step.name == "lower_access")
    assert "ptr x ($" in step.diff() and "ptr x at $" in step.diff()
    assert (x.to_numpy() == 1).all()
    assert "made by lower_access" in str(add.blame("$" + add.ir("final").split("ptr x at $")[1].split("\n")[0]))


def test_a_quotient_by_what_may_be_zero_stays_in_its_loop() -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR, passes="+lower_access")

    @ti.kernel
    def sums(x: ti.types.ndarray(ti.f32, 2), y: ti.types.ndarray(ti.f32, 1)):
        for i in y:
            s = 0.0
            for j in range(x.shape[1]):
                s += x[i % x.shape[1], j]
            y[i] = s

    y = np.ones(6, np.float32)
    sums(np.ones((3, 0), np.float32), y)
    assert not y.any()
