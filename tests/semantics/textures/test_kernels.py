"""Textures in kernels: every format, place and filter against NumPy, and what passes must keep."""

import runpy
import shutil
from functools import cache
from itertools import product

import numpy as np
import pytest
from emitted import diagnostics_of, missing_tool
from golden_kernels import compiled

import shadesmith as ti
from shadesmith.runtime.devices.vulkan.glslang import Glslang
from shadesmith.transpiler.backend.module.interface import SourceFile
from shadesmith.transpiler.ir.textures import ADDRESS_MODES, FORMATS

STORED = [name for name, row in FORMATS.items() if row.is_storage]
SHAPES = {1: (7,), 2: (5, 3), 3: (4, 3, 2)}
EXTREMES = {
    "unorm": [0.0, 1.0, -0.5, 2.0, 0.4, 0.6, 0.25, float("inf")],  # none halfway: NVIDIA's Vulkan rounds .5 down
    "float": [0.0, -1.5, 65504.0, 2.0**-10, 0.125, 3.0, -0.0, 7.25],  # others Vulkan may round either way
    "uint": [0, 1, 255, 256, 65535, 65536, 4294967295, 77],
    "int": [0, -1, 127, 128, -129, 32768, -32769, 2147483647],
}


def ways(axes: int):
    """Return kernels that store texels from an array and load them into one, for a number of axes."""

    def make(format):
        rw = ti.types.rw_texture(num_dimensions=axes, fmt=format)

        @ti.kernel
        def store(t: rw, values: ti.types.ndarray()):
            for I in ti.grouped(t):
                t.store(I, ti.Vector([values[I, k] for k in ti.static(range(4))]))

        @ti.kernel
        def load(t: rw, values: ti.types.ndarray()):
            for I in ti.grouped(t):
                texel = t.load(I)
                for k in ti.static(range(4)):
                    values[I, k] = texel[k]

        return store, load

    return make


def stored_as(values: np.ndarray, name: str) -> np.ndarray:
    """Return what a format keeps of texels: the nearest numbers it has."""
    row = FORMATS[name]
    values, dtype = values[..., : row.channels], row.channel.numpy
    if row.kind == "unorm":
        values = np.rint(np.clip(values, 0, 1) * np.float32(np.iinfo(dtype).max))
    elif row.kind != "float":
        values = np.clip(values, np.iinfo(dtype).min, np.iinfo(dtype).max)
    return values.astype(dtype)


def read_as(stored: np.ndarray, name: str) -> np.ndarray:
    """Return the texels that kernels see."""
    row = FORMATS[name]
    texels = np.zeros((*stored.shape[:-1], 4), row.element.numpy)
    texels[..., 3] = 1
    scale = np.float32(np.iinfo(row.channel.numpy).max) if row.kind == "unorm" else 1
    texels[..., : row.channels] = stored / scale if row.kind == "unorm" else stored
    return texels


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", STORED)
def test_a_format_keeps_what_it_can(target: str, name: str) -> None:
    """The number of axes goes around with the formats."""
    axes = 1 + STORED.index(name) % 3
    shape, row = SHAPES[axes], FORMATS[name]
    some = EXTREMES[row.kind]
    count = 4 * int(np.prod(shape))
    values = np.array([some[(5 * k + k // 8) % len(some)] for k in range(count)], row.element.numpy)
    values = values.reshape(*shape, 4)
    store, load = ways(axes)(ti.Format[name])
    texture = ti.Texture(ti.Format[name], shape)
    store(texture, values)
    stored = stored_as(values, name)
    np.testing.assert_array_equal(texture.to_numpy().reshape(stored.shape), stored)
    found = np.zeros_like(values)
    load(texture, found)
    np.testing.assert_allclose(found, read_as(stored, name), rtol=1e-6)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_places_count_x_first(target: str, axes: int) -> None:
    shape = SHAPES[axes]
    values = np.arange(4 * np.prod(shape), dtype=np.float32).reshape(*shape, 4)
    store, load = ways(axes)(ti.Format.rgba32f)
    texture = ti.Texture(ti.Format.rgba32f, shape)
    store(texture, values)
    np.testing.assert_array_equal(texture.to_numpy(), values)
    found = np.zeros_like(values)
    load(texture, found)
    np.testing.assert_array_equal(found, values)


# --- sampling -------------------------------------------------------------------------------------------------------


def addressed(i: int, n: int, mode: str) -> int | None:
    if mode == "repeat":
        return i % n
    if mode == "mirrored_repeat":
        return min(i % (2 * n), 2 * n - 1 - i % (2 * n))
    if mode == "clamp_to_edge":
        return min(max(i, 0), n - 1)
    return i if 0 <= i < n else None


def sampled(texels: np.ndarray, place: tuple[float, ...], modes: tuple[str, ...], linear: bool) -> np.ndarray:
    """Return the mean of the texels around a place, or the nearest. texels: (*shape, 4), float64."""
    total = np.zeros(4)
    along = [p * n - (0.5 if linear else 0.0) for p, n in zip(place, texels.shape, strict=False)]
    for corner in product((0, 1) if linear else (0,), repeat=len(place)):
        low = [int(np.floor(x)) for x in along]
        parts = [x - i if bit else 1 - (x - i) for x, i, bit in zip(along, low, corner, strict=True)]
        at = [addressed(i + b, n, m) for i, b, n, m in zip(low, corner, texels.shape, modes, strict=False)]
        if None not in at:
            total += (np.prod(parts) if linear else 1.0) * texels[tuple(at)]
    return total


@cache
def sampler(axes: int):
    @ti.kernel
    def sample(t: ti.types.texture(axes), places: ti.types.ndarray(), out: ti.types.ndarray()):
        for n in range(places.shape[0]):
            texel = t.sample_lod(ti.Vector([places[n, k] for k in ti.static(range(axes))]), 0.0)
            for k in ti.static(range(4)):
                out[n, k] = texel[k]

    return sample


@pytest.mark.parametrize("shape", [(4,), (4, 4), (3, 4, 2)], ids=str)
def test_samples_equal_a_model(target: str, shape: tuple[int, ...]) -> None:
    """Hardware interpolates by parts of 1/256."""
    random, axes = np.random.default_rng(7), len(shape)
    for filter, mode in product(("linear", "nearest"), ADDRESS_MODES):
        stored = random.integers(0, 256, (*shape, 4)).astype(np.uint8)
        texture = ti.Texture(ti.Format.rgba8, shape, filter=filter, address=mode)
        texture.from_numpy(stored)
        places = random.uniform(-1.4, 2.4, (100, axes)).astype(np.float32)
        if filter == "nearest":  # a texel's edge belongs to either
            places = np.floor(places * shape) / shape + np.float32(0.5) / np.array(shape, np.float32)
            places = places.astype(np.float32)
        found = np.zeros((100, 4), np.float32)
        sampler(axes)(texture, places, found)
        model = [sampled(stored / 255.0, tuple(map(float, p)), (mode,) * axes, filter == "linear") for p in places]
        np.testing.assert_allclose(found, model, atol=axes / 256, err_msg=f"{filter}, {mode}")


def test_each_axis_has_its_own_address_mode(target: str) -> None:
    texture = ti.Texture(ti.Format.r32f, (2, 2), filter="nearest", address=["repeat", "clamp_to_edge"])
    texture.from_numpy(np.array([[1, 2], [3, 4]], np.float32))
    found = np.zeros((2, 4), np.float32)
    sampler(2)(texture, np.array([[1.25, 1.25], [-0.25, -0.25]], np.float32), found)
    np.testing.assert_array_equal(found[:, 0], [2, 3])


@pytest.mark.parametrize("name", ["r8", "rg16f", "r32f", "rgba8srgb", "r16u", "rg32i", "rgba8i"])
def test_missing_channels_are_zero_and_alpha_is_one(target: str, name: str) -> None:
    row = FORMATS[name]

    @ti.kernel
    def read(t: ti.types.texture(1), out: ti.types.ndarray()):
        for i in t:
            fetched, sampled = t.fetch(i, 0), t.sample_lod((i + 0.5) / t.shape[0], 0.0)
            for k in ti.static(range(4)):
                out[i, k], out[i, 4 + k] = fetched[k], sampled[k]

    texture = ti.Texture(ti.Format[name], (4,), filter="nearest")
    stored = (np.arange(4 * row.channels).reshape(4, row.channels) * 5).astype(row.channel.numpy)
    texture.from_numpy(stored if row.channels > 1 else stored[:, 0])
    found = np.zeros((4, 8), row.element.numpy)
    read(texture, found)
    expected = read_as(stored, name)
    if row.kind == "srgb":
        x = stored / 255.0
        expected = np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)
        expected[:, 3] = x[:, 3]
    np.testing.assert_allclose(found, np.hstack([expected, expected]), atol=4e-3 if row.kind == "srgb" else 1e-7)


# --- programs -------------------------------------------------------------------------------------------------------

bytes_1d = ti.types.rw_texture(num_dimensions=1, num_channels=4, channel_format=ti.u8, lod=0)
floats_2d = ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.r32f)


def test_the_spelling_of_taichi_1_2_names_formats() -> None:
    known = {"u8": "r8 rg8 rgba8", "u16": "r16 rg16 rgba16", "f16": "r16f rg16f rgba16f", "f32": "r32f rg32f rgba32f"}
    known |= {"i8": "r8i rg8i rgba8i", "u32": "r32u rg32u rgba32u", "i32": "r32i rg32i rgba32i"}
    for channel, names in known.items():
        for count, name in zip((1, 2, 4), names.split(), strict=True):
            named = ti.types.rw_texture(
                num_dimensions=2, num_channels=count, channel_format=getattr(ti, channel), lod=0
            )
            assert named == ti.types.rw_texture(2, count, getattr(ti, channel), 0)
            assert named == ti.types.rw_texture(2, fmt=ti.Format[name]) == ti.types.rw_texture(2, 0, ti.Format[name])


def test_bytes_are_added_exactly(target: str) -> None:
    @ti.kernel
    def add(source: bytes_1d, sum: bytes_1d, n: ti.i32, addend: ti.i32):
        for i in ti.ndrange(n):
            sum.store(ti.Vector([i]), source.load(ti.Vector([i])) + ti.cast(addend, ti.f32) / 255.0)

    source, total = ti.Texture(ti.Format.rgba8, (256,)), ti.Texture(ti.Format.rgba8, (256,))
    stored = np.arange(1024).reshape(256, 4).astype(np.uint8)
    source.from_numpy(stored)
    for addend in (0, 1, 77, 255):
        add(source, total, 256, addend)
        np.testing.assert_array_equal(total.to_numpy(), np.minimum(stored.astype(int) + addend, 255))


def test_outside_nothing_is_read_or_written(target: str) -> None:
    @ti.kernel
    def reach(t: floats_2d, s: ti.types.texture(2), out: ti.types.ndarray()):
        for i, j in ti.ndrange((-2, 5), (-2, 5)):
            out[i + 2, j + 2, 0] = t.load(ti.Vector([i, j])).x
            out[i + 2, j + 2, 1] = s.fetch(ti.Vector([i, j]), 0).x
        for i, j in ti.ndrange((-2, 5), (-2, 5)):
            if not (0 <= i < 3 and 0 <= j < 2):
                t.store(ti.Vector([i, j]), ti.Vector([9.0, 9.0, 9.0, 9.0]))

    t, s = ti.Texture(ti.Format.r32f, (3, 2)), ti.Texture(ti.Format.r32f, (3, 2))
    values = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    t.from_numpy(values)
    s.from_numpy(values)
    found = np.full((7, 7, 2), 5, np.float32)
    reach(t, s, found)
    expected = np.zeros((7, 7, 2), np.float32)
    expected[2:5, 2:4] = values[..., None]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(t.to_numpy(), values)


def test_a_load_behind_a_store_sees_it(target: str) -> None:
    @ti.kernel
    def twice(t: floats_2d, out: ti.types.ndarray()):
        for i, j in t:
            p = ti.Vector([i, j])
            before = t.load(p).x
            t.store(p, ti.Vector([before + 10.0, 0.0, 0.0, 0.0]))
            between = t.load(p).x
            if i > 0:
                t.store(p, ti.Vector([between * 2.0, 0.0, 0.0, 0.0]))
            out[i, j] = before + between + t.load(p).x

    t = ti.Texture(ti.Format.r32f, (2, 3))
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    t.from_numpy(values)
    found = np.zeros((2, 3), np.float32)
    twice(t, found)
    last = (values + 10) * [[1], [2]]
    np.testing.assert_array_equal(found, values + values + 10 + last)
    np.testing.assert_array_equal(t.to_numpy(), last)


def test_a_later_loop_sees_what_an_earlier_one_stored(target: str) -> None:
    @ti.kernel
    def smooth(t: floats_2d, s: ti.types.texture(2), n: ti.i32) -> ti.f32:
        first = t.load(ti.Vector([0, 0])).x  # read before any loop
        for i, j in ti.ndrange(n, n):
            t.store(ti.Vector([i, j]), ti.Vector([ti.cast(i * n + j, ti.f32), 0.0, 0.0, 0.0]))
        total = 0.0
        for i, j in ti.ndrange(n, n):
            total += t.load(ti.Vector([n - 1 - i, j])).x + s.fetch(ti.Vector([i, j]), 0).x
        t.store(ti.Vector([0, 0]), ti.Vector([total, 0.0, 0.0, 0.0]))
        return first

    t = ti.Texture(ti.Format.r32f, (8, 8))
    t.from_numpy(np.full((8, 8), 3, np.float32))
    assert smooth(t, t, 8) == 3
    assert t.to_numpy()[0, 0] == 2 * sum(range(64))


def test_textures_go_into_functions(target: str) -> None:
    @ti.func
    def around(t: ti.template(), p):
        return t.load(p + ti.Vector([-1, 0])).x + t.load(p + ti.Vector([1, 0])).x

    @ti.func
    def plain(t, p):
        return t.load(p).x

    @ti.real_func
    def real(t: ti.template(), i: ti.i32, j: ti.i32) -> ti.f32:
        t.store(ti.Vector([i, j]), ti.Vector([t.load(ti.Vector([i, j])).x + 0.5, 0.0, 0.0, 0.0]))
        return t.load(ti.Vector([i, j])).x

    @ti.kernel
    def use(t: floats_2d, other: floats_2d, out: ti.types.ndarray()):
        for i, j in t:
            out[i, j] = around(t, ti.Vector([i, j])) + plain(t, ti.Vector([i, j])) + real(other, i, j)

    values = np.arange(6, dtype=np.float32).reshape(3, 2)
    t, other = ti.Texture(ti.Format.r32f, (3, 2)), ti.Texture(ti.Format.r32f, (3, 2))
    t.from_numpy(values)
    other.from_numpy(values)
    found = np.zeros((3, 2), np.float32)
    use(t, other, found)
    padded = np.pad(values, ((1, 1), (0, 0)))
    np.testing.assert_array_equal(found, padded[:-2] + padded[2:] + values + values + 0.5)
    np.testing.assert_array_equal(other.to_numpy(), values + 0.5)


def test_textures_come_in_packs(target: str) -> None:
    pack = ti.types.argpack(t=floats_2d, s=ti.types.texture(2), n=ti.i32)

    @ti.kernel
    def use(p: pack):
        for i, j in p.t:
            p.t.store([i, j], p.s.fetch([i, j], 0) * p.n)

    t, s = ti.Texture(ti.Format.r32f, (3, 2)), ti.Texture(ti.Format.r32f, (3, 2))
    s.from_numpy(np.arange(6, dtype=np.float32).reshape(3, 2))
    use(pack(t=t, s=s, n=5))
    np.testing.assert_array_equal(t.to_numpy(), 5 * np.arange(6).reshape(3, 2))
    with pytest.raises(TypeError, match="needs a value for `s`"):
        pack(t=t, n=5)


def test_shapes_names_and_unused_textures(target: str) -> None:
    """Names that a language keeps, one that only asks for its extents, one that nothing asks for."""
    box = ti.types.rw_texture(num_dimensions=3, fmt=ti.Format.r32i)

    @ti.kernel
    def ask(sampler: ti.types.texture(2), image3D: box, idle: floats_2d, texture: floats_2d, out: ti.types.ndarray()):
        load = sampler.shape[0]
        for k in ti.static(range(3)):
            out[k] = image3D.shape[k]
        out[3] = load * 10 + sampler.shape[1]
        out[4] = ti.cast(texture.load(ti.Vector([1, 1])).x, ti.i32)

    held = ti.Texture(ti.Format.r32f, (2, 2))
    held.from_numpy(np.full((2, 2), 6, np.float32))
    found = np.zeros(5, np.int32)
    ask(ti.Texture(ti.Format.r8, (9, 4)), ti.Texture(ti.Format.r32i, (2, 3, 4)), held, held, found)
    assert found.tolist() == [2, 3, 4, 94, 6]


def test_names_of_functions_on_texels_may_be_variables(target: str) -> None:
    @ti.kernel
    def use(channels: ti.types.texture(2), at: floats_2d, load_r32f_2d: ti.f32):
        for imageStore, texel in at:
            sample_2d = channels.sample_lod([0.5, 0.5], 0.0)
            store_r32f_2d = at.load([imageStore, texel])
            fetch_2d = channels.fetch([imageStore, texel], 0) + load_r32f_2d
            at.store([imageStore, texel], sample_2d + fetch_2d + store_r32f_2d)

    channels, at = ti.Texture(ti.Format.r32f, (2, 2), filter="nearest"), ti.Texture(ti.Format.r32f, (2, 2))
    channels.from_numpy(np.full((2, 2), 3, np.float32))
    use(channels, at, 0.5)
    np.testing.assert_array_equal(at.to_numpy(), 6.5)


def test_a_texture_of_integers_makes_a_kernel_of_its_own(target: str) -> None:
    @ti.kernel
    def first(t: ti.types.texture(1), out: ti.types.ndarray()):
        out[0] = ti.cast(t.fetch(0, 0).x, ti.f64)

    found = np.zeros(1)
    for name, value in (("r8", 255), ("r32u", 4000000000), ("r32i", -5), ("r16u", 65535)):
        texture = ti.Texture(ti.Format[name], (2,))
        texture.from_numpy(np.full(2, value, FORMATS[name].channel.numpy))
        first(texture, found)
        assert found[0] == (1 if name == "r8" else value)


def test_texels_cross_barriers(target: str) -> None:
    """Threads of a block share what they loaded."""

    @ti.kernel
    def reverse(t: ti.types.rw_texture(1, fmt=ti.Format.r32f), out: ti.types.ndarray()):
        ti.loop_config(block_dim=64)
        for i in range(128):
            tile = ti.simt.block.SharedArray((64,), ti.f32)
            lane = i % 64
            tile[lane] = t.load(i).x
            t.store(i, ti.Vector([0.0, 0.0, 0.0, 0.0]))
            ti.simt.block.sync()
            out[i] = tile[63 - lane] + t.load(i).x

    t = ti.Texture(ti.Format.r32f, (128,))
    values = np.arange(128, dtype=np.float32)
    t.from_numpy(values)
    found = np.zeros(128, np.float32)
    reverse(t, found)
    np.testing.assert_array_equal(found, values.reshape(2, 64)[:, ::-1].ravel())


# --- texts ----------------------------------------------------------------------------------------------------------


def instructions(module: bytes, opcode: int) -> int:
    """Count the instructions of SPIR-V with a number."""
    words = np.frombuffer(module, np.uint32)
    found, at = 0, 5
    while at < len(words):
        found += int(words[at] & 0xFFFF) == opcode
        at += int(words[at] >> 16)
    return found


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="needs glslangValidator")
def test_the_seeds_shader_loads_and_stores_one_texel() -> None:
    """Taichi 1.7.4 emits four loads of the same texel (S3-18)."""
    text = compiled("texture_add", "vulkan").files[0].text
    assert text.count("imageLoad(") == text.count("imageStore(") == 1
    module = Glslang().compile(SourceFile("kernel.comp", text), "kernel")
    assert [instructions(module, opcode) for opcode in (98, 99)] == [1, 1]  # OpImageRead, OpImageWrite


def test_equal_reads_are_one_until_something_is_stored() -> None:
    @ti.kernel
    def read(t: floats_2d, s: ti.types.texture(2), out: ti.types.ndarray(ti.f32, 1)):
        for i in range(8):
            p = ti.Vector([i, 0])
            out[4 * i] = t.load(p).x + t.load(p).y + s.fetch(p, 0).x * s.fetch(p, 0).y
            out[4 * i + 1] = s.sample_lod(p * 0.5, 0.0).x + s.sample_lod(p * 0.5, 0.0).y
            out[4 * i + 2] = t.load(p).z
            t.store(p, ti.Vector([1.0, 0.0, 0.0, 0.0]))
            out[4 * i + 3] = t.load(p).w

    text = read.source(arch=ti.vulkan)
    assert [text.count(f"{name}(") for name in ("imageLoad", "texelFetch", "textureLod")] == [2, 1, 1]


def test_a_read_stays_before_a_store_that_may_change_it() -> None:
    @ti.kernel
    def swap(a: floats_2d, b: floats_2d):
        for i in range(8):
            p = ti.Vector([i, 0])
            kept = a.load(p)
            a.store(p, b.load(p))
            b.store(p, kept)

    lines = [line.strip() for line in swap.source(arch=ti.vulkan).splitlines() if "image" in line and "//" not in line]
    assert lines[2:] == [
        "vec4 kept = imageLoad(a, p);",
        "imageStore(a, p, imageLoad(b, p));",
        "imageStore(b, p, kept);",
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("element", ["f32", "i32", "u32"])
def test_texts_of_all_formats_compile(axes: int, element: str, tmp_path) -> None:
    """One kernel that loads and stores every format, and samples and fetches, in GLSL, CUDA C and C."""
    names = [name for name in STORED if FORMATS[name].element.name == element]
    rw = [f"{n}: ti.types.rw_texture(num_dimensions={axes}, fmt=ti.Format.{n})" for n in names]
    lines = ["import shadesmith as ti", "@ti.kernel", f"def every({', '.join(rw)}, s: ti.types.texture({axes})):"]
    lines += [f"    for I in ti.grouped({names[0]}):", *(f"        {n}.store(I, {n}.load(I) + 1)" for n in names)]
    lines += [f"        {names[0]}.store(I, s.fetch(I, 0) + s.sample_lod(I * 0.1, 0.0))"]
    path = tmp_path / "every.py"
    path.write_text("\n".join(lines))
    every = runpy.run_path(str(path))["every"]
    for arch, suffix in ((ti.vulkan, ".comp"), (ti.cuda, ".cu"), (ti.cc, ".c")):
        if not missing_tool(suffix):
            assert diagnostics_of(f"every{suffix}", every.source(arch=arch)) == ""
