"""Fixtures of all tests: the targets a kernel is run on, and the options of the test run."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hasty
import pytest
import resident_gcc
import resident_glslang
import samples
from cache_checks import compare_compilations
from missing_tools import MissingTools

import shadesmith as ti
from shadesmith.runtime.cache import compiler, ir_entries, lookup
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.workbench.measure.process import runners
from shadesmith.transpiler.frontend.builders.build import build
from shadesmith.transpiler.ir.serialize.serialize import serialize

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts jobs in the background; children inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

MISSING = pytest.StashKey[MissingTools]()
ARCHES = {"cpu": "cpu", "vulkan": "vulkan", "cuda": "cuda", "python": "python"}

COLLECTIONS = (20_000, 20, 50)
"""New objects before a collection, and collections before one of older objects (Python's own: 700, 10, 10)."""


def pytest_configure(config: pytest.Config) -> None:
    """SHADESMITH_COLLECT=FOLDER keeps every text the run emits; `python tests/support/emitted.py FOLDER` then checks them.

    `--debug-kernels` is for false alarms: all kernels are checked, and each pass is verified.
    """
    keep_out_of_the_users_cache(config)
    os.environ.setdefault("GOMP_SPINCOUNT", "300")  # the workers share the cores, which threads that spin would occupy
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # more would spin for half of the time that `import numpy` takes
    config.pluginmanager.register(samples, "samples")
    hasty.configure(config)
    config.stash[MISSING] = MissingTools()
    if config.getoption("--debug-kernels"):
        os.environ["SHADESMITH_DEBUG"] = "1"
    if config.getoption("--emulated-cuda"):
        from emulated.device import LACKS, install

        install()
        config.stash[MISSING].reasons[LACKS] = "needs a GPU"
    if os.environ.get("SHADESMITH_COLLECT"):
        os.environ["SHADESMITH_DUMP_DIR"] = os.path.abspath(os.environ["SHADESMITH_COLLECT"])


def keep_out_of_the_users_cache(config: pytest.Config) -> None:
    """Give the run, with its workers and the programs it starts, a cache folder of its own.

    No source is cached there unless a test asks for it, so that every test sees its kernels compiled by us. What
    compilers make of a source is cached, in a folder that outlives the run: the key of a binary holds the source, the
    flags and which compiler it is, and a damaged one is compiled again. `--offline-cache` lets all tests cache kernels:
    names of kernels occur again and again in them, and so a wrong key is seen.
    """
    is_worker = hasattr(
        config, "workerinput"
    )  # of pytest-xdist: the environment is that of the process that started it
    if config.getoption("--check-cache"):
        check_what_is_found()
    elif not config.getoption("--offline-cache"):
        os.environ["SHADESMITH_OFFLINE_CACHE"] = "0"
        if not is_worker:
            keep_binaries(config)
    if is_worker:
        return
    stored = os.environ.get("SHADESMITH_KEEP_CACHE")  # a folder that outlives the run, for a second one
    if stored is None:
        folder = tempfile.TemporaryDirectory(prefix="shadesmith-cache-")
        config.add_cleanup(folder.cleanup)
        stored = folder.name
    os.environ["SHADESMITH_CACHE_DIR"] = stored


def keep_binaries(config: pytest.Config) -> None:
    """Compile each distinct source once, by tools that stay in memory where that is possible.

    SHADESMITH_BINARIES_DIR: names the folder, or is empty for compilations of everything.
    """
    run = tempfile.TemporaryDirectory(prefix="shadesmith-run-")
    config.add_cleanup(run.cleanup)
    cache = getattr(config, "cache", None)  # lacking under `-p no:cacheprovider`
    stored = Path(run.name) if cache is None else cache.mkdir("shadesmith")
    os.environ.setdefault("SHADESMITH_BINARIES_DIR", str(stored / "binaries"))
    os.environ.setdefault("SHADESMITH_EARLY_GLSLANG", "0")  # tests of it ask for it: others would start tools in vain
    for tool in (resident_gcc, resident_glslang):
        stop = tool.start(stored, Path(run.name))
        if stop is not None:
            config.add_cleanup(stop)


def check_what_is_found() -> None:
    """Let every text that the cache gives be compared with what the compiler makes at that moment."""
    find = lookup._find

    def checked(store, found, name):
        stored = find(store, found, name)
        if stored is not None:
            compare_compilations(stored, compiler.compile_source(COMPILED[-1]))
        return stored

    def remembered(specialization, config, observer=None, is_cacheable=True):
        COMPILED.append(specialization)
        try:
            return find_or_compile(specialization, config, observer, is_cacheable)
        finally:
            COMPILED.pop()

    find_or_compile = compiler.find_or_compile
    lookup._find = checked
    check_cached_frontend()
    compiler.find_or_compile = remembered


def check_cached_frontend() -> None:
    """Let every kernel of the stage "ir" be compared with what the frontend makes at that moment."""
    find = ir_entries.CachingFrontend._find

    def checked(self, specialization):
        stored = find(self, specialization)
        if stored is not None:
            made = build(specialization)
            assert serialize(stored.kernel) == serialize(made.kernel)
            assert stored.warnings == made.warnings and stored.trees == made.trees
            assert len(stored.fields) == len(made.fields)
            assert all(mine is other for mine, other in zip(stored.fields, made.fields, strict=True))
        return stored

    ir_entries.CachingFrontend._find = checked


COMPILED: list = []
"""Specializations that are being looked for."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--targets", default="cpu,vulkan,python", help="comma-separated: cpu, vulkan, cuda, python")
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files from what is emitted now")
    parser.addoption("--offline-cache", action="store_true", help="let tests keep and find kernels in one folder")
    parser.addoption("--check-cache", action="store_true", help="compare all that the cache gives with a compilation")
    parser.addoption("--emulated-cuda", action="store_true", help="with `--targets cuda`: run CUDA C on the host")
    parser.addoption("--debug-kernels", action="store_true", help="let every ti.init mean debug=True, unless it says")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "target" in metafunc.fixturenames:
        names = [name for name in metafunc.config.getoption("--targets").split(",") if name]
        metafunc.parametrize("target", names, indirect=True)


@pytest.fixture(autouse=True)
def edits_run_in_this_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `compare`, `bench` and `tune` start no process, unless the test is about that: `@pytest.mark.isolated`."""
    if request.node.get_closest_marker("isolated") is None:
        monkeypatch.setattr(runners, "ALWAYS_IN_PROCESS", True)


@pytest.fixture(autouse=True, scope="module")
def gcc_takes_no_longer_than_a_test_needs(request: pytest.FixtureRequest) -> None:
    """Compile kernels with less optimization in files of tests that are not about it."""
    hasty.lower_effort_of_gcc(request.path)


@pytest.fixture(autouse=True, scope="module")
def nothing_is_left_by_other_files() -> Iterator[None]:
    """End the session with the file of tests that began it, so that the order of files means nothing."""
    yield
    ti.reset()


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.exhaustive)], ids=["short", "full"])
def full(request: pytest.FixtureRequest) -> bool:
    """Whether a test runs at full length (many seeds, kills, steps), as it does under `make test-all` only."""
    return bool(request.param)


@pytest.fixture
def own_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `ti.init` keep kernels in the folder that the test names; other tests keep none."""
    monkeypatch.delenv("SHADESMITH_OFFLINE_CACHE", raising=False)
    monkeypatch.delenv("SHADESMITH_BINARIES_DIR", raising=False)


@pytest.fixture
def target(request: pytest.FixtureRequest):
    """A session on each target in turn; the value is its name. Under SHADESMITH_VALIDATION=1 any message is a failure."""
    name = request.param
    ti.init(arch=getattr(ti, ARCHES[name]), enable_fallback=False, log_level=ti.WARN)
    messages = getattr(sessions.CURRENT.device, "messages", [])
    yield name
    ti.reset()
    assert messages == []


@pytest.hookimpl(tryfirst=True)  # before `-m` is looked at
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    targets = config.getoption("--targets").split(",")
    for item in items:
        has_gpu = "cuda" in targets and not config.getoption("--emulated-cuda")
        if item.get_closest_marker("gpu") and not has_gpu:
            item.add_marker(pytest.mark.skip(reason="needs a GPU: make test-gpu"))
    if "not exhaustive" in config.option.markexpr:  # pytest would sort them first: half of all items
        exhaustive = [item for item in items if item.get_closest_marker("exhaustive") is not None]
        config.hook.pytest_deselected(items=exhaustive)
        left_out = set(exhaustive)
        items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Skip a test that met a tool or a driver that this machine has not."""
    report = yield
    if report.failed:
        item.config.stash[MISSING].skip(report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say under `--check-cache` what the cache did, and why kernels were not cached."""
    if config.getoption("--check-cache"):
        terminalreporter.write_line(str(ti.cache.stats()))
        for event in ti.cache.stats().events:
            if not event.hit and event.reason.startswith("not cached"):
                terminalreporter.write_line(str(event))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[object]:
    """Let the garbage collector pass over the collected tests: they stay, and each collection would visit them all.

    It also starts less often: 21 full collections took 5.1 of 53 s in 1,286 tests, those of syntax trees among them.
    """
    gc.disable()
    try:
        hasty.import_a_share(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*COLLECTIONS)
        gc.enable()
