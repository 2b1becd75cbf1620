"""Counts what a reader of emitted sources stumbles over: temporaries, numbered copies, names that are not Python's, wide lines.

`counts()` covers the kernels of examples/, of the corpus and of the golden tests in all three languages; nothing runs.

    python tests/support/emitted_counts.py                     the table
    python tests/support/emitted_counts.py --list temporaries  which declarations, by kernel
    python tests/support/emitted_counts.py --dump FOLDER       writes the sources, to read and to compare
    python tests/support/emitted_counts.py --programs FOLDER   counts Taichi's examples: one frame, no kernel runs
"""

from __future__ import annotations

import argparse
import io
import json
import keyword
import os
import re
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

if __name__ == "__main__":
    sys.path += [str(Path(__file__).parent), str(Path(__file__).parent / "kernels")]

import shadesmith as ti
from shadesmith.runtime.launch.kernel import CALL_OBSERVERS, Kernel
from shadesmith.transpiler.backend.languages.common.naming import legal
from shadesmith.transpiler.backend.module.interface import BackendModule, SourceFile
from shadesmith.transpiler.errors import TaichiCompilationError, UnsupportedError

LANGUAGES = {"c": ti.cpu, "cuda": ti.cuda, "vulkan": ti.vulkan}
ROOT = Path(ti.__file__).parent
WIDTH = 100
EXAMPLES = {
    "game_of_life": [], "heat3d": [], "hand_tuning": ["--size", "16"], "julia": ["--size", "64"], "mandelbrot": [],
    "mpm88": ["--substeps", "1"], "nbody": ["--bodies", "64"], "pi": ["--samples", "20000"],
}  # fmt: skip
"""The programs of examples/, with the arguments of a short run."""
LIBRARY = tuple(str(ROOT / "transpiler" / "lang" / name) for name in ("math.py", "decompositions.py"))
"""The functions of `ti.math` and the like are Python too; kernels take them in without a comment."""
KINDS = ("temporaries", "numbered", "foreign", "long_lines")

INTERFACE = frozenset({"args", "rng", "failed", "index", "i"})
"""Names of each source that count as Python's: arguments, hidden parameters, the number of an iteration. How many names
count for this reason alone is the column "interface".
"""
MACHINERY = {
    "threads": "has_iteration thread threads count lanes end ii jj kk quarter aligned carried takes_part is_own blocks stride part any",
    "cells": "block cell cells item list_index piece pieces",
    "reports": "record",
    "sweeps": "again slot",
}
"""Names for what Python has none for, by kind: threads of a block, grid-stride loops, iterations at a time and what joins
their sums (also `end_j`, where a loop ends, `total_of`, its parts, `is_own`, whether a thread adds to a copy); cells of sparse trees; what `print` and checks
send to the host; loops of a gradient that compute values again. A person who writes the kernel by hand needs them too.
They are no values of the program.
"""
WORDS = frozenset(
    "add adj and difference dot each end entry grad greater inside is least less masked minus of old over plus product "
    "quotient remainder saved sum tile times value".split()
)
"""Words that say what is made of a Python name: `x_adj` is its adjoint, `old_x` its value before, `end_j` where a loop ends."""

INVENTED = (*MACHINERY, "copies", "derived", "values")
"""The kinds of names that are not Python's."""

_DECLARATION = re.compile(
    r"^ +(?:const )?(?!return|else|goto|case|typedef)((?:unsigned |long )*[A-Za-z_]\w*) \*?(\w+)(?:\[[^\]]*\])*(?: =|;)"
)
_LOOP = re.compile(r"\bfor \((?:unsigned |long )*\w+ (\w+) = ")
_GROUP = re.compile(r"\bfor (\w+) in .*\bgrouped\(")
"""The name of a group of indices, whose elements are `I_0`, `I_1`."""
_ITEM = re.compile(r"\b(\w+)\[(\d)\]")
"""An item of a list, `square[0]`, whose variable is `square_0`."""
_PARAMETERS = re.compile(r"^(?:template <[^>]*> )?[\w ]+?[ *]\*?\w+\((.*)\) \{$")


@dataclass(frozen=True)
class Source:
    """The sources of one kernel in one language."""

    kernel: str
    language: str
    module: BackendModule

    def found(self) -> dict[str, list[str]]:
        """Return the declarations and lines of each kind in `KINDS`, and the names of all locals as `locals`."""
        result: dict[str, list[str]] = {kind: [] for kind in (*KINDS, "locals", "interface", *INVENTED)}
        for file in self.module.files:
            result["long_lines"] += [line for line in file.text.splitlines() if len(line) > WIDTH]
            known = _identifiers((*LIBRARY, *sorted({python for _, python, _ in file.lines if python})))
            names = list(_locals_of(file))
            has_cells = not {"cell", "list_index"}.isdisjoint(names)
            for name in names:
                result["locals"].append(name)
                if name in known or name.rstrip("_") in known:
                    continue
                if name in INTERFACE:
                    result["interface"].append(name)
                    continue
                if not _is_path(name, known):
                    result["foreign"].append(name)
                    is_in_cell = has_cells and name.endswith("_inside")
                    result["cells" if is_in_cell else kind_of(name, known)].append(name)
                if re.fullmatch(r"t\d+", name):
                    result["temporaries"].append(name)
                elif re.search(r"_\d+$", name):
                    result["numbered"].append(name)
        return result


def counts(languages: Sequence[str] = tuple(LANGUAGES)) -> dict[str, dict[str, int]]:
    """Return by language: kernels, lines, locals, and how many of them are of each kind in `KINDS`.

    temporaries: locals called `t0`. numbered: locals called `v_1`. foreign: locals whose name no Python source contains,
    nor the path to a member (`ray_origin`). Names that the Python source contains are of no kind.
    """
    return _totals(source for source in sources() if source.language in languages)


@cache
def sources() -> tuple[Source, ...]:
    """Return the sources of all kernels. It starts sessions, so that fields made before are gone."""
    return (*_of_examples(), *_of_corpus(), *_of_golden())


def _totals(found: Iterator[Source] | Sequence[Source]) -> dict[str, dict[str, int]]:
    result = {language: Counter() for language in LANGUAGES}
    for source in found:
        here = result[source.language]
        here["kernels"] += 1
        here["lines"] += sum(bool(line.strip()) for file in source.module.files for line in file.text.splitlines())
        here.update({kind: len(names) for kind, names in source.found().items()})
    return {language: dict(counter) for language, counter in result.items() if counter}


# --- reading sources


def _locals_of(file: SourceFile) -> Iterator[str]:
    """Yield the name of each variable, loop index and parameter of the functions that come from Python."""
    lines = file.text.splitlines()
    for start, end in _bodies(file, lines):
        header = _PARAMETERS.match(_header(lines, start))
        if header is not None:
            yield from (p.split()[-1].lstrip("*&").split("[")[0] for p in header[1].split(", ") if len(p.split()) > 1)
        for line in lines[start + 1 : end]:
            if line.lstrip().startswith("//"):
                continue
            if (loop := _LOOP.search(line)) is not None:
                yield loop[1]
            elif (declaration := _DECLARATION.match(line)) is not None:
                yield declaration[2]
                yield from _further(line[declaration.end() :])


def _header(lines: list[str], last: int) -> str:
    """Return the head of a function, which ends in a line, as one line."""
    first = last
    while first > 0 and lines[first].startswith((" ", ")")):
        first -= 1
    return " ".join(line.strip() for line in lines[first : last + 1])


def _further(declarators: str) -> Iterator[str]:
    """Yield the names behind the first in `float u = p.x, v = p.y;`, of which the first name is cut off."""
    depth = 0
    for position, letter in enumerate(declarators):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0 and (name := re.match(r", (\w+) = ", declarators[position:])) is not None:
            yield name[1]


def _bodies(file: SourceFile, lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and last line (from 0) of each function with lines of Python."""
    mapped = [emitted - 1 for emitted, python, _ in file.lines if python]
    start = None
    for number, line in enumerate(lines):
        if line.endswith(") {") and not line.startswith(" "):
            start = number
        elif line == "}" and start is not None:
            if any(start <= k <= number for k in mapped):  # no entry that calls a function in a loop
                yield start, number
            start = None


@cache
def _identifiers(files: tuple[str, ...]) -> frozenset[str]:
    """Return the identifiers in Python files, as they are and as paths to members (`ray_origin` of `ray.origin`)."""
    found = set()
    for file in files:
        text = Path(file).read_text(encoding="utf-8")
        found |= {f"{group}_{axis}" for group in _GROUP.findall(text) for axis in range(4)}
        found |= {f"{owner}_{number}" for owner, number in _ITEM.findall(text)}
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
                found |= {token.string, legal(token.string)}
    return frozenset(found)


def kind_of(name: str, known: frozenset[str]) -> str:
    """Return the kind of a name that is not Python's: one of `MACHINERY`, "copies", "derived" or "values".

    copies: a number behind a Python name. derived: Python names and `WORDS`. values: all others, which a person would
    have named otherwise, or not at all.
    """
    for kind, names in MACHINERY.items():
        if re.sub(r"_\d+$", "", name) in names.split():
            return kind
    if name.removeprefix("end_") in known or name.removesuffix("_of") in known:
        return "threads"
    if re.sub(r"(_\d+)?_(block|list)(_\d+)?$", "", name) in known:
        return "cells"
    if re.sub(r"_\d+$", "", name) in known:
        return "copies"
    parts = name.split("_")
    for first in range(len(parts)):
        for last in range(first + 1, len(parts) + 1):
            rest = [
                part for part in (*parts[:first], *parts[last:]) if not part.isdecimal() and not known.issuperset(part)
            ]
            if "_".join(parts[first:last]) in known and WORDS.issuperset(rest):
                return "derived"
    return "values"


def _is_path(name: str, known: frozenset[str]) -> bool:
    """Return whether a name is made of Python's: `ray_origin` of `ray.origin`, the member of a struct."""
    return any(name[:k] in known and name[k + 1 :] in known for k, letter in enumerate(name) if letter == "_")


# --- emitting


def _emit(
    kernel: Kernel, arguments: tuple[Any, ...], name: str, allowed: Sequence[str] = tuple(LANGUAGES)
) -> Iterator[Source]:
    for language in allowed:
        try:
            yield Source(name, language, kernel.inspect(*arguments, arch=LANGUAGES[language]).module)
        except UnsupportedError:
            continue


def _of_corpus() -> list[Source]:
    corpus = import_module("corpus")
    result: list[Source] = []
    for maker in corpus.MAKERS:
        ti.init(arch=ti.python, log_level=ti.ERROR)
        kernel, arguments = maker()
        result += _emit(
            kernel, arguments, f"corpus.{maker.__name__}", corpus.LANGUAGES.get(maker.__name__, tuple(LANGUAGES))
        )
    ti.reset()
    return result


def _of_golden() -> list[Source]:
    golden = import_module("golden_kernels")
    return [
        Source(f"golden.{name}", language, golden.compiled(name, language))
        for name in golden.KERNELS
        for language in LANGUAGES
        if language != "vulkan" or name not in golden.RECURSIVE
    ]


def _of_examples() -> list[Source]:
    result: list[Source] = []
    for name, arguments in EXAMPLES.items():
        module = import_module(f"shadesmith.examples.{name}")
        runs = name == "hand_tuning"  # it reports which variant ran
        with _recording(name, result, runs), tempfile.TemporaryDirectory() as folder:
            environment = {
                "SHADESMITH_GUI_DIR": folder,
                "SHADESMITH_GUI_FRAMES": "1",
                "DISPLAY": "",
                "WAYLAND_DISPLAY": "",
            }
            argv = [f"{name}.py", "--arch", "python", *arguments]
            with patch.dict(os.environ, environment), patch.object(sys, "argv", argv), redirect_stdout(io.StringIO()):
                module.main()
    ti.reset()
    return result


@contextmanager
def _recording(program: str, result: list[Source], runs: bool) -> Iterator[None]:
    """Collect the sources of each kernel that is called, once for each specialization. runs: the kernel runs too."""
    seen: set[str] = set()

    def observe(kernel: Kernel, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        try:
            arguments = kernel.arguments.bind(args, kwargs)
            digest = kernel.key(*arguments, arch=ti.cpu)
            if digest not in seen:
                seen.add(digest)
                result.extend(_emit(kernel, arguments, f"{program}.{kernel.__name__}"))
        except TaichiCompilationError:
            return

    if runs:
        CALL_OBSERVERS.append(observe)
        try:
            yield
        finally:
            CALL_OBSERVERS.remove(observe)
        return

    def call(kernel: Kernel, *args: Any, **kwargs: Any) -> int:
        observe(kernel, args, kwargs)
        return 0

    with patch.object(Kernel, "__call__", call):
        yield


# --- the command


def _of_programs(
    folder: Path, dump: Path | None, listed: str | None, language: str
) -> tuple[dict[str, Counter[str]], list[str]]:
    """Count the kernels of Taichi's examples below a folder, each program in a process of its own."""
    totals = {language: Counter[str]() for language in LANGUAGES}
    failed = []
    for program in sorted(folder.rglob("*.py")):
        if program.name.startswith("_") or program.name == "patterns.py":
            continue
        command = [sys.executable, __file__, "--one", str(program), *(["--dump", str(dump)] if dump else [])]
        command += ["--list", listed, "--language", language] if listed else []
        with tempfile.TemporaryDirectory() as here:
            environment = {**os.environ, "SHADESMITH_ARCH": "cpu", "SHADESMITH_GUI_DIR": here, "TI_ARCH": "cpu"}
            try:
                done = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, timeout=60)
            except subprocess.TimeoutExpired:
                failed.append(f"{program.name}: too slow")
                continue
        lines = [line for line in done.stdout.splitlines() if line.startswith("COUNTS ")]
        print(*(line[6:] for line in done.stdout.splitlines() if line.startswith("NAMES ")), sep="\n")
        if not lines:
            failed.append(f"{program.name}: {(done.stderr.strip().splitlines() or ['?'])[-1][:150]}")
        for line in lines[-1:]:
            for name, found in json.loads(line[7:]).items():
                totals[name].update(found)
        print(program.name, json.loads(lines[-1][7:]).get("cuda") if lines else failed[-1], flush=True)
    return totals, failed


def _one_program(program: Path, dump: Path | None, listed: str | None, language: str) -> None:
    sys.path.append(str(ROOT / "tests" / "examples"))
    result: list[Source] = []
    try:
        with _recording(program.stem, result, runs=False):
            import_module("headless").main(program, 1)
    except (SystemExit, KeyboardInterrupt):
        pass
    finally:
        if dump is not None:
            _dump(result, dump)
        if listed is not None:
            _list(result, listed, language, "NAMES ")
        print("COUNTS", json.dumps(_totals(result)), flush=True)
        os._exit(0)


def _dump(found: Sequence[Source], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names: Counter[str] = Counter()
    for source in found:
        for file in source.module.files:
            stem, suffix = f"{source.kernel}.{Path(file.name).stem}", Path(file.name).suffix
            names[stem + suffix] += 1
            number = names[stem + suffix]
            (folder / f"{stem}{f'-{number}' if number > 1 else ''}{suffix}").write_text(file.text, encoding="utf-8")


def _list(found: Sequence[Source], kind: str, language: str, prefix: str = "") -> None:
    """Print the declarations or lines of a kind, by kernel."""
    for source in found:
        if source.language == language and (names := source.found()[kind]):
            print(f"{prefix}{source.kernel:50} {len(names):4}  {' '.join(names) if kind != 'long_lines' else names}")


def _print_table(totals: Mapping[str, Mapping[str, int]]) -> None:
    columns = ("kernels", "lines", "locals", *KINDS, "interface", *INVENTED)
    print(f"{'':8}" + "".join(f"{column:>12}" for column in columns) + f"{'from Python':>13}{'of values':>11}")
    for language, found in totals.items():
        row = "".join(f"{found.get(column, 0):>12}" for column in columns)
        print(f"{language:8}{row}{from_python(found):>13.1%}{values_from_python(found):>11.1%}")


def from_python(found: Mapping[str, int]) -> float:
    """Return the part of all names that are Python's. found: how many there are of each kind."""
    return 1 - found.get("foreign", 0) / max(1, found.get("locals", 0))


def values_from_python(found: Mapping[str, int]) -> float:
    """Return the same of the names of values: without `MACHINERY`, for which Python has no names."""
    machinery = sum(found.get(kind, 0) for kind in MACHINERY)
    values = found.get("locals", 0) - machinery
    return 1 - (found.get("foreign", 0) - machinery) / max(1, values)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--list", choices=(*KINDS, *INVENTED))
    parser.add_argument("--language", choices=[*LANGUAGES], default="cuda")
    parser.add_argument("--dump", type=Path)
    parser.add_argument("--programs", type=Path)
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    dump = options.dump.resolve() if options.dump else None
    if options.one is not None:
        _one_program(options.one, dump, options.list, options.language)
    if options.programs is not None:
        totals, failed = _of_programs(options.programs, dump, options.list, options.language)
        print("\n".join(failed))
        _print_table(totals)
        return 0
    if dump is not None:
        _dump(sources(), dump)
    if options.list is not None:
        _list(sources(), options.list, options.language)
    _print_table(counts())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
