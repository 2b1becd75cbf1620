"""Every kernel of the corpus is accepted, without a warning, by the compilers of all three languages; no device is used."""

from __future__ import annotations

from pathlib import Path

import corpus
import emitted
import pytest

import shadesmith as ti

SUFFIX = {"vulkan": ".comp", "cuda": ".cu", "c": ".c"}
ARCH = {"vulkan": ti.vulkan, "cuda": ti.cuda, "c": ti.cpu}
OPTIONS = {"plain": {}, "exact": {"fast_math": False}, "checked": {"debug": True}}


@pytest.fixture(autouse=True)
def without_session():
    yield
    ti.reset()


@pytest.mark.sampled(28)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("language", SUFFIX)
@pytest.mark.parametrize("maker", corpus.MAKERS, ids=lambda maker: maker.__name__)
def test_compilers_accept_the_text_without_a_warning(maker, language: str, options: str) -> None:
    tool = emitted.missing_tool(SUFFIX[language])
    if tool:
        pytest.skip(f"{tool} is not here")
    ti.init(arch=ti.python, log_level=ti.ERROR, **OPTIONS[options])
    kernel, arguments = maker()
    if language not in corpus.LANGUAGES.get(maker.__name__, SUFFIX):
        with pytest.raises(ti.UnsupportedError):
            kernel.source(*arguments, arch=ARCH[language])
        return
    module = kernel.inspect(*arguments, arch=ARCH[language]).module
    assert module.files or not module.tasks
    for file in module.files:
        assert file.name.endswith(SUFFIX[language])
        diagnostics = emitted.diagnostics_of(file.name, file.text)
        assert not diagnostics, f"{diagnostics}\n{file.text}"
        long = [line for line in file.text.splitlines() if len(line) > 100]
        assert not long, "lines of at most 100 columns"


def test_lines_of_libraries_fit() -> None:
    """A longer comment is broken where the source is emitted, with a word or two left for its second line."""
    templates = Path(__file__).parents[2] / "templates"
    lines = [(path.name, line) for path in templates.glob("*/lib/*") for line in path.read_text("utf-8").splitlines()]
    assert lines and [found for found in lines if len(found[1]) > 100] == []
