"""Check emitted sources with the tools of their languages: `python tests/support/emitted.py FOLDER` checks what a run has dumped.

`SHADESMITH_COLLECT=FOLDER pytest ...` collects every source that a test run emits (see conftest.py).
GLSL: glslangValidator and spirv-val. CUDA C: NVRTC for sm_90, without a warning. C: gcc with all warnings as errors.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from shadesmith.runtime.devices.cuda import nvrtc
from shadesmith.transpiler.errors import TaichiCompilationError, TaichiRuntimeError

WARNINGS = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fopenmp")
SECONDS = 120


def missing_tool(suffix: str) -> str:
    """Return which tool for sources `.comp`, `.cu` or `.c` is missing, "" if none."""
    if suffix == ".comp":
        return ", ".join(tool for tool in ("glslangValidator", "spirv-val") if shutil.which(tool) is None)
    if suffix == ".c":
        return "" if shutil.which("gcc") else "gcc"
    try:
        nvrtc.load_nvrtc()
    except TaichiRuntimeError:
        return "NVRTC (pip install nvidia-cuda-nvrtc)"
    return ""


def diagnostics_of(name: str, text: str) -> str:
    """Return the diagnostics of the tools for a source, "" if they accept it without a warning."""
    return {".comp": _glsl, ".cu": _cuda, ".c": _c}[Path(name).suffix](name, text)


def check_folder(folder: Path) -> tuple[int, list[str]]:
    """Check all sources below a folder; return the number of different ones, and the diagnostics."""
    texts: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".comp", ".cu", ".c"):
            texts.setdefault(path.read_text(encoding="utf-8"), f"{path.parent.name}/{path.name}")
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as pool:
        found = pool.map(lambda item: diagnostics_of(item[1], item[0]), texts.items())
    return len(texts), [output for output in found if output]


def _glsl(name: str, text: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder, "module.spv")
        command = ["glslangValidator", "--stdin", "-S", "comp", "--target-env", "vulkan1.2", "-o", str(module)]
        output = _run(command, text, name)
        if output.strip() not in ("", "stdin"):
            return output
        command = ["spirv-val", "--target-env", "vulkan1.2", "--scalar-block-layout", str(module)]
        return _run(command, "", name)


def _cuda(name: str, text: str) -> str:
    try:
        log = nvrtc.compile_cubin(text, "sm_90", name=name)[1]
    except TaichiCompilationError as error:
        return str(error)
    return f"{name}: {log}" if log else ""


def _c(name: str, text: str) -> str:
    return _run(["gcc", *WARNINGS, "-x", "c", "-c", "-", "-o", "/dev/null"], text, name)


def _run(command: list[str], text: str, name: str) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=SECONDS, check=False)
    output = done.stdout + done.stderr
    return f"{name}: {command[0]} ended with {done.returncode}\n{output}" if done.returncode else output


def main() -> int:
    count, diagnostics = check_folder(Path(sys.argv[1]))
    print("\n".join(diagnostics))
    print(f"{count} different sources, {len(diagnostics)} refused")
    return 1 if diagnostics or not count else 0


if __name__ == "__main__":
    raise SystemExit(main())
