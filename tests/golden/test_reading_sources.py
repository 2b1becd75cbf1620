"""The readers' page shows what is emitted; `--update-golden` writes it, and what the page quotes must be there."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import shadesmith as ti

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reading-sources.md"
PROGRAM = Path(__file__).with_name("reading_sources.py")
BLOCK = re.compile(r"(<!-- ([^\n]+) -->\n```\w+\n)(.*?)(```\n)", re.DOTALL)
QUOTED = re.compile(r"`([^`\n]+)`")


@pytest.fixture
def shown() -> Iterator[dict[str, str]]:
    """What each marker of the page stands for."""
    ti.init(arch=ti.python, debug=False, log_level=ti.ERROR)
    specification = importlib.util.spec_from_file_location(PROGRAM.stem, PROGRAM)
    assert specification is not None and specification.loader is not None
    program = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(program)
    parts = re.split(r"^# --- (\w+)\n", PROGRAM.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    found = {f"python: {name}": text.strip() for name, text in zip(parts[::2], parts[1::2])}
    for name, (kernel, arguments) in program.examples().items():
        for target in ("cuda", "vulkan", "cpu"):
            found[f"source: {name} {target}"] = kernel.source(*arguments, arch=getattr(ti, target)).strip()
    yield found
    ti.reset()


def block(marker: str, shown: dict[str, str]) -> str:
    """Return the text of a marker. `... from Args`: without what is above the struct."""
    name, _, start = marker.partition(" from ")
    text = shown[name]
    return text[text.rindex("\n", 0, text.index(start)) + 1 :] if start else text


def test_the_page_shows_what_is_emitted(shown: dict[str, str], request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    current = BLOCK.sub(lambda found: f"{found[1]}{block(found[2], shown)}\n{found[4]}", text)
    if request.config.getoption("--update-golden"):
        PAGE.write_text(current, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == current
    markers = {found[2].partition(" from ")[0] for found in BLOCK.finditer(text)}
    assert {marker for marker in shown if marker.endswith(" cuda")} <= markers


def test_what_each_section_quotes_is_in_its_sources() -> None:
    for section in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        sources = " ".join("".join(found[3] for found in BLOCK.finditer(section)).split())
        prose = BLOCK.sub("", section)
        for quoted in QUOTED.findall(prose) if sources else ():
            parts = [part.strip() for part in quoted.split("...")]
            assert all(p in sources for p in parts), f"{section.splitlines()[0]}: {quoted}"
