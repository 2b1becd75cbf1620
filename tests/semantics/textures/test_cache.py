"""Kernels with textures are kept on disk like others: the second session runs no frontend."""

from pathlib import Path

import numpy as np
import pytest

import shadesmith as ti

FORMAT = ti.Format.r32f


def program(target: str, folder: Path) -> tuple[np.ndarray, int]:
    """Run a program in a session of its own; return what it computes, and how often the frontend ran."""
    ti.init(
        arch=getattr(ti, target),
        enable_fallback=False,
        log_level=ti.WARN,
        offline_cache=True,
        offline_cache_file_path=str(folder),
    )

    @ti.kernel
    def work(
        t: ti.types.rw_texture(num_dimensions=1, fmt=FORMAT),
        s: ti.types.texture(num_dimensions=1),
        out: ti.types.ndarray(dtype=ti.f32, ndim=1),
    ):
        for i in out:
            t.store(i, s.fetch(i, 0) + 1.0)
            out[i] = s.sample_lod(0.5, 0.0)[0]

    stored, sampled, out = ti.Texture(FORMAT, 8), ti.Texture(ti.Format.rgba8, 8), ti.ndarray(ti.f32, 8)
    sampled.from_numpy(np.full((8, 4), 255))
    before = ti.cache.stats().frontend_runs
    work(stored, sampled, out)
    return np.concatenate([stored.to_numpy(), out.to_numpy()]), ti.cache.stats().frontend_runs - before


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_kernel_with_textures_is_read_from_disk(target: str, own_cache: None, tmp_path: Path) -> None:
    if target == "python":
        pytest.skip("the interpreter's kernels are not kept")
    found, runs = program(target, tmp_path)
    np.testing.assert_array_equal(found, [2.0] * 8 + [1.0] * 8)
    assert runs == 1
    again, runs = program(target, tmp_path)
    np.testing.assert_array_equal(again, found)
    assert runs == 0
