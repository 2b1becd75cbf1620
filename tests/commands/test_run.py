"""`shadesmith run`, `as_taichi` and `ti`: programs that import taichi, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import importlib.metadata, multiprocessing, subprocess, sys
import taichi as ti
import taichi.math as tm
from taichi.lang.matrix import Matrix
from taichi._lib import core
from taichi.examples.patterns import taichi_logo

def child(queue):
    import taichi.lang.snode
    queue.put(taichi.lang.snode.SNode.__module__.partition(".")[0])

if __name__ == "__main__":
    import shadesmith
    assert ti is shadesmith and tm is shadesmith.math and Matrix is shadesmith.Matrix
    assert importlib.metadata.version("taichi") == "1.7.4"
    words = [sys.executable, "-c", "import taichi, taichi.types.quant; print(taichi.Matrix.__module__)"]
    assert subprocess.run(words, capture_output=True, text=True, cwd="/").stdout.startswith("shadesmith.")
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    assert queue.get(timeout=120) == "shadesmith"
    process.join()
    ti.init(ti.cpu)

    @ti.kernel
    def logo(x: float, y: float) -> int:
        return taichi_logo(tm.vec2(x, y))

    print(sys.argv[1:], [logo(x, y) for x, y in ((0.5, 0.5), (0.1, 0.1), (0.2, 0.5), (0.8, 0.5), (0.5, 0.29), (0.5, 0.73))])
    sys.exit(3)
"""


def start(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key not in ("SHADESMITH_ARCH", "TI_ARCH")}
    return subprocess.run(
        [sys.executable, "-m", "shadesmith", *words],
        cwd=folder, env={**environment, **variables}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@pytest.mark.one_target
def test_a_program_gets_shadesmith_as_taichi_in_its_child_processes_too(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = start(tmp_path, "run", "program.py", "-m", "--json", "--")
    assert done.returncode == 3, done.stderr
    assert done.stdout == "['-m', '--json', '--'] [1, 1, 0, 1, 0, 1]\n"  # as Taichi 1.7.4


@pytest.mark.one_target
def test_modules_lines_of_code_and_the_target(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__main__.py").write_text(
        "import sys, taichi; print(__package__, sys.argv[1:], taichi.f32)"
    )
    assert start(tmp_path, "run", "-m", "package", "a", "-c").stdout == "package ['a', '-c'] f32\n"
    code = "import taichi as ti; ti.init(ti.gpu); print(ti.cfg.arch)"
    assert "python" in start(tmp_path, "run", "--arch", "python", "-c", code).stdout


@pytest.mark.one_target
def test_frames_end_a_program_that_has_no_end(tmp_path: Path) -> None:
    program = "import taichi as ti\ngui = ti.GUI('moving', (8, 8))\nwhile True:\n    gui.show()\n"
    (tmp_path / "endless.py").write_text(program)
    done = start(tmp_path, "run", "--frames", "2", "endless.py")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "frames").iterdir()) == ["moving-00000.png", "moving-00001.png"]


@pytest.mark.one_target
def test_mistakes_are_one_line(tmp_path: Path) -> None:
    done = start(tmp_path, "run", "nothing.py")
    assert done.returncode == 2 and done.stderr.startswith("shadesmith: there is no file nothing.py\n")
    assert "a SCRIPT, -m MODULE or -c CODE is needed" in start(tmp_path, "run").stderr


@pytest.mark.exhaustive
@pytest.mark.one_target
def test_ti_is_taichis_command_line(tmp_path: Path) -> None:
    examples = tmp_path / "examples"
    examples.mkdir()
    (examples / "small.py").write_text("import taichi as ti\nprint('small', ti.__version__)\n")
    known = {"SHADESMITH_TAICHI_EXAMPLES": str(examples)}
    assert start(tmp_path, "run", "-m", "taichi", "example", "small", **known).stdout == "small 0.1.0\n"
    listed = start(tmp_path, "run", "-m", "taichi", "example", **known).stdout.split()
    assert {"small", "julia"} <= set(listed)
    printed = start(tmp_path, "run", "-m", "taichi", "example", "-P", "small", **known).stdout
    assert printed.startswith("   1 import taichi as ti")
    assert start(tmp_path, "run", "-m", "taichi", "examples/small.py").stdout == "small 0.1.0\n"
    refused = start(tmp_path, "run", "-m", "taichi", "release")
    assert (
        refused.returncode == 2
        and refused.stderr == "ti release makes a release of Taichi; shadesmith has no such command\n"
    )


@pytest.mark.exhaustive
def test_names_inside_taichis_compiler_say_so(tmp_path: Path) -> None:
    done = start(tmp_path, "run", "-c", "from taichi.lang.ast import ASTTransformer")
    assert "ImportError: taichi.lang.ast.ASTTransformer is inside Taichi's compiler" in done.stderr
    done = start(tmp_path, "run", "-c", "import taichi.lang.nothing")
    assert "ModuleNotFoundError: No module named 'taichi.lang.nothing'" in done.stderr


@pytest.mark.exhaustive
@pytest.mark.one_target
def test_the_distribution_does_the_same_by_being_installed(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "runtime/taichi_name/distribution"
    words = [
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--target",
        str(tmp_path / "site"),
    ]
    copy = tmp_path / "source"
    subprocess.run(["cp", "-r", str(source), str(copy)], check=True)
    subprocess.run([sys.executable, "-m", *words, str(copy)], check=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), *filter(None, sys.path)])}
    words = [sys.executable, "-c", "import taichi, shadesmith; print(taichi is shadesmith)"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stdout == "True\n", done.stderr
    assert (tmp_path / "site/bin/ti").exists()
