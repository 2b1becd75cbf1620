"""Entries on disk: what was put comes back byte for byte; whatever else lies there is a miss, reported once."""

from __future__ import annotations

import os
import random
import stat
import warnings
from pathlib import Path

import pytest

import shadesmith as ti
from shadesmith.runtime.config import read_config
from shadesmith.runtime.store import entries, folders, store
from shadesmith.runtime.store.stats import stats
from shadesmith.runtime.store.store import Store, store_of

HEADER = {"kernel": "paint", "shape": [2, 3], "factor": float("inf"), "none": None}
PARTS = {"paint.comp": b"void main() {}\n", "paint.spv": bytes(range(256)), "empty": b""}


@pytest.fixture
def disk(tmp_path: Path) -> Store:
    found = Store(tmp_path / "cache")
    found.put("text", b"paint 1", HEADER, PARTS, "paint")
    return found


def entry_path(disk: Store, stage: str = "text") -> Path:
    (path,) = Path(disk.folder).glob(f"*.{stage}")
    return path


def last_reason() -> str:
    return stats().events[-1].reason


def expect_a_miss(disk: Store, reason: str) -> None:
    with pytest.warns(ti.ShadesmithWarning, match="damaged"):
        assert disk.get("text", b"paint 1") is None
    assert reason in last_reason()
    disk.put("text", b"paint 1", HEADER, PARTS)
    assert disk.get("text", b"paint 1").parts == PARTS, "what is made again replaces the damaged file"


def test_what_was_put_comes_back(disk):
    found = disk.get("text", b"paint 1")
    assert (found.header, found.parts) == (HEADER, PARTS)
    assert list(found.header) == list(HEADER), "members keep their order"
    assert Store(disk.folder).get("text", b"paint 1") == found


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have owners elsewhere too, but not by number")
def test_a_file_of_another_user_is_a_miss(disk, monkeypatch):
    """Of a folder that was not there when it was looked at, or that a group may write to."""
    path = entry_path(disk)
    if os.geteuid() == 0:
        os.chown(path, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.warns(ti.ShadesmithWarning, match="damaged: owner"):
        assert disk.get("text", b"paint 1") is None
    assert "another user wrote it" in last_reason()


def test_another_stage_or_material_is_a_miss(disk):
    for stage, material in (("ir", b"paint 1"), ("text", b"paint 2"), ("text", b"")):
        assert disk.get(stage, material, "paint") is None
        assert last_reason() == "no entry"


def test_texts_of_other_sources_are_ignored_and_binaries_stay(disk, monkeypatch):
    disk.put("binary", b"paint 1", {}, {"spirv": b"1"})
    monkeypatch.setattr(store, "source_digest", lambda store: "another version")
    other = Store(disk.folder)
    assert other.get("text", b"paint 1") is None and last_reason() == "no entry"
    assert other.get("binary", b"paint 1").parts == {"spirv": b"1"}


def test_entries_are_the_users_alone(disk):
    assert stat.S_IMODE(Path(disk.folder).stat().st_mode) == 0o700
    assert stat.S_IMODE(entry_path(disk).stat().st_mode) == 0o600


def test_a_forged_collision_is_a_miss(disk, monkeypatch):
    monkeypatch.setattr(store, "key_of", lambda stage, version, material: b"\1" * 32)
    disk.put("text", b"first", {}, {"a": b"1"})
    with pytest.warns(ti.ShadesmithWarning, match="an entry of other material has the same key"):
        assert disk.get("text", b"second") is None
    assert disk.get("text", b"first").parts == {"a": b"1"}


@pytest.mark.parametrize("place", [0, 1, 7, 8, 12, 43, 44, 52, 83, 84, 90, 200, -1])
def test_a_cut_file_is_a_miss(disk, place):
    path = entry_path(disk)
    path.write_bytes(path.read_bytes()[:place])
    expect_a_miss(disk, "damaged: length")


def test_a_longer_file_is_a_miss(disk):
    path = entry_path(disk)
    path.write_bytes(path.read_bytes() + b"\0")
    expect_a_miss(disk, "damaged: length")


def test_every_flipped_bit_is_a_miss(disk):
    path, seen = entry_path(disk), set()
    whole = path.read_bytes()
    draw = random.Random(6_000_001)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(300):
            bit = draw.randrange(8 * len(whole))
            damaged = bytearray(whole)
            damaged[bit // 8] ^= 1 << bit % 8
            path.write_bytes(damaged)
            assert disk.get("text", b"paint 1") is None, f"bit {bit}"
            seen.add(last_reason())
    assert "damaged: checksum" in seen


def test_zeros_are_a_miss(disk):
    path = entry_path(disk)
    path.write_bytes(bytes(len(path.read_bytes())))
    expect_a_miss(disk, "no entry: it starts with other bytes")


def test_a_swapped_file_is_a_miss(disk):
    path = entry_path(disk)
    disk.put("text", b"other", {}, {"a": b"1"})
    (other,) = set(Path(disk.folder).glob("*.text")) - {path}
    os.replace(other, path)
    expect_a_miss(disk, "damaged: key")


def test_a_future_format_is_a_miss(disk):
    path = entry_path(disk)
    data = bytearray(path.read_bytes())
    data[8] += 1
    path.write_bytes(data)
    expect_a_miss(disk, "damaged: format 2, not 1")


@pytest.mark.parametrize("said", [b"", b"[]", b"{}", b"\xff", b'{"stage":1}', b"[" * 100_000])
def test_a_forged_summary_is_a_miss(disk, said):
    path = entry_path(disk)
    key = bytes.fromhex(path.name[:64])
    payload = entries.SUMMARY_LENGTH.pack(len(said)) + said
    digest = entries.hashlib.sha256(payload).digest()
    path.write_bytes(entries.HEAD.pack(entries.MAGIC, entries.FORMAT, key, len(payload), digest) + payload)
    expect_a_miss(disk, "damaged: summary")


def test_a_link_is_a_miss(disk, tmp_path):
    path = entry_path(disk)
    os.replace(path, tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    expect_a_miss(disk, "damaged:")


def test_a_pipe_does_not_block(disk):
    path = entry_path(disk)
    path.unlink()
    os.mkfifo(path)
    expect_a_miss(disk, "damaged: not a file")


def test_a_directory_in_its_place_is_a_miss(disk):
    path = entry_path(disk)
    path.unlink()
    path.mkdir()
    with pytest.warns(ti.ShadesmithWarning) as warned:
        assert disk.get("text", b"paint 1") is None
        disk.put("text", b"paint 1", {}, {})
        assert disk.get("text", b"paint 1") is None
    assert len(warned) == 2 and "cannot be cached" in str(warned[1].message)
    assert not list(Path(disk.folder).glob(f"{entries.TEMPORARY}*"))


def test_damage_is_reported_once(disk):
    entry_path(disk).write_bytes(b"")
    with pytest.warns(ti.ShadesmithWarning, match="Hint: `shadesmith cache verify`") as warned:
        disk.get("text", b"paint 1")
        disk.get("text", b"paint 1")
    assert len(warned) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission_is_a_miss(disk):
    entry_path(disk).chmod(0)
    expect_a_miss(disk, "damaged: Permission denied")


def refuse(error: int):
    def fail(*args, **kwargs):
        raise OSError(error, os.strerror(error))

    return fail


@pytest.mark.parametrize("error", [28, 5, 30, 122, 13])  # ENOSPC, EIO, EROFS, EDQUOT, EACCES
@pytest.mark.parametrize("call", ["urandom", "replace"])
def test_a_disk_that_refuses_to_write_is_one_warning(disk, monkeypatch, call, error):
    monkeypatch.setattr(store.os, call, refuse(error))
    with pytest.warns(ti.ShadesmithWarning, match=f"cannot be cached in .*{os.strerror(error)}") as warned:
        disk.put("text", b"new", {}, {})
        disk.put("text", b"newer", {}, {})
    monkeypatch.undo()
    assert len(warned) == 1 and disk.get("text", b"new") is None
    assert not list(Path(disk.folder).glob(f"{entries.TEMPORARY}*"))


def test_a_disk_that_cannot_be_read_is_a_miss(disk, monkeypatch):
    monkeypatch.setattr(store.os, "fstat", refuse(5))
    with pytest.warns(ti.ShadesmithWarning):
        assert disk.get("text", b"paint 1") is None
    monkeypatch.undo()
    assert last_reason() == "damaged: Input/output error" and disk.get("text", b"paint 1") is not None


def test_a_folder_that_vanished_is_made_again(disk):
    for path in Path(disk.folder).iterdir():
        path.unlink()
    Path(disk.folder).rmdir()
    assert disk.get("text", b"paint 1") is None
    disk.put("text", b"paint 1", HEADER, PARTS)
    assert disk.get("text", b"paint 1") is not None


def test_an_interrupted_write_leaves_nothing(disk, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(store.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        disk.put("text", b"new", {}, {})
    assert not list(Path(disk.folder).glob(f"{entries.TEMPORARY}*"))


def config(**options):
    return read_config(options, {})[0]


def test_no_cache_where_none_is_wanted(tmp_path):
    assert store_of(config(offline_cache=False, offline_cache_file_path=str(tmp_path))) is None


def test_one_store_a_folder(tmp_path):
    one = store_of(config(offline_cache_file_path=str(tmp_path)))
    assert one.folder == str(tmp_path) and store_of(config(offline_cache_file_path=str(tmp_path))) is one
    assert store_of(config(offline_cache_file_path=str(tmp_path), offline_cache_cleaning_policy="fifo")) is not one


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root changes groups")
def test_a_folder_of_a_group_is_refused_unless_it_is_its_users_own(tmp_path):
    tmp_path.chmod(0o775)
    assert store_of(config(offline_cache_file_path=str(tmp_path / "."))) is not None, "root's own group"
    other = tmp_path / "other"
    other.mkdir()
    os.chown(other, -1, 12345)
    other.chmod(0o775)
    with pytest.warns(ti.ShadesmithWarning, match="other users of its group may write"):
        assert store_of(config(offline_cache_file_path=str(other))) is None


def test_a_folder_open_to_all_is_refused_once(tmp_path):
    tmp_path.chmod(0o777)
    with pytest.warns(ti.ShadesmithWarning, match="everybody may write.*Hint") as warned:
        assert store_of(config(offline_cache_file_path=str(tmp_path))) is None
        assert store_of(config(offline_cache_file_path=str(tmp_path))) is None
    assert len(warned) == 1


def test_a_foreign_folder_is_refused(tmp_path, monkeypatch):
    if os.geteuid() == 0:
        os.chown(tmp_path, 12345, -1)
    else:
        monkeypatch.setattr(folders, "ROOT", -1)
        monkeypatch.setattr(folders.os, "geteuid", lambda: -2)
    with pytest.warns(ti.ShadesmithWarning, match="belongs to another user"):
        assert store_of(config(offline_cache_file_path=str(tmp_path))) is None


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.warns(ti.ShadesmithWarning, match="it is not a folder"):
        assert store_of(config(offline_cache_file_path=str(tmp_path / "file"))) is None


def test_the_folder_follows_option_variable_and_user(monkeypatch):
    monkeypatch.setenv("SHADESMITH_CACHE_DIR", "/from/variable")
    assert folders.folder_of("/from/option") == "/from/option"
    assert folders.folder_of() == "/from/variable"
    monkeypatch.delenv("SHADESMITH_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/home/x/cache")
    if os.name == "posix" and os.uname().sysname == "Linux":
        assert folders.folder_of() == "/home/x/cache/shadesmith/kernels"
        platformdirs = pytest.importorskip("platformdirs")
        assert folders.folder_of() == str(platformdirs.user_cache_path("shadesmith") / "kernels")
