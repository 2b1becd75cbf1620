"""Programs compute the same whatever their names are: names of our helpers, of the languages, of each other's kind.

The names are drawn from the words that our texts are made of; a name that hides what a text means by the same word would
make it fail to compile, or worse, mean something else.
"""

from __future__ import annotations

import random
from functools import cache

import emitted
import pytest
import renamed_programs as programs

import shadesmith as ti

SEEDS = 2


@cache
def plain(program: str) -> tuple[list[float], tuple[str, ...]]:
    """Return what a program computes under names that nothing else has, and the words of its texts."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    text = programs.PROGRAMS[program]
    results, compiled = programs.run(text, {name: f"my_{name}" for name in programs.placeholders(text)})
    words = [word for word in programs.words_of_texts(compiled) if not word.startswith("my_")]
    ti.reset()
    return results, tuple(words)


def renamed(program: str, seed: int, words: tuple[str, ...]) -> dict[str, str]:
    return programs.renamed(programs.PROGRAMS[program], words, random.Random(f"{program} {seed}"))


@pytest.fixture
def expected(request: pytest.FixtureRequest):
    """What `plain` says of the program; made before the session of the target."""
    return plain(request.getfixturevalue("program"))


@pytest.mark.sampled(2, each="program")
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("program", programs.PROGRAMS)
def test_names_do_not_change_results(expected, target: str, program: str, seed: int) -> None:
    results, words = expected
    found, _ = programs.run(programs.PROGRAMS[program], renamed(program, seed, words))
    rel = 2e-3 if program == "textures" else 1e-4  # GPUs filter textures with 8 bits of fraction
    assert found == pytest.approx(results, rel=rel, abs=1e-4)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("program", programs.PROGRAMS)
def test_compilers_accept_every_name(program: str) -> None:
    missing = emitted.missing_tool(".comp") or emitted.missing_tool(".cu") or emitted.missing_tool(".c")
    if missing:
        pytest.skip(f"{missing} is not here")
    _, words = plain(program)
    ti.init(arch=ti.python, log_level=ti.ERROR, debug=True)
    _, compiled = programs.run(programs.PROGRAMS[program], renamed(program, SEEDS, words))
    for file in programs.texts(compiled):
        said = emitted.diagnostics_of(file.name, file.text)
        assert not said or "declared deprecated" in said, f"{said}\n{file.text}"
    ti.reset()
