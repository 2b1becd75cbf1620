"""`ti.tools.imread`, `imwrite`, `imresize`, `imshow`: values recorded on Taichi 1.7.4, files read back by Pillow."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import shadesmith as ti


def stored(path: Path) -> np.ndarray:
    """Return what a file holds, as (width, height[, channels]) from the bottom left."""
    return np.array(Image.open(path))[::-1].swapaxes(0, 1)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_unsigned_integers_go_over_their_whole_range(tmp_path: Path, dtype: type) -> None:
    most = np.iinfo(dtype).max
    ti.tools.imwrite(np.array([[0, most // 2, most], [most // 3, most // 5, 1]], dtype), tmp_path / "a.png")
    assert stored(tmp_path / "a.png").tolist() == [[0, 127, 255], [85, 51, 0 if most > 255 else 1]]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_are_clipped_and_cut_off(tmp_path: Path, dtype: type) -> None:
    image = np.array([[0, 0.3], [0.5, 1], [1.5, -0.5], [np.nan, np.inf]], dtype)
    ti.tools.imwrite(image, str(tmp_path / "a.png"))
    assert stored(tmp_path / "a.png").tolist() == [[0, 76], [127, 255], [255, 0], [0, 255]]


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("suffix", ["png", "bmp", "jpg", "tif", "PNG"])
def test_channels_and_formats(tmp_path: Path, channels: int, suffix: str) -> None:
    image = np.random.default_rng(channels).integers(0, 256, (7, 5, channels), np.uint8)
    ti.tools.imwrite(image, tmp_path / f"a.{suffix}")
    found = ti.tools.imread(tmp_path / f"a.{suffix}")
    kept = min(channels, 3) if suffix in ("bmp", "jpg") else channels
    assert found.shape == (7, 5, kept) and found.dtype == np.uint8 and found.flags.c_contiguous
    if suffix != "jpg":
        assert (found == image[:, :, :kept]).all()


@pytest.mark.parametrize("make", [
    lambda: ti.field(ti.f32, (3, 2)), lambda: ti.field(ti.u8, (3, 2)), lambda: ti.Vector.field(3, ti.f32, (3, 2)),
    lambda: ti.Vector.field(4, ti.u8, (3, 2)), lambda: ti.ndarray(ti.f32, (3, 2)),
    lambda: ti.Vector.ndarray(3, ti.u16, (3, 2)), lambda: ti.Matrix.field(3, 1, ti.f32, (3, 2)),
])  # fmt: skip
def test_fields_and_ndarrays(target: str, tmp_path: Path, make) -> None:
    x = make()
    values = np.random.default_rng(3).random(x.to_numpy().shape)
    values = values if x.dtype == ti.f32 else values * 200
    x.from_numpy(values.astype(x.to_numpy().dtype))
    ti.tools.imwrite(x, tmp_path / "a.png")
    ti.tools.imwrite(x.to_numpy().reshape(3, 2, -1), tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16", "CMYK"])
@pytest.mark.parametrize("channels", [0, 1, 2, 3, 4])
def test_channels_asked_for_when_reading(tmp_path: Path, mode: str, channels: int) -> None:
    rgba = Image.fromarray(np.random.default_rng(1).integers(0, 256, (4, 6, 4), np.uint8))
    rgba = rgba if mode != "P" else rgba.convert("RGB")
    picture = (
        Image.fromarray(np.arange(24, dtype=np.uint16).reshape(4, 6) * 2700) if mode == "I;16" else rgba.convert(mode)
    )
    path = tmp_path / ("a.tif" if mode == "CMYK" else "a.png")
    picture.save(path)
    own = {"1": 1, "L": 1, "I;16": 1, "LA": 2, "RGBA": 4}.get(mode, 3)
    found = ti.tools.imread(path, channels)
    assert found.shape == (6, 4, channels or own)
    if mode == "I;16" and channels == 0:
        assert (found[:, :, 0] == (np.arange(24).reshape(4, 6) * 2700 >> 8)[::-1].T).all()


def test_a_picture_is_scaled_without_smoothing() -> None:
    image = np.arange(24).reshape(4, 6)
    assert ti.tools.imresize(image, 2).tolist() == [[0, 3], [12, 15]]
    assert ti.tools.imresize(image, 3, 5).tolist() == [list(range(k, k + 5)) for k in (0, 6, 12)]
    assert (ti.tools.imresize(image, 8, 12) == image.repeat(2, 0).repeat(2, 1)).all()
    assert ti.tools.imresize(image, 4, 6) is image
    assert ti.tools.imresize(np.zeros((4, 6, 3)), 1, 9).shape == (1, 9, 3)


def test_a_field_is_scaled(target: str) -> None:
    x = ti.Vector.field(3, ti.f32, (4, 6))
    x.fill(0.5)
    assert ti.tools.imresize(x, 3, 5).shape == (3, 5, 3)
    same = ti.tools.imresize(x, 4, 6)
    x.fill(1)
    assert (same == 0.5).all()


@pytest.mark.parametrize(
    "image, sentence",
    [
        (
            np.zeros((3, 2), np.int32),
            "Data type int32 not supported in ti.tools.imwrite. Hint: give floats from 0 to 1",
        ),
        (np.zeros((3, 2), bool), "Data type bool not supported"),
        (np.zeros((3, 2, 2), np.uint8), "Image must be either RGB/RGBA or greyscale; found shape \\(3, 2, 2\\)"),
        (np.zeros((3, 2, 5), np.uint8), "found \\(3, 2, 5\\)"),
        (np.zeros(3, np.uint8), "takes shape \\(width, height\\)"),
        ([[0.0]], "a list was given"),
        (None, "a NoneType was given"),
    ],
)
def test_what_is_no_picture_is_refused(tmp_path: Path, image, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ti.tools.imwrite(image, tmp_path / "a.png")


def test_files_that_fail(tmp_path: Path) -> None:
    image = np.zeros((2, 2), np.uint8)
    with pytest.raises(RuntimeError, match="Unknown image file suffix `.xyz`.*Hint: use .png, .jpg or .bmp"):
        ti.tools.imwrite(image, tmp_path / "a.xyz")
    with pytest.raises(RuntimeError, match="Cannot write image file .*No such file"):
        ti.tools.imwrite(image, tmp_path / "none" / "a.png")
    with pytest.raises(RuntimeError, match="Cannot read image file .*No such file"):
        ti.tools.imread(tmp_path / "none.png")
    (tmp_path / "bad.png").write_text("no picture")
    with pytest.raises(RuntimeError, match="Cannot read image file"):
        ti.tools.imread(tmp_path / "bad.png")
    with pytest.raises(ValueError, match="`channels` is 0 .* or 1 to 4; found 5"):
        ti.tools.imread(tmp_path / "bad.png", 5)


def test_sizes_that_fail() -> None:
    for size in ((0, 3), (-2, 3), (2.5, 3), ("a", 1)):
        with pytest.raises(ValueError, match="takes a width and a height above 0"):
            ti.tools.imresize(np.zeros((2, 2)), *size)
    with pytest.raises(ValueError, match="found a list"):
        ti.tools.imresize([[1]], 2)


def test_without_pillow_png_files_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    ti.tools.imwrite(np.zeros((2, 2), np.uint8), tmp_path / "a.png")
    for use in (lambda: ti.tools.imread(tmp_path / "a.png"), lambda: ti.tools.imwrite(np.zeros((2, 2)), "a.jpg")):
        with pytest.raises(ImportError, match="Pillow is not installed: .*Hint: `pip install shadesmith\\[image\\]`"):
            use()


def test_a_picture_is_not_shown_without_a_display(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RuntimeError, match="none can be opened here: no display. Hint: `ti.tools.imwrite"):
        ti.tools.imshow(np.zeros((2, 2)))
    assert not list(tmp_path.iterdir())


def test_large_pictures_are_the_same_on_any_number_of_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = np.random.default_rng(0).integers(0, 256, (1000, 700, 3), np.uint8)
    ti.tools.imwrite(image, tmp_path / "a.png")
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    ti.tools.imwrite(image, tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert (ti.tools.imread(tmp_path / "a.png") == image).all()


def test_names_and_import_paths() -> None:
    import shadesmith.tools.image as image

    public = (
        "PLYWriter VideoManager diagnose halo image imread imresize imshow imwrite np2ply video vtk write_vtk".split()
    )
    assert {name for name in dir(ti.tools) if not name.startswith("_")} == set(public)
    assert image.imwrite is ti.tools.imwrite and not hasattr(ti, "imwrite")
