"""Textures from Python: what goes in comes out, how arrays and pictures are laid in, errors, and life with a session."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.session import session as sessions
from shadesmith.transpiler.ir.textures import ADDRESS_MODES, FORMATS

SHAPES = [(1,), (7,), (5, 3), (4, 3, 2)]
COLORS = [name for name, row in FORMATS.items() if row.kind != "depth"]


def exists(target: str, name: str) -> bool:
    """Tell whether a target has a format: GPUs know no three channels, CUDA none with blue first."""
    row = FORMATS[name]
    if target in ("cpu", "python"):
        return True
    return row.channels != 3 and not (target == "cuda" and row.is_swapped)


def some(shape: tuple[int, ...], name: str) -> np.ndarray:
    """Return numbers that a format stores, other ones at each place."""
    row = FORMATS[name]
    full = shape + ((row.channels,) if row.channels > 1 else ())
    return (np.arange(np.prod(full)).reshape(full) % 120).astype(row.channel.numpy)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.all_targets
def test_every_format_comes_back(target: str, shape: tuple[int, ...]) -> None:
    for name in COLORS:
        if not exists(target, name):
            continue
        texture = ti.Texture(ti.Format[name], shape)
        np.testing.assert_array_equal(texture.to_numpy(), 0)
        values = some(shape, name)
        texture.from_numpy(values)
        np.testing.assert_array_equal(texture.to_numpy(), values, err_msg=name)


@pytest.mark.all_targets
def test_a_format_that_a_device_lacks_is_refused_by_name(target: str) -> None:
    for name in COLORS:
        if exists(target, name):
            continue
        with pytest.raises(ti.UnsupportedError, match=rf"has no textures of ti\.Format\.{name}\.\nHint: use ti"):
            ti.Texture(ti.Format[name], (4, 4))


@pytest.mark.parametrize("make", [ti.ndarray, ti.field], ids=["ndarray", "field"])
def test_memory_is_taken_as_it_lies(target: str, make) -> None:
    """As in Taichi 1.7.4, on Vulkan: x goes fastest, whatever the array's axes are."""
    array = make(ti.f32, (4, 3))
    array.from_numpy(np.arange(12, dtype=np.float32).reshape(4, 3))
    texture = ti.Texture(ti.Format.r32f, (4, 3))
    (texture.from_ndarray if make is ti.ndarray else texture.from_field)(array)
    np.testing.assert_array_equal(texture.to_numpy(), np.arange(12).reshape(3, 4).T)


def test_memory_that_python_just_wrote_is_seen(target: str) -> None:
    array = ti.ndarray(ti.f32, (4, 3))
    texture = ti.Texture(ti.Format.r32f, (4, 3))
    array[1, 0] = 7
    texture.from_ndarray(array)
    assert texture.to_numpy()[3, 0] == 7


def test_bytes_of_vectors_and_of_numbers_are_texels(target: str) -> None:
    values = np.arange(48, dtype=np.uint8).reshape(3, 4, 4)
    numbers = ti.ndarray(ti.u8, (3, 4, 4))
    vectors = ti.Vector.field(4, ti.u8, (3, 4))
    numbers.from_numpy(values)
    vectors.from_numpy(values)
    texture = ti.Texture(ti.Format.rgba8, (4, 3))
    texture.from_ndarray(numbers)
    np.testing.assert_array_equal(texture.to_numpy(), values.transpose(1, 0, 2))
    texture.from_numpy(np.zeros((4, 3, 4)))
    texture.from_field(vectors)
    np.testing.assert_array_equal(texture.to_numpy(), values.transpose(1, 0, 2))


def test_a_part_of_an_array_and_a_member_are_taken_too(target: str) -> None:
    whole = ti.ndarray(ti.f32, (6, 4))
    whole.from_numpy(np.arange(24, dtype=np.float32).reshape(6, 4))
    texture = ti.Texture(ti.Format.r32f, (2, 3))
    texture.from_ndarray(whole[::2, 1:3])
    np.testing.assert_array_equal(texture.to_numpy(), np.array([[1, 2], [9, 10], [17, 18]]).T)
    points = ti.Struct.field({"a": ti.i32, "b": ti.f32}, shape=(2, 3))
    points.b.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))
    texture.from_field(points.b)
    np.testing.assert_array_equal(texture.to_numpy(), np.arange(6).reshape(3, 2).T)


def test_pictures_are_turned_as_in_taichi(target: str) -> None:
    """Measured with Taichi 1.7.4 on Vulkan: texel (0, 0) is the top right pixel, alpha becomes 0."""
    Image = pytest.importorskip("PIL.Image")
    pixels = np.arange(48, dtype=np.uint8).reshape(3, 4, 4)
    texture = ti.Texture(ti.Format.rgba8, (4, 3))
    texture.from_image(Image.fromarray(pixels))
    texels = texture.to_numpy()
    assert texels[0, 0].tolist() == [12, 13, 14, 0]
    assert texels[1, 0].tolist() == [8, 9, 10, 0]
    assert texels[0, 1].tolist() == [28, 29, 30, 0]
    back = texture.to_image()
    assert back.mode == "RGB" and back.size == (4, 3)
    np.testing.assert_array_equal(np.asarray(back), pixels[..., :3])
    texture.from_image(Image.fromarray(pixels[..., 0]))
    np.testing.assert_array_equal(np.asarray(texture.to_image()), np.repeat(pixels[..., :1], 3, axis=2))


def test_older_spellings_name_the_same_formats(target: str) -> None:
    assert ti.Texture(ti.f32, 1, (4, 3)).fmt == ti.Format.r32f
    assert ti.Texture(channel_format=ti.u8, num_channels=4, shape=(4,)).fmt == ti.Format.rgba8
    assert ti.Texture(num_channels=2, channel_format=ti.f16, arr_shape=(2, 2, 2)).fmt == ti.Format.rg16f


def test_what_a_texture_says_of_itself(target: str) -> None:
    texture = ti.Texture(ti.Format.rgba8, (4, 3))
    assert (texture.fmt, texture.num_dims, texture.shape) == (ti.Format.rgba8, 2, (4, 3))
    assert (texture.filter, texture.address) == ("linear", ("repeat", "repeat"))
    assert repr(texture) == "<ti.Texture rgba8, shape (4, 3)>"
    mixed = ti.Texture(ti.Format.r32u, (4, 3), address=("clamp_to_edge", "repeat"))
    assert (mixed.filter, mixed.address) == ("nearest", ("clamp_to_edge", "repeat"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((ti.Format.unknown, (4, 4)), r"cannot have the format ti\.Format\.unknown\. Hint: "),
        ((ti.Format.depth32f, (4, 4)), r"cannot have the format ti\.Format\.depth32f"),
        ((ti.f32, (4, 4)), "cannot have the format f32"),
        ((ti.f32, 5, (4, 4)), "There is no format with 5 channels of f32"),
        ((ti.Format.r8, ()), r"\(\) is not a valid shape for a texture"),
        ((ti.Format.r8, (1, 2, 3, 4)), "not a valid shape for a texture"),
        ((ti.Format.r8, (4, 0)), r"\(4, 0\) is not a valid shape"),
        ((ti.Format.r8, "no"), "'no' is not a valid shape"),
        ((ti.Format.r8, None), "None is not a valid shape"),
    ],
)
def test_what_is_no_texture_is_refused(arguments: tuple, words: str) -> None:
    ti.init(arch=ti.cpu)
    with pytest.raises(ti.TaichiRuntimeError, match=words):
        ti.Texture(*arguments)


def test_what_is_no_way_of_sampling_is_refused() -> None:
    ti.init(arch=ti.cpu)
    with pytest.raises(ti.TaichiRuntimeError, match="filter='cubic' is no filter. Hint: there are 'linear', 'nearest'"):
        ti.Texture(ti.Format.r8, 4, filter="cubic")
    with pytest.raises(ti.TaichiRuntimeError, match=f"for 2 axes. Hint: there are '{ADDRESS_MODES[0]}'"):
        ti.Texture(ti.Format.r8, (4, 4), address=("repeat",))
    with pytest.raises(ti.UnsupportedError, match='has no filter="linear": integers are not interpolated'):
        ti.Texture(ti.Format.r32i, 4, filter="linear")


def test_what_does_not_fit_in_is_refused(target: str) -> None:
    texture = ti.Texture(ti.Format.rgba8, (4, 3))
    with pytest.raises(ti.TaichiRuntimeError, match="has 48 bytes, the ndarray has 20: 5 elements of 4. Hint: a texel"):
        texture.from_ndarray(ti.ndarray(ti.f32, 5))
    with pytest.raises(ti.TaichiRuntimeError, match="from_field takes a field, found a int. Hint: `from_numpy`"):
        texture.from_field(3)
    with pytest.raises(ti.TaichiRuntimeError, match=r"takes an array of shape \(4, 3, 4\), found shape \(3, 4, 4\)"):
        texture.from_numpy(np.zeros((3, 4, 4)))
    with pytest.raises(ti.TaichiRuntimeError, match="from_image takes a picture of Pillow's, found a ndarray"):
        texture.from_image(np.zeros((3, 4, 4)))
    with pytest.raises(ti.TaichiRuntimeError, match="to_image takes textures of ti.Format.rgba8 with 2 axes, found"):
        ti.Texture(ti.Format.r32f, (4, 3)).to_image()


def test_a_picture_of_another_size_is_refused(target: str) -> None:
    Image = pytest.importorskip("PIL.Image")
    with pytest.raises(
        ti.TaichiRuntimeError, match=r"a picture of \(4, 3\) pixels, found \(3, 4\). Hint: `image.resiz"
    ):
        ti.Texture(ti.Format.rgba8, (4, 3)).from_image(Image.new("RGB", (3, 4)))


@pytest.mark.parametrize("shape", [(1 << 30,), (1 << 20, 1 << 10), (1 << 10, 1 << 10, 1 << 10)], ids=str)
@pytest.mark.targets("vulkan", "cuda")
def test_a_texture_that_is_too_large_is_refused(target: str, shape: tuple[int, ...]) -> None:
    if target in ("cpu", "python"):
        pytest.skip("host memory takes any extent")
    with pytest.raises((ti.TaichiRuntimeError, ti.UnsupportedError), match="out of memory|has no textures of shape"):
        kept = []
        for _ in range(40):
            kept.append(ti.Texture(ti.Format.rgba32f, shape))


def test_memory_goes_with_the_last_reference(target: str) -> None:
    device = sessions.CURRENT.device
    ti.sync()
    used = device.used_bytes
    texture = ti.Texture(ti.Format.rgba32f, (64, 64))
    assert device.used_bytes >= used + 64 * 64 * 16
    del texture
    gc.collect()
    ti.sync()
    assert device.used_bytes == used


def test_a_texture_of_an_ended_session_says_so(target: str) -> None:
    texture = ti.Texture(ti.Format.r32f, 4)
    ti.init(arch=ti.cpu)
    with pytest.raises(ti.TaichiRuntimeError, match="made before the last `ti.init.*create textures again"):
        texture.to_numpy()
    with pytest.raises(ti.TaichiRuntimeError, match="made before the last"):
        texture.from_numpy(np.zeros(4))


def test_a_texture_needs_a_session() -> None:
    ti.reset()
    with pytest.raises(ti.TaichiRuntimeError, match="Cannot create Texture, maybe you forgot to call `ti.init"):
        ti.Texture(ti.Format.r32f, 4)


def test_the_memory_report_has_textures(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    picture = ti.Texture(ti.Format.rgba8, (16, 8))
    ti.profiler.print_memory_profiler_info()
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("picture"))
    assert row.split() == ["picture", "texture", "rgba8", "(16,", "8)", "512", "bytes"]
    assert picture.shape == (16, 8)


def test_a_texture_is_a_picture_like_others(target: str, tmp_path) -> None:
    picture = ti.Texture(ti.Format.rgba8, (6, 4))
    values = np.arange(96).reshape(6, 4, 4) * 2
    picture.from_numpy(values)
    ti.tools.imwrite(picture, tmp_path / "picture.png")
    gui = ti.GUI("picture", (6, 4), show_gui=False)
    gui.set_image(picture)
    np.testing.assert_allclose(gui.get_image()[..., :3] * 255, values[..., :3], atol=1e-3)
    pytest.importorskip("PIL")
    again = ti.Texture(ti.Format.rgba8, (6, 4))
    again.from_numpy(ti.tools.imread(tmp_path / "picture.png"))
    np.testing.assert_array_equal(again.to_numpy(), values)
