"""What a test run leaves out since no test looks at it: optimized machine code of lavapipe, reports of nothing.

Under `make test-all` (SHADESMITH_PLAIN_TOOLS=1) the driver optimizes, as it does for users.
"""

from __future__ import annotations

import os
import sys

import pytest
from _pytest.pathlib import import_path
from _pytest.runner import runtestprotocol

from shadesmith.runtime.workbench.measure.harness import BenchmarkHarness


def configure(config: pytest.Config) -> None:
    """Let lavapipe compile without LLVM's optimizations, unless the tools are to be as they are.

    LLVM may change no result, and half of the processor time of Vulkan tests is its own: without (`nopt`, in Mesa's list
    of environment variables) the tests of derivatives take 11.2 s in place of 15.5, those of numbers 57 in place of 70.
    A worker of pytest-xdist sends one report of a test, not three: 1 ms less for each test. No processor is launched upon
    for .1 s before times are taken, as a GPU is until its clock rate is up.
    """
    if os.environ.get("SHADESMITH_PLAIN_TOOLS", "0") in ("", "0"):
        os.environ.setdefault("GALLIVM_PERF", "nopt")
    if hasattr(config, "workerinput") and not config.getoption("xmlpath", None):  # which needs all three
        config.pluginmanager.register(FewReports(), "few-reports")
    if "cuda" not in config.getoption("--targets"):
        BenchmarkHarness.warm_up.__defaults__ = (0.0,)


def import_a_share(config: pytest.Config) -> None:
    """Import part of the files of tests before all are collected, the workers of pytest-xdist a part each.

    Half of the time of a collection in a fresh clone goes into the assertions, which pytest rewrites in each file. What it
    makes is written to disk: here each worker does it for its part, and finds those of the others there.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None or sys.dont_write_bytecode or config.args != config.getini("testpaths"):
        return
    files = sorted(config.rootpath.joinpath("tests").rglob("test_*.py"))
    for path in files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        try:
            import_path(path, mode="importlib", root=config.rootpath, consider_namespace_packages=False)
        except (Exception, pytest.skip.Exception):  # the collection of the file meets it once more, and reports it
            pass


class FewReports:
    """Lets a worker send a report of each test, not of its fixtures too: unless they fail, nothing is to be told."""

    @pytest.hookimpl
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run a test as pytest does, and pass on what is told of it."""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in runtestprotocol(item, log=False, nextitem=nextitem):
            if report.when == "call" or not report.passed:
                item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True
