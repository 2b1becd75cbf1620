"""Texts that are damaged at random: an edit is let pass or refused at a line, nothing else ever happens."""

from __future__ import annotations

import random
import re
import shutil

import pytest
from golden_kernels import compiled
from seeded_edits import diagnostics_of

from shadesmith.runtime.devices.cuda import nvrtc
from shadesmith.transpiler.errors import TaichiRuntimeError

KERNELS = ("jacobi", "particles", "tiles", "blocks", "checked")
PIECES = (
    "{",
    "}",
    "(",
    ")",
    ";",
    '"',
    "'",
    "/*",
    "*/",
    "#",
    "\\",
    "\n",
    "const ",
    "float ",
    "\t",
    "\u00e9",
    "%s",
    "[",
    "struct ",
)
WORDS = ("BLOCK", "args", "#define x(", "#if 0\n", "0", "-1", "Args", "#line 3\n", "main", "*", "&", "layout(")


def damaged(text: str, chance: random.Random) -> str:
    tokens = re.findall(r"\w+|\W", text)
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        place, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
        match chance.randrange(4):
            case 0:
                tokens[place : place + chance.choice((1, 1, 30))] = [" "]
            case 1:
                tokens.insert(place, chance.choice(PIECES + WORDS))
            case 2:
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case 3:
                tokens[place] = tokens[other]
    return "".join(tokens)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("language", ["c", "cuda", "vulkan"])
def test_a_damaged_text_is_refused_at_a_line_or_passes(language: str, kernel: str) -> None:
    if language == "cuda":
        try:
            nvrtc.load_nvrtc()
        except TaichiRuntimeError as error:
            pytest.skip(str(error))
    elif shutil.which("gcc" if language == "c" else "glslangValidator") is None:
        pytest.skip("needs a compiler")
    chance = random.Random(f"{language} {kernel}")
    files = compiled(kernel, language).files
    refused = 0
    for _ in range(8):
        number = chance.randrange(len(files))
        said = diagnostics_of(language, {number: damaged(files[number].text, chance)}, kernel)
        assert said == "" or re.match(rf"edits/{re.escape(files[number].name)}:\d+: ", said), said
        refused += said != ""
    assert refused > 0
