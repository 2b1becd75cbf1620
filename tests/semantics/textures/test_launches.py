"""Kernels with textures: sampling against a model in NumPy, all formats, many textures, threads, and memory in flight."""

import gc
import itertools
import linecache
import threading

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.session import session as sessions
from shadesmith.transpiler.ir.textures import ADDRESS_MODES, FORMATS

SAMPLED = [name for name, row in FORMATS.items() if row.kind != "depth"]
STEP = 1 / 256
"""GPUs interpolate with weights of 8 bits."""


def exists(target: str, name: str) -> bool:
    """Tell whether a target has a format: GPUs know no three channels, CUDA none with blue first."""
    row = FORMATS[name]
    return target in ("cpu", "python") or (row.channels != 3 and not (target == "cuda" and row.is_swapped))


# --- sampling


def texel_of(index: np.ndarray, extent: int, mode: str) -> np.ndarray:
    """Return which texel along an axis an index means; -1: the border."""
    if mode == "repeat":
        return index % extent
    if mode == "mirrored_repeat":
        return np.minimum(index % (2 * extent), 2 * extent - 1 - index % (2 * extent))
    if mode == "clamp_to_edge":
        return np.clip(index, 0, extent - 1)
    return np.where((index >= 0) & (index < extent), index, -1)


def sampled(texels: np.ndarray, places: np.ndarray, filter: str, modes: tuple[str, ...]) -> np.ndarray:
    """Return what samples at `places` (n, axes) read of `texels` (width, height, ..., channels)."""
    axes = places.shape[1]
    bordered = np.pad(texels, [(0, 1)] * axes + [(0, 0)])  # index -1 is the border
    scaled = places * np.array(texels.shape[:axes])
    if filter == "nearest":
        corners, weights = [np.floor(scaled).astype(int)], [np.ones(len(places))]
    else:
        low = np.floor(scaled - 0.5).astype(int)
        part = scaled - 0.5 - low
        bits = np.array(list(itertools.product((0, 1), repeat=axes)))
        corners = [low + bit for bit in bits]
        weights = [np.prod(np.where(bit, part, 1 - part), axis=1) for bit in bits]
    total = np.zeros((len(places), texels.shape[-1]))
    for corner, weight in zip(corners, weights):
        index = tuple(texel_of(corner[:, k], texels.shape[k], modes[k]) for k in range(axes))
        total += weight[:, None] * bordered[index]
    return total


@ti.kernel
def sample_line(t: ti.types.texture(num_dimensions=1), places: ti.types.ndarray(ndim=2), out: ti.types.ndarray(ndim=2)):
    for i in range(places.shape[0]):
        found = t.sample_lod(places[i, 0], 0.0)
        for k in ti.static(range(4)):
            out[i, k] = found[k]


@ti.kernel
def sample_plane(
    t: ti.types.texture(num_dimensions=2), places: ti.types.ndarray(ndim=2), out: ti.types.ndarray(ndim=2)
):
    for i in range(places.shape[0]):
        found = t.sample_lod(ti.Vector([places[i, 0], places[i, 1]]), 0.0)
        for k in ti.static(range(4)):
            out[i, k] = found[k]


@ti.kernel
def sample_space(
    t: ti.types.texture(num_dimensions=3), places: ti.types.ndarray(ndim=2), out: ti.types.ndarray(ndim=2)
):
    for i in range(places.shape[0]):
        found = t.sample_lod(ti.Vector([places[i, 0], places[i, 1], places[i, 2]]), 0.0)
        for k in ti.static(range(4)):
            out[i, k] = found[k]


SAMPLERS = {1: sample_line, 2: sample_plane, 3: sample_space}


def sample(texture: ti.Texture, places: np.ndarray) -> np.ndarray:
    """Return what kernels sample at `places`."""
    given, out = ti.ndarray(ti.f32, places.shape), ti.ndarray(ti.f32, (len(places), 4))
    given.from_numpy(places.astype(np.float32))
    SAMPLERS[places.shape[1]](texture, given, out)
    return out.to_numpy()


def places_in(axes: int, count: int) -> np.ndarray:
    """Return places from -1.5 to 2.5, none of them where two texels meet."""
    drawn = np.random.default_rng(axes).uniform(-1.5, 2.5, (count, axes))
    return np.round(drawn * 64) / 64 + 1 / 333


@pytest.mark.parametrize("shape", [(8,), (4, 4), (4, 3, 2)], ids=str)
def test_samples_equal_the_model(target: str, shape: tuple[int, ...]) -> None:
    texels = np.random.default_rng(1).uniform(0, 1, (*shape, 4)).astype(np.float32)
    places = places_in(len(shape), 100)
    for filter, mode in itertools.product(("linear", "nearest"), ADDRESS_MODES):
        texture = ti.Texture(ti.Format.rgba32f, shape, filter=filter, address=mode)
        texture.from_numpy(texels)
        wanted = sampled(texels, places, filter, (mode,) * len(shape))
        found = sample(texture, places)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=STEP * len(shape), err_msg=f"{filter} {mode}")


def test_each_axis_may_have_its_own_address_mode(target: str) -> None:
    texels = np.random.default_rng(2).uniform(0, 1, (4, 4, 4)).astype(np.float32)
    modes = ("repeat", "clamp_to_edge")
    texture = ti.Texture(ti.Format.rgba32f, (4, 4), address=modes)
    texture.from_numpy(texels)
    places = places_in(2, 100)
    np.testing.assert_allclose(sample(texture, places), sampled(texels, places, "linear", modes), rtol=0, atol=STEP * 2)


def test_defaults_are_those_of_taichi(target: str) -> None:
    """Recorded with Taichi 1.7.4 on Vulkan (lavapipe): linear, repeated along both axes."""
    texture = ti.Texture(ti.Format.r32f, (4, 3))
    texture.from_numpy(np.arange(12, dtype=np.float32).reshape(3, 4).T)
    u = np.linspace(-1, 2, 21)
    places = np.stack([u, np.full(21, 0.5)], axis=1)
    recorded = [5.5, 4.1, 4.7, 5.3, 5.9, 6.5, 6.7, 4.9, 4.3, 4.9, 5.5, 6.1, 6.7, 6.1, 4.3, 4.5, 5.1, 5.7, 6.3, 6.9, 5.5]
    np.testing.assert_allclose(sample(texture, places)[:, 0], recorded, rtol=0, atol=4 * STEP)
    places[:, 1] = -0.2
    recorded = [9.1, 7.7, 8.3, 8.9, 9.5, 10.1, 10.3, 8.5, 7.9, 8.5, 9.1]
    np.testing.assert_allclose(sample(texture, places)[:11, 0], recorded, rtol=0, atol=8 * STEP)


def seen(values: np.ndarray, name: str) -> np.ndarray:
    """Return what kernels see of stored numbers (..., channels): four numbers, red first."""
    row = FORMATS[name]
    full = np.zeros((*values.shape[:-1], 4))
    full[..., 3] = 1
    scale = float(np.iinfo(values.dtype).max) if row.kind in ("unorm", "srgb") else 1.0
    full[..., : row.channels] = values / scale
    if row.kind == "srgb":
        colors = full[..., :3]
        full[..., :3] = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
    return full[..., [2, 1, 0, 3]] if row.is_swapped else full


def stored_numbers(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return numbers that a format stores, over its whole range."""
    row = FORMATS[name]
    random = np.random.default_rng(row.number)
    if row.kind == "float":
        return random.uniform(-2, 2, (*shape, row.channels)).astype(row.channel.numpy)
    limits = np.iinfo(row.channel.numpy)
    values = random.integers(limits.min, limits.max, (*shape, row.channels), row.channel.numpy, endpoint=True)
    values.flat[0], values.flat[-1] = limits.min, limits.max
    return values


@ti.kernel
def fetch_all(t: ti.types.texture(num_dimensions=2), out: ti.types.ndarray(ndim=3)):
    for i, j in ti.ndrange(5, 3):
        texel = t.fetch(ti.Vector([i, j]), 0)
        for k in ti.static(range(4)):
            out[i, j, k] = texel[k]


@pytest.mark.all_targets
def test_fetches_see_every_format(target: str) -> None:
    for name in [name for name in SAMPLED if exists(target, name)]:
        texture = ti.Texture(ti.Format[name], (5, 3))
        values = stored_numbers(name, (5, 3))
        texture.from_numpy(values)
        out = ti.ndarray(FORMATS[name].element, (5, 3, 4))
        fetch_all(texture, out)
        atol = 1 / 200 if "srgb" in name else 1e-6  # GPUs undo the curve of sRGB to 8 bits
        np.testing.assert_allclose(out.to_numpy(), seen(values, name), rtol=2e-6, atol=atol, err_msg=name)


@pytest.mark.parametrize("name", ["rgba8", "r16", "r8i", "rg16u", "r16f", "rgba32i", "rg32f"])
def test_loads_and_stores_keep_what_is_stored(target: str, name: str) -> None:
    element = FORMATS[name].element

    @ti.kernel
    def move(
        source: ti.types.rw_texture(num_dimensions=2, fmt=ti.Format[name]),
        target: ti.types.rw_texture(num_dimensions=2, fmt=ti.Format[name]),
        out: ti.types.ndarray(ndim=3),
    ):
        for i, j in ti.ndrange(5, 3):
            texel = source.load(ti.Vector([i, j]))
            target.store(ti.Vector([4 - i, j]), texel)
            for k in ti.static(range(4)):
                out[i, j, k] = texel[k]

    source, target_ = ti.Texture(ti.Format[name], (5, 3)), ti.Texture(ti.Format[name], (5, 3))
    values = stored_numbers(name, (5, 3))
    source.from_numpy(values)
    out = ti.ndarray(element, (5, 3, 4))
    move(source, target_, out)
    np.testing.assert_allclose(out.to_numpy(), seen(values, name), rtol=2e-6, atol=1e-6)
    moved = target_.to_numpy().reshape(values.shape)
    np.testing.assert_array_equal(moved, values[::-1])


@pytest.mark.parametrize("name", ["rgba8", "r32f", "rgba16f", "r32i"])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_textures_have_one_to_three_axes(target: str, axes: int, name: str) -> None:
    shape = (5, 3, 2)[:axes]

    @ti.kernel
    def number(t: ti.types.rw_texture(num_dimensions=axes, fmt=ti.Format[name])):
        for place in ti.grouped(ti.ndrange(*shape)):
            total = 0
            for k in ti.static(range(axes)):
                total = total * 5 + place[k]
            scale = ti.static(255 if name == "rgba8" else 1)
            value = total / scale if ti.static(name != "r32i") else total
            t.store(place, ti.Vector([value, value, value, value]))

    texture = ti.Texture(ti.Format[name], shape)
    number(texture)
    index = np.indices(shape)
    wanted = sum(index[k] * 5 ** (axes - 1 - k) for k in range(axes))
    found = texture.to_numpy()
    np.testing.assert_array_equal(found[..., 0] if FORMATS[name].channels == 4 else found, wanted)


def test_texels_outside_read_zero_and_are_not_stored(target: str) -> None:
    @ti.kernel
    def around(t: ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.rgba8), out: ti.types.ndarray(ndim=2)):
        for i, j in ti.ndrange(6, 5):
            out[i, j] = t.load(ti.Vector([i - 1, j - 1]))[0]
        t.store(ti.Vector([4, 0]), ti.Vector([1.0, 1.0, 1.0, 1.0]))
        t.store(ti.Vector([-1, 0]), ti.Vector([1.0, 1.0, 1.0, 1.0]))

    texture = ti.Texture(ti.Format.rgba8, (4, 3))
    texture.from_numpy(np.full((4, 3, 4), 255))
    out = ti.ndarray(ti.f32, (6, 5))
    around(texture, out)
    np.testing.assert_array_equal(out.to_numpy(), np.pad(np.ones((4, 3)), 1))
    np.testing.assert_array_equal(texture.to_numpy(), 255)


def test_the_programs_of_the_seed_adds_in_bytes(target: str) -> None:
    """Seed 3: Taichi 1.2's spelling; stores saturate."""
    nsize, num_channels = 128, 4

    @ti.kernel
    def taichi_add(
        in_ten: ti.types.rw_texture(num_dimensions=1, num_channels=num_channels, channel_format=ti.u8, lod=0),
        out_ten: ti.types.rw_texture(num_dimensions=1, num_channels=num_channels, channel_format=ti.u8, lod=0),
        nsize: ti.i32,
        addend: ti.i32,
    ):
        for i in ti.ndrange(nsize):
            in_num = in_ten.load(ti.Vector([i]))
            sum_num = in_num + ti.cast(addend, ti.f32) / 255.0
            out_ten.store(ti.Vector([i]), sum_num)

    given, out = ti.Texture(ti.u8, 4, (nsize,)), ti.Texture(ti.Format.rgba8, (nsize,))
    values = np.arange(512).reshape(128, 4) % 256
    given.from_numpy(values)
    for addend in (0, 1, 57, 255):
        taichi_add(given, out, nsize, addend)
        np.testing.assert_array_equal(out.to_numpy(), np.minimum(255, values + addend))
    taichi_add(given, out, -5, 3)
    np.testing.assert_array_equal(out.to_numpy(), 255)


# --- launches


@ti.kernel
def add_one(
    source: ti.types.rw_texture(num_dimensions=1, fmt=ti.Format.r32f),
    target: ti.types.rw_texture(num_dimensions=1, fmt=ti.Format.r32f),
    n: ti.i32,
):
    for i in range(n):
        target.store(i, source.load(i) + 1.0)


def test_each_launch_has_its_own_textures(target: str) -> None:
    textures = [ti.Texture(ti.Format.r32f, 8) for _ in range(40)]
    textures[0].from_numpy(np.arange(8))
    for source, following in itertools.pairwise(textures):
        add_one(source, following, 8)
    np.testing.assert_array_equal(textures[-1].to_numpy(), np.arange(8) + 39)
    for source, following in itertools.pairwise(reversed(textures)):  # the same ones in other places
        add_one(source, following, 8)
    np.testing.assert_array_equal(textures[0].to_numpy(), np.arange(8) + 78)


def test_one_texture_may_be_read_and_written(target: str) -> None:
    texture = ti.Texture(ti.Format.r32f, 8)
    for _ in range(100):
        add_one(texture, texture, 8)
    np.testing.assert_array_equal(texture.to_numpy(), 100)


def test_texels_come_and_go_between_launches_in_order(target: str) -> None:
    a, b = ti.Texture(ti.Format.r32f, 8), ti.Texture(ti.Format.r32f, 8)
    array = ti.ndarray(ti.f32, 8)
    for turn in range(20):
        array.fill(turn)
        a.from_ndarray(array)
        array.fill(-1)
        add_one(a, b, 8)
        np.testing.assert_array_equal(b.to_numpy(), turn + 1)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_memory_in_flight_is_not_given_away(target: str) -> None:
    if target == "python":
        pytest.skip("slow, and nothing is in flight")
    kept = ti.Texture(ti.Format.r32f, 1 << 12)
    for _ in range(60):
        short = ti.Texture(ti.Format.r32f, 1 << 12)
        add_one(kept, short, 1 << 12)
        add_one(short, kept, 1 << 12)
        del short
        other = ti.Texture(ti.Format.r32f, 1 << 12)
        other.from_numpy(np.full(1 << 12, 1e6))
    np.testing.assert_array_equal(kept.to_numpy(), 120)


@pytest.mark.all_targets
def test_what_launches_used_is_forgotten_with_the_texture(target: str) -> None:
    device = sessions.CURRENT.device
    kept = ti.Texture(ti.Format.r32f, 8)
    ti.sync()
    used = device.used_bytes
    for _ in range(50):
        short = ti.Texture(ti.Format.r32f, 8)
        add_one(kept, short, 8)
        del short
    gc.collect()
    ti.sync()
    assert device.used_bytes <= used + 4096  # staging for texels may stay
    if target == "vulkan":
        assert len(device._images.sets._sets) == 0


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_threads_launch_with_textures_of_their_own(target: str) -> None:
    if target == "python":
        pytest.skip("slow")
    pairs = [(ti.Texture(ti.Format.r32f, 8), ti.Texture(ti.Format.r32f, 8)) for _ in range(4)]
    failures = []

    def work(a: ti.Texture, b: ti.Texture) -> None:
        try:
            for _ in range(50):
                add_one(a, b, 8)
                add_one(b, a, 8)
        except Exception as error:  # noqa: BLE001 - shown below
            failures.append(error)

    threads = [threading.Thread(target=work, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for a, _ in pairs:
        np.testing.assert_array_equal(a.to_numpy(), 100)


def test_a_kernel_may_have_more_arguments_than_fit_in_push_constants(target: str) -> None:
    names = [f"x{k}" for k in range(40)]
    body = f"""
import shadesmith as ti
@ti.kernel
def many(t: ti.types.rw_texture(num_dimensions=1, fmt=ti.Format.r32f), {", ".join(f"{n}: ti.f32" for n in names)}):
    for i in range(8):
        t.store(i, ti.Vector([{" + ".join(names)}, 0.0, 0.0, 0.0]))
"""
    scope: dict = {}
    linecache.cache["<many>"] = (len(body), None, body.splitlines(True), "<many>")
    exec(compile(body, "<many>", "exec"), scope)
    texture = ti.Texture(ti.Format.r32f, 8)
    scope["many"](texture, *range(40))
    np.testing.assert_array_equal(texture.to_numpy(), sum(range(40)))


# --- arguments


@ti.kernel
def look(t: ti.types.texture(num_dimensions=2)) -> ti.f32:
    return t.fetch(ti.Vector([0, 0]), 0)[0]


@ti.kernel
def touch(t: ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.rgba8)):
    t.store(ti.Vector([0, 0]), ti.Vector([1.0, 1.0, 1.0, 1.0]))


def test_what_is_no_texture_is_refused_by_name(target: str) -> None:
    """Sentences of Taichi 1.7.4, with a remedy."""
    for value in (3, ti.ndarray(ti.f32, (4, 4)), np.zeros((4, 4)), None):
        with pytest.raises(ti.TaichiRuntimeTypeError, match=r"Argument t must be a texture, got .*`look`.*Hint: pass"):
            look(value)


def test_other_axes_and_formats_are_refused(target: str) -> None:
    with pytest.raises(
        ti.TaichiRuntimeTypeError, match="TextureType dimension mismatch for argument t: expected 2, got 1"
    ):
        look(ti.Texture(ti.Format.r8, 4))
    with pytest.raises(
        ti.TaichiRuntimeTypeError, match="RWTextureType dimension mismatch for argument t: expected 2, got 3"
    ):
        touch(ti.Texture(ti.Format.rgba8, (4, 4, 4)))
    with pytest.raises(
        ti.TaichiRuntimeTypeError,
        match=r"format mismatch for argument t: expected Format\.rgba8, got Format\.r32f .*annotate fmt=ti\.Format\.r32f",
    ):
        touch(ti.Texture(ti.Format.r32f, (4, 4)))


def test_a_texture_for_an_array_is_refused(target: str) -> None:
    @ti.kernel
    def fill(x: ti.types.ndarray()):
        for i in x:
            x[i] = 1

    with pytest.raises(ti.TaichiRuntimeTypeError, match="takes an array, and a Texture was given"):
        fill(ti.Texture(ti.Format.r32f, 4))


def test_a_texture_of_an_ended_session_is_refused(target: str) -> None:
    texture = ti.Texture(ti.Format.rgba8, (4, 4))
    touch(texture)
    ti.init(arch=sessions.CURRENT.arch)
    touch(ti.Texture(ti.Format.rgba8, (4, 4)))
    with pytest.raises(ti.TaichiRuntimeError, match="this texture was made before the last `ti.init"):
        touch(texture)
