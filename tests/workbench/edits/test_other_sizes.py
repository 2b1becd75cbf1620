"""An edit survives a change of size: it is merged with the source for the new one, and proposed."""

from __future__ import annotations

import types
import warnings
from pathlib import Path

import numpy as np
import pytest
import written_programs

import shadesmith as ti
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.workbench.edits.header import base_digest, header_of
from shadesmith.runtime.workbench.edits.selection import add_carried_over

pytestmark = pytest.mark.targets("cpu", "vulkan", "cuda")  # the interpreter runs no text

PROGRAM = """
    import numpy as np

    @ti.data_oriented
    class Grid:
        def __init__(self, rows, columns, dx):
            self.dx = dx
            self.u = ti.field(ti.f32, (rows, columns))
            self.w = ti.field(ti.f32, (rows, columns))

        @ti.kernel
        def step(self):
            for i, j in self.w:
                up = self.u[ti.max(i - 1, 0), j]
                down = self.u[ti.min(i + 1, self.u.shape[0] - 1), j]
                self.w[i, j] = (up - down) * self.dx

        def run(self):
            self.u.from_numpy(np.arange(self.u.shape[0] * self.u.shape[1], dtype=np.float32).reshape(self.u.shape))
            self.step()
            return self.w.to_numpy()
"""


@pytest.fixture
def program(target: str, tmp_path: Path) -> types.ModuleType:
    if target == "python":
        pytest.skip("the interpreter runs no source")
    return written_programs.write(tmp_path / "p.py", PROGRAM)


def start(policy: str = "strict") -> None:
    ti.init(arch=sessions.CURRENT.arch, log_level=ti.WARN, edits=policy)


def by_hand(path: Path, new: str) -> Path:
    """Replace the difference in a source by one that a person has written."""
    written_programs.replaced(path, "(up - down) * dx", new)
    return path


@pytest.mark.parametrize("policy", ["fallback", "watch"])
def test_an_edit_is_carried_over_to_another_size_and_value(program, tmp_path: Path, policy: str) -> None:
    start(policy)
    path = by_hand(program.Grid(8, 4, 0.5).step.edit(), "-dx * (down - up)")
    before = path.read_text()
    larger = program.Grid(9, 5, 0.3)
    with pytest.warns(ti.ShadesmithWarning, match=r"merged from .* accepted by a comparison .* 1 line of yours"):
        found = larger.run()
    (made,) = (
        p for p in written_programs.below(tmp_path) if p.name == path.name and ".base" not in p.parts and p != path
    )
    text = made.read_text()
    assert "-dx * (down - up)" in text and header_of(text).base == base_digest(
        larger.step.variants().generated.files[0].text
    )
    assert dict(header_of(text).values)["self.dx"] == "0.3" and path.read_text() == before
    assert larger.step.last_launch.variant == "edit" and made.parent.joinpath(".base", "slot.json").is_file()
    assert np.allclose(found[0], -0.3 * 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(program.Grid(9, 5, 0.3).run(), found)


def test_under_strict_a_person_accepts_it(program, tmp_path: Path) -> None:
    by_hand(program.Grid(8, 4, 0.5).step.edit(), "-dx * (down - up)")
    files = set(written_programs.below(tmp_path))
    larger = program.Grid(9, 5, 0.3)
    with pytest.warns(ti.ShadesmithWarning, match=r"is for self\.dx = 0\.5, here 0\.3.*`shadesmith merge"):
        expected = larger.run()
    assert larger.step.last_launch.variant == "generated"
    assert set(written_programs.below(tmp_path)) == files, "a launch writes nothing"
    variants = larger.step.variants()
    assert not variants.proposals.get("edit"), "the commands that measure know nothing of it"
    add_carried_over(variants)
    (proposal,) = variants.proposals["edit"]
    with pytest.warns(ti.ShadesmithWarning, match="accepted by a person"):
        proposal.accept("a person")
    again = program.Grid(9, 5, 0.3)
    assert np.allclose(again.run(), expected) and again.step.last_launch.variant == "edit"


def test_what_is_only_right_for_the_other_size_does_not_run(program, tmp_path: Path) -> None:
    start("fallback")
    path = by_hand(program.Grid(8, 4, 0.5).step.edit(), "(up - down) * 0.5f")
    files = set(written_programs.below(tmp_path))
    larger = program.Grid(9, 5, 0.3)
    with pytest.warns(ti.ShadesmithWarning, match="runs its generated source"):
        found = larger.run()
    assert np.allclose(found[0], -0.3 * 5) and path in files
    assert "does not compute the same" in larger.step.last_launch.reason
    assert set(written_programs.below(tmp_path)) == files
