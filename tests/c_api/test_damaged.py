"""R11: the C loader gives one clear error for a damaged archive, within a second and 64 MiB, under two sanitizers."""

import io
import json
import random
import subprocess
import zipfile
from pathlib import Path

import pytest
from c_api import binding
from damaged_archives import BITS, HARMLESS_BITS, damaged, rebuilt, sample_members

from shadesmith.runtime.aot.container import write_container

HERE = Path(__file__).parent
SANITIZERS = ("-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
BATCH = 200


@pytest.fixture(scope="module")
def members():
    return sample_members()


@pytest.fixture(scope="module", params=["plain", "sanitized"])
def check(request, tmp_path_factory):
    """A function that lets the C loader check archives: (exit status, KiB, ms, error) each."""
    if binding.compiler("gcc") is None:
        pytest.skip("needs gcc")
    folder = tmp_path_factory.mktemp("check")
    flags = SANITIZERS if request.param == "sanitized" else ("-O1",)
    sources = (str(HERE / "programs" / "check.c"), str(binding.FOLDER / "shadesmith.c"))
    program = binding.compile_c(folder / "check", *flags, *sources)

    def check(archives):
        found = []
        for begin in range(0, len(archives), BATCH):
            paths = [folder / f"{number}.tcm" for number in range(len(archives[begin : begin + BATCH]))]
            for path, data in zip(paths, archives[begin : begin + BATCH]):
                path.write_bytes(data)
            done = subprocess.run([str(program), *map(str, paths)], capture_output=True, timeout=300)
            assert done.stderr == b"", done.stderr.decode()[:4000]
            for line in done.stdout.decode().splitlines():
                error, status, size, time = line.rsplit("\t", 3)
                found.append((int(status), int(size), int(time), error))
        assert len(found) == len(archives)
        return found

    return check


def test_whole_archives_are_taken(check, members, tmp_path):
    path = tmp_path / "deflated.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    assert [line[3] for line in check([write_container(members), path.read_bytes()])] == ["0 ", "0 "]


def test_damaged_archives_give_an_error_each(check, members):
    names, archives = zip(*damaged(members, BITS))
    lines = check(archives)
    taken = [name for name, line in zip(names, lines) if line[0] == 0]
    assert len(archives) >= 300
    assert all(name.startswith("bit ") for name in taken), taken
    assert len(taken) <= HARMLESS_BITS * BITS
    for name, (status, size, time, error) in zip(names, lines):
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
    for archive, (status, size, time, error) in zip(archives, check(archives)):
        if status == 0:  # the bit says nothing: padding after the last code, or a distance to the same bytes
            with zipfile.ZipFile(io.BytesIO(archive)) as file:
                assert {name: file.read(name) for name in file.namelist()} == members
        else:
            assert status == 1 and error.startswith("-2"), error
        assert size <= 64 << 10 and time <= 1000


def test_any_value_of_the_manifest_may_be_anything(check, members):
    """Whatever stands in place of a value: an error or a module, never a crash."""
    manifest = json.loads(members["module.json"])
    places = list(paths_of(manifest))
    random_ = random.Random(7)
    archives = []
    for number in range(3 * BITS):
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
    assert "$.kernels.paint.module.tasks[0].block_dim: a whole number from 1 to 1024" in texts["manifest: block of 0"]
    assert "version 2; this runtime reads version 1" in texts["manifest: version from the future"]
    assert "SHA-256" in texts["manifest: wrong hash"]
    assert "overlap" in texts["overlapping members"]
    assert "plain relative path" in texts["member '../../x'"]
    assert "another stage" in texts["shader: vertex stage"]
