"""Examples of engines: Dask, Ray and MPI on this machine, each compared with what one process computes."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shadesmith import examples

ROOT = Path(examples.__file__).parents[1]
ENGINES = {
    "dask_blocks": ("distributed", [], r"dask: 2 workers, 64 x 64", ["--size", "64"]),
    "ray_actors": ("ray", [], r"none killed, .*\nray: .* one killed before step 2, ", ["--bodies", "64"]),
    "mpi_halo": (
        "mpi4py",
        ["mpirun", "-n", "4"],
        r"mpi: 4 ranks, 2-D stencil .*\nmpi: 4 ranks, 3-D stencil",
        ["--size", "12"],
    ),
    "nccl_gradients": ("numpy", [], r"gradients: 2 sessions, .* largest difference", ["--points", "1000"]),
}
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
"""Lets Open MPI start four ranks on two cores, also as root. MPICH, whose wheel the tests install, needs no leave."""
MOST_LINES = 120


@pytest.mark.parametrize(
    "name", [name if name == "nccl_gradients" else pytest.param(name, marks=pytest.mark.exhaustive) for name in ENGINES]
)  # the others' packages take long to install: `make test-all` does
def test_an_engine_computes_what_one_process_does(name: str, tmp_path: Path) -> None:
    package, prefix, printed, arguments = ENGINES[name]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"needs {package}")
    if prefix:
        starter = shutil.which(prefix[0], path=str(Path(sys.executable).parent)) or shutil.which(prefix[0])
        if starter is None:
            pytest.skip(f"needs {prefix[0]}")
        prefix = [starter, *prefix[1:]]
    path = os.pathsep.join(filter(None, [str(ROOT.parent), os.environ.get("PYTHONPATH", "")]))
    command = [*prefix, sys.executable, "-m", f"shadesmith.examples.engines.{name}", *arguments]
    found = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, timeout=400, check=False,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **OPEN_MPI},
    )  # fmt: skip
    assert found.returncode == 0, found.stdout + found.stderr
    assert re.search(printed, found.stdout), found.stdout


def test_examples_of_engines_are_short() -> None:
    for path in (ROOT / "examples" / "engines").glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES, path.name
