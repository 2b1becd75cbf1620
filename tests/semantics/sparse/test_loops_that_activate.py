"""A loop over active cells has the iterations that were active when it began, whatever its body activates meanwhile.

Taichi 1.7.4 does the same for lists and for blocks below a pointer node. Cells of the lowest pointer or bitmasked node that
an iteration activates ahead of others it may visit or not.
"""

import numpy as np
import pytest

import shadesmith as ti

N = 240
"""Elements of a field."""
STEP = 7


def tree(form: str) -> tuple[ti.SNode, ti.Field]:
    """Return the node whose cells are active, and a field in it."""
    x = ti.field(ti.i32)
    nodes = {
        "pointer": lambda: ti.root.pointer(ti.i, N),
        "nested pointers": lambda: ti.root.pointer(ti.i, 6).pointer(ti.i, 10).pointer(ti.i, 4),
        "bitmasked": lambda: ti.root.bitmasked(ti.i, N),
        "bitmasked in dense": lambda: ti.root.dense(ti.i, 6).bitmasked(ti.i, 40),
        "bitmasked in pointer": lambda: ti.root.pointer(ti.i, 6).bitmasked(ti.i, 40),
        "bitmasked in bitmasked": lambda: ti.root.bitmasked(ti.i, 6).bitmasked(ti.i, 40),
        "pointer in bitmasked": lambda: ti.root.bitmasked(ti.i, 6).pointer(ti.i, 40),
    }
    node = nodes[form]()
    node.place(x)
    return node, x


FORMS = [
    "pointer", "nested pointers", "bitmasked", "bitmasked in dense", "bitmasked in pointer", "bitmasked in bitmasked",
    "pointer in bitmasked",
]  # fmt: skip


@pytest.mark.sampled(2, each="form")
@pytest.mark.parametrize("serialize", [False, True], ids=["parallel", "serial"])
@pytest.mark.parametrize("form", FORMS)
def test_cells_that_become_active_wait_for_the_next_loop(target: str, form: str, serialize: bool) -> None:
    _, x = tree(form)
    visits, order, count = ti.field(ti.i32, N), ti.field(ti.i32, N), ti.field(ti.i32, ())

    @ti.kernel
    def spread():
        count[None] = 0
        ti.loop_config(serialize=serialize)
        for i in x:
            visits[i] += 1
            order[ti.atomic_add(count[None], 1)] = i
            x[(i + 1) % N] = 1
            x[(i * STEP + 3) % N] = 1

    active = np.zeros(N, bool)
    for first in (0, 5, 41, 239):
        x[first] = 1
        active[first] = True
    for _ in range(3):
        visits.fill(0)
        spread()
        np.testing.assert_array_equal(visits.to_numpy(), active)
        found = order.to_numpy()[: count[None]]
        np.testing.assert_array_equal(found if serialize else np.sort(found), np.nonzero(active)[0])
        (before,) = np.nonzero(active)
        active[(before + 1) % N] = True
        active[(before * STEP + 3) % N] = True
        np.testing.assert_array_equal(x.to_numpy() != 0, active)


@pytest.mark.sampled(2, each="how")
@pytest.mark.parametrize("serialize", [False, True], ids=["parallel", "serial"])
@pytest.mark.parametrize("how", ["append", "store", "atomic"])
def test_a_list_that_grows(target: str, how: str, serialize: bool) -> None:
    """Each iteration makes its list longer: without an end of the loop before that, it would go on to the list's."""
    x = ti.field(ti.i32)
    ti.root.dynamic(ti.i, 500, chunk_size=8).place(x)
    visits = ti.field(ti.i32, 500)

    @ti.kernel
    def grow():
        ti.loop_config(serialize=serialize)
        for i in x:
            visits[i] += 1
            if ti.static(how == "append"):
                ti.append(x.parent(), [], i)
            elif ti.static(how == "store"):
                x[2 * i + 1] = 1
            else:
                ti.atomic_max(x[2 * i + 1], 1)

    for i in range(45):
        x[i] = 1
    length = 45
    for _ in range(3):
        visits.fill(0)
        grow()
        np.testing.assert_array_equal(visits.to_numpy(), np.arange(500) < length)
        length = 2 * length


@pytest.mark.parametrize("above", ["dense", "pointer"])
def test_lists_that_grow(target: str, above: str) -> None:
    x = ti.field(ti.i32)
    node = ti.root.dense(ti.i, 4) if above == "dense" else ti.root.pointer(ti.i, 4)
    node.dynamic(ti.j, 100, chunk_size=16).place(x)
    visits = ti.field(ti.i32, (4, 100))

    @ti.kernel
    def grow():
        for i, j in x:
            visits[i, j] += 1
            x[(i + 1) % 4, j + 3] = 1

    counts = np.array([40, 0, 1, 7])
    for i, count in enumerate(counts):
        for j in range(count):
            x[i, j] = 1
    for _ in range(4):
        visits.fill(0)
        grow()
        np.testing.assert_array_equal(visits.to_numpy(), np.arange(100)[None] < counts[:, None])
        before = np.roll(counts, 1)
        counts = np.where(before > 0, np.maximum(counts, before + 3), counts)


def test_bits_that_iterations_clear_ahead_still_have_their_iteration(target: str) -> None:
    x = ti.field(ti.i32)
    node = ti.root.bitmasked(ti.i, N)
    node.place(x)
    visits = ti.field(ti.i32, N)

    @ti.kernel
    def prune():
        for i in x:
            visits[i] += 1
            ti.deactivate(node, [(i + 1) % N])

    for i in range(50):
        x[i] = 1
    prune()
    np.testing.assert_array_equal(visits.to_numpy(), np.arange(N) < 50)
    visits.fill(0)
    prune()
    np.testing.assert_array_equal(visits.to_numpy(), np.arange(N) < 1)


def test_a_loop_over_a_node_that_it_changes(target: str) -> None:
    x = ti.field(ti.i32)
    bits = ti.root.pointer(ti.i, 8).bitmasked(ti.i, 8)
    bits.dense(ti.i, 4).place(x)
    visits = ti.field(ti.i32, 64)

    @ti.kernel
    def spread():
        for i in bits:
            visits[i] += 1
            x[(i * 4 + 11) % 256] = 1

    x[0] = 1
    x[100] = 1
    active = np.zeros(64, bool)
    active[[0, 25]] = True
    for _ in range(4):
        visits.fill(0)
        spread()
        np.testing.assert_array_equal(visits.to_numpy(), active)
        active[(np.nonzero(active)[0] * 4 + 11) % 256 // 4] = True


@pytest.mark.sampled(2)
@pytest.mark.parametrize("form", ["dynamic", *FORMS])
def test_a_loop_behind_an_early_return(target: str, form: str) -> None:
    """Of `make fuzz`, seed 7000966: the loop tested each item when its thread came to it."""
    if form == "dynamic":
        x = ti.field(ti.i32)
        ti.root.dynamic(ti.i, N, chunk_size=4).place(x)
    else:
        _, x = tree(form)

    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        for j in range(1):
            x[j] = 1
        if n < 0:
            return 0
        for i in x:
            ti.atomic_max(x[4], 1)
            x[i] += 1
        return 1

    expected = np.zeros(N, np.int32)
    assert k(-1) == 0
    expected[0] = 1
    np.testing.assert_array_equal(x.to_numpy(), expected)
    assert k(0) == 1
    expected[[0, 4]] = 2, 1
    np.testing.assert_array_equal(x.to_numpy(), expected)
