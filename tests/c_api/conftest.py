"""The C runtime as a library, compiled once a session, and runtimes of it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from c_api import binding

import shadesmith as ti

PROGRAMS = Path(__file__).parent / "programs"
SANITIZERS = ("-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
BATCH = 200
"""Archives that one process checks."""


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> object:
    if binding.compiler("gcc") is None:
        pytest.skip("needs gcc")
    path = tmp_path_factory.mktemp("c_api") / "libshadesmith.so"
    source = str(binding.FOLDER / "shadesmith.c")
    return binding.load_library(binding.compile_c(path, "-std=c99", "-O1", "-shared", "-fPIC", source))


@pytest.fixture
def runtime(target: str, library: object) -> Iterator[binding.Runtime]:
    """A runtime on the device of the target; `runtime.target` is its name."""
    if target not in binding.ARCHES:
        pytest.skip("the C runtime has Vulkan and CUDA")
    made = binding.Runtime(library, binding.ARCHES[target])
    made.target = target
    yield made
    made.close()


@pytest.fixture
def archive(tmp_path: Path) -> object:
    """A function that archives kernels, fields and graphs for the current target, and returns the path."""

    def make(
        kernels: dict[str, object], fields: dict[str, object] | None = None, graphs: dict[str, object] | None = None
    ) -> Path:
        module = ti.aot.Module()
        for name, field in (fields or {}).items():
            module.add_field(name, field)
        for name, kernel in kernels.items():
            kernel, template_args = kernel if isinstance(kernel, tuple) else (kernel, None)
            module.add_kernel(kernel, template_args, name)
        for name, graph in (graphs or {}).items():
            module.add_graph(name, graph)
        module.archive(str(tmp_path / "module.tcm"))
        return tmp_path / "module.tcm"

    return make


@pytest.fixture(scope="module", params=["sanitized", pytest.param("plain", marks=pytest.mark.exhaustive)])
def check(request, tmp_path_factory):
    """A function that lets the C loader check archives: (exit status, KiB, ms, error) each."""
    if binding.compiler("gcc") is None:
        pytest.skip("needs gcc")
    folder = tmp_path_factory.mktemp("check")
    flags = SANITIZERS if request.param == "sanitized" else ("-O1",)
    sources = (str(PROGRAMS / "check.c"), str(binding.FOLDER / "shadesmith.c"))
    program = binding.compile_c(folder / "check", *flags, *sources)

    def check(archives):
        found = []
        for begin in range(0, len(archives), BATCH):
            paths = [folder / f"{number}.tcm" for number in range(len(archives[begin : begin + BATCH]))]
            for path, data in zip(paths, archives[begin : begin + BATCH]):
                path.write_bytes(data)
            done = subprocess.run([str(program), *map(str, paths)], capture_output=True, timeout=300)
            assert done.stderr == b"", done.stderr.decode()[:4000]
            for line in done.stdout.decode().splitlines():
                error, status, size, time = line.rsplit("\t", 3)
                found.append((int(status), int(size), int(time), error))
        assert len(found) == len(archives)
        return found

    return check
