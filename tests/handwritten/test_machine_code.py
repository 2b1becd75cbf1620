"""Must 4 of issue 15: loops, functions and names in the sources cost no instruction, no register and no local memory.

`FLAT` has what the sources of commit 1072c52 became, in which loops were unrolled and functions inlined.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from handwritten import running
from handwritten.machine_code import Code, machine_code
from handwritten.table import PROGRAMS

import shadesmith as ti
from shadesmith.runtime.devices.cuda import nvrtc
from shadesmith.runtime.workbench.inspect.cuda_listings import find_nvdisasm

GPU, NVRTC = "sm_90", (13, 5)
FLAT = {
    "p2g3d": Code(639, 56, 0),
    "mpm88": Code(492, 32, 0),
    "mpm99": Code(803, 32, 0),
    "sgemm": Code(562, 64, 0),
    "raymarch": Code(1113, 40, 0),
    "sph": Code(269, 32, 0),
    "advect": Code(259, 32, 0),
    "lbm": Code(300, 24, 0),
    "flux": Code(445, 40, 0),
    "nbody": Code(123, 31, 0),
}
FASTER = "-block_tiles,-vector_atomics,-keep_elements,-loads_in_flight,-few_threads"
"""Passes that take more instructions or registers, and less time: not those of the form of the source."""
LARGER = {"p2g3d", "nbody", "lbm", "mpm88", "mpm99"}
"""The programs that become larger by these passes."""


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_form_of_the_source_costs_nothing(name: str, tmp_path: Path) -> None:
    if find_nvdisasm() is None or nvrtc.version() != NVRTC:
        pytest.skip("the numbers are of another version of NVRTC")
    for passes in (FASTER,) if name in LARGER else ("", FASTER):
        ti.init(arch=ti.python, passes=passes, log_level=ti.ERROR)
        code = machine_code(running.emitted(PROGRAMS[name], tmp_path).source(), GPU)
        assert [found <= flat for found, flat in zip(code, FLAT[name])] == [True] * 3, code
