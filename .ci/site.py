"""Write the pages of the site into build/pages: those of docs/, and those that are generated.

In: docs/, examples/, the public names of the package. Out: Markdown that mkdocs.yml lists; the API reference from
docstrings, and the gallery. usage: python .ci/site.py
"""

from __future__ import annotations

import inspect
import re
import shutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "build" / "pages"
sys.path.insert(0, str(ROOT / "tests" / "support"))

import public_callables as names  # noqa: E402

from shadesmith.runtime.launch.kernel import Kernel  # noqa: E402

LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)")
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def without_outer_links(text: str, page: Path) -> str:
    """Return a page whose links to files outside docs/ are plain words."""

    def replaced(match: re.Match[str]) -> str:
        target = (page.parent / match.group(1)).resolve()
        inside = target.is_relative_to(ROOT / "docs") and target.exists()
        return match.group(0) if inside else "]"

    lines = LINK.sub(replaced, text)
    return re.sub(r"\[(`?[^\]\[]+`?)\](?![(\[:])", r"\1", lines) if lines != text else text


def copy_docs() -> None:
    """Copy docs/, and README.md as the first page."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES)
    for page in (ROOT / "docs").rglob("*.md"):
        (PAGES / page.relative_to(ROOT / "docs")).write_text(
            without_outer_links(page.read_text(encoding="utf-8"), page), encoding="utf-8"
        )
    shutil.copytree(ROOT / ".ci" / "site_assets", PAGES / "site_assets")
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    readme = stacked(readme).replace("(CONTRIBUTING.md)", "(contributing/README.md)")
    (PAGES / "index.md").write_text(readme, encoding="utf-8")


def stacked(readme: str) -> str:
    """Return README.md with the two columns of its table one below the other: a page of the site is narrower."""
    block = r"^(```.*?^```)$.*?"
    head = r"<table><tr><th>(.*?)</th><th>(.*?)</th></tr>.*?"
    table = re.compile(f"{head}{block}{block}</table>", re.DOTALL | re.MULTILINE)
    return table.sub(r"<b>\1</b>\n\n\3\n\n<b>\2</b>\n\n\4", readme)


def docstring(value: Any) -> str:
    """Return a docstring as Markdown: its example is a block of Python, parameters are a list."""
    text = inspect.getdoc(value) or ""
    before, _, example = text.partition("Example:\n")
    before = re.sub(
        r"^(Args|Attributes):\n((?:    .*\n?|\n)+)", lambda m: _items(m.group(2)), before, flags=re.MULTILINE
    )
    before = re.sub(r"^([a-z_][\w, ]*): ", r"- **\1**: ", before, flags=re.MULTILINE)
    before = re.sub(r"^(Raises|Source): ", r"\n**\1**: ", before, flags=re.MULTILINE)
    before = re.sub(r"(?<!\n)\n(- \*\*)", r"\n\n\1", before)
    code = inspect.cleandoc(example)
    return before.strip() + (f"\n\n```pycon\n{code}\n```" if code else "")


def _items(text: str) -> str:
    return inspect.cleandoc(text) + "\n"


def entry(name: str, value: Any) -> str:
    """Return the entry of one function or class."""
    plain = inspect.unwrap(value)
    try:
        signature = str(inspect.signature(plain)).replace("'", "")
    except (TypeError, ValueError):
        signature = "(...)"
    signature = re.sub(r" at 0x[0-9a-f]+", "", signature)
    return f"## {name}\n\n```python\n{name}{signature}\n```\n\n{docstring(value)}\n"


def write_reference() -> None:
    """Write a page for each public module, and one for kernels."""
    folder = PAGES / "api"
    folder.mkdir()
    callables = names.public_callables()
    pages = []
    tools = [name for name, item in inspect.getmembers(Kernel) if not name.startswith("_") and inspect.isfunction(item)]
    internal = "derived emitted forget forget_launchers instances instances_with_variants launch_of_variant launcher "
    internal += "recompile specialize"
    kernels = "".join(entry(f"kernel.{tool}", getattr(Kernel, tool)) for tool in tools if tool not in internal.split())
    (folder / "kernel.md").write_text(
        f"# Kernels\n\nThe tools of what `@ti.kernel` returns.\n\n{kernels}", encoding="utf-8"
    )
    for path in names.MODULES:
        prefix = ".".join(filter(None, ("ti", path)))
        found = {name: value for name, value in callables.items() if name.rpartition(".")[0] == prefix}
        module = names.module_of(path) if path else None
        summary = (inspect.getdoc(module) or "").partition("\n")[0] if module else "The root package."
        title = f"# {prefix}\n\n{summary}\n\n"
        body = "".join(entry(name, value) for name, value in sorted(found.items()))
        page = f"{path or 'ti'}.md"
        (folder / page).write_text(title + body, encoding="utf-8")
        pages.append(f"- [{prefix}]({page}): {len(found)} names")
    index = "# API reference\n\nAll public functions and classes. Each has an example, and the tests run it.\n\n"
    index += "- [Kernels](kernel.md): `kernel.source`, `.edit`, `.compare`, `.bench` and the other tools\n"
    (folder / "index.md").write_text(index + "\n".join(pages) + "\n", encoding="utf-8")


def write_gallery() -> None:
    """Write the gallery: each program of examples/ that has a picture, with its Python and what it becomes."""
    text = "# Gallery\n\n`make gallery` makes all pictures without a window. "
    text += "Each program runs by `python -m shadesmith.examples.gallery NAME`.\n\n"
    for picture in sorted((ROOT / "docs" / "gallery").glob("*.png")):
        program = ROOT / "examples" / "gallery" / f"{picture.stem}.py"
        if not program.exists():
            continue
        source = program.read_text(encoding="utf-8")
        summary = source.partition('"""')[2].partition('"""')[0].strip().partition("\n")[0]
        emitted = picture.with_suffix(".c")
        text += f"## {picture.stem.replace('_', ' ')}\n\n{summary}\n\n![{summary}](gallery/{picture.name})\n\n"
        text += '??? note "Python"\n' + _indented(f"```python\n{source.strip()}\n```")
        if emitted.exists():
            text += '??? note "emitted source"\n' + _indented(f"```c\n{emitted.read_text().strip()}\n```")
    (PAGES / "gallery.md").write_text(text, encoding="utf-8")


def _indented(text: str) -> str:
    return "\n" + "".join(f"    {line}\n" if line else "\n" for line in text.splitlines()) + "\n"


if __name__ == "__main__":
    copy_docs()
    write_reference()
    write_gallery()
