"""What goes when a folder has become too big, by Taichi's policies, and what never goes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from shadesmith.runtime.config import read_config
from shadesmith.runtime.store import cleaning, store
from shadesmith.runtime.store.cleaning import clean, damage_of, entry_files, sweep
from shadesmith.runtime.store.entries import TEMPORARY
from shadesmith.runtime.store.folders import BY_TIME, Limits
from shadesmith.runtime.store.store import Store

fcntl = pytest.importorskip("fcntl")
SIZE = 10_000
HOUR = 3600.0


def fill(folder: Path, count: int, limits: Limits | None = None) -> Store:
    """Put `count` entries of one size: number k was written k hours after number 0, and used last in reversed order."""
    made = Store(folder, limits or Limits("never"))
    start = time.time() - 100 * HOUR
    for number in range(count):
        before = set(folder.glob("*"))
        made.put("binary", b"%d" % number, {"number": number}, {"a": bytes(SIZE)})
        (path,) = set(folder.glob("*.binary")) - before
        os.utime(path, (start + HOUR * (count - number), start + HOUR * number))
    return made


def numbers(found: Store, count: int) -> list[int]:
    return [k for k in range(count) if found.look("binary", b"%d" % k)[0] is not None]


@pytest.mark.parametrize(
    "policy, left",
    [("never", list(range(8))), ("version", list(range(8))), ("fifo", [2, 3, 4, 5, 6, 7]), ("lru", [0, 1, 2, 3, 4, 5])],
)
def test_the_oldest_go_by_policy(tmp_path, policy, left):
    found = fill(tmp_path, 8)
    clean(tmp_path, Limits(policy, 7 * SIZE + 5000, 0.25), lambda: found.version)
    assert numbers(found, 8) == left


@pytest.mark.parametrize("policy", BY_TIME)
def test_a_folder_that_fits_is_left_alone(tmp_path, policy):
    found = fill(tmp_path, 4)
    assert clean(tmp_path, Limits(policy, 5 * SIZE, 1.0), lambda: "") > 4 * SIZE
    assert numbers(found, 4) == [0, 1, 2, 3]


def test_more_goes_where_the_factor_does_not_do(tmp_path):
    found = fill(tmp_path, 10)
    left = clean(tmp_path, Limits("fifo", 3 * SIZE, 0.1), lambda: "")
    assert numbers(found, 10) == [8, 9] and left <= 3 * SIZE


def test_a_hit_is_a_use(tmp_path):
    found = fill(tmp_path, 4, Limits("lru", 1 << 40))
    assert found.get("binary", b"3") is not None
    clean(tmp_path, Limits("lru", 3 * SIZE, 0.25), lambda: "")
    assert 3 in numbers(found, 4)


def test_a_hit_does_not_make_an_entry_younger(tmp_path):
    found = fill(tmp_path, 4, Limits("lru", 1 << 40))
    before = {entry.key: entry.written for entry in entry_files(tmp_path)}
    found.get("binary", b"0")
    assert {entry.key: entry.written for entry in entry_files(tmp_path)} == before


def test_version_removes_texts_of_other_versions_alone(tmp_path, monkeypatch):
    fill(tmp_path, 2)
    monkeypatch.setattr(store, "source_digest", lambda shelf: "an old one")
    Store(tmp_path).put("text", b"a", {}, {})
    monkeypatch.setattr(store, "source_digest", lambda shelf: "this one")
    this = Store(tmp_path, Limits("version"))
    this.put("text", b"b", {}, {})
    assert len(list(tmp_path.glob("*.text"))) == 1 and this.look("text", b"b")[0] is not None
    assert numbers(this, 2) == [0, 1]


def test_a_store_keeps_to_its_size(tmp_path):
    limits = Limits("lru", 5 * SIZE, 0.5)
    found = Store(tmp_path, limits)
    for number in range(40):
        found.put("binary", b"%d" % number, {}, {"a": bytes(SIZE)})
        assert sum(entry.size_bytes for entry in entry_files(tmp_path)) <= limits.max_bytes
    assert found.get("binary", b"39") is not None


def test_one_process_cleans_at_a_time_and_nobody_waits(tmp_path):
    found = fill(tmp_path, 4)
    with open(tmp_path / cleaning.LOCK, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        clean(tmp_path, Limits("fifo", SIZE, 1.0), lambda: "")
        assert numbers(found, 4) == [0, 1, 2, 3]
    clean(tmp_path, Limits("fifo", SIZE, 1.0), lambda: "")
    assert numbers(found, 4) == []


def test_files_of_dead_writers_are_swept_when_they_are_old(tmp_path):
    for name, age in (("old", 2 * HOUR), ("new", 60.0)):
        path = tmp_path / f"{TEMPORARY}{name}"
        path.write_bytes(b"half")
        os.utime(path, (time.time() - age,) * 2)
    Store(tmp_path).put("binary", b"a", {}, {})
    assert [path.name for path in tmp_path.glob(f"{TEMPORARY}*")] == [f"{TEMPORARY}new"]
    assert sweep(tmp_path, 0.0) == 1


def test_files_of_others_stay(tmp_path):
    names = ["readme.txt", "a" * 64, "z" * 64 + ".text", "0" * 63 + ".text", "." + "0" * 64 + ".text"]
    for name in names:
        (tmp_path / name).write_text("mine")
        os.utime(tmp_path / name, (1, 1))
    fill(tmp_path, 2)
    clean(tmp_path, Limits("lru", 0, 1.0), lambda: "")
    assert {path.name for path in tmp_path.iterdir()} - {cleaning.LOCK} == set(names)


def test_a_folder_that_is_not_there_is_empty(tmp_path):
    assert entry_files(tmp_path / "none") == [] and sweep(tmp_path / "none") == 0


def test_damage_is_found_file_by_file(tmp_path):
    fill(tmp_path, 3)
    good, cut, swapped = entry_files(tmp_path)
    Path(cut.path).write_bytes(Path(cut.path).read_bytes()[:-1])
    Path(swapped.path).write_bytes(Path(good.path).read_bytes())
    assert [damage_of(entry) for entry in entry_files(tmp_path)] == [
        "",
        "length",
        "key: the file belongs to another entry",
    ]
    os.replace(good.path, Path(good.path).with_suffix(".text"))
    (moved,) = [entry for entry in entry_files(tmp_path) if entry.stage == "text"]
    assert damage_of(moved) == "key: it does not match the contents of the file"


@pytest.mark.parametrize(
    "option, value",
    [
        ("offline_cache_cleaning_policy", "oldest"),
        ("offline_cache_cleaning_factor", 1.5),
        ("offline_cache_cleaning_factor", -0.1),
        ("offline_cache_max_size_of_files", -1),
    ],
)
def test_a_limit_that_is_none_is_refused(option, value):
    with pytest.raises(ValueError, match=f"option `{option}` of ti.init is"):
        read_config({option: value}, {})
    with pytest.raises(ValueError, match=f"option `{option}` of ti.init is"):
        read_config({}, {f"TI_{option.upper()}": str(value)})
