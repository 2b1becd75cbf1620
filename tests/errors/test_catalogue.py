"""Every bad input gets the right class, line, column, caret and remedy, and no frame of ours is shown."""

from __future__ import annotations

import re
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from catalogue import EXTRAS, GROUPS, ITEMS
from catalogue.case import WARNING, Case
from programs import Outcome, run, split

import shadesmith as ti

ALL = [*ITEMS, *EXTRAS]


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_an_input_gets_the_message_of_the_catalogue(case: Case, tmp_path: Path) -> None:
    outcome = run(case, tmp_path)
    if case.error in ("", WARNING):
        assert outcome.error is None, outcome.error
        assert outcome.namespace.get("result") == case.value
        assert len(outcome.warnings) == bool(case.error), [str(w.message) for w in outcome.warnings]
        if outcome.warnings:
            check_text(case, str(outcome.warnings[0].message))
            check_warned_line(case, outcome)
        return
    assert type(outcome.error).__name__ == case.error, outcome.error
    check_text(case, str(outcome.error))
    check_frames(case, outcome)


def check_text(case: Case, text: str) -> None:
    """Message and remedy are there, and the line of the mistake with a caret below its first character."""
    message, _, remedy = text.partition("Hint:")
    assert case.message.lower() in message.lower()
    assert case.hint.lower() in remedy.lower()
    assert bool(remedy) or case.place == "python", text
    program, line, column = split(case)
    assert line or case.place == "nowhere"
    if case.place != "caret":
        assert "^" not in text
        return
    shown = program.splitlines()[line - 1]
    below = "".join("\t" if letter == "\t" else " " for letter in shown[: column - 1])
    assert f'.py", line {line}, column {column}, in ' in text
    assert f"\n{shown}\n{below}^" in text


def check_warned_line(case: Case, outcome: Outcome) -> None:
    """Python attributes the warning to a line of the program: the marked one for a call."""
    warning = outcome.warnings[0]
    assert warning.filename == outcome.file
    assert case.place != "call" or warning.lineno == split(case)[1]


def check_frames(case: Case, outcome: Outcome) -> None:
    """The error says where it stands, and its traceback shows the user's lines only."""
    error, (_, line, column) = outcome.error, split(case)
    assert error is not None
    frames = traceback.extract_tb(error.__traceback__)[1:]
    assert {frame.filename for frame in frames} <= {outcome.file, "<string>"}
    if case.place == "caret":
        assert (error.location.line, error.location.column) == (line, column)  # type: ignore[attr-defined]
        assert error.hint in str(error)  # type: ignore[attr-defined]
    elif case.place == "python":
        assert isinstance(error, SyntaxError) and (error.lineno, error.offset) == (line, column)
    elif case.place == "call":
        assert frames[-1].lineno == line
        if sys.version_info >= (3, 11):
            assert frames[-1].colno == column - 1


def test_the_catalogue_is_complete() -> None:
    assert [len(cases) for _, cases in GROUPS.values()] == [count for count, _ in GROUPS.values()]
    assert len(ITEMS) == 168
    assert all(case.name.startswith(f"{group}/") for group, (_, cases) in GROUPS.items() for case in cases)
    assert len({(case.name.split("/")[0], case.title) for case in ITEMS}) == 168
    assert "" not in {case.title for case in ITEMS}
    assert len({case.name for case in ALL}) == len(ALL)


# --- what a process shows -------------------------------------------------------------------------------------------


def run_process(text: str, path: Path) -> str:
    """Run a program that ends with an uncaught error; return what Python shows."""
    path.write_text(text, encoding="utf-8")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1
    return done.stderr


CARETS = [case for case in ITEMS if case.place == "caret" and case.error.startswith("Taichi")]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", [CARETS[0], CARETS[20], CARETS[40], CARETS[60]], ids=lambda case: case.name)
def test_no_frame_of_ours_is_shown(case: Case, tmp_path: Path) -> None:
    text = split(case)[0].replace("import shadesmith as ti\n", "import shadesmith as ti; ti.init(arch=ti.python)\n")
    shown = run_process(text, tmp_path / "shown.py")
    package = str(Path(ti.__file__).resolve().parent)
    assert package not in shown and "kernel.py" not in shown, shown
    assert f"shadesmith.{case.error}: \n" in shown


def test_full_tracebacks_on_request(tmp_path: Path) -> None:
    start = "ti.init(arch=ti.python, print_full_traceback=True)"
    text = split(CARETS[0])[0].replace("import shadesmith as ti\n", f"import shadesmith as ti; {start}\n")
    shown = run_process(text, tmp_path / "full.py")
    assert "kernel.py" in shown and "context.py" in shown


def test_tracing_is_left_alone(tmp_path: Path) -> None:
    def trace(frame: object, event: str, argument: object) -> None: ...

    ti.init(arch=ti.python, log_level=ti.ERROR)
    namespace: dict[str, object] = {}
    sys.settrace(trace)
    try:
        with pytest.raises(ti.TaichiSyntaxError):
            exec("import shadesmith as ti\nti.kernel(3)", namespace)
        assert sys.gettrace() is trace
    finally:
        sys.settrace(None)


def test_no_message_names_an_issue() -> None:
    """A user cannot look up what this project plans: once hints said "comes with issue 4"."""
    root = Path(ti.__file__).resolve().parent
    files = [path for folder in ("transpiler", "runtime", "templates") for path in sorted((root / folder).rglob("*"))]
    wrong = [
        path
        for path in files
        if path.suffix in (".py", ".j2", ".c", ".h", ".glsl", ".cuh", ".js", ".html")
        and re.search(r"\bissues? \d+\b", path.read_text(encoding="utf-8"), re.IGNORECASE)
    ]
    assert wrong == []
