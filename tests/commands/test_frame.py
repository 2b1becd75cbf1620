"""The frame of all commands: exit statuses, errors as clear lines, JSON, plain tables in a pipe and colours by wish."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from shadesmith.runtime.commands.command_line import COMMANDS
from shadesmith.runtime.commands.screen import Screen

KERNEL = """
    @ti.kernel
    def scale(x: ti.types.ndarray(ti.f32, 1), factor: ti.f32):
        for i in x:
            x[i] *= factor
"""


def test_an_answer_has_status_0_and_nothing_beside_it(command, program) -> None:
    said = command("inspect", f"{program(KERNEL)}:scale", "--arch", "cuda", "--stage", "source")
    assert said.status == 0 and said.notes == "" and "x(i) *= args.factor" in said.text


def test_a_mistake_has_status_2_and_one_clear_text(command, program) -> None:
    said = command("inspect", f"{program(KERNEL)}:scales")
    assert (said.status, said.text) == (2, "")
    assert said.notes == "shadesmith: There is no kernel `scales` in program.py\nHint: did you mean `scale`?\n"


def test_an_error_of_a_kernel_names_the_line(command, program) -> None:
    said = command("inspect", f"{program(KERNEL.replace('*= factor', '*= facto'))}:scale")
    assert said.status == 2 and "program.py" in said.notes and "line 8" in said.notes and "^^^^^" in said.notes


def test_json_is_one_value_also_for_errors(command, program) -> None:
    file = program(KERNEL)
    assert command("inspect", f"{file}:scale", "--json").data["kernel"] == "scale"
    said = command("inspect", f"{file}:nothing", "--json")
    assert said.status == 2 and "no kernel `nothing`" in said.data["error"]["text"]


def test_an_unknown_option_and_an_unknown_command_list_the_known_ones(command) -> None:
    said = command("inspect", "a.py:k", "--colour")
    assert said.status == 2 and "usage: shadesmith inspect" in said.notes
    said = command("inspekt")
    assert said.status == 2 and "inspect" in said.notes


def test_all_commands_are_listed_where_none_is_given(command) -> None:
    said = command()
    assert (said.status, said.text) == (2, "") and all(f"\n    {name} " in said.notes for name in COMMANDS)


def test_every_command_explains_itself(command) -> None:
    said = command("--help")
    assert said.status == 0 and "inspect" in said.text
    said = command("inspect", "--help")
    assert said.status == 0 and "--stage" in said.text and "--json" in said.text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_there(command, name) -> None:
    said = command(name, "--help")
    assert said.status == 0 and f"usage: shadesmith {name}" in said.text and "--json" in said.text


def test_a_reader_that_goes_away_is_no_error(program) -> None:
    words = [sys.executable, "-m", "shadesmith", "inspect", f"{program(KERNEL)}:scale", "--stage", "all"]
    shell = " ".join(f"'{word}'" for word in words) + " | head -n 1"
    done = subprocess.run(shell, shell=True, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.count("\n") == 1 and done.stderr == ""


def test_tables_are_plain_in_a_pipe_and_boxed_on_a_terminal(monkeypatch) -> None:
    rows = [("scale", 12), ("a longer name", None)]
    plain = io.StringIO()
    Screen(output=plain).show_table(("kernel", "registers"), rows, title="Resources")
    assert plain.getvalue().splitlines() == [
        "Resources",
        "kernel         registers",
        "scale                 12",
        "a longer name",
    ]
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")  # a dumb terminal gets no colours, whatever forces them
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = io.StringIO()
    Screen(output=coloured).show_table(("kernel", "registers"), rows)
    assert "\x1b[" in coloured.getvalue() and "a longer name" in coloured.getvalue()


def test_colours_change_nothing_but_colours(monkeypatch) -> None:
    text = "float [b] = 1.0f; // :smile: [bold] not markup\n" + "x" * 300
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")  # a dumb terminal gets no colours, whatever forces them
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = io.StringIO()
    Screen(output=coloured).show_code(text, "cuda")
    bare = "".join(part.partition("m")[2] if k else part for k, part in enumerate(coloured.getvalue().split("\x1b[")))
    assert bare.rstrip("\n") == text


@pytest.mark.parametrize("json_wanted", [False, True])
def test_data_and_text_exclude_each_other(json_wanted: bool) -> None:
    output = io.StringIO()
    screen = Screen(json_wanted, output)
    screen.show_data({"a": 1})
    screen.show("text")
    screen.show_table(("a",), [(1,)])
    assert (json.loads(output.getvalue()) == {"a": 1}) if json_wanted else output.getvalue() == "text\na\n1\n"
