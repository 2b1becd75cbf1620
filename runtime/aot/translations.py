"""The same shaders in other languages, for people who port them: Metal and HLSL by `spirv-cross`, if installed.

In: SPIR-V. Out: text. Nothing here runs it. HLSL has no pointers, by which our shaders take their arrays, so the tool
refuses it (spirv-cross 2021-01-15 to 1.3.239); Metal has them.
"""

from __future__ import annotations

import shutil

from ...transpiler.errors import TaichiRuntimeError
from ..devices.vulkan.glslang import TIME_LIMIT_SECONDS, run_tool

LANGUAGES = {"msl": ("--msl", "--msl-version", "20300"), "hlsl": ("--hlsl", "--shader-model", "60")}
"""Options of `spirv-cross` by language: Metal 2.3 has pointers to device memory in structs."""
SUFFIXES = {"msl": ".metal", "hlsl": ".hlsl"}
INSTALL_HINT = "apt-get install spirv-cross"
SHOWN_CHARACTERS = 500


def translate(shader: bytes, language: str, what: str) -> bytes:
    """Return a shader's text in another language, "msl" or "hlsl". what: names it in errors.

    Raises: TaichiRuntimeError where the tool is missing, or refuses.
    """
    if language not in LANGUAGES:
        raise TaichiRuntimeError(f"{language!r} is not a language to translate to", f"{' or '.join(LANGUAGES)}")
    tool = shutil.which("spirv-cross")
    if tool is None:
        raise TaichiRuntimeError(f"`spirv-cross` was not found; it translates to {language}", INSTALL_HINT)
    try:
        code, output, errors = run_tool([tool, *LANGUAGES[language], "-"], shader, TIME_LIMIT_SECONDS)
    except (TimeoutError, OverflowError, OSError) as error:
        raise TaichiRuntimeError(f"spirv-cross did not finish {what}: {type(error).__name__}") from None
    if code != 0:
        log = " ".join((output + errors).decode(errors="replace").split())[:SHOWN_CHARACTERS]
        raise TaichiRuntimeError(f"spirv-cross does not translate {what} to {language}: {log}")
    return output
