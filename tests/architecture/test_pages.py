"""Links and paths in the pages of docs/ lead to files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import layers
import pytest

from shadesmith.transpiler.passes import REQUIRED, names_of_passes

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
CODE = re.compile(r"^```.*?^```$|^    .*?$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
FOLDERS = (
    "",
    "transpiler/",
    "transpiler/backend/",
    "transpiler/frontend/",
    "runtime/",
    "runtime/workbench/",
    "templates/",
)
"""Pages name a file by its path below one of these."""
ELSEWHERE = {"c-api.md: make run"}
"""Targets of other Makefiles, which pages name too."""
NOT_MERGED = {"transpiler/passes/arithmetic/negate.py", "tests/passes/arithmetic/test_negate.py"}
"""Files of a recipe's change, which is not merged."""


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    wrong = []
    for path, anchor in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        if "://" in path:
            continue  # another site
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(f"{path}#{anchor}")
    assert wrong == []


@pytest.mark.parametrize("page", ["docs/architecture.md", "docs/glossary.md", "docs/cache.md", "docs/status.md"])
def test_every_path_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = set(re.findall(r"`((?:tests|[a-z_]+)/[\w/.*]+\.(?:py|c|h|j2|md)|[a-z_]+/[\w/]+/)`", text))
    wrong = [p for p in sorted(paths - NOT_MERGED) if not any(any(ROOT.glob(f + p.rstrip("/"))) for f in FOLDERS)]
    assert wrong == []


def test_every_make_target_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    wrong = []
    for page in PAGES:
        code = "\n".join(CODE.findall(page.read_text(encoding="utf-8")))
        named = re.findall(r"(?:`|^)make ([a-z][\w-]*)", code, re.MULTILINE)
        wrong += [f"{page.name}: make {target}" for target in named if target not in targets]
    assert [name for name in wrong if name not in ELSEWHERE] == []


@pytest.mark.parametrize("name", ["right-numbers.md", "right-gradients.md", "inspection-audit.md", "every-program.md"])
def test_every_test_that_a_page_names_exists(name: str) -> None:
    page = ROOT / "docs" / "contributing" / name
    wrong, file = [], ""
    text = page.read_text(encoding="utf-8")
    if name == "right-numbers.md":
        rows = re.findall(r"^\| (\d+) \| .*`\S*::\w+`.* \|$", text, re.MULTILINE)
        assert sorted(set(map(int, rows))) == list(range(1, 26))
    for path, test in re.findall(r"`((?:tests/[\w/]+\.py)?)::(\w+)`", text):
        file = path or file
        found = ROOT / file
        if not found.exists() or f"\ndef {test}(" not in found.read_text(encoding="utf-8"):
            wrong.append(f"{file}::{test}")
    assert wrong == []


def test_every_page_is_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").glob("*.md")]
    assert [page for page in pages if f"]({page})" not in readme] == []


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if f": {page}\n" not in navigation] == []


def test_every_pass_that_can_be_left_out_is_described_once() -> None:
    named = []
    for name, pattern in (
        ("gpu-choices.md", r"^### `(\w+)`$"),
        ("c-choices.md", r"^### `(\w+)`$"),
        ("passes.md", r"^\| `(\w+)` \|"),
    ):
        named += re.findall(pattern, (ROOT / "docs" / name).read_text(encoding="utf-8"), re.MULTILINE)
    optional = {step for steps in names_of_passes().values() for step in steps} - REQUIRED
    assert sorted(named) == sorted(optional)


def test_the_table_of_folders_has_every_package() -> None:
    table = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    in_a_row_above = ("transpiler/backend/languages/", "runtime/devices/", "runtime/workbench/", "runtime/launch/")
    no_row = {"transpiler", "transpiler/frontend", "transpiler/backend", "runtime"}
    packages = [name for name in layers.LAYERS if (ROOT / name).is_dir() and not name.startswith(in_a_row_above)]
    assert [name for name in packages if name not in no_row and f"`{name}/`" not in table] == []


@pytest.mark.parametrize("top", ["transpiler", "runtime"])
def test_the_table_of_folders_has_every_module_beside_them(top: str) -> None:
    table = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    modules = [f"{top}/{path.name}" for path in sorted((ROOT / top).glob("*.py")) if path.name != "__init__.py"]
    assert modules and [name for name in modules if f"`{name}`" not in table] == []


def _is_there(name: str) -> bool:
    """Return whether a module, a folder or what one of these defines has a name in dots or slashes."""
    *outer, last = name.removesuffix(".py").replace(".", "/").split("/")
    for place in [(ROOT / base).joinpath(*outer) for base in ("", "transpiler", "runtime")]:
        module = place.with_suffix(".py") if place.with_suffix(".py").exists() else place / "__init__.py"
        if (place / last).is_dir() or (place / f"{last}.py").exists():
            return True
        if module.exists() and re.search(rf"\b{last}\b", module.read_text()):
            return True
    return False


def test_every_module_that_a_docstring_names_exists() -> None:
    named = re.compile(r"`((?:transpiler|runtime|passes|backend|frontend|ir)(?:[./]\w+)+)")
    sources = [path for top in ("transpiler", "runtime") for path in sorted((ROOT / top).rglob("*.py"))]
    names = [(path, name) for path in sources for name in named.findall(path.read_text())]
    missing = [f"{path}: {name}" for path, name in names if not _is_there(name)]
    assert names and not missing, missing
