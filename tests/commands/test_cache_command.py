"""`shadesmith cache`: ls, info, clean and verify."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from shadesmith.runtime.store import store
from shadesmith.runtime.store.entries import TEMPORARY
from shadesmith.runtime.store.store import Store


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a text of this version, one of another, and a binary."""
    found = tmp_path / "cache"
    monkeypatch.setenv("SHADESMITH_CACHE_DIR", str(found))
    with monkeypatch.context() as other:
        other.setattr(store, "source_digest", lambda shelf: "another version")
        Store(found).put("text", b"old", {}, {"a": b"1"}, "julia")
    kept = Store(found)
    kept.put("text", b"new", {}, {"a": b"1"}, "paint")
    kept.put("binary", b"new", {}, {"spirv": bytes(1000)}, "paint.comp")
    return found


def keys(folder: Path) -> list[str]:
    return sorted(path.suffix for path in folder.iterdir() if path.suffix in (".text", ".binary"))


def test_ls_says_whose_each_entry_is(command, folder):
    said = command("cache", "ls")
    assert said.status == 0
    rows = {tuple(line.split())[:2]: line for line in said.text.splitlines()[1:]}
    assert (
        "another" in rows["text", "julia"] and "this" in rows["text", "paint"] and "any" in rows["binary", "paint.comp"]
    )
    data = command("cache", "ls", "--json").data
    assert data["folder"] == str(folder)
    assert {entry["of"] for entry in data["entries"]} >= {"julia", "paint", "paint.comp"}


def test_an_empty_cache_is_no_error(command, tmp_path, monkeypatch):
    monkeypatch.setenv("SHADESMITH_CACHE_DIR", str(tmp_path / "none"))
    for action in ("ls", "info", "clean", "verify"):
        assert command("cache", action).status == 0
    assert "shadesmith: the cache in" in command("cache", "ls").notes
    assert not (tmp_path / "none").exists()


def test_info_says_where_and_how_much(command, folder):
    said = command("cache", "info")
    assert said.status == 0 and f"folder: {folder}" in said.text and "policy lru, factor 0.25" in said.text
    data = command("cache", "info", "--json").data
    assert data["entries"]["text"] == 2 and data["entries"]["binary"] == 1 and data["bytes"]["binary"] > 1000


def test_clean_removes_all_entries_and_nothing_else(command, folder):
    (folder / "notes.txt").write_text("mine")
    (folder / f"{TEMPORARY}x").write_text("half")
    said = command("cache", "clean")
    assert said.status == 0 and "entries removed" in said.text
    assert keys(folder) == [] and (folder / "notes.txt").exists() and not (folder / f"{TEMPORARY}x").exists()


def test_clean_old_removes_what_other_versions_left(command, folder):
    assert command("cache", "clean", "--old", "--json").data["removed"] == 1
    assert keys(folder) == [".binary", ".text"]
    assert Store(folder).get("text", b"new") is not None


def test_clean_to_a_size_removes_what_was_not_used_for_long(command, folder):
    (binary,) = folder.glob("*.binary")
    size = sum(path.stat().st_size for path in folder.iterdir())
    os.utime(binary, (time.time() - 5000, time.time() - 5000))
    command("cache", "clean", "--max-size", size - 1)
    assert keys(folder) == [".text", ".text"]


def test_verify_names_what_is_damaged_and_why(command, folder):
    assert command("cache", "verify").status == 0
    (binary,) = folder.glob("*.binary")
    binary.write_bytes(binary.read_bytes()[:-1])
    said = command("cache", "verify")
    assert said.status == 1 and f"{binary}: length" in said.text
    (row,) = command("cache", "verify", "--json").data["damaged"]
    assert row == {"path": str(binary), "reason": "length", "removed": False}
    assert command("cache", "ls").status == 0
    assert command("cache", "verify", "--remove").status == 0 and not binary.exists()
    assert command("cache", "verify").status == 0
    binary.mkdir()
    assert "not a file (removed)" in command("cache", "verify", "--remove").text
    (binary / "mine").mkdir(parents=True)
    assert command("cache", "verify", "--remove").status == 1 and (binary / "mine").exists()


def test_a_folder_that_others_write_to_is_refused(command, folder):
    folder.chmod(0o777)
    said = command("cache", "clean")
    assert said.status == 2 and "everybody may write" in said.notes and "Hint" in said.notes
    assert keys(folder) == [".binary", ".text", ".text"]


def test_a_wrong_folder_is_named(command, tmp_path):
    said = command("cache", "ls", "--folder", tmp_path / "none")
    assert said.status == 2 and f"there is no folder {tmp_path / 'none'}" in said.notes
    assert command("cache", "empty").status == 2
