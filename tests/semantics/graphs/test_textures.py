"""Textures as arguments of graphs, in both spellings."""

import numpy as np
import pytest

import shadesmith as ti

KIND = ti.graph.ArgKind
TEXELS = ti.types.rw_texture(num_dimensions=1, fmt=ti.Format.rgba8)
PICTURE = ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.r32f)


@ti.kernel
def taichi_add(
    in_ten: ti.types.rw_texture(num_dimensions=1, num_channels=4, channel_format=ti.u8, lod=0),
    out_ten: ti.types.rw_texture(num_dimensions=1, num_channels=4, channel_format=ti.u8, lod=0),
    nsize: ti.i32,
    addend: ti.i32,
):
    for i in ti.ndrange(nsize):
        in_num = in_ten.load(ti.Vector([i]))
        sum_num = in_num + ti.cast(addend, ti.f32) / 255.0
        out_ten.store(ti.Vector([i]), sum_num)


@ti.kernel
def half(source: ti.types.texture(num_dimensions=2), to: ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.r32f)):
    for i, j in ti.ndrange(4, 4):
        to.store(ti.Vector([i, j]), source.fetch(ti.Vector([i, j]), 0) * 0.5)


def texture(values, fmt=ti.Format.rgba8):
    values = np.asarray(values)
    made = ti.Texture(fmt, values.shape[: values.ndim - (fmt == ti.Format.rgba8)])
    made.from_numpy(values)
    return made


def graph_of(*launches):
    builder = ti.graph.GraphBuilder()
    for kernel, *args in launches:
        builder.dispatch(kernel, *args)
    return builder.compile()


def number(name):
    return ti.graph.Arg(KIND.SCALAR, name, ti.i32)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"channel_format": ti.u8, "shape": (128,), "num_channels": 4},
        {"fmt": ti.Format.rgba8, "ndim": 1},
    ],
)
def test_the_seeds_graph(target, kwargs):
    source, to = (ti.graph.Arg(tag=KIND.RWTEXTURE, name=name, **kwargs) for name in ("in_ten", "out_ten"))
    graph = graph_of((taichi_add, source, to, number("nsize"), number("addend")))
    values = np.arange(512, dtype=np.uint8).reshape(128, 4)
    textures = [texture(values), texture(values * 0)]
    for addend in (10, 10, 200, 0):
        graph.run({"in_ten": textures[0], "out_ten": textures[1], "nsize": 128, "addend": addend})
        expected = np.minimum(values.astype(int) + addend, 255)
        np.testing.assert_array_equal(textures[1].to_numpy(), expected)


def test_other_textures_with_each_run_and_launches_that_follow_each_other(target):
    a, b = (ti.graph.Arg(KIND.RWTEXTURE, name, ndim=1, fmt=ti.Format.rgba8) for name in "ab")
    size = number("n")
    graph = graph_of(*[(taichi_add, a, b, size, 1), (taichi_add, b, a, size, 2)] * 8)
    for start in range(5):
        one, two = texture(np.full((8, 4), start, np.uint8)), texture(np.zeros((8, 4), np.uint8))
        graph.run({"a": one, "b": two, "n": 8})
        assert one.to_numpy().max() == one.to_numpy().min() == start + 24
        assert two.to_numpy().max() == start + 22
        graph.run({"a": two, "b": one, "n": 8})
        assert two.to_numpy().max() == start + 46


def test_a_sampled_texture_of_any_format(target):
    source = ti.graph.Arg(KIND.TEXTURE, "source", ndim=2)
    graph = graph_of((half, source, ti.graph.Arg(KIND.RWTEXTURE, "to", ndim=2, fmt=ti.Format.r32f)))
    to = ti.Texture(ti.Format.r32f, (4, 4))
    floats = np.arange(16, dtype=np.float32).reshape(4, 4)
    graph.run({"source": texture(floats, ti.Format.r32f), "to": to})
    np.testing.assert_array_equal(to.to_numpy(), floats / 2)
    graph.run({"source": texture(np.full((4, 4, 4), 255, np.uint8)), "to": to})
    np.testing.assert_array_equal(to.to_numpy(), np.full((4, 4), 0.5, np.float32))


def test_a_dtype_beside_the_format_says_nothing_as_in_taichi():
    ti.init(arch=ti.python, log_level=ti.WARN)
    new = ti.graph.Arg(KIND.RWTEXTURE, "t", ndim=2, fmt=ti.Format.r32f)
    assert new.is_like(ti.graph.Arg(KIND.RWTEXTURE, "t", dtype=ti.f32, ndim=2, fmt=ti.Format.r32f))
    assert new.is_like(ti.graph.Arg(KIND.RWTEXTURE, "t", ti.f32, 2, fmt=ti.Format.r32f))
    assert ti.graph.Arg(KIND.TEXTURE, "t", ti.f32, 2).is_like(ti.graph.Arg(KIND.TEXTURE, "t", ndim=2))


def test_texture_arguments_that_cannot_be():
    ti.init(arch=ti.python, log_level=ti.WARN)
    with pytest.raises(ti.TaichiRuntimeError, match="`t` is an RWTEXTURE and needs fmt"):
        ti.graph.Arg(KIND.RWTEXTURE, "t", ndim=1)
    with pytest.raises(ti.TaichiRuntimeError, match="`t` is a texture and needs ndim"):
        ti.graph.Arg(KIND.TEXTURE, "t")
    with pytest.raises(ti.TaichiRuntimeError, match="Invalid argument: lod, .* RWTEXTURE with: tag, name, dtype, ndim"):
        ti.graph.Arg(KIND.RWTEXTURE, "t", ndim=1, lod=0)
    good, size = ti.graph.Arg(KIND.RWTEXTURE, "t", ndim=1, fmt=ti.Format.rgba8), number("n")
    wrong = ti.graph.Arg(KIND.RWTEXTURE, "w", ndim=1, fmt=ti.Format.r32f)
    builder = ti.graph.GraphBuilder()
    with pytest.raises(ti.TaichiCompilationError, match="format mismatch for argument in_ten: expected Format.rgba8"):
        builder.dispatch(taichi_add, wrong, good, size, size)
    with pytest.raises(ti.TaichiCompilationError, match="has kind SCALAR, and RWTEXTURE is needed"):
        builder.dispatch(taichi_add, size, good, size, size)
    texels = texture(np.zeros((4, 4), np.uint8))
    with pytest.raises(ti.TaichiCompilationError, match="was given a texture, which a graph takes with each run"):
        builder.dispatch(taichi_add, texels, good, size, size)
    graph = graph_of((taichi_add, good, good, size, size))
    with pytest.raises(
        ti.TaichiRuntimeTypeError, match=r"`t` takes a rw_texture\(rgba8, ndim=1\), found <ti.Texture r32f"
    ):
        graph.run({"t": ti.Texture(ti.Format.r32f, (4,)), "n": 1})
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"takes a rw_texture\(rgba8, ndim=1\), found 3"):
        graph.run({"t": 3, "n": 1})
    ti.init(arch=ti.python, log_level=ti.WARN)
    with pytest.raises(ti.TaichiRuntimeError, match="this texture was made before the last"):
        graph.run({"t": texels, "n": 1})
    ti.reset()
