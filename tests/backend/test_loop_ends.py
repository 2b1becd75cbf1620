"""A loop's end that is a choice: in the head of the loop, if what it chooses from cannot change, else in a variable."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti


@ti.kernel
def of_arguments(found: ti.types.ndarray(ti.i32, 1), flag: ti.i32, few: ti.i32, many: ti.i32):
    for i in found:
        for k in range(ti.select(flag > i, few, many + 1)):
            found[i] += k + 1


@ti.kernel
def of_variables(found: ti.types.ndarray(ti.i32, 1), flag: ti.i32, few: ti.i32):
    for i in found:
        most, least = 5, few
        for k in range(ti.select(flag > i, least, most)):
            least += 1
            most -= 1
            found[i] += k + 1


@pytest.mark.parametrize("flag", [0, 2, 9])
def test_an_end_is_what_it_was_when_the_loop_began(target: str, flag: int) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    found, changing = np.zeros(4, np.int32), np.zeros(4, np.int32)
    of_arguments(found, flag, 2, 6)
    of_variables(changing, flag, 3)
    assert found.tolist() == [3 if flag > i else 28 for i in range(4)]
    assert changing.tolist() == [6 if flag > i else 15 for i in range(4)]


def test_where_it_is_written() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    given = np.zeros(4, np.int32)
    for arch in (ti.cpu, ti.cuda, ti.vulkan):
        assert "k < (args.flag > i ? args.few : " in of_arguments.source(given, 2, 2, 6, arch=arch)
        assert "k < end_k; k++" in of_variables.source(given, 2, 3, arch=arch)
