"""Check the distribution: an sdist with tests and documents, and a wheel that works on each Python from 3.10 to 3.14.

In: the tree. Out: dist/*, and a line for each Python that is found (on PATH, of pyenv, of uv); status 1 if one fails.
usage: python .ci/wheels.py [VERSION ...]; versions that are named must be there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
IN_SDIST = ("docs/install.md", "tests/conftest.py", "examples/julia.py", "Makefile", "mkdocs.yml", ".ci/setup")
SMOKE = """
import sys, time
start = time.process_time()
import numpy as np
numpy = time.process_time()
import shadesmith as ti
seconds = time.process_time() - numpy

@ti.kernel
def double(x: ti.types.ndarray(ti.f32, 1)):
    for i in x:
        x[i] *= 2

for arch in (ti.python, ti.cpu):
    ti.init(arch=arch, log_level="error", offline_cache=False)
    x = np.ones(100, np.float32)
    double(x)
    assert (x == 2).all()
assert "#version 460" in double.source(arch="vulkan") and "__global__" in double.source(arch="cuda")
print(f"import {1e3 * seconds:.0f} ms CPU after NumPy")
"""


def python_of(version: str) -> str | None:
    """Return the path of an interpreter, or None."""
    found = [*sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python")), shutil.which(f"python{version}")]
    if sys.version.startswith(version + "."):
        found.insert(0, sys.executable)
    if shutil.which("uv"):
        done = subprocess.run(["uv", "python", "find", version], capture_output=True, text=True, check=False)
        found.append(done.stdout.strip() or None)
    return next((str(path) for path in found if path and _runs(str(path))), None)


def _runs(python: str) -> bool:
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def build() -> Path:
    """Build sdist and wheel; return the wheel. Raises: SystemExit if something is missing in the sdist."""
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    code = "from setuptools import build_meta as b; print(b.build_sdist('dist'), b.build_wheel('dist'), sep='\\n')"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    (sdist,) = (ROOT / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    missing = [name for name in IN_SDIST if name not in names]
    if missing:
        raise SystemExit(f"{sdist.name} lacks {', '.join(missing)}")
    (wheel,) = (ROOT / "dist").glob("shadesmith-*.whl")
    for path in (sdist, wheel):
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")
    return wheel


def check(python: str, wheel: Path) -> str:
    """Install the wheel into a new environment and run a kernel; return what went wrong, "" for nothing."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", f"{folder}/env"], check=True)
        own = f"{folder}/env/bin/python"
        command = [own, "-m", "pip", "install", "-q", "--disable-pip-version-check", str(wheel)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return done.stderr.strip().splitlines()[-1]
        program = Path(folder, "smoke.py")
        program.write_text(SMOKE, encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            [own, str(program)], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        print(f"  {done.stdout.strip()}" if done.returncode == 0 else done.stderr)
        return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def main(wanted: list[str]) -> int:
    """Check each version; the status says whether all that were found work."""
    wheel = build()
    status = 0
    for version in wanted or VERSIONS:
        python = python_of(version)
        if python is None:
            print(f"Python {version}: not installed here, not checked")
            status = 1 if wanted else status
            continue
        print(f"Python {version}: {python}")
        problem = check(python, wheel)
        if problem:
            print(f"  failed: {problem}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
