"""R11: a damaged archive is one clear error, within a second and 64 MiB, and nothing else happens."""

import json
import time
import tracemalloc
import zipfile

import pytest
from damaged_archives import BITS, BITS_IN_FULL, HARMLESS_BITS, damaged, put, sample_members

from shadesmith.runtime.aot.archive import open_archive
from shadesmith.runtime.aot.container import ArchiveError, write_container
from shadesmith.runtime.aot.read_manifest import parse_json


@pytest.fixture(scope="module")
def members():
    return sample_members()


def test_whole_archive_is_taken(members, tmp_path):
    archive = open_archive(write_container(members))
    assert list(archive.kernels) == ["paint"]
    path = tmp_path / "deflated.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    assert list(open_archive(path).kernels) == ["paint"]


def test_damaged_archives_give_an_error_each(members, full):
    bits = BITS_IN_FULL if full else BITS
    open_archive(write_container(members))
    taken, count, worst = [], 0, (0.0, 0, "")
    tracemalloc.start()
    try:
        for what, data in damaged(members, bits):
            count += 1
            tracemalloc.reset_peak()
            before, start = tracemalloc.get_traced_memory()[0], time.process_time()
            try:
                open_archive(data)
                taken.append(what)
            except ArchiveError as error:
                assert str(error).isprintable() and len(str(error)) < 2000, what
            seconds, size = time.process_time() - start, tracemalloc.get_traced_memory()[1] - before
            worst = max(worst, (seconds, size, what))
            assert size < 64 << 20, f"{what}: {size} bytes"
    finally:
        tracemalloc.stop()
    assert count >= 300
    assert all(what.startswith("bit ") for what in taken), taken
    assert len(taken) <= HARMLESS_BITS * bits, taken
    assert worst[0] < 5, worst  # of computing: 1 s without tracemalloc, which slows tenfold


def test_errors_name_the_place(members):
    texts = {}
    for what, data in damaged(members, 0):
        try:
            open_archive(data)
        except ArchiveError as error:
            texts[what] = str(error)
    assert "$.kernels.paint.module.tasks[0].block_dim: 0 is not between" in texts["manifest: block of 0"]
    assert "version 2; version 1 is read here" in texts["manifest: version from the future"]
    assert "SHA-256" in texts["manifest: wrong hash"]
    assert "overlaps another" in texts["overlapping members"]
    assert "lead nowhere else" in texts["member '../../x'"]


def test_a_folder_is_held_to_the_manifest_too(members, tmp_path):
    for name, data in members.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert list(open_archive(tmp_path).kernels) == ["paint"]
    source = tmp_path / "kernels" / "paint" / "paint.comp"
    source.write_text(source.read_text().replace("0", "1"))
    with pytest.raises(ArchiveError, match="SHA-256"):
        open_archive(tmp_path)
    source.unlink()
    source.symlink_to("/etc/hostname")
    with pytest.raises(ArchiveError, match="a link"):
        open_archive(tmp_path)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (put("module", "interface", "arrays", 0, "element", "f64"), "has other elements"),
        (put("module", "interface", "members", 0, "source", ["result"]), "the address of an empty buffer"),
        (put("module", "interface", "members", 0, "source", ["temporaries"]), "the address of an empty buffer"),
    ],
)
def test_what_would_be_found_at_a_launch_is_found_before(members, change, text):
    data = json.loads(members["module.json"])
    change(data)
    with pytest.raises(ArchiveError, match=text):
        open_archive(write_container({**members, "module.json": json.dumps(data).encode()}))


@pytest.mark.parametrize(
    "text", [b'"' + b'\\"' * 500_000, b'"' + b'\\"' * 500_000 + b"\\", b'{"a": "' + b'"' * 999_999]
)
def test_quotes_without_an_end_are_refused_at_once(text):
    """A reader that tried each of them as the begin of a text would take hours."""
    start = time.process_time()
    with pytest.raises(ValueError):
        parse_json(text)
    assert time.process_time() - start < 5
