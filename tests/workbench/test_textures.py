"""Comparing and timing texts of kernels that take textures: on copies, of which the user's own know nothing."""

from pathlib import Path

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime import session as sessions

floats = ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.r32f)
bytes_4 = ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.rgba8)


@ti.kernel
def grow(t: floats, s: ti.types.texture(2), out: bytes_4):
    for i, j in t:
        p = ti.Vector([i, j])
        t.store(p, t.load(p) * 2.0 + s.fetch(p, 0) + s.sample_lod((p + 0.5) / 4.0, 0.0))
        out.store(p, ti.Vector([0.25, 0.5, 0.75, 1.0]))


@pytest.fixture
def args(target: str, tmp_path: Path):
    if target == "python":
        pytest.skip("the interpreter runs no text")
    sessions.CURRENT.config.edits_dir = str(tmp_path)
    t, s = ti.Texture(ti.Format.r32f, (4, 4)), ti.Texture(ti.Format.r32f, (4, 4), filter="nearest")
    t.from_numpy(np.arange(16, dtype=np.float32).reshape(4, 4))
    s.from_numpy(np.full((4, 4), 3, np.float32))
    return t, s, ti.Texture(ti.Format.rgba8, (4, 4))


def edit(args, old: str, new: str) -> None:
    """Begin an edit and replace the last of a text in it, which stands below the Python line that has it too."""
    path = grow.edit(*args)
    text = path.read_text()
    assert old in text
    before, _, behind = text.rpartition(old)
    path.write_text(before + new + behind)


def test_an_edit_that_stores_the_same_is_equal(args) -> None:
    edit(args, "0.25", "0.250")
    said = str(grow.compare(*args))
    assert "t" in said and "out" in said and "equal" in said
    np.testing.assert_array_equal(args[0].to_numpy(), np.arange(16).reshape(4, 4))
    assert not args[2].to_numpy().any()


def test_a_texel_that_differs_is_named(args) -> None:
    edit(args, "2.0", "3.0")
    said = str(grow.compare(*args))
    assert "t[3, 3]" in said or "t[0, 1]" in said, said


def test_a_byte_that_differs_is_named(args) -> None:
    edit(args, "0.75", "0.5")
    said = str(grow.compare(*args))
    assert "out[0, 0][2]" in said, said


def test_benchmarks_leave_textures_alone(args) -> None:
    grow.bench(*args)
    np.testing.assert_array_equal(args[0].to_numpy(), np.arange(16).reshape(4, 4))
    grow(*args)
    np.testing.assert_array_equal(args[0].to_numpy(), 2 * np.arange(16).reshape(4, 4) + 6)


def test_one_texture_given_twice_stays_one(args) -> None:
    t, _, out = args
    edit((t, t, out), "0.75", "0.750")
    assert "equal" in str(grow.compare(t, t, out))


def test_a_reproducer_says_what_it_lacks(args, tmp_path: Path) -> None:
    with pytest.raises(ti.TaichiRuntimeError, match="takes textures.*Hint: export a kernel on arrays"):
        grow.export_repro(*args, folder=tmp_path / "repro")
