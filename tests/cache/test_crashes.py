"""Processes that die, many at once, and damaged disks: nothing wrong is ever read, and nothing stays locked.

Goals R8 to R10 and R12. `make test-all` runs them in full: 500 kills, 8 processes on 20 cold caches, 500 damaged
entries; otherwise a tenth of it.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.store.cleaning import LOCK, damage_of, entry_files, orphans, sweep
from shadesmith.runtime.store.store import Store

fcntl = pytest.importorskip("fcntl")
KILLS, STARTS_KILLED, PROCESSES, ROUNDS, DAMAGES = (50, 500), (3, 40), (3, 8), (1, 20), (25, 500)
"""Of a short run and of a full one."""


def run(text: str, *arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    program = folder / "program.py"
    program.write_text(text)
    words = [sys.executable, str(program), *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=550)


# --- R8: writers are killed

WRITERS = '''
import os, random, signal, sys, time, warnings
from shadesmith.runtime.store.folders import Limits
from shadesmith.runtime.store.stats import stats
from shadesmith.runtime.store.store import Store

folder, kills = sys.argv[1], int(sys.argv[2])
LIMITS = Limits("lru", 2_000_000, 0.5)
KEYS = 40

def content(number):
    """What is kept under a number, the same in every process; a hundred kilobytes at most."""
    draw = random.Random(number)
    return {"a": draw.randbytes(draw.randrange(100_000)), "b": b"%d" % number}

def write_for_ever(seed):
    draw = random.Random(seed)
    store = Store(folder, LIMITS)
    while True:
        number = draw.randrange(KEYS)
        store.put("binary", b"%d" % number, {"number": number}, content(number))

warnings.simplefilter("error")
found = 0
for kill in range(kills):
    draw = random.Random(8_000_000 + kill)
    children = []
    for writer in range(2):
        child = os.fork()
        if child == 0:
            write_for_ever(1000 * kill + writer)
        children.append(child)
    time.sleep(draw.random() * 0.02)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    reader = Store(folder)
    for number in range(KEYS):
        entry = reader.get("binary", b"%d" % number)
        if entry is not None:
            assert entry.header == {"number": number} and entry.parts == content(number)
            found += 1
reasons = {event.reason for event in stats().events if not event.hit}
assert reasons <= {"no entry"}, reasons
print(found)
'''


def test_killed_writers_leave_whole_entries_or_none(tmp_path, full):
    kills = KILLS[full]
    folder = tmp_path / "cache"
    done = run(WRITERS, folder, kills, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > kills, "most entries are found again"
    assert [damage_of(entry) for entry in entry_files(str(folder)) if damage_of(entry)] == []
    with open(folder / LOCK, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises where a dead process still holds it
    left = orphans(str(folder))
    for path in left:
        os.utime(path, (time.time() - 7200,) * 2)
    Store(folder).put("binary", b"the next", {}, {})
    assert orphans(str(folder)) == [] and sweep(str(folder)) == 0


# --- R9: whole programs are killed, and R12: many start at once on a cold cache

PROGRAM = """
import sys, time, warnings
import numpy as np
import shadesmith as ti

warnings.simplefilter("error", ti.ShadesmithWarning)
ti.init(arch=getattr(ti, sys.argv[1]), enable_fallback=False, log_level="warn", offline_cache_file_path=sys.argv[2])
while len(sys.argv) > 3 and time.time() < float(sys.argv[3]):
    time.sleep(0.001)

def make(number):
    @ti.kernel
    def paint(x: ti.types.ndarray(ti.f32, 1), factor: ti.f32) -> ti.f32:
        total = 0.0
        for i in x:
            x[i] = x[i] * factor + number
            total += x[i]
        return total
    return paint

results = []
for number in range(6):
    x = np.arange(100, dtype=np.float32)
    results.append(float(make(number)(x, 2.0)))
print(results)
"""
EXPECTED = [9900.0 + 100 * number for number in range(6)]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("SHADESMITH_OFFLINE_CACHE", raising=False)
    path = tmp_path / "paint.py"
    path.write_text(PROGRAM)
    return path


def test_killed_programs_leave_a_cache_that_is_right(program, tmp_path, full):
    folder = tmp_path / "cache"
    for start in range(STARTS_KILLED[full]):
        draw = random.Random(9_000_000 + start)
        child = subprocess.Popen(
            [sys.executable, program, "cpu", folder], stdout=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(0.3 + draw.random() * 1.2)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    done = subprocess.run([sys.executable, program, "cpu", folder], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.strip() == str(EXPECTED), done.stderr
    assert [damage_of(entry) for entry in entry_files(str(folder)) if damage_of(entry)] == []


def test_what_was_compiled_is_kept_at_once(program, tmp_path):
    folder = tmp_path / "cache"
    program.write_text(PROGRAM + "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    assert (
        subprocess.run([sys.executable, program, "cpu", folder], stdout=subprocess.DEVNULL).returncode
        == -signal.SIGKILL
    )
    program.write_text(PROGRAM + "assert ti.cache.stats().compiler_runs == {}, ti.cache.stats()\n")
    done = subprocess.run([sys.executable, program, "cpu", folder], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{EXPECTED}\n"), done.stderr


@pytest.mark.exhaustive
def test_processes_that_start_at_once_agree(program, tmp_path, full):
    processes = PROCESSES[full]
    for number in range(ROUNDS[full]):
        folder = tmp_path / f"cache {number}"
        begin = str(time.time() + (3.0 if full else 2.0))
        words = [sys.executable, program, "cpu", folder, begin]
        started = [
            subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(processes)
        ]
        said = [process.communicate(timeout=300) for process in started]
        assert [process.returncode for process in started] == [0] * processes, said
        assert said == [(f"{EXPECTED}\n", "")] * processes
        entries = entry_files(str(folder))
        assert len([entry for entry in entries if entry.stage == "binary"]) == 6
        assert [damage_of(entry) for entry in entries if damage_of(entry)] == [] and orphans(str(folder)) == []
        done = subprocess.run([sys.executable, program, "cpu", folder], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, f"{EXPECTED}\n")


# --- R10: entries are damaged


def cut(path: Path, draw: random.Random, others: list[Path]) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: draw.randrange(len(data))])


def flip(path: Path, draw: random.Random, others: list[Path]) -> None:
    data = bytearray(path.read_bytes())
    bit = draw.randrange(8 * len(data))
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def flip_head(path: Path, draw: random.Random, others: list[Path]) -> None:
    data = bytearray(path.read_bytes())
    bit = draw.randrange(8 * 84)
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def zero(path: Path, draw: random.Random, others: list[Path]) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def zero_page(path: Path, draw: random.Random, others: list[Path]) -> None:
    data = bytearray(path.read_bytes())
    begin = draw.randrange(len(data))
    data[begin : begin + 512] = bytes(len(data[begin : begin + 512]))
    path.write_bytes(data)


def lengthen(path: Path, draw: random.Random, others: list[Path]) -> None:
    path.write_bytes(path.read_bytes() + draw.randbytes(draw.randrange(1, 100)))


def swap(path: Path, draw: random.Random, others: list[Path]) -> None:
    other = draw.choice(others)
    first, second = path.read_bytes(), other.read_bytes()
    path.write_bytes(second)
    other.write_bytes(first)


def replace_by_folder(path: Path, draw: random.Random, others: list[Path]) -> None:
    path.unlink()
    path.mkdir()


def replace_by_link(path: Path, draw: random.Random, others: list[Path]) -> None:
    path.unlink()
    path.symlink_to(draw.choice([*others, Path("/dev/zero"), Path("/nowhere")]))


def replace_by_pipe(path: Path, draw: random.Random, others: list[Path]) -> None:
    path.unlink()
    os.mkfifo(path)


def forbid(path: Path, draw: random.Random, others: list[Path]) -> None:
    path.chmod(0)


def remove(path: Path, draw: random.Random, others: list[Path]) -> None:
    path.unlink()


def repeat_own_checksum(path: Path, draw: random.Random, others: list[Path]) -> None:
    """A text for a binary, with the right length and checksum: whoever writes here could run anything, but no crash."""
    import hashlib

    from shadesmith.runtime.store.entries import HEAD, unpack

    data = path.read_bytes()
    payload = bytearray(data[HEAD.size :])
    size = len(unpack(data)[2].get("spirv", b""))
    if size:
        payload[-size:] = draw.randbytes(size)
    magic, form, key, length, _ = HEAD.unpack_from(data)
    path.write_bytes(HEAD.pack(magic, form, key, length, hashlib.sha256(payload).digest()) + payload)


KINDS = [
    cut, cut, flip, flip, flip_head, zero, zero_page, lengthen, swap, replace_by_folder, replace_by_link,
    replace_by_pipe, forbid, remove, repeat_own_checksum,
]  # fmt: skip


def expect_right_results(arch: object, folder: Path) -> None:
    ti.init(arch=arch, enable_fallback=False, log_level=ti.WARN, offline_cache_file_path=str(folder))
    x = np.arange(100, dtype=np.float32)

    @ti.kernel
    def paint(x: ti.types.ndarray(ti.f32, 1), factor: ti.f32) -> ti.f32:
        total = 0.0
        for i in x:
            x[i] = x[i] * factor + 1
            total += x[i]
        return total

    assert paint(x, 2.0) == 10000.0 and x[3] == 7.0


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_damaged_entries_are_made_again(target, tmp_path, monkeypatch, full):
    if target == "python":
        pytest.skip("nothing is kept")
    from shadesmith.runtime.session import session as sessions

    arch = sessions.CURRENT.arch
    monkeypatch.delenv("SHADESMITH_OFFLINE_CACHE", raising=False)
    whole = tmp_path / "whole"
    expect_right_results(arch, whole)
    names = sorted(path.name for path in whole.iterdir() if path.name != LOCK)
    assert len(names) >= 2
    for number in range(DAMAGES[full]):
        draw = random.Random(10_000_000 + number)
        folder = tmp_path / f"case_{number}"
        shutil.copytree(whole, folder)
        folder.chmod(0o700)
        path = folder / draw.choice(names)
        kind = draw.choice(KINDS)
        kind(path, draw, [folder / name for name in names if name != path.name])
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            expect_right_results(arch, folder)
            expect_right_results(arch, folder)
        assert len(said) <= 2, (number, kind.__name__, [str(one.message) for one in said])
        if kind not in (replace_by_folder, swap) and path.suffix not in (
            ".ir",
            ".tools",
        ):  # these are read only where the text is missing, and once in a process
            assert [damage_of(entry) for entry in entry_files(str(folder)) if entry.path == str(path)] in ([], [""])
        if path.is_dir():
            path.rmdir()
        shutil.rmtree(folder)
