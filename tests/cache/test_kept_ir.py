"""The stage "ir": what the frontend made for one target serves all others, wherever the program stands by then."""

from __future__ import annotations

import importlib.util
import json
import linecache
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import compared
import corpus
import corpus_sparse
import pytest

import shadesmith as ti
from shadesmith.runtime.cache.fingerprint import fingerprint
from shadesmith.runtime.cache.ir_entries import from_entry, to_entry
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.store.stats import COUNTS, Stats
from shadesmith.runtime.store.store import Entry, Store
from shadesmith.transpiler.errors import TaichiCompilationError
from shadesmith.transpiler.frontend.builders import build as frontend
from shadesmith.transpiler.frontend.context.dependencies import is_satisfied
from shadesmith.transpiler.ir.serialize.serialize import serialize
from shadesmith.transpiler.pipeline import compile_kernel

MAKERS = list(dict.fromkeys([*corpus.MAKERS, *corpus_sparse.MAKERS, *compared.MAKERS]))
TARGETS = {"vulkan": ti.vulkan, "cuda": ti.cuda, "c": ti.cpu}


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Return what starts a session with a cache of this test's own."""
    monkeypatch.delenv("SHADESMITH_OFFLINE_CACHE", raising=False)

    def start(arch: Any, **options: Any) -> None:
        folder = str(tmp_path / "cache")
        ti.init(arch=arch, offline_cache=True, offline_cache_file_path=folder, log_level=ti.WARN, **options)

    yield start
    ti.reset()


class Counted:
    """What the cache did within a `with`."""

    def __enter__(self) -> Counted:
        self._before = COUNTS.snapshot()
        return self

    def __exit__(self, *error: object) -> None:
        self.after: Stats = COUNTS.snapshot()
        self.frontend_runs = self.after.frontend_runs - self._before.frontend_runs
        self.hits = self.after.hits.get("ir", 0) - self._before.hits.get("ir", 0)
        new = len(self.after.events) - len(self._before.events)
        self.reasons = [event.reason for event in self.after.events[-new:] if new and not event.hit]


def add_kernel() -> tuple[Any, Any]:
    x = ti.field(ti.f32, 16)

    @ti.kernel
    def add(by: ti.f32):
        for i in x:
            x[i] += by

    return add, x


# --- whole kernels --------------------------------------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_what_is_kept_gives_the_texts_of_all_targets(maker: Callable[[], Any]) -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    kernel, args = maker()
    config = sessions.current_config()
    texts = set()
    for target in corpus.LANGUAGES.get(maker.__name__, TARGETS):
        try:
            specialization = kernel.specialize(args, TARGETS[target]).specialization
            found = fingerprint(specialization, target, config)
            made = compile_kernel(specialization, target)
        except ti.TaichiSyntaxError:
            pytest.skip("a method, which is compiled with its object")
        except TaichiCompilationError:
            continue
        result = frontend.build(specialization)
        assert all(is_satisfied(need, specialization.capabilities) for need in result.required_capabilities)
        texts.add(serialize(result.kernel))
        header, parts = to_entry(result, found)
        entry = Entry(json.loads(json.dumps(header)), parts)
        stored = compile_kernel(specialization, target, None, lambda _: from_entry(entry, found))  # noqa: B023
        assert stored.module.to_json() == made.module.to_json()
        assert stored.warnings == made.warnings and stored.loops == made.loops
        assert len(stored.fields) == len(made.fields)
        for ours, theirs in zip(stored.fields, made.fields, strict=True):
            assert ours is theirs or (ours.address, ours.capacity) == (theirs.address, theirs.capacity)
        assert {path: repr(c.value) for path, c in stored.captured.items()} == {
            path: repr(c.value) for path, c in made.captured.items()
        }
    assert len(texts) == 1  # the same for all targets
    ti.reset()


# --- one frontend run for all targets -------------------------------------------------------------------------------


def test_another_target_runs_no_frontend(cached: Callable[..., None]) -> None:
    for arch, runs in ((ti.cpu, 1), (ti.vulkan, 0)):
        cached(arch)
        add, x = add_kernel()
        with Counted() as counted:
            add(2.0)
        assert (counted.frontend_runs, counted.hits) == (runs, 1 - runs)
        assert x.to_numpy().tolist() == [2.0] * 16
        assert counted.after.stored["text"] >= 1


def test_quantised_fields_are_cached(cached: Callable[..., None]) -> None:
    for arch in (ti.cpu, ti.vulkan):  # the second finds what the frontend made for the first
        cached(arch)
        quant = ti.types.quant
        whole, part = ti.field(quant.int(5)), ti.field(quant.fixed(bits=9, max_value=2.0))
        pair = [ti.field(quant.float(exp=6, frac=9)) for _ in range(2)]
        word = ti.BitpackedFields(max_num_bits=64)
        word.place(whole, part)
        word.place(*pair, shared_exponent=True)
        ti.root.dense(ti.i, 4).place(word)

        @ti.kernel
        def fill():
            for i in whole:
                whole[i] = i - 2
                part[i] = 0.5 * i
                pair[0][i] = i
                pair[1][i] = 0.25

        with Counted() as counted:
            fill()
        assert [whole[3], pair[0][3], pair[1][2]] == [1, 3, 0.25] and abs(part[2] - 1) < 0.01
    assert counted.frontend_runs == 0, counted.reasons


def test_the_text_equals_that_of_a_cold_start(cached: Callable[..., None]) -> None:
    cached(ti.cpu)
    add, _ = add_kernel()
    add(1.0)
    cached(ti.vulkan)
    add, _ = add_kernel()
    with Counted() as counted:
        add(1.0)
    stored = add.instances()[0].source
    assert counted.frontend_runs == 0, counted.reasons
    cached(ti.vulkan, offline_cache_cleaning_policy="never")
    assert add.source(1.0, arch=ti.vulkan) == stored


def test_a_changed_kernel_is_read_again(cached: Callable[..., None]) -> None:
    cached(ti.cpu)
    for factor, runs in ((2, 1), (3, 1), (2, 0)):
        x = ti.field(ti.i32, 4)

        @ti.kernel
        def scale():
            for i in x:
                x[i] = i * factor  # noqa: B023

        with Counted() as counted:
            scale()
        assert counted.frontend_runs == runs and x[3] == 3 * factor


def test_what_the_frontend_asks_of_a_target_counts(cached: Callable[..., None]) -> None:
    def block_kernel(block: int) -> Any:
        x = ti.field(ti.i32, 64)

        @ti.kernel
        def fill():
            ti.loop_config(block_dim=block)
            for i in x:
                x[i] = i

        return fill

    def limit(block: int) -> None:
        device = sessions.CURRENT.device
        device.capabilities = replace(device.capabilities, max_block_dim=block)

    cached(ti.cpu)
    block_kernel(64)()
    for block, runs in ((256, 0), (64, 0), (32, 1)):
        limit(block)
        with Counted() as counted:
            if runs:
                with pytest.raises(ti.UnsupportedError, match="at most 32 threads"):
                    block_kernel(64)()
            else:
                block_kernel(64)()
        assert (counted.frontend_runs, counted.hits) == (runs, 1 - runs or counted.hits)
    assert "it needs a target whose max_block_dim is at least 64" in counted.reasons


def test_the_frontend_looks_at_the_target_in_one_place_only() -> None:
    folder = Path(frontend.__file__).parents[1]
    texts = {path.name: path.read_text() for path in folder.rglob("*.py")}
    found = {name for name, text in texts.items() if "specialization.capabilities" in text}
    assert found == {"context.py"} and texts["context.py"].count("capabilities") == 1
    uses = [line for text in texts.values() for line in text.splitlines() if "reads.capabilities" in line]
    assert all("limit = " in line or "size = " in line or "is not available on" in line for line in uses), uses


# --- programs that move ---------------------------------------------------------------------------------------------

PROGRAM = """
import shadesmith as ti

CAREFUL = False


@ti.func
def twice(x):
    return 2 * x


@ti.kernel
def fill(x: ti.types.ndarray(dtype=ti.i32, ndim=1)):
    if CAREFUL:
        x[0] = 9
    for i in x:
        x[i] = twice(i)
        assert x[i] >= 0, "negative"
"""


def load(path: Path, lines_before: int) -> Any:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n" * lines_before + PROGRAM)
    linecache.checkcache(str(path))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.pop(path.stem, None)
    spec.loader.exec_module(module)
    return module


def test_a_kernel_that_moved_gives_the_text_of_where_it_is(cached: Callable[..., None], tmp_path: Path) -> None:
    cached(ti.cpu, debug=True)
    load(tmp_path / "a" / "moving.py", 0).fill(ti.ndarray(ti.i32, 4))
    cached(ti.vulkan, debug=True)
    module = load(tmp_path / "b" / "moving.py", 123)
    x = ti.ndarray(ti.i32, 4)
    with Counted() as counted:
        module.fill(x)
    assert (counted.frontend_runs, counted.hits) == (0, 1)
    assert x.to_numpy().tolist() == [0, 2, 4, 6]
    stored = module.fill.instances()[0].module.to_json()
    request = module.fill.specialize((x,))
    made = compile_kernel(request.specialization, request.target).module.to_json()
    assert stored == made
    assert str(tmp_path / "b") in json.dumps(stored["interface"]) and "in line 137 left out" in json.dumps(
        stored["files"]
    )


# --- entries that are none ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        lambda h, p: p.update(kernel=b"{}"),
        lambda h, p: p.update(kernel=b"\xff"),
        lambda h, p: p.clear(),
        lambda h, p: h.pop("sources"),
        lambda h, p: h.update(sources=[99]),
        lambda h, p: h.update(fields=[99]),
        lambda h, p: h.update(trees=[7], owned=[0]),
        lambda h, p: h.update(needs=[["nothing", "at least", 1]]),
        lambda h, p: h.update(captured={"x": ["none", 1]}),
        lambda h, p: h.update(warnings=[[[9, 9]]]),
    ],
    ids=range(10),
)
def test_a_damaged_entry_is_made_again_with_a_warning(damage: Any, cached: Any, monkeypatch: Any) -> None:
    cached(ti.cpu)
    add, _ = add_kernel()
    add(1.0)
    cached(ti.vulkan)
    add, x = add_kernel()
    get = Store.get

    def damaged(self: Any, stage: str, *rest: Any) -> Any:
        entry = get(self, stage, *rest)
        if stage == "ir" and entry is not None:
            damage(entry.header, entry.parts)
        return entry

    monkeypatch.setattr(Store, "get", damaged)
    with Counted() as counted, pytest.warns(ti.ShadesmithWarning, match="entry of kernel `add` in the cache cannot"):
        add(1.0)
    assert counted.frontend_runs == 1 and x[3] == 1.0
