"""Sparse fields do what they do under Taichi 1.7.4 (arch cpu), which `tests/data/record_sparse.py` recorded."""

import json
from pathlib import Path

import pytest
from sparse_edge_programs import EDGE_PROGRAMS
from sparse_programs import PROGRAMS

import shadesmith as ti

FILE = Path(__file__).resolve().parents[2] / "data" / "sparse.json"
RECORDED = json.loads(FILE.read_text())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("program", (*PROGRAMS, *EDGE_PROGRAMS), ids=lambda program: program.__name__)
def test_programs_give_what_taichi_gives(target: str, program) -> None:
    said = json.loads(json.dumps(program(ti), default=float))
    expected = RECORDED[program.__name__]
    assert len(said) == len(expected)
    for number, (found, wanted) in enumerate(zip(said, expected, strict=True)):
        assert found == wanted, f"answer {number}"
