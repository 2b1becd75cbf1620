"""Must 1 of issue 15: ten emitted kernels beside the same kernels as a CUDA programmer would type them.

The hand-written sources are compiled by NVRTC and compared with the Python: on the host (`tests/emulated`), and on a GPU.
Longer ones than `CEILINGS` allow are failures; the goal is 1.4 for each and 1.2 for the median.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
import pytest
from emitted_counts import Source
from handwritten import running
from handwritten.counting import counted_lines, counted_tokens, unfolded_lines
from handwritten.magic import magic_floats
from handwritten.table import PROGRAMS, Program

import shadesmith as ti
from shadesmith.runtime.devices.cuda.nvrtc import compile_cubin
from shadesmith.transpiler.backend.module.interface import BackendModule

COLUMNS = 100
CEILINGS = {
    "p2g3d": 1.22,  # with the helper that adds three floats by two instructions: 2.27 ms -> 1.70
    "mpm88": 1.10,
    "mpm99": 1.34,  # it, raymarch and flux divide by `normal_reciprocal_f32`, of 4 lines: 2 instructions in place of 8
    "sgemm": 1.18,
    "raymarch": 1.06,
    "sph": 1.04,
    "advect": 1.0,
    "lbm": 1.10,
    "flux": 1.04,
    "nbody": 1.20,
}
"""Lines emitted for each line written by hand, at most. They are lowered whenever the emitted sources get shorter."""
MEDIAN = 1.10
UNFOLDED_MEDIAN = 1.23
UNFOLDED_CEILING = 1.47
"""The same with functions and structs of one line counted as the hand-written sources have them, which is stricter than
the goal. `mpm99` is above 1.4 by `atomic_add_float2`, one instruction for what two lines by hand do,
and by `normal_reciprocal_f32`.

`nbody` has `normal_rsqrt_f32`, an instruction of 5 lines that `rsqrtf` by hand does not need, and is faster by it. So has
`raymarch` `normal_sqrt_f32`, by which lengths of vectors are one instruction.
"""
TOTALS = {"temporaries": 0, "numbered": 4, "long_lines": 0, "magic": 0}
"""Must 2, over the ten: what `emitted_counts` counts, and floats that had a name. They too only fall."""
FROM_PYTHON = 0.93


@pytest.fixture(scope="module")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, BackendModule]]:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    folder = tmp_path_factory.mktemp("emitted")
    yield {name: running.emitted(program, folder) for name, program in PROGRAMS.items()}
    ti.reset()


def test_emitted_sources_are_no_longer_than_the_ceilings(emitted: dict[str, BackendModule]) -> None:
    ratios, unfolded = {}, {}
    for name, program in PROGRAMS.items():
        source, by_hand = emitted[name].source(), program.cuda.read_text(encoding="utf-8")
        ratios[name] = counted_lines(source) / counted_lines(by_hand)
        unfolded[name] = unfolded_lines(source) / unfolded_lines(by_hand)
        tokens = counted_tokens(source) / counted_tokens(by_hand)
        print(
            f"{name:10}{counted_lines(source):5}{counted_lines(by_hand):5}{ratios[name]:6.2f}  tokens{tokens:6.2f}"
            f"  unfolded{unfolded[name]:6.2f}"
        )
    print(f"median{median(ratios.values()):20.2f}  unfolded{median(unfolded.values()):6.2f}")
    assert {name: ratio for name, ratio in ratios.items() if ratio > CEILINGS[name]} == {}
    assert median(ratios.values()) <= MEDIAN
    assert median(unfolded.values()) <= UNFOLDED_MEDIAN
    assert {name: ratio for name, ratio in unfolded.items() if ratio > UNFOLDED_CEILING} == {}


def test_emitted_sources_have_the_names_of_python(emitted: dict[str, BackendModule]) -> None:
    found: Counter[str] = Counter()
    for name, module in emitted.items():
        found.update({kind: len(names) for kind, names in Source(name, "cuda", module).found().items()})
        found["magic"] += sum(len(magic_floats(file)) for file in module.files)
    print(found)
    assert {kind: found[kind] for kind in TOTALS if found[kind] > TOTALS[kind]} == {}
    assert 1 - found["foreign"] / found["locals"] >= FROM_PYTHON


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", PROGRAMS)
def test_both_sources_compile_without_a_warning(name: str, emitted: dict[str, BackendModule]) -> None:
    by_hand = PROGRAMS[name].cuda.read_text(encoding="utf-8")
    assert max(map(len, by_hand.splitlines())) <= COLUMNS
    assert compile_cubin(by_hand)[1] == ""
    assert compile_cubin(emitted[name].source())[1] == ""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_both_sources_do_the_same(program: Program, target: str, tmp_path: Path) -> None:
    start = program.start(running.constants(program, program.small), np.random.default_rng(1))
    if target == "cuda":
        pytest.importorskip("cupy")
        by_hand = running.OnGpu(program, program.small, start, tmp_path)
        by_hand.launch()
        expected = by_hand.results()
    else:
        expected = running.run_on_host(program, program.small, start)
    results = running.run_python(program, program.small, start, tmp_path)
    for name in program.results:
        assert np.abs(expected[name]).max() > 0
        assert running.difference(program, results[name], expected[name]) == "", name
