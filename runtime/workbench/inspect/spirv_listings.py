"""GLSL as SPIR-V, by `glslangValidator` and `spirv-dis`. No GPU is needed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from functools import lru_cache

from ....transpiler.backend.module.interface import BackendModule, SourceFile
from ....transpiler.errors import TaichiRuntimeError
from ...devices.vulkan.glslang import LINES_AND_SOURCE, Glslang
from .listing import Listing, ListingWriter, ignoring_line_directives, run_disassembler

SPIRV_DIS_HINT = "Install it with `apt-get install spirv-tools`."

_OP_LINE = re.compile(r"\s*OpLine %\S+ (\d+) \d+")
_END_OF_BLOCK = re.compile(
    r"\bOp(NoLine|FunctionEnd|Branch|BranchConditional|Switch|Return|ReturnValue|Kill|Unreachable)\b"
)
_UNSAID = re.compile(r"\s*(?:%\S+ = )?Op(?:Source|SourceContinued|SourceExtension|String|ModuleProcessed)\b")


def spirv(module: BackendModule, file: SourceFile, gpu: str) -> Listing:
    """Return a GLSL file as SPIR-V. Raises: TaichiRuntimeError where `spirv-dis` is missing."""
    return _spirv_listing(file, _spirv_text(file, module.kernel))


@lru_cache(maxsize=32)
def _spirv_text(file: SourceFile, kernel: str) -> str:
    tool = shutil.which("spirv-dis")
    if tool is None:
        raise TaichiRuntimeError(f"`spirv-dis`, which shows SPIR-V, was not found. {SPIRV_DIS_HINT}")
    words = Glslang(flags=LINES_AND_SOURCE).compile(ignoring_line_directives(file), kernel)
    return run_disassembler([tool, "--no-color", "--no-header", "-"], words)


def _spirv_listing(file: SourceFile, text: str) -> Listing:
    writer = ListingWriter("spirv", file, ";")
    in_function = False
    for line in _without_sources(text):
        match = _OP_LINE.match(line)
        if match is not None:
            writer.location = (int(match[1]),)
            continue
        if " OpFunction " in line:
            in_function = True
        writer.write(line, is_code=in_function and bool(line.strip()))
        if _END_OF_BLOCK.search(line):
            writer.location = ()
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
