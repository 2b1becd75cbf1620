"""shadesmith's own sources and templates are part of keys: a changed copy of the package finds nothing of another's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2]
PROGRAM = """
import sys
import shadesmith as ti

ti.init(arch=ti.cpu, offline_cache=sys.argv[1] != "off", offline_cache_file_path=sys.argv[2])

@ti.kernel
def count(n: ti.i32) -> ti.i32:
    total = 0
    for i in range(n):
        total += i
    return total

print(count.key(5), count(5), ti.cache.stats().frontend_runs)
"""
FEW, MANY = 18, 24
"""Of 27 templates: more than a kernel needs, and fewer than there are."""
READS = """
import sys

read = []
sys.addaudithook(lambda event, data: event == "open" and str(data[0]).endswith(".j2") and read.append(data[0]))
"""
"""Before the program: lists the templates that it reads; modules without bytecode are read to be imported, too."""
SHOWS_READS = """
import os
print(sum("shadesmith" + os.sep in str(path) for path in read))
"""


def the_digest(folder: str, names: list[str]) -> list[str]:
    """Return what `shutil.copytree` leaves out."""
    return ["tools"] if os.path.basename(folder) == "__pycache__" else []


@pytest.fixture(scope="module")
def say(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[str]]:
    """Return what runs a program with a copy of the package: its key, its result, and how often a frontend ran.

    The copy has the bytecode of this process, so that only what a test changes is compiled anew; not the digest, which is
    beside it.
    """
    folder = tmp_path_factory.mktemp("copy")
    for name in ("runtime", "transpiler", "templates"):
        shutil.copytree(PACKAGE / name, folder / "shadesmith" / name, ignore=the_digest)
    shutil.copy2(PACKAGE / "__init__.py", folder / "shadesmith")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    environment = {name: value for name, value in os.environ.items() if name != "SHADESMITH_OFFLINE_CACHE"}
    environment |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(cache: str = "on", place: str = "cache", writes: bool = False) -> list[str]:
        command = [sys.executable, "-W", "error", str(program), cache, str(folder / place)]
        more = {"PYTHONDONTWRITEBYTECODE": ""} if writes else {}
        done = subprocess.run(command, env=environment | more, capture_output=True, text=True, check=True)
        return done.stdout.split()

    run.package = folder / "shadesmith"  # type: ignore[attr-defined]
    return run


@pytest.fixture
def folder(say: Callable[..., list[str]]) -> Iterator[Path]:
    """Return the folder in the package in which the digest is kept; it is empty."""
    package: Path = say.package  # type: ignore[attr-defined]
    (package.parent / "program.py").write_text(READS + PROGRAM + SHOWS_READS)
    folder = package / "runtime/store/__pycache__/tools"
    shutil.rmtree(folder, ignore_errors=True)
    yield folder
    (package.parent / "program.py").write_text(PROGRAM)
    folder.unlink() if folder.is_file() else shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.exhaustive
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["templates/c/range_for.c.j2", "transpiler/passes/cleanup/fold.py"])
def test_a_changed_source_changes_the_key(name: str, say: Callable[..., list[str]]) -> None:
    first, again = say(), say()
    assert first[1] == "10" and again == [*first[:2], "0"]
    assert say("off")[:2] == first[:2]
    path: Path = say.package / name  # type: ignore[attr-defined]
    text = path.read_text()
    path.write_text(text + ("{# changed #}" if name.endswith(".j2") else "# changed\n"))
    changed = say()
    assert changed[0] != first[0] and changed[1:] == ["10", "1"]
    path.write_text(text)
    assert say() == again


def test_an_empty_cache_does_not_read_the_sources_again(say: Callable[..., list[str]], folder: Path) -> None:
    first = say(place="first", writes=True)
    assert int(first[3]) > MANY and any(folder.glob("*.sources"))
    again = say(place="second", writes=True)
    assert again[:3] == first[:3] and int(again[3]) < FEW, "a new folder has no kernel, but the digest is known"
    path: Path = say.package / "templates/c/range_for.c.j2"  # type: ignore[attr-defined]
    text = path.read_text()
    path.write_text(text + "{# changed #}")
    changed = say(place="third", writes=True)
    assert changed[0] != first[0] and int(changed[3]) > MANY, "an edited template is read"
    path.write_text(text)
    assert say(place="fourth", writes=True)[:2] == first[:2]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("trouble", ["a file in its place", "another user's", "damaged", "python -B"])
def test_a_folder_beside_the_package_that_cannot_be_used(
    trouble: str, say: Callable[..., list[str]], folder: Path
) -> None:
    """Nothing is said, and the cache keeps the digest as before."""
    expected = say(place=f"{trouble} 1", writes=trouble != "python -B")
    if trouble == "python -B":
        assert not folder.exists()
    elif trouble == "a file in its place":
        shutil.rmtree(folder)
        folder.write_text("")
    elif trouble == "another user's":
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder away")
        os.chown(folder, 12345, -1)
    else:
        for path in folder.iterdir():
            path.write_bytes(path.read_bytes()[:-1] + b"?")
    found = say(place=f"{trouble} 2", writes=trouble != "python -B")
    assert found[:3] == expected[:3] and int(found[3]) > MANY
    if trouble != "damaged":
        assert int(say(place=f"{trouble} 2", writes=trouble != "python -B")[3]) < FEW


def test_processes_that_keep_the_digest_at_once(say: Callable[..., list[str]], folder: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda number: say(place=f"at once {number}", writes=True), range(2)))
    assert len({tuple(words[:3]) for words in found}) == 1 and len(list(folder.glob("*.sources"))) == 1
    assert not list(folder.glob(".tmp-*"))
