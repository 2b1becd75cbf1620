"""The first line of a source says what it is: version, target, key, place in Python, signature; no date."""

from __future__ import annotations

import re

import pytest
from golden_kernels import KERNELS, RECURSIVE, SUFFIX, compiled

from shadesmith.transpiler.backend.assemble.render import TEMPLATES
from shadesmith.transpiler.backend.print.line_comments import without_comments
from shadesmith.transpiler.options import VERSION

FIRST = re.compile(rf"// shadesmith {re.escape(VERSION)}, (\w+) ([0-9a-f]{{8}}), (\w+)\.py:\d+:( (\w+)\(.*)?")


@pytest.mark.parametrize("language", SUFFIX)
def test_every_source_names_itself_in_its_first_line(language: str) -> None:
    keys = set()
    for name in KERNELS:
        if name in RECURSIVE and language == "vulkan":
            continue
        module = compiled(name, language)
        for file in module.files:
            first, second = file.text.splitlines()[:2]
            found = FIRST.fullmatch(first)
            assert found is not None and found[1] == language and found[3] == name
            shown = found[5] or second.removeprefix("// ").partition("(")[0]
            assert len(first) <= 100 and shown == module.kernel
            keys.add(found[2])
    assert len(keys) > 30, "each program has its key"


def test_the_key_is_that_of_the_code() -> None:
    texts = ("a;  // :1", "a;  // :2", "b;  // :1", "// only a comment\na;")
    code = [without_comments(f"{text}\n") for text in texts]
    assert code[0] == code[1] != code[2] and code[3] == "a;"


def test_the_version_is_that_of_the_package() -> None:
    text = (TEMPLATES.parent / "pyproject.toml").read_text("utf-8")
    assert f'version = "{VERSION}"' in text
