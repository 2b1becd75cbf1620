"""`shadesmith bench` and `shadesmith tune`: what they print, their status, and their mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAM = """
    @ti.kernel
    def work(x: ti.types.ndarray(ti.f32, 1), turns: ti.i32):
        for i in x:
            s = x[i]
            for j in range(turns):
                s = ti.sqrt(s + j)
            x[i] = s

    if __name__ == "__main__":
        ti.init(arch=ti.cpu)
        work(np.ones(2000, np.float32), 50)
"""

PATIENCE = "10"
"""Seconds for rounds. A few tenths are taken where launches take as long each time; a busy machine needs more rounds to tell."""


@pytest.fixture
def spec(program) -> str:
    return f"{program(PROGRAM)}:work"


def edited(command, spec: str, old: str, new: str) -> None:
    """Begin to edit the text for the arguments that the program gives, and change it."""
    said = command("edit", spec, "--args", "np.ones(2000, np.float32), 50", "--arch", "cpu")
    assert said.status == 0, said.notes
    (path,) = Path(spec.rpartition(":")[0]).parent.rglob("edits/*/*/work.c")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.exhaustive
def test_bench_prints_a_table(command, spec: str) -> None:
    edited(command, spec, "args.turns", "(20 * args.turns)")
    said = command("bench", spec, "--seconds", PATIENCE)
    assert said.status == 0, said.notes
    title, heading, first, second = said.text.splitlines()
    assert title.startswith("work(ndarray[f32, 1], i32) on ") and "rounds" in title
    assert heading.split()[0] == "variant" and first.split()[0] == "generated" and "slower, " in second
    assert "arguments: " in said.notes


def test_bench_gives_data_and_a_status(command, spec: str) -> None:
    edited(command, spec, "args.turns", "(20 * args.turns)")
    plot = Path(spec.rpartition(":")[0]).with_suffix(".svg")
    said = command("bench", spec, "--seconds", PATIENCE, "--json", "--require", "not-slower", "--plot", str(plot))
    assert plot.read_text().startswith("<svg") and f"written: {plot}" in said.notes
    assert said.status == 1 and "`edit` does not meet --require not-slower: slower" in said.notes
    assert [row["variant"] for row in said.data["variants"]] == ["generated", "edit"]
    turned = command("bench", spec, "--seconds", PATIENCE, "--variant", "edit", "--variant", "generated",
                     "--require", "faster")  # fmt: skip
    assert turned.status == 0


def test_tune_prints_its_trials_and_exports_them(command, spec: str, tmp_path) -> None:
    parameter = "// @tune SKIP = 0 | 1\n#define SKIP 0\nstruct Args"
    edited(command, spec, "struct Args {", f"{parameter} {{")
    file = tmp_path / "cache.json"
    said = command("tune", spec, "--seconds", "0.2", "--export", file)
    assert said.status == 0, said.notes
    assert "2 settings tried" in said.text and "SKIP=1" in said.text and f"written: {file}" in said.notes
    found = json.loads(file.read_text())
    assert found["tune_params"] == {"SKIP": [0, 1]} and set(found["cache"]) == {"0", "1"}
    again = command("tune", spec, "--seconds", "0.2", "--json")
    assert again.data["values"]["SKIP"] in ("0", "1") and len(again.data["trials"]) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("bench", "--variant", "tiled"), "has no variant `tiled`"),
        (("bench", "--seconds", "-1"), "--seconds and --margin take numbers of 0 or more"),
        (("tune", "--limit", "0"), "--limit of 1 or more"),
    ],
)
def test_mistakes_are_one_clear_line(command, spec: str, words: tuple[str, ...], message: str) -> None:
    said = command(words[0], spec, *words[1:])
    assert said.status == 2 and message in said.notes and "Traceback" not in said.notes
