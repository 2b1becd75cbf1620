"""Textures from C: images, samplers and copies, and kernels that take them, bit for bit as the JIT. On Vulkan."""

import itertools

import numpy as np
import pytest
from c_api import binding
from c_api.binding import CError, Slice, byref, f32, i32, image_info, image_slice, texture

import shadesmith as ti
from shadesmith.transpiler.ir.textures import ADDRESS_MODES, FORMATS

pytestmark = pytest.mark.targets("vulkan", "cuda")  # the C runtime has no other

STORED = [name for name, row in FORMATS.items() if row.is_storage]
SAMPLED = [name for name, row in FORMATS.items() if row.channels != 3 and row.kind != "depth"]
SHAPES = {1: (7,), 2: (5, 3), 3: (4, 3, 2)}
NEAREST, LINEAR = 0, 1
R32F, RGBA8, RGB8, RGBA8U = (FORMATS[name].number for name in ("r32f", "rgba8", "rgb16", "rgba8u"))
SHADER_READ, PRESENT = 1, 10


@pytest.fixture
def runtime(runtime):
    if runtime.target != "vulkan":
        pytest.skip("the C runtime has textures on Vulkan")
    return runtime


def some_texels(name, shape, seed=1):
    """Return stored numbers for every texel, packed: x goes fastest."""
    row = FORMATS[name]
    random = np.random.default_rng(seed)
    packed = (*reversed(shape), row.channels)
    if row.channel.numpy.kind == "f":
        return random.normal(0, 4, packed).astype(row.channel.numpy)
    limits = np.iinfo(row.channel.numpy)
    return random.integers(limits.min, limits.max, packed, row.channel.numpy, endpoint=True)


class Pair:
    """The same texture from C and for the JIT."""

    def __init__(self, runtime, name, shape, values=None, filter="nearest", address="repeat"):
        self.runtime, self.shape, self.number = runtime, shape, FORMATS[name].number
        self.image = runtime.image(shape, self.number)
        self.slice = image_slice(self.image, shape)
        self.jit = ti.Texture(ti.Format[name], shape, filter=filter, address=address)
        modes = LINEAR if filter == "linear" else NEAREST, ADDRESS_MODES.index(address)
        self.argument = texture(self.image, shape, self.number, runtime.sampler(*modes))
        if values is not None:
            runtime.write_image(self.slice, values.tobytes())
            self.jit.from_numpy(values.transpose(*reversed(range(len(shape))), len(shape)))

    def check(self):
        assert self.runtime.read_image(self.slice, self.jit.spec.size_bytes) == self.jit.read_packed().tobytes()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", STORED)
def test_formats_that_kernels_store(runtime, archive, name):
    """The number of axes goes around with the formats."""
    axes = 1 + STORED.index(name) % 3
    shape, count = SHAPES[axes], 4 * int(np.prod(SHAPES[axes]))
    rw = ti.types.rw_texture(num_dimensions=axes, fmt=ti.Format[name])
    element = FORMATS[name].element
    array = ti.types.ndarray(dtype=getattr(ti, element.name), ndim=axes + 1)

    @ti.kernel
    def turn(t: rw, values: array):
        for I in ti.grouped(t):
            found = t.load(I)
            for k in ti.static(range(4)):
                values[I, k] = found[k]
            t.store(I, ti.Vector([found[3 - k] for k in ti.static(range(4))]))

    pair = Pair(runtime, name, shape, some_texels(name, shape))
    values = np.zeros((*shape, 4), element.numpy)
    memory, argument = runtime.array(values, element.name)
    expected = ti.ndarray(getattr(ti, element.name), values.shape)
    kernel = runtime.kernel(runtime.load(archive({"turn": turn})), "turn")
    runtime.launch(kernel, pair.argument, argument)
    turn(pair.jit, expected)
    assert runtime.read(memory, 4 * count) == expected.to_numpy().tobytes()
    pair.check()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", SAMPLED)
def test_formats_that_kernels_sample(runtime, archive, name):
    axes = 1 + SAMPLED.index(name) % 3
    shape, row = SHAPES[axes], FORMATS[name]
    sampled = ti.types.texture(num_dimensions=axes)

    @ti.kernel
    def look(t: sampled, values: ti.types.ndarray(dtype=getattr(ti, row.element.name), ndim=axes + 1)):
        for I in ti.grouped(t):
            texel = t.fetch(I, 0)
            for k in ti.static(range(4)):
                values[I, k] = texel[k]

    pair = Pair(runtime, name, shape, some_texels(name, shape))
    values = np.zeros((*shape, 4), row.element.numpy)
    memory, argument = runtime.array(values, row.element.name)
    expected = ti.ndarray(getattr(ti, row.element.name), values.shape)
    look(pair.jit, expected)
    kind = ti.graph.ArgKind
    t = ti.graph.Arg(kind.TEXTURE, "t", ndim=axes, fmt=ti.Format[name])  # a kernel alone is archived for f32
    array = ti.graph.Arg(kind.NDARRAY, "values", getattr(ti, row.element.name), ndim=axes + 1)
    builder = ti.graph.GraphBuilder()
    builder.dispatch(look, t, array)
    module = runtime.load(archive({}, {}, {"look": builder.compile()}))
    graph = runtime.call("ti_get_aot_module_compute_graph", module, b"look")
    runtime.launch_graph(graph, t=pair.argument, values=argument)
    assert runtime.read(memory, values.nbytes) == expected.to_numpy().tobytes()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("filter", ["nearest", "linear"])
@pytest.mark.parametrize("address", ADDRESS_MODES)
def test_filters_and_address_modes(runtime, archive, axes, filter, address):
    shape, count = SHAPES[axes], 257

    @ti.kernel
    def sample(t: ti.types.texture(num_dimensions=axes), values: ti.types.ndarray(dtype=ti.f32, ndim=2), scale: ti.f32):
        for i in range(count):
            place = ti.Vector([(i * 7 % 31 / 31 - 0.5) * scale, (i * 5 % 17 / 17 - 0.5) * scale, i / count * scale])
            texel = t.sample_lod(place[0] if ti.static(axes == 1) else ti.Vector([place[k] for k in range(axes)]), 0.0)
            for k in ti.static(range(4)):
                values[i, k] = texel[k]

    pair = Pair(runtime, "rgba32f", shape, some_texels("rgba32f", shape), filter, address)
    memory, argument = runtime.array(np.zeros((count, 4), np.float32), "f32")
    expected = ti.ndarray(ti.f32, (count, 4))
    sample(pair.jit, expected, 3.0)
    kernel = runtime.kernel(runtime.load(archive({"sample": sample})), "sample")
    runtime.launch(kernel, pair.argument, argument, f32(3.0))
    assert runtime.read(memory, 16 * count) == expected.to_numpy().tobytes()


def test_no_sampler_is_that_of_a_texture_of_the_jit(runtime, archive):
    """Linear where the device interpolates, nearest for integers, repeating."""

    @ti.kernel
    def sample(t: ti.types.texture(num_dimensions=1), values: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in values:
            values[i] = t.sample_lod(i * 0.11 - 2.0, 0.0)[0]

    kernel = runtime.kernel(runtime.load(archive({"sample": sample})), "sample")
    pair = Pair(runtime, "rgba8", (7,), some_texels("rgba8", (7,)))
    jit = ti.Texture(ti.Format.rgba8, (7,))
    jit.from_numpy(pair.jit.to_numpy())
    memory, argument = runtime.array(np.zeros(40, np.float32), "f32")
    expected = ti.ndarray(ti.f32, 40)
    for _ in range(3):
        runtime.launch(kernel, texture(pair.image, (7,), pair.number), argument)
    sample(jit, expected)
    assert runtime.read(memory, 160) == expected.to_numpy().tobytes()


def test_a_new_image_holds_zeros(runtime):
    for name in ("r8", "rgba32f", "rg16i", "rgba8srgb"):
        size = 5 * 3 * FORMATS[name].texel_bytes
        image = runtime.image((5, 3), FORMATS[name].number)
        assert runtime.read_image(image_slice(image, (5, 3)), size) == bytes(size)


def test_parts_of_images_are_copied(runtime):
    whole = np.arange(4 * 5 * 6, dtype=np.float32).reshape(4, 5, 6)  # z, y, x
    image, other = runtime.image((6, 5, 4), R32F), runtime.image((6, 5, 4), R32F)
    runtime.write_image(image_slice(image, (6, 5, 4)), whole.tobytes())
    runtime.write_image(image_slice(other, (6, 5, 4)), bytes(whole.nbytes))  # a new image holds anything
    part = image_slice(image, (3, 2, 2), (1, 2, 1))
    assert runtime.read_image(part, 48) == whole[1:3, 2:4, 1:4].tobytes()
    runtime.call(
        "ti_copy_image_device_to_device", runtime.handle, byref(image_slice(other, (3, 2, 2), (3, 3, 2))), byref(part)
    )
    expected = np.zeros_like(whole)
    expected[2:4, 3:5, 3:6] = whole[1:3, 2:4, 1:4]
    assert runtime.read_image(image_slice(other, (6, 5, 4)), whole.nbytes) == expected.tobytes()
    runtime.write_image(image_slice(image, (2, 1, 1), (4, 0, 3)), np.float32([-1, -2]).tobytes())
    whole[3, 0, 4:] = [-1, -2]
    assert runtime.read_image(image_slice(image, (6, 5, 4)), whole.nbytes) == whole.tobytes()


def test_many_launches_with_other_textures_in_turn(runtime, archive):
    """More than the descriptors of a command buffer, and arguments that are no push constants."""

    @ti.kernel
    def add(
        a: ti.types.texture(num_dimensions=1),
        b: ti.types.rw_texture(num_dimensions=1, fmt=ti.Format.r32f),
        c: ti.types.rw_texture(num_dimensions=1, fmt=ti.Format.r32f),
        m: ti.types.matrix(6, 6, ti.f32),
        k: ti.i32,
    ):
        for i in b:
            b.store(i, c.load(i) + a.fetch(i, 0) + m[5, 5] * k)

    kernel = runtime.kernel(runtime.load(archive({"add": add})), "add")
    values = [np.float32([[j], [j + 1], [0]]) for j in range(5)]
    pairs = [Pair(runtime, "r32f", (3,), value) for value in values]
    matrix = np.full((6, 6), 0.5, np.float32)
    for turn in range(600):
        a, b, c = (pairs[(turn * s + s) % 5] for s in (1, 2, 3))
        if len({id(a), id(b), id(c)}) == 3:
            runtime.launch(
                kernel, a.argument, b.argument, c.argument, binding.structure(matrix.tobytes()), i32(turn % 3)
            )
            add(a.jit, b.jit, c.jit, ti.Matrix(matrix.tolist()), turn % 3)
    for pair in pairs:
        pair.check()


def test_graphs_take_textures(runtime, archive):
    @ti.kernel
    def halve(
        source: ti.types.texture(num_dimensions=2), to: ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.r32f)
    ):
        for i, j in to:
            to.store(ti.Vector([i, j]), source.fetch(ti.Vector([i, j]), 0) * 0.5 + to.shape[0])

    kind = ti.graph.ArgKind
    source = ti.graph.Arg(kind.TEXTURE, "source", ndim=2)
    to = ti.graph.Arg(kind.RWTEXTURE, "to", ndim=2, fmt=ti.Format.r32f)
    builder = ti.graph.GraphBuilder()
    builder.dispatch(halve, source, to)
    builder.dispatch(halve, source, to)
    graph = builder.compile()
    module = runtime.load(archive({}, {}, {"twice": graph}))
    pairs = [Pair(runtime, "r32f", (5, 3), some_texels("r32f", (5, 3))), Pair(runtime, "r32f", (5, 3))]
    made = runtime.call("ti_get_aot_module_compute_graph", module, b"twice")
    runtime.launch_graph(made, to=pairs[1].argument, source=pairs[0].argument)
    graph.run({"source": pairs[0].jit, "to": pairs[1].jit})
    pairs[1].check()
    with pytest.raises(
        CError, match="graph `twice`: kernel `halve`.*: argument `to` is an i32, and the kernel takes a"
    ):
        runtime.launch_graph(made, to=i32(1), source=pairs[0].argument)


def test_layouts(runtime):
    image = runtime.image((4, 4), RGBA8)
    for layout in (1, 2, 3, 8, 9):
        runtime.call("ti_transition_image", runtime.handle, image, layout)
    for layout, text in ((0, "cannot go back"), (PRESENT, "neither attached nor presented"), (99, "layout 99")):
        with pytest.raises(CError, match=text):
            runtime.call("ti_transition_image", runtime.handle, image, layout)


def info_with(**changes):
    info = image_info((4, 4), RGBA8)
    for name, value in changes.items():
        setattr(info.extent if hasattr(info.extent, name) else info, name, value)
    return info


@pytest.mark.parametrize(
    "changes, text",
    [
        ({"dimension": 4}, "images have 1, 2 or 3 dimensions and 1 array layer; dimension 4"),
        ({"dimension": -1}, "images have 1, 2 or 3 dimensions"),
        ({"layers": 2}, "1 array layer; dimension 1 with 2 layers"),
        ({"levels": 3}, "images have 1 level; mip_level_count is 3"),
        ({"levels": 0}, "mip_level_count is 0"),
        ({"width": 0}, "an image of 2 dimensions cannot have 0 x 4 x 1 texels"),
        ({"depth": 2}, "an image of 2 dimensions cannot have 4 x 4 x 2 texels"),
        ({"dimension": 0}, "an image of 1 dimensions cannot have 4 x 4 x 1 texels"),
        ({"width": 2**32 - 1}, "has no images of 4294967295 x 4 x 1 texels; they have at most"),
        ({"format": 0}, "format 0 is none of TiFormat"),
        ({"format": 44}, "format 44 is none of TiFormat"),
        ({"format": -1}, "format -1 is none of TiFormat"),
        ({"format": RGB8}, "has no images of the format rgb16 that kernels sample"),
        ({"format": 43}, "has no images of the format depth32f that kernels sample"),
        ({"format": 4, "usage": 1}, "has no images of the format rgba8srgb that kernels store"),
        ({"export_sharing": 1}, "export_sharing"),
        ({"usage": 4}, "not attached"),
    ],
)
def test_images_that_cannot_be(runtime, changes, text):
    with pytest.raises(CError, match=text):
        runtime.call("ti_allocate_image", runtime.handle, byref(info_with(**changes)))
    runtime.image((4, 4), RGBA8, 3)


def test_samplers_that_cannot_be(runtime):
    for values, text in (
        ((2, 0, 0, 0), "filters 2 and 0"),
        ((0, -1, 0, 0), "filters 0 and -1"),
        ((0, 0, 4, 0), "address mode 4"),
        ((0, 0, 0, 8), "max_anisotropy is 0 or 1"),
        ((0, 0, 0, float("nan")), "max_anisotropy is 0 or 1"),
    ):
        with pytest.raises(CError, match=text):
            runtime.call("ti_create_sampler", runtime.handle, byref(binding.SamplerInfo(*values)))
    sampler = runtime.sampler(LINEAR, 3)
    runtime.call("ti_destroy_sampler", runtime.handle, sampler)


@pytest.fixture
def warp(runtime, archive):
    @ti.kernel
    def warp(source: ti.types.texture(2), to: ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.r32f)):
        for i, j in to:
            to.store(ti.Vector([i, j]), source.sample_lod(ti.Vector([i, j]) / 4.0, 0.0))

    return runtime.kernel(runtime.load(archive({"warp": warp})), "warp")


def test_textures_that_do_not_fit(runtime, warp, library):
    good = [texture(runtime.image((4, 4), RGBA8), (4, 4), RGBA8), texture(runtime.image((4, 4), R32F), (4, 4), R32F)]
    cube, whole = runtime.image((4, 4, 4), RGBA8), runtime.image((4, 4), RGBA8U)
    wrong = texture(runtime.image((4, 4), RGBA8), (4, 5), RGBA8)
    linear = texture(runtime.image((4, 4), RGBA8U), (4, 4), RGBA8U, runtime.sampler(LINEAR, 0))
    other = binding.Runtime(library, binding.VULKAN)
    foreign = texture(other.image((4, 4), RGBA8), (4, 4), RGBA8)
    sampled_by_another = texture(good[0].value.texture.image, (4, 4), RGBA8, other.sampler(NEAREST, 0))
    for place, argument, text in (
        (0, i32(1), "argument `source` is an i32, and the kernel takes a texture"),
        (
            1,
            runtime.array(np.zeros((4, 4), np.float32), "f32")[1],
            "argument `to` is an ndarray, and the kernel takes a",
        ),
        (0, texture(None, (4, 4), RGBA8), "argument `source` has no image"),
        (0, texture(cube, (4, 4, 4), RGBA8), "`source` has an image of 3 dimensions, and the kernel takes 2"),
        (
            0,
            wrong,
            "`source` has another dimension, extent or format than its image, which has 4 x 4 x 1 texels of rgba8",
        ),
        (0, texture(whole, (4, 4), RGBA8U), "`source` has texels of rgba8u, which are u32, and the kernel takes f32"),
        (0, linear, "texels of rgba8u, which are u32"),
        (1, good[0], "argument `to` has texels of rgba8, and the kernel takes r32f"),
        (0, foreign, "the image of argument `source` is of another runtime"),
        (0, sampled_by_another, "the sampler of argument `source` is of another runtime"),
    ):
        with pytest.raises(CError, match=f"kernel `warp`: .*{text}"):
            runtime.launch(warp, *(argument if k == place else good[k] for k in range(2)))
    other.close()
    runtime.launch(warp, *good)


def test_copies_that_do_not_fit(runtime, library):
    image, whole = runtime.image((4, 3), RGBA8), image_slice(None, (4, 3))
    memory = runtime.allocate(64)

    def copy(slice, memory_slice):
        runtime.call("ti_copy_memory_to_image", runtime.handle, byref(slice), byref(memory_slice))

    whole.image = image
    below = image_slice(image, (4, 3))
    below.level = 1
    outside = image_slice(image, (4, 3), (1,))
    for slice, piece, text in (
        (
            outside,
            Slice(memory, 0, 48),
            r"dst_image of 4 x 3 x 1 texels from \(1, 0, 0\) on.*not within its image of 4 x",
        ),
        (image_slice(image, (2, 2), (2**32 - 1, 0)), Slice(memory, 0, 16), "not within its image"),
        (below, Slice(memory, 0, 48), "level 1"),
        (whole, Slice(memory, 0, 44), "dst_image has 48 bytes of texels, and src_memory has 44"),
        (whole, Slice(memory, 2, 48), "starts at byte 2, which is no multiple of a texel's 4 bytes"),
        (whole, Slice(memory, 32, 48), "src_memory reaches from byte 32 on"),
        (whole, Slice(None, 0, 48), "null"),
        (image_slice(None, (4, 3)), Slice(memory, 0, 48), "image is null"),
    ):
        with pytest.raises(CError, match=text):
            copy(slice, piece)
    copy(image_slice(image, (0, 3)), Slice(memory, 0, 0))  # nothing
    for other, slices, text in (
        (image, ((3, 3), (0, 0), (1, 0)), "overlap"),
        (runtime.image((4, 3), R32F), ((4, 3), (0, 0), (0, 0)), "different formats, dimensions or extents"),
        (runtime.image((4, 3, 2), RGBA8), ((4, 3), (0, 0), (0, 0)), "different formats, dimensions or extents"),
    ):
        shape, to, source = slices
        with pytest.raises(CError, match=text):
            runtime.call(
                "ti_copy_image_device_to_device",
                runtime.handle,
                byref(image_slice(image, shape, to)),
                byref(image_slice(other, shape, source)),
            )
    runtime.call(
        "ti_copy_image_device_to_device",
        runtime.handle,
        byref(image_slice(image, (2, 3), (0, 0))),
        byref(image_slice(image, (2, 3), (2, 0))),
    )


def test_images_are_freed_in_any_order(runtime, warp):
    for first, second in itertools.permutations(range(2)):
        shapes = [((4, 4), RGBA8), ((4, 4), R32F)]
        images = [runtime.image(*shape) for shape in shapes]
        sampler = runtime.sampler(NEAREST, 0)
        runtime.launch(warp, texture(images[0], *shapes[0], sampler), texture(images[1], *shapes[1]))
        runtime.call("ti_destroy_sampler", runtime.handle, sampler)
        runtime.call("ti_free_image", runtime.handle, images[first])
        runtime.call("ti_free_image", runtime.handle, images[second])
