"""The profilers of others: where they are, how they are started, and what to install where they are missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ....transpiler.errors import TaichiRuntimeError
from .read_csv import Metrics, read_metrics


@dataclass(frozen=True, slots=True)
class Profiler:
    """program: on the command line. viewer: that opens its results. suffix: of them. source: where to get it."""

    program: str
    viewer: str
    suffix: str
    title: str
    source: str


NCU = Profiler("ncu", "ncu-ui", ".ncu-rep", "Nsight Compute", "https://developer.nvidia.com/nsight-compute")
NSYS = Profiler("nsys", "nsys-ui", ".nsys-rep", "Nsight Systems", "https://developer.nvidia.com/nsight-systems")
RENDERDOC = Profiler(
    "renderdoccmd", "qrenderdoc", ".rdc", "RenderDoc", "https://renderdoc.org, apt-get install renderdoc"
)
PROFILERS = {"ncu": NCU, "nsys": NSYS, "renderdoc": RENDERDOC}


def find(program: str, profiler: Profiler) -> str:
    """Return the path of a program. Raises: TaichiRuntimeError with where to get it."""
    path = shutil.which(program)
    if path is None:
        raise TaichiRuntimeError(
            f"`{program}` of {profiler.title} is not installed",
            f"get it from {profiler.source}; `--tool clock` needs no profiler",
        )
    return path


def open_result(path: Path) -> list[str]:
    """Open a result in its viewer and return the command. Raises: TaichiRuntimeError if it is missing."""
    profiler = next((one for one in PROFILERS.values() if path.suffix == one.suffix), None)
    if profiler is None:
        suffixes = ", ".join(one.suffix for one in PROFILERS.values())
        raise TaichiRuntimeError(f"{path} is no result of a profiler", f"there are {suffixes}")
    command = [find(profiler.viewer, profiler), str(path)]
    subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    return command


def measure(tool: str, program: Path, arguments: Sequence[str], output: Path, arch: str | None) -> tuple[Metrics, Path]:
    """Run a program below a profiler; return its metrics, and the file of the result.

    Raises: TaichiRuntimeError if the profiler is missing or fails.
    """
    profiler = PROFILERS[tool]
    path = find(profiler.program, profiler)
    result = output.with_suffix(profiler.suffix)
    target = [sys.executable, str(program), *arguments]
    variables = {**os.environ, "SHADESMITH_PROFILE_SOURCE": "1"}
    variables |= {"SHADESMITH_ARCH": arch} if arch is not None else {}
    if tool == "ncu":
        command = [path, "--force-overwrite", "--export", str(result), "--set", "full", "--import-source", "yes"]
        _run([*command, "--target-processes", "all", *target], variables, profiler)
        pages = (["--page", "details"], ["--page", "source", "--print-source", "cuda,sass"])
        tables = [[path, "--import", str(result), "--csv", *page] for page in pages]
    else:
        _run([path, "profile", "--force-overwrite", "true", "--output", str(result), *target], variables, profiler)
        tables = [[path, "stats", "--report", "cuda_gpu_kern_sum", "--format", "csv", str(result)]]
    found = Metrics()
    for table in tables:
        text = _run(table, variables, profiler)
        try:
            found.add(read_metrics(text))
        except ValueError as error:
            raise TaichiRuntimeError(f"what `{' '.join(table[1:])}` printed is not understood: {error}") from None
    return found, result


def _run(command: Sequence[str], variables: dict[str, str], profiler: Profiler) -> str:
    done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        hint = "counters need a permission: https://developer.nvidia.com/ERR_NVGPUCTRPERM" if profiler is NCU else None
        lines = done.stdout.strip().splitlines()[-3:]
        raise TaichiRuntimeError(f"{profiler.title} ended with status {done.returncode}: {' '.join(lines)}", hint)
    return done.stdout
