"""`ti.init(check_overflow=True)`: sums and products of vectors and matrices, whose every step must fit their type."""

import numpy as np
import pytest
from overflows import INTEGERS, SENTINEL, edges, failed

import shadesmith as ti


@pytest.fixture(autouse=True)
def checking(target):
    ti.init(arch=getattr(ti, target), check_overflow=True, enable_fallback=False, log_level=ti.WARN)


SMALL = {"i8": 9, "u8": 13, "i16": 150, "u16": 200, "i32": 40_000, "u32": 50_000, "i64": 2**31, "u64": 2**32 - 1}
"""Numbers about the root of the largest of each type: products of them fit or just do not."""


def draws(kind: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    info, draw = np.iinfo(edges(kind).dtype), np.random.default_rng(seed)
    root = SMALL[kind]
    values = [0, 1, 2, root // 3, root // 2, root - 1, root, -1, -root // 2, -root, info.max, info.min]
    held = [v for v in values if info.min <= v <= info.max]
    weights = np.array([1 if abs(v) > root else 6 for v in held], float)
    return draw.choice(np.array(held, info.dtype), size=shape, p=weights / weights.sum())


def steps(products: list[list[int]]) -> list[int]:
    """Return all numbers that sums of products meet."""
    return [n for terms in products for n in (*terms, *(sum(terms[:k]) for k in range(len(terms) + 1)))]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_sums_and_products_of_tensors_are_checked_step_by_step(kind, size):
    element = getattr(ti, kind)
    vector, matrix = ti.types.vector(size, element), ti.types.matrix(2, size, element)

    @ti.kernel
    def sums(a: ti.types.ndarray(vector, 1), out: ti.types.ndarray()):
        for i in out:
            out[i] = a[i].sum()

    @ti.kernel
    def dots(a: ti.types.ndarray(vector, 1), b: ti.types.ndarray(vector, 1), out: ti.types.ndarray()):
        for i in out:
            out[i] = a[i].dot(b[i])

    @ti.kernel
    def outer(a: ti.types.ndarray(vector, 1), b: ti.types.ndarray(vector, 1), out: ti.types.ndarray()):
        for i in out:
            out[i] = a[i].outer_product(b[i])[size - 1, 0]

    @ti.kernel
    def times(m: ti.types.ndarray(matrix, 1), a: ti.types.ndarray(vector, 1), out: ti.types.ndarray()):
        for i in out:
            out[i] = (m[i] @ a[i])[1]

    count = 60
    a, b, m = (draws(kind, (count, *shape), seed) for seed, shape in enumerate([(size,), (size,), (2, size)]))
    x, y, z = (array.tolist() for array in (a, b, m))
    info = np.iinfo(a.dtype)

    def pairs(p, q):
        return [s * t for s, t in zip(p, q, strict=True)]

    cases = [
        (sums, (a,), [([p], sum(p)) for p in x]),
        (dots, (a, b), [([pairs(p, q)], sum(pairs(p, q))) for p, q in zip(x, y, strict=True)]),
        (outer, (a, b), [([[s * t] for s in p for t in q], p[-1] * q[0]) for p, q in zip(x, y, strict=True)]),
        (times, (m, a), [([pairs(r, p) for r in rows], sum(pairs(rows[1], p))) for p, rows in zip(x, z, strict=True)]),
    ]
    for kernel, arguments, expected in cases:
        out = np.full(count, SENTINEL, a.dtype)
        error = failed(lambda kernel=kernel, arguments=arguments, out=out: kernel(*arguments, out))
        fits = [all(info.min <= n <= info.max for n in steps(products)) for products, _ in expected]
        assert out.tolist() == [result if fit else SENTINEL for fit, (_, result) in zip(fits, expected, strict=True)]
        assert (error.failures if error else 0) == fits.count(False)
        assert error is None or f"leaves {kind}" in error.message


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", INTEGERS)
def test_products_of_two_matrices_and_cross_products(kind):
    element = getattr(ti, kind)
    square, vector = ti.types.matrix(2, 2, element), ti.types.vector(3, element)

    @ti.kernel
    def times(a: ti.types.ndarray(square, 1), b: ti.types.ndarray(square, 1), out: ti.types.ndarray(square, 1)):
        for i in out:
            out[i] = a[i] @ b[i]

    @ti.kernel
    def cross(a: ti.types.ndarray(vector, 1), b: ti.types.ndarray(vector, 1), out: ti.types.ndarray(vector, 1)):
        for i in out:
            out[i] = ti.math.cross(a[i], b[i])

    def rows_by_columns(a, b):
        return [[[int(a[i, k]) * int(b[k, j]) for k in range(2)] for j in range(2)] for i in range(2)]

    def pairs(a, b):
        around = [((i + 1) % 3, (i + 2) % 3) for i in range(3)]
        return [[[int(a[j]) * int(b[k]), -int(a[k]) * int(b[j])] for j, k in around]]

    info = np.iinfo(edges(kind).dtype)
    for kernel, shape, expand in ((times, (2, 2), rows_by_columns), (cross, (3,), pairs)):
        a, b = draws(kind, (80, *shape), 3), draws(kind, (80, *shape), 4)
        out = np.full((80, *shape), SENTINEL, a.dtype)
        error = failed(lambda kernel=kernel, a=a, b=b, out=out: kernel(a, b, out))
        wanted = []
        for left, right in zip(a, b, strict=True):
            terms = [products for row in expand(left, right) for products in row]
            met = steps(terms) if kernel is times else [*map(sum, terms), *(abs(n) for t in terms for n in t[:1])]
            met += [] if kernel is times else [-t[1] for t in terms] + [t[0] for t in terms]
            fits = all(info.min <= n <= info.max for n in met)
            wanted.append([sum(t) for t in terms] if fits else [SENTINEL] * int(np.prod(shape)))
        assert out.reshape(80, -1).tolist() == wanted
        assert error.failures == sum(row[0] == SENTINEL for row in wanted)


def test_the_sum_is_checked_on_the_way():
    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        v = ti.Vector([n, 1, -5])
        return v.sum()

    assert run(2**31 - 2) == 2**31 - 6
    error = failed(lambda: run(2**31 - 1))
    assert error.message == "Sum overflow detected: sum([2147483647, 1, -5]) leaves i32"
    assert "return v.sum()" in str(error)
