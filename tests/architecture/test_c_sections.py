"""`runtime/c_api/shadesmith.c` is what its sections give when they are joined, and each section is short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shadesmith.runtime.c_api import join

SECTIONS = sorted((join.FOLDER / "sections").glob("*"))
MAX_SECTION_LINES = 600


def test_the_joined_file_agrees_with_the_sections() -> None:
    assert (join.FOLDER / "shadesmith.c").read_text("utf-8") == join.joined(), "run `make c-api`"


@pytest.mark.parametrize("path", SECTIONS, ids=lambda path: path.name)
def test_sections_are_short_and_separated_by_one_blank_line(path: Path) -> None:
    source = path.read_text("utf-8")
    assert source.count("\n") <= MAX_SECTION_LINES
    assert source.endswith("\n") and source.strip("\n") + "\n" == source


def test_sections_are_numbered_without_a_gap() -> None:
    assert all(re.fullmatch(r"\d\d_[a-z_]+\.c", path.name) for path in SECTIONS)
    assert [int(path.name[:2]) for path in SECTIONS] == list(range(len(SECTIONS)))


def test_the_head_lists_the_titles_of_the_sections() -> None:
    head, *others = (path.read_text("utf-8") for path in SECTIONS)
    titles = [re.match(r"/\* --- (.+?) -+ \*/\n\n", source) for source in others]
    assert re.findall(r"^   - (.+)$", head, re.M) == [title[1] if title else None for title in titles]
