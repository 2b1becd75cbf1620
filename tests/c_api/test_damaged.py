"""R11: the C loader gives one clear error for a damaged archive, within a second and 64 MiB, under two sanitizers."""

import io
import itertools
import json
import random
import zipfile

import numpy as np
import pytest
from damaged_archives import BITS, BITS_IN_FULL, HARMLESS_BITS, damaged, rebuilt, sample_members

import shadesmith as ti
from shadesmith.runtime.aot.archive import open_archive
from shadesmith.runtime.aot.container import write_container


@pytest.fixture(scope="module")
def members():
    return sample_members()


def test_whole_archives_are_taken(check, members, tmp_path):
    path = tmp_path / "deflated.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    assert [line[3] for line in check([write_container(members), path.read_bytes()])] == ["0 ", "0 "]


def test_damaged_archives_give_an_error_each(check, members, full):
    bits = BITS_IN_FULL if full else BITS
    names, archives = zip(*damaged(members, bits))
    lines = check(archives)
    taken = [name for name, line in zip(names, lines) if line[0] == 0]
    assert len(archives) >= 300
    assert all(name.startswith("bit ") for name in taken), taken
    assert len(taken) <= HARMLESS_BITS * bits
    for name, (status, size, time, error) in zip(names, lines, strict=True):
        assert status in (0, 1) and (status == 0 or (error.split()[0] in ("-2", "-10") and len(error) > 20)), (
            name,
            error,
        )
        assert size <= 64 << 10, f"{name}: {size} KiB"
        assert time <= 1000, f"{name}: {time} ms"


def test_deflated_data_may_be_damaged_anywhere(check, members, tmp_path):
    """Damage within deflated bytes reaches the inflater, since no checksum is looked at before."""
    path = tmp_path / "deflated.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    whole = path.read_bytes()
    central = whole.index(b"PK\1\2")
    random_ = random.Random(5)
    archives = []
    for _ in range(20 * BITS // 10):
        data = bytearray(whole)
        for _ in range(random_.randrange(1, 4)):
            data[random_.randrange(30, central)] ^= 1 << random_.randrange(8)
        archives.append(bytes(data))
    for archive, (status, size, time, error) in zip(archives, check(archives), strict=True):
        if status == 0:  # the bit says nothing: padding after the last code, or a distance to the same bytes
            with zipfile.ZipFile(io.BytesIO(archive)) as file:
                assert {name: file.read(name) for name in file.namelist()} == members
        else:
            assert status == 1 and error.startswith("-2"), error
        assert size <= 64 << 10 and time <= 1000


def test_any_value_of_the_manifest_may_be_anything(check, members, full: bool):
    """Whatever stands in place of a value: an error or a module, never a crash."""
    manifest = json.loads(members["module.json"])
    places = list(paths_of(manifest))
    random_ = random.Random(7)
    archives = []
    for number in range(3 * BITS if full else BITS):
        changed = json.loads(members["module.json"])
        path = random_.choice(places)
        part = changed
        for name in path[:-1]:
            part = part[name]
        values = [
            None,
            True,
            -1,
            0,
            1,
            2**31,
            2**63 - 1,
            0.5,
            "",
            "x",
            [],
            {},
            [[]],
            [None] * 5,
            {"a": 1},
            "f64",
            ["const", 1],
        ]
        part[path[-1]] = random_.choice(values)
        rebuild = number % 2 and isinstance(changed.get("members"), dict)
        text = json.dumps(changed, sort_keys=True).encode()
        archives.append(rebuilt(members, changed) if rebuild else write_container({**members, "module.json": text}))
    assert {line[0] for line in check(archives)} <= {0, 1}


@pytest.fixture(scope="module")
def texture_members():
    @ti.kernel
    def blend(
        a: ti.types.texture(num_dimensions=2),
        b: ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.r32f),
        c: ti.types.rw_texture(num_dimensions=3, fmt=ti.Format.rg16u),
    ):
        for i, j in b:
            b.store(ti.Vector([i, j]), a.sample_lod(ti.Vector([i, j]) / b.shape[0], 0.0))
            c.store(ti.Vector([i, j, 0]), ti.Vector([i, j, 0, 0], ti.u32))

    ti.init(arch=ti.cpu, log_level=ti.WARN)
    module = ti.aot.Module(ti.vulkan, caps="portable")
    module.add_kernel(blend)
    return module.members()


TEXTURE_CHANGES = {
    "binding": (lambda k: k["module"]["interface"]["textures"][1].update(binding=0), "textures[1].binding: an integer"),
    "parameter": (lambda k: k["module"]["interface"]["textures"][0].update(parameter=1), "a parameter that is such a"),
    "storage": (lambda k: k["module"]["interface"]["textures"][0].update(storage=True), "a parameter that is such a"),
    "axes": (
        lambda k: k["module"]["interface"]["textures"][1].update(ndim=3),
        "textures[1].ndim: an integer from 2",
    ),
    "element": (lambda k: k["module"]["interface"]["textures"][2].update(element="i32"), "the element type"),
    "format": (lambda k: k["module"]["interface"]["textures"][1].update(format="r32i"), "the format of its parameter"),
    "format of nothing": (lambda k: k["parameters"][1].update(format="rgb32f"), "a format that kernels store"),
    "other format": (
        lambda k: [at.update(format="rgba8") for at in (k["parameters"][1], k["module"]["interface"]["textures"][1])],
        "a texture is another than the manifest says",
    ),
    "other axes": (
        lambda k: [at.update(ndim=3) for at in (k["parameters"][0], k["module"]["interface"]["textures"][0])],
        "a texture is another than the manifest says",
    ),
    "other element": (
        lambda k: [at.update(element="u32") for at in (k["parameters"][0], k["module"]["interface"]["textures"][0])],
        "a texture is another than the manifest says",
    ),
    "one too few": (
        lambda k: k["module"]["interface"]["textures"].pop(),
        "a texture is another than the manifest says",
    ),
    "an axis": (lambda k: k["module"]["interface"]["members"][1]["source"].__setitem__(2, 2), "an axis of a texture"),
    "a constant": (lambda k: k["constants"].__setitem__(0, 3), "null, since an argument has its value"),
}


def test_textures_that_the_manifest_tells_wrong(check, texture_members):
    whole, *lines = check([write_container(texture_members), *(changed_textures(texture_members))])
    assert whole[0] == 0, whole
    for name, (status, _, _, error) in zip(TEXTURE_CHANGES, lines, strict=True):
        assert status == 1 and TEXTURE_CHANGES[name][1] in error, (name, error)


def changed_textures(members):
    for change, _ in TEXTURE_CHANGES.values():
        manifest = json.loads(members["module.json"])
        change(manifest["kernels"]["blend"])
        yield rebuilt(members, manifest)


@pytest.mark.exhaustive
def test_any_value_about_textures_may_be_anything(check, texture_members):
    manifest = json.loads(texture_members["module.json"])["kernels"]["blend"]
    places = [path for path in paths_of(manifest) if "textures" in path or path[0] == "parameters"]
    values = [None, True, -1, 0, 1, 3, 2**31, 0.5, "", "r8", "rgb16", "depth32f", [], {}, [[]], "f64", "texture_shape"]
    archives = []
    for path, value in itertools.product(places, values):
        changed = json.loads(texture_members["module.json"])
        part = changed["kernels"]["blend"]
        for name in path[:-1]:
            part = part[name]
        part[path[-1]] = value
        archives.append(rebuilt(texture_members, changed))
    assert {line[0] for line in check(archives)} <= {0, 1}


def test_words_of_shaders_with_textures_may_be_anything(check, texture_members, full: bool):
    """Those about textures above all: types of images, variables, decorations."""
    name = next(name for name in texture_members if name.endswith(".spv"))
    code = np.frombuffer(texture_members[name], np.uint32)
    starts, position = [], 5
    while position < len(code):
        if code[position] & 0xFFFF in (15, 25, 27, 32, 59, 71):
            starts += range(position, position + int(code[position] >> 16))
        position += int(code[position] >> 16)
    archives = []
    for place, word in itertools.product(starts if full else starts[::10], (0, 1, 2, 3, 34, 0xFFFFFFFF)):
        changed = code.copy()
        changed[place] = word
        archives.append(rebuilt({**texture_members, name: changed.tobytes()}))
    lines = check(archives)
    assert {line[0] for line in lines} <= {0, 1} and sum(line[0] for line in lines) > len(lines) / 2


def paths_of(value, path=()):
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield from paths_of(item, (*path, name))


def test_errors_name_the_place(check, members):
    wanted = {
        "manifest: block of 0", "manifest: version from the future", "manifest: wrong hash", "overlapping members",
        "member '../../x'", "shader: vertex stage",
    }  # fmt: skip
    names, archives = zip(*((name, data) for name, data in damaged(members, 0) if name in wanted))
    texts = dict(zip(names, (line[3] for line in check(archives))))
    assert "$.kernels.paint.module.tasks[0].block_dim: an integer from 1 to 65536" in texts["manifest: block of 0"]
    assert "version 2; this runtime reads version 1" in texts["manifest: version from the future"]
    assert "SHA-256" in texts["manifest: wrong hash"]
    assert "overlap" in texts["overlapping members"]
    assert "plain relative path" in texts["member '../../x'"]
    assert "another stage" in texts["shader: vertex stage"]


TASK = ("kernels", "paint", "module", "tasks", 0)
INTERFACE = ("kernels", "paint", "module", "interface")
BOUNDS = (
    *[((*TASK, "items"), value) for value in (0, 1, 1 << 16, (1 << 16) + 1, 2**31 - 1, 2**31, True, 1.0, None)],
    *[((*TASK, "block_dim"), value) for value in (0, 64, 1024, 1025, 65536)],
    *[((*INTERFACE, "result_size_bytes"), value) for value in (0, 1 << 20, (1 << 20) + 1, -1)],
    *[(("trees",), [{"size_bytes": size} for size in sizes])
      for sizes in ((), (0,), (1 << 40,), ((1 << 40) + 1,), (1 << 39, 1 << 39), (1 << 39, (1 << 39) + 1), (1 << 48,), (-1,),
                    (2**63 - 1,), (2**63,), (2**64,), (1.0,))],
    *[(("options", "unrolling_limit"), value) for value in (2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**29)],
)  # fmt: skip
"""Numbers of the manifest, about the limits of the loaders."""


def test_both_loaders_accept_the_same(check, members):
    """The numbers that a block and a tree may have; `shadesmith` wrote none that only one of the two accepts."""
    archives = []
    for path, value in BOUNDS:
        changed = part = json.loads(members["module.json"])
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value
        archives.append(rebuilt(members, changed))
    for (path, value), archive, (status, *_, error) in zip(BOUNDS, archives, check(archives), strict=True):
        try:
            open_archive(archive)
            accepted = True
        except ti.TaichiRuntimeError:
            accepted = False
        assert accepted == (status == 0), f"{path} = {value}: {error}"
