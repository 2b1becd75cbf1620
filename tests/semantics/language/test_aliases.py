"""Items of lists in `ti.static` are the variables themselves, as in Taichi: what changes an item changes its variable."""

from __future__ import annotations

import pytest

import shadesmith as ti

i2 = ti.types.vector(2, ti.i32)
Pair = ti.types.struct(p=ti.i32, q=i2)


@ti.func
def raise_first(v: ti.template()):
    v[0] += 5


@ti.func
def raise_number(v: ti.template()):
    v += 5


@ti.func
def raise_all(vs: ti.template()):
    for v in ti.static(vs):
        v[0] += 3


@ti.func
def of_a_copy(vs):
    vs[0] += 3
    return vs[0] + vs[1]


@ti.func
def of_copies(*vs):
    for v in ti.static(vs):
        v += 5
    return vs[0]


def vectors(o, i):
    a, b = i2(0, 0), i2(5, 5)
    for j in ti.static([a, b]):
        j[i % 2] = 1
    o[0], o[1], o[2], o[3] = a[0], a[1], b[0], b[1]


def items_of_a_list(o, i):
    a, b = i2(0, 0), i2(5, 5)
    z = [a, b]
    for j in ti.static([z[0], z[1]]):
        j[i % 2] = 1
    o[0], o[1], o[2], o[3] = a[1], b[1], z[0][1], z[1][1]


def a_list(o, i):
    z = [i2(k, i) for k in range(2)]
    for j in ti.static(z):
        j[0] += 5
    o[0], o[1] = z[0][0], z[1][0]


def numbers(o, i):
    a = 1
    b = 5
    for j in ti.static([a, b]):
        j = 7  # noqa: F841
    o[0], o[1] = a, b


def numbers_of_a_list(o, i):
    z = [1, 2]
    for j in ti.static(z):
        j += 1
    o[0], o[1] = z[0], z[1]


def elements(o, i):
    z = i2(1, 5)
    for j in ti.static([z[0], z[1]]):
        j += 7
    o[0], o[1] = z[0], z[1]


def elements_of_arrays(o, i):
    for j in ti.static([o[0], o[1]]):
        j += 9
        o[2] += j


def enumerated(o, i):
    a, b = i2(0, 0), i2(5, 5)
    for k, j in ti.static(enumerate([a, b])):
        j[k] = 3
    for x, y in ti.static(zip((a, b), (b, a))):
        x[0] += y[1] + 1
    o[0], o[1], o[2], o[3] = a[0], a[1], b[0], b[1]


def chosen(o, i):
    a = 1
    b = 2
    for j in ti.static([a, b] if True else [b, a]):
        j += 1
    o[0], o[1] = a, b


def pairs(o, i):
    a = 1
    b = 2
    c = 3
    for p, q in ti.static([(a, b), (b, c)]):
        p += q
    o[0], o[1], o[2] = a, b, c


def read_again(o, i):
    a = 1
    b = 2
    for j in ti.static([a, b]):
        a += 10
        b += 100
        o[0] += j


def structs(o, i):
    s, r = Pair(1, i2(2, 3)), Pair(4, i2(5, 6))
    for j in ti.static([s, r]):
        j.p += 1
        j.q[1] += 2
    for j in ti.static([s.q, r.q]):
        j[1] += 1
    o[0], o[1], o[2], o[3] = s.p, s.q[1], r.p, r.q[1]


def a_name(o, i):
    a = 1
    b = 2
    z = ti.static([a, b])
    z[0] += 5
    a += 1
    o[0], o[1] = a, z[0]


def passed_on(o, i):
    a, b = i2(0, 0), i2(5, 5)
    z = [i, 2]
    for j in ti.static([a, b]):
        raise_first(j)
    raise_all([a, b])
    raise_number(z[1])
    raise_number(z[0])
    o[0], o[1], o[2], o[3] = a[0], b[0], z[0], z[1]


def copies(o, i):
    a = 1
    b = 2
    o[2] = of_a_copy([a, b])
    o[3] = of_copies(a, b)
    o[0], o[1] = a, b


def tuples(o, i):
    t = (i2(1, 2), i2(3, 4))
    t[1][0] = 9
    s = (1, 2)
    for j in ti.static(s):
        j += 1
    ti.atomic_add(s[0], 1)
    s[1] = 4
    o[0], o[1], o[2], o[3] = t[0][0], t[1][0], s[0], s[1]


def temporary_vectors(o, i):
    for j in ti.static([i2(i, 1), i2(i + 1, 2)]):
        j[0] += 9
        o[0] += j[0]


FORMS = {
    vectors: [0, 1, 5, 1],
    items_of_a_list: [0, 5, 1, 1],
    a_list: [5, 6, 0, 0],
    numbers: [7, 7, 0, 0],
    numbers_of_a_list: [2, 3, 0, 0],
    elements: [8, 12, 0, 0],
    elements_of_arrays: [9, 9, 18, 0],
    enumerated: [7, 0, 6, 3],
    chosen: [2, 3, 0, 0],
    pairs: [3, 5, 3, 0],
    read_again: [213, 0, 0, 0],
    structs: [2, 6, 5, 9],
    a_name: [7, 7, 0, 0],
    passed_on: [8, 13, 6, 7],
    copies: [1, 2, 6, 6],
    tuples: [1, 9, 3, 4],
    temporary_vectors: [21, 0, 0, 0],
}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_an_item_is_the_variable(target: str, form) -> None:
    body = ti.func(form)

    @ti.kernel
    def run(o: ti.types.ndarray(ti.i32, 1), n: ti.i32):
        for i in range(n, n + 1):
            body(o, i)

    o = ti.ndarray(ti.i32, 4)
    run(o, 1)
    assert o.to_numpy().tolist() == FORMS[form]


def a_sum(o, i):
    for j in ti.static([i + 1, i * 3]):
        j += 9


def an_index(o, i):
    for k in range(2):
        for j in ti.static([k]):
            j += 1


def a_vector(o, i):
    z = i2(1, 5)
    for j in ti.static(z):
        j += 7


def rows(o, i):
    m = ti.Matrix([[0, 1], [2, 3]])
    for j in ti.static([m[0, :], m[1, :]]):
        j[0] = 1


def parts(o, i):
    v = ti.math.ivec3(1, 2, 3)
    for j in ti.static([v.xy, v.yz]):
        v.y = 7
        o[0] += j[0]


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (a_sum, "`j` stands for the value of an expression, `i32`, which cannot change"),
        (an_index, "`j` stands for the value of an expression"),
        (a_vector, "`j` stands for the value of an expression"),
        (rows, r"`m\[0, :\]` would be several elements of a vector that may change"),
        (parts, r"`v.xy` would be several elements"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_no_variable_cannot_change(form, message: str) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    body = ti.func(form)

    @ti.kernel
    def run(o: ti.types.ndarray(ti.i32, 1)):
        for i in range(1):
            body(o, i)

    with pytest.raises(ti.TaichiTypeError, match=message):
        run(ti.ndarray(ti.i32, 4))
    ti.reset()
