"""Workers of pytest-xdist share the work on asserts, which pytest rewrites in each file of tests when it is first imported.

All workers collect all tests, at the same time: each would rewrite each file (8 s of processor time). So each rewrites
its share of the files before, and finds those of the others, as a later run finds all.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

TESTS = Path(__file__).resolve().parents[1]


def rewrite_share(config: pytest.Config) -> None:
    """Rewrite the share of this worker, if all tests are collected and bytecode may be written."""
    worker = getattr(config, "workerinput", None)
    if worker is None or sys.dont_write_bytecode or [config.rootpath / path for path in config.args] != [TESTS]:
        return
    number, state = int(worker["workerid"].removeprefix("gw")), config.stash[rewrite.assertstate_key]
    for path in sorted(TESTS.rglob("test_*.py"))[number :: worker["workercount"]]:
        folder = rewrite.get_cache_dir(path)
        rewritten = folder / f"{path.stem}{rewrite.PYC_TAIL}"
        if rewrite._read_pyc(path, rewritten, state.trace) is None and rewrite.try_makedirs(folder):
            source, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(state, code, source, rewritten)
