"""Printers record every function that their source calls; the names of helpers, headers and users depend on it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import corpus
import pytest

import shadesmith as ti
from shadesmith.transpiler.backend.assemble.files import FileAssembler

ARCHES = {"c": ti.cpu, "cuda": ti.cuda, "vulkan": ti.vulkan}
KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof", "defined", "barrier", "unsigned", "uvec2"}
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|^\s*#[^\n]*', re.DOTALL | re.MULTILINE)
CALLED = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*\(")


@pytest.fixture
def assembled(monkeypatch) -> Iterator[list[tuple[set[str], str]]]:
    """The functions that each assembled file calls and nobody recorded, and the printed source."""
    files: list[tuple[set[str], str]] = []
    original = FileAssembler._data

    def data(self, printed, functions, tasks):
        recorded_before = set(self.referenced)
        self.referenced.clear()
        result = original(self, printed, functions, tasks)
        source = "\n".join([*(t.body for t in tasks), *(f["source"].partition("{")[2] for f in result["functions"])])
        known = self.referenced | self.context.user_names | {*self.language.types.values(), *KEYWORDS}
        files.append((set(CALLED.findall(NOISE.sub("", source))) - known, source))
        self.referenced |= recorded_before
        return result

    monkeypatch.setattr(FileAssembler, "_data", data)
    yield files
    ti.reset()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("language", ARCHES)
@pytest.mark.parametrize("maker", corpus.MAKERS, ids=lambda maker: maker.__name__)
def test_every_function_that_a_source_calls_was_recorded(maker, language: str, assembled) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    kernel, arguments = maker()
    if language not in corpus.LANGUAGES.get(maker.__name__, ARCHES):
        pytest.skip("the language lacks what the kernel needs")
    kernel.source(*arguments, arch=ARCHES[language])
    assert assembled or maker is corpus.nothing_to_do
    for unrecorded, source in assembled:
        assert not unrecorded, source


def names_without_use(source: str) -> list[str]:
    """Return the names of numbers that a source declares and never uses."""
    text = NOISE.sub("", source)
    declared = re.findall(r"^ *(?:constexpr|const|enum \{|int|uint) [^;]*;", text, re.MULTILINE)
    names = [name for line in declared for name in re.findall(r"\b([a-z_]\w*) = ", line)]
    return [name for name in names if len(re.findall(rf"\b{name}\b", text)) == 1]


@pytest.mark.parametrize("language", ARCHES)
def test_a_number_that_only_selects_a_component_has_no_name(language: str) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    opposite = [3, 0, 4, 1, 2]
    f, g = ti.Vector.field(5, ti.f32, 8), ti.field(ti.f32, 8)

    @ti.kernel
    def reflect():
        for i in f:
            if g[i] > 0:
                g[i] = f[i][opposite[0]]

    source = reflect.source(arch=ARCHES[language])
    assert "opposite_" not in NOISE.sub("", source) and names_without_use(source) == [], source
    ti.reset()


@pytest.mark.parametrize("language", ["cuda", "vulkan"])
def test_an_extent_that_no_thread_compares_has_no_name(language: str) -> None:
    """Blocks that share columns have all iterations: none asks how many tiles there are."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, sums = ti.ndarray(ti.f32, (64, 64)), ti.ndarray(ti.f32, 64)

    @ti.kernel
    def columns(x: ti.types.ndarray(dtype=ti.f32, ndim=2), sums: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for j in sums:
            s = 0.0
            for i in range(x.shape[0]):
                s += x[i, j]
            sums[j] = s

    source = columns.source(x, sums, arch=ARCHES[language])
    assert "threads share a column" in source and names_without_use(source) == [], source
    ti.reset()
