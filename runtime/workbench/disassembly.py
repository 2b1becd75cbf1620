"""What compilers make of an emitted text, as text again: SPIR-V, PTX and SASS, every line with the Python it came from.

In: files of a `BackendModule`. Out: `Listing`s. No GPU is needed: NVRTC compiles for any architecture, `nvdisasm` reads
the cubin, `glslangValidator` and `spirv-dis` do the same for Vulkan. What is listed is what runs: lines are found by
debug information (`-lineinfo`, `-g`), which changes no instruction.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from os.path import basename
from pathlib import Path

from ...transpiler.backend.module.interface import BackendModule, SourceFile
from ...transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ..devices.glslang import LINES_AND_SOURCE, Glslang, run_tool
from ..devices.nvrtc import DEFAULT_ARCH, Compiled, compile_explained
from .places import without_line_directives

TIME_LIMIT_SECONDS = 60.0
COMMENT_COLUMN = 72
"""Where the Python place stands behind an instruction; behind longer ones after two blanks."""

NVDISASM_HINT = "Install it with `pip install nvidia-cuda-nvdisasm` (or `pip install 'shadesmith[cuda]'`)."
SPIRV_DIS_HINT = "Install it with `apt-get install spirv-tools`."

_LOC = re.compile(r"\s*\.loc\s+\d+ (\d+) (\d+)(?:, function_name [^,]+, inlined_at \d+ (\d+) (\d+))?")
_PTX_FUNCTION = re.compile(r"\s*(?:\.\w+ )*\.(?:entry|func)\b")
_FILE = re.compile(r'\s*//## File "[^"]*", line (\d+)(?: inlined at "[^"]*", line (\d+))?')
_OP_LINE = re.compile(r"\s*OpLine %\S+ (\d+) \d+")
_LABEL = re.compile(r"(?:\.L_x_\d+|\$\S+|\w+):$")
_END_OF_BLOCK = re.compile(
    r"\bOp(NoLine|FunctionEnd|Branch|BranchConditional|Switch|Return|ReturnValue|Kill|Unreachable)\b"
)
_UNSAID = re.compile(r"\s*(?:%\S+ = )?Op(?:Source|SourceContinued|SourceExtension|String|ModuleProcessed)\b")


@dataclass(frozen=True, slots=True)
class Listing:
    """A text that was made of a source file. form: "ptx", "sass" or "spirv". file: the source's name.

    places: by line of this text (from 1), for instructions only, the lines of the source that it came from: where it
    stands, then where the functions that hold it were inlined.
    """

    form: str
    file: str
    text: str
    places: dict[int, tuple[int, ...]]


def forms_of(target: str) -> tuple[str, ...]:
    """Return the names of the forms that texts of a target have below the source."""
    return {"cuda": ("ptx", "sass"), "vulkan": ("spirv",)}.get(target, ())


def listings(module: BackendModule, form: str, gpu: str = DEFAULT_ARCH) -> list[Listing]:
    """Return one of `forms_of(module.target)`, a listing a file. gpu: as NVRTC names it, "sm_90".

    Raises: TaichiCompilationError where a text is refused, TaichiRuntimeError where a tool is missing.
    """
    if form == "spirv":
        return [spirv(module, file) for file in module.files]
    make = {"ptx": ptx, "sass": sass}[form]
    return [make(module, file, gpu) for file in module.files]


def joined(listings: Sequence[Listing], comment: str) -> str:
    """Return listings as one text, each with a line that names its file where there are several."""
    if len(listings) == 1:
        return listings[0].text
    return "\n".join(f"{comment} ===== {listing.file}\n{listing.text}" for listing in listings)


# --- CUDA


def ptx(module: BackendModule, file: SourceFile, gpu: str = DEFAULT_ARCH) -> Listing:
    """Return what NVRTC's front half makes of a file: the virtual instructions that ptxas compiles."""
    return _ptx_listing(file, compiled(module, file, gpu).ptx)


def sass(module: BackendModule, file: SourceFile, gpu: str = DEFAULT_ARCH) -> Listing:
    """Return the machine code of a file as `nvdisasm` writes it. Raises: TaichiRuntimeError where that is missing."""
    return _sass_listing(file, _disassembled(compiled(module, file, gpu).cubin))


def compiled(module: BackendModule, file: SourceFile, gpu: str = DEFAULT_ARCH) -> Compiled:
    """Return what NVRTC makes of a file, remembering the last ones."""
    return _compiled(file, gpu, bool(module.options.get("fast_math", True)))


@lru_cache(maxsize=32)
def _compiled(file: SourceFile, gpu: str, fast_math: bool) -> Compiled:
    return compile_explained(_counted_as_it_is(file), gpu, fast_math)


@lru_cache(maxsize=32)
def _disassembled(cubin: bytes) -> str:
    tool = find_nvdisasm()
    if tool is None:
        raise TaichiRuntimeError(f"`nvdisasm`, which shows machine code, was not found. {NVDISASM_HINT}")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:  # it reads no pipe
        file.write(cubin)
        file.flush()
        return _converse([tool, "-c", "-gi", file.name], b"")


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
    writer = _Writer("ptx", file, "//")
    callers: dict[tuple[str, str], tuple[str, str]] = {}
    for line in text.splitlines():
        match = _LOC.match(line)
        if match is not None:
            here = (match[1], match[2])
            if match[3]:
                callers[here] = (match[3], match[4])
            else:
                callers.pop(here, None)
            writer.place = _chain(here, callers)
        elif line.startswith("\t.section"):
            break  # debug information to the end
        elif not line.startswith("\t.file"):
            if _PTX_FUNCTION.match(line):
                writer.place = ()
            is_code = line.rstrip().endswith(";") and not line.lstrip().startswith(".")
            writer.write(f"    {' '.join(line.split())}" if line.startswith("\t") else line, is_code)
    return writer.listing()


def _chain(here: tuple[str, str], callers: dict[tuple[str, str], tuple[str, str]]) -> tuple[int, ...]:
    """Return the lines from `here` outwards. A place with line 0 is none."""
    found: list[int] = []
    place: tuple[str, str] | None = here
    while place is not None and len(found) <= len(callers):
        found.append(int(place[0]))
        place = callers.get(place)
    return tuple(line for line in found if line)


def _sass_listing(file: SourceFile, text: str) -> Listing:
    writer = _Writer("sass", file, "//")
    inlined = False
    for line in text.splitlines():
        match = _FILE.match(line)
        if match is not None:
            place = (int(match[1]),)
            writer.place = (*writer.place, *place) if inlined else place
            inlined = match[2] is not None
            continue
        code = re.match(r"\s*/\*([0-9a-f]+)\*/\s+(.*?;)", line)
        if code is not None:
            writer.write(f"    /*{code[1]}*/  {code[2]}", is_code=code[2] != "NOP;")  # which fill up the end
        elif _LABEL.match(line):
            if not line.startswith("."):
                writer.place = ()  # a function, often CUDA's own: a division or root of rare numbers
            writer.write(line.strip(), is_code=False)
    return writer.listing()


# --- Vulkan


def spirv(module: BackendModule, file: SourceFile) -> Listing:
    """Return a GLSL file as SPIR-V. Raises: TaichiRuntimeError where `spirv-dis` is missing."""
    return _spirv_listing(file, _spirv_text(file, module.kernel))


@lru_cache(maxsize=32)
def _spirv_text(file: SourceFile, kernel: str) -> str:
    tool = shutil.which("spirv-dis")
    if tool is None:
        raise TaichiRuntimeError(f"`spirv-dis`, which shows SPIR-V, was not found. {SPIRV_DIS_HINT}")
    words = Glslang(flags=LINES_AND_SOURCE).compile(_counted_as_it_is(file), kernel)
    return _converse([tool, "--no-color", "--no-header", "-"], words)


def _spirv_listing(file: SourceFile, text: str) -> Listing:
    writer = _Writer("spirv", file, ";")
    in_function = False
    for line in _without_sources(text):
        match = _OP_LINE.match(line)
        if match is not None:
            writer.place = (int(match[1]),)
            continue
        if " OpFunction " in line:
            in_function = True
        writer.write(line, is_code=in_function and bool(line.strip()))
        if _END_OF_BLOCK.search(line):
            writer.place = ()
        in_function = in_function and "OpFunctionEnd" not in line
    return writer.listing()


def _without_sources(text: str) -> Iterator[str]:
    """Leave out the embedded source, whose string goes over many lines."""
    quoted = False
    for line in text.splitlines():
        if not quoted and not _UNSAID.match(line):
            yield line
            continue
        quotes = len(re.findall(r'(?<!\\)"', line))
        quoted = quoted != (quotes % 2 == 1)


# --- common


class _Writer:
    """Collects the lines of a listing. place: of the instructions to come."""

    def __init__(self, form: str, file: SourceFile, comment: str) -> None:
        self.form, self.file, self.comment = form, file, comment
        self.lines: list[str] = []
        self.place: tuple[int, ...] = ()
        self.places: dict[int, tuple[int, ...]] = {}

    def write(self, line: str, is_code: bool) -> None:
        """Append a line, an instruction with the place it came from."""
        line = line.rstrip()
        if not line and (not self.lines or not self.lines[-1]):
            return
        if is_code:
            number = len(self.lines) + 1
            if self.place:
                self.places[number] = self.place
                line = f"{line.ljust(COMMENT_COLUMN)}  {self.comment} {place_text(self.file, self.place)}"
        self.lines.append(line)

    def listing(self) -> Listing:
        """Return what was collected."""
        while self.lines and not self.lines[-1]:
            self.lines.pop()
        return Listing(self.form, self.file.name, "\n".join(self.lines) + "\n", self.places)


def _counted_as_it_is(file: SourceFile) -> SourceFile:
    """Return a file whose lines compilers count as they are, whatever `#line` says in an edited text."""
    return replace(file, text=without_line_directives(file.text)) if "#line" in file.text else file


def python_of(file: SourceFile, places: Sequence[int]) -> tuple[str, int] | None:
    """Return the Python line of the innermost of some nested places of a source that has one."""
    return next((found for line in places if (found := file.python_place(line)) is not None), None)


def place_text(file: SourceFile, places: Sequence[int]) -> str:
    """Return `paint.py:17`; where no Python line asked for it, the line of the source: `paint.cu:56`."""
    found = python_of(file, places)
    if found is not None:
        return f"{basename(found[0])}:{found[1]}"
    return f"{file.name}:{places[-1]}"


def _converse(command: list[str], data: bytes) -> str:
    """Run a disassembler. Raises: TaichiRuntimeError where it fails."""
    name = basename(command[0])
    try:
        code, output, errors = run_tool(command, data, TIME_LIMIT_SECONDS)
    except TimeoutError:
        raise TaichiCompilationError(f"{name} did not end within {TIME_LIMIT_SECONDS:g} s and was stopped") from None
    except OSError as error:
        raise TaichiRuntimeError(f"{name} could not be started: {error}") from error
    if code != 0:
        raise TaichiRuntimeError(f"{name} failed: {(errors or output).decode(errors='replace').strip()[:1000]}")
    return output.decode(errors="replace")
