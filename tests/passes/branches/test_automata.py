"""Pass `automata`: in loops of C that wait for elements, what is found is selected without branches."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once


@ti.kernel
def automaton(text: ti.template(), table: ti.template(), last: ti.template(), many: ti.template()):
    for line in last:
        s, at, seen, state = 0, -1, 0, 5
        for k in range(text.shape[1]):
            s = ti.cast(table[s, text[line, k]], ti.i32)
            if s == 3:
                at = k
            if s == 0:
                state = s + k
            if s > 1:
                seen = k - seen
            if s == 2 and k > 30:
                break
        last[line] = at
        many[line] = seen + 1000 * state


@ti.kernel
def last_greater(x: ti.template(), found: ti.template()):
    for i in found:
        at = -1
        for k in range(x.shape[1]):
            if x[i, k] > 3:
                at = k
        found[i] = at


def test_automata(target: str) -> None:
    lines, length = 9, 40
    rng = np.random.default_rng(4)
    letters, rows = rng.integers(0, 6, (lines, length)), rng.integers(0, 4, (4, 6))
    text, table = ti.field(ti.u8, letters.shape), ti.field(ti.u8, rows.shape)
    text.from_numpy(letters.astype(np.uint8))
    table.from_numpy(rows.astype(np.uint8))
    last, many = ti.field(ti.i32, lines), ti.field(ti.i32, lines)
    automaton(text, table, last, many)
    for line in range(lines):
        s, at, seen, state = 0, -1, 0, 5
        for k in range(length):
            s = rows[s, letters[line, k]]
            if s == 3:
                at = k
            if s == 0:
                state = s + k
            if s > 1:
                seen = k - seen
            if s == 2 and k > 30:
                break
        assert (last[line], many[line]) == (at, seen + 1000 * state)
    source = automaton.source(text, table, last, many, arch=ti.cpu)
    assert "at += (k - at) * (int)(s == 3);  // without a branch (automata)" in source
    assert "(automata)" not in automaton.source(text, table, last, many, arch=ti.cuda)


def test_branches_of_other_loops_stay(target: str) -> None:
    """gcc makes vectors of them."""
    x, found = ti.field(ti.i32, (5, 40)), ti.field(ti.i32, 5)
    numbers = np.random.default_rng(5).integers(0, 6, (5, 40)).astype(np.int32)
    x.from_numpy(numbers)
    last_greater(x, found)
    assert found.to_numpy().tolist() == [int(np.flatnonzero(row > 3).max(initial=-1)) for row in numbers]
    assert "(automata)" not in last_greater.source(x, found, arch=ti.cpu)
