"""CUDA C as PTX and SASS. No GPU is needed: NVRTC compiles for any architecture, `nvdisasm` reads the cubin."""

from __future__ import annotations

import importlib.util
import re
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path

from ....transpiler.backend.module.interface import BackendModule, SourceFile
from ....transpiler.errors import TaichiRuntimeError
from ...devices.cuda.nvrtc import Compiled, compile_explained
from .listing import Listing, ListingWriter, ignoring_line_directives, run_disassembler

NVDISASM_HINT = "Install it with `pip install nvidia-cuda-nvdisasm` (or `pip install 'shadesmith[cuda]'`)."

_LOC = re.compile(r"\s*\.loc\s+\d+ (\d+) (\d+)(?:, function_name [^,]+, inlined_at \d+ (\d+) (\d+))?")
_PTX_FUNCTION = re.compile(r"\s*(?:\.\w+ )*\.(?:entry|func)\b")
_FILE = re.compile(r'\s*//## File "[^"]*", line (\d+)(?: inlined at "[^"]*", line (\d+))?')
_LABEL = re.compile(r"(?:\.L_x_\d+|\$\S+|\w+):$")


def ptx(module: BackendModule, file: SourceFile, gpu: str) -> Listing:
    """Return what NVRTC's front half makes of a file: the virtual instructions that ptxas compiles."""
    return _ptx_listing(file, compiled(module, file, gpu).ptx)


def sass(module: BackendModule, file: SourceFile, gpu: str) -> Listing:
    """Return the machine code of a file as `nvdisasm` writes it. Raises: TaichiRuntimeError where that is missing."""
    return _sass_listing(file, _disassembled(compiled(module, file, gpu).cubin))


def compiled(module: BackendModule, file: SourceFile, gpu: str) -> Compiled:
    """Return what NVRTC makes of a file, remembering the last ones."""
    return _compiled(file, gpu, bool(module.options.get("fast_math", True)))


@lru_cache(maxsize=32)
def _compiled(file: SourceFile, gpu: str, fast_math: bool) -> Compiled:
    return compile_explained(ignoring_line_directives(file), gpu, fast_math)


@lru_cache(maxsize=32)
def _disassembled(cubin: bytes) -> str:
    tool = find_nvdisasm()
    if tool is None:
        raise TaichiRuntimeError(f"`nvdisasm`, which shows machine code, was not found. {NVDISASM_HINT}")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:  # it reads no pipe
        file.write(cubin)
        file.flush()
        return run_disassembler([tool, "-c", "-gi", file.name], b"")


def find_nvdisasm() -> str | None:
    """Return the path of NVIDIA's disassembler: from its wheel, else from a CUDA installation on the path."""
    specification = importlib.util.find_spec("nvidia")
    for parent in (specification.submodule_search_locations or ()) if specification is not None else ():
        for inner in ("cu13/bin", "cuda_nvdisasm/bin"):
            tool = Path(parent, inner, "nvdisasm")
            if tool.exists():
                return str(tool)
    return shutil.which("nvdisasm")


def _ptx_listing(file: SourceFile, text: str) -> Listing:
    writer = ListingWriter("ptx", file, "//")
    callers: dict[tuple[str, str], tuple[str, str]] = {}
    for line in text.splitlines():
        match = _LOC.match(line)
        if match is not None:
            here = (match[1], match[2])
            if match[3]:
                callers[here] = (match[3], match[4])
            else:
                callers.pop(here, None)
            writer.location = _chain(here, callers)
        elif line.startswith("\t.section"):
            break  # debug information to the end
        elif not line.startswith("\t.file"):
            if _PTX_FUNCTION.match(line):
                writer.location = ()
            is_code = line.rstrip().endswith(";") and not line.lstrip().startswith(".")
            writer.write(f"    {' '.join(line.split())}" if line.startswith("\t") else line, is_code)
    return writer.listing()


def _chain(here: tuple[str, str], callers: dict[tuple[str, str], tuple[str, str]]) -> tuple[int, ...]:
    """Return the lines from `here` outwards. A place with line 0 is none."""
    found: list[int] = []
    location: tuple[str, str] | None = here
    while location is not None and len(found) <= len(callers):
        found.append(int(location[0]))
        location = callers.get(location)
    return tuple(line for line in found if line)


def _sass_listing(file: SourceFile, text: str) -> Listing:
    writer = ListingWriter("sass", file, "//")
    inlined = False
    for line in text.splitlines():
        match = _FILE.match(line)
        if match is not None:
            location = (int(match[1]),)
            writer.location = (*writer.location, *location) if inlined else location
            inlined = match[2] is not None
            continue
        code = re.match(r"\s*/\*([0-9a-f]+)\*/\s+(.*?;)", line)
        if code is not None:
            writer.write(f"    /*{code[1]}*/  {code[2]}", is_code=code[2] != "NOP;")  # which fill up the end
        elif _LABEL.match(line):
            if not line.startswith("."):
                writer.location = ()  # a function, often CUDA's own: a division or root of rare numbers
            writer.write(line.strip(), is_code=False)
    return writer.listing()
