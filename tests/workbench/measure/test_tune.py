"""`kernel.tune`: settings are checked, compared, timed; the winner is kept and used."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import written_programs

import shadesmith as ti
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.workbench.edits.stored_tunings import (
    StoredTuning,
    distance,
    read_entries,
    shape_class,
    winner,
    write_entry,
)
from shadesmith.runtime.workbench.edits.tuning_parameters import find_tuning_parameters
from shadesmith.runtime.workbench.measure.tune import climb
from shadesmith.runtime.workbench.measure.tuning_results import Trial
from shadesmith.transpiler.errors import (
    ShadesmithWarning,
    TaichiCompilationError,
    TaichiRuntimeError,
    TaichiSyntaxError,
)

pytestmark = pytest.mark.targets("cpu", "vulkan", "cuda")  # the interpreter runs no text

WORK = """
    @ti.kernel
    def work(x: ti.types.ndarray(ti.f32, 1), turns: ti.i32):
        for i in x:
            s = x[i]
            for j in range(turns):
                s = ti.sqrt(s + j)
            x[i] = s
"""
SIZE = 2000
EXTRA = "#define EXTRA 8  // @tune EXTRA = 0 | 8 | 12 | oops\n"
"""Turns of a loop that changes nothing: fewer are faster, and every compiler keeps them."""


@pytest.fixture(autouse=True)
def compiled(target: str) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no text")


@pytest.fixture
def work(tmp_path: Path):
    return written_programs.write(tmp_path / "p.py", WORK).work


def ones(size: int = SIZE) -> ti.ScalarNdarray:
    x = ti.ndarray(ti.f32, size)
    x.fill(1.0)
    return x


def with_extra(work, x, line: str = EXTRA) -> Path:
    """Edit the text so that it does its work (1 + EXTRA) times."""
    path = work.edit(x, 100)
    text = path.read_text()
    changed = text.replace("float s = x(i);", "float s = x(i) + 0.0f;\n    for (int e = 0; e < EXTRA; e++) {\n"
                           "        float q = s;\n        for (int k = 0; k < args.turns; k++) q = sqrt(q + float(k));\n"
                           "        if (q == -1.0f) s = q;\n    }")  # fmt: skip
    if sessions.CURRENT.device.name == "c":
        changed = changed.replace("float(k)", "(float)k").replace("sqrt(q", "sqrtf(q")
    assert changed != text
    path.write_text(defined(line, changed))
    return path


def defined(lines: str, text: str) -> str:
    """Return the text with lines above its declarations."""
    mark = "\nlayout(" if "\nlayout(" in text else "\nstruct Args"
    return text.replace(mark, f"\n{lines}{mark[1:]}", 1)


def test_the_fastest_right_setting_wins_and_is_used(work, target: str) -> None:
    x = ones()
    with_extra(work, x)
    found = work.tune(x, 100, seconds=20.0)
    status = {trial.label: trial.status for trial in found.trials}
    assert status == {"EXTRA=0": "timed", "EXTRA=8": "timed", "EXTRA=12": "timed", "EXTRA=oops": "refused"}
    assert found.values == {"EXTRA": "0"} and found.final["EXTRA=0"].verdict == "faster"
    assert (x.to_numpy() == 1).all(), "copies were timed"
    work(x, 100)
    assert work.last_launch.variant == "edit" and work.last_launch.knobs == {"EXTRA": "0"}
    shown = next(line for line in work.compile(x, 100).source().splitlines() if "#define EXTRA" in line)
    assert shown.startswith("#define EXTRA 0  // tuned: 8 -> 0, ") and shown.endswith(
        "// @tune EXTRA = 0 | 8 | 12 | oops"
    )
    assert "EXTRA=0 wins: faster" in str(found) and "refused: " in str(found)


@pytest.mark.one_target
def test_a_wrong_setting_is_not_timed(work, target: str) -> None:
    x = ones()
    path = work.edit(x, 100)
    text = path.read_text()
    parameter = "// @tune LESS = 0 | 50\n#define LESS 0\n"
    path.write_text(defined(parameter, text.replace("args.turns", "(args.turns - LESS)")))
    found = work.tune(x, 100, seconds=0.2)
    (wrong,) = [trial for trial in found.trials if trial.status == "wrong"]
    assert wrong.label == "LESS=50" and wrong.reason.startswith("x[0]: ")
    assert found.best is None and found.values == {"LESS": "0"}
    assert str(found).splitlines()[-1] == "no setting is faster than the source as written, which stays"
    work(x, 100)
    assert work.last_launch.knobs == {}


@pytest.mark.one_target
def test_a_text_that_is_wrong_as_written_is_not_tuned(work, target: str) -> None:
    x = ones()
    path = with_extra(work, x, EXTRA)
    written_programs.replaced(path, "x(i) = s;", "x(i) = s + 1.0f;")
    with pytest.raises(TaichiRuntimeError, match=r"`edit` of kernel `work` does not compute .*x\[0\]"):
        work.tune(x, 100)


@pytest.mark.exhaustive
@pytest.mark.one_target
def test_a_search_goes_on_where_it_was_stopped(work, target: str) -> None:
    x = ones()
    path = with_extra(work, x, "#define EXTRA 1  // @tune EXTRA = 1 | 2 | 3\n")

    def stop(label: str, number: int, total: int) -> None:
        assert total == 3
        if label == "EXTRA=3":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work.tune(x, 100, progress=stop)
    asked: list[str] = []
    found = work.tune(x, 100, seconds=0.2, progress=lambda label, number, total: asked.append(label))
    assert asked == ["EXTRA=3"] and found.resumed == 2
    assert work.tune(x, 100, seconds=0.2).resumed == 3
    assert work.tune(x, 100, seconds=0.2, restart=True).resumed == 0
    written_programs.replaced(path, "q == -1.0f", "q == -2.0f")
    assert work.tune(x, 100, seconds=0.2).resumed == 0, "another text, other times"


@pytest.mark.exhaustive
def test_many_settings_are_searched_one_parameter_after_the_other(work, target: str) -> None:
    x = ones()
    lines = "// @tune EXTRA = 0 | 1 | 2 | 4\n#define EXTRA 4\n"
    lines += "".join(f"#define UNUSED_{k} 0  // @tune UNUSED_{k} = 0 | 1 | 2\n" for k in range(4))
    with_extra(work, x, lines)
    found = work.tune(x, 100, limit=3, seconds=0.2)
    assert [trial.label for trial in found.trials] == [
        f"EXTRA={n}, UNUSED_0=0, UNUSED_1=0, UNUSED_2=0, UNUSED_3=0" for n in (0, 1, 2)
    ]


def test_a_search_climbs_to_the_best_setting() -> None:
    """Times are made up: a product of two factors, and one setting that is refused."""
    text = "".join(f"#define {name} 1  // @tune {name} = 1 | 2 | 4 | 8\n" for name in "ABC")
    spaces = {"k.cu": find_tuning_parameters(text, "k.cu")}
    tried = []

    def time(setting):
        a, b, c = (int(value) for value in setting["k.cu"].values())
        ratio = (abs(a - 4) + 1) * (abs(b - 2) + 1) / 8
        tried.append((a, b, c))
        status = "refused" if (a, b) == (2, 1) else "timed"
        return Trial(setting, status, "", ratio, ratio, (ratio * 0.99, ratio * 1.01))

    climb(spaces, 100, time)
    assert min(tried, key=lambda t: (abs(t[0] - 4) + 1) * (abs(t[1] - 2) + 1)) == (4, 2, 1)
    assert len(tried) == len(set(tried)) < 40, "of 64"
    tried.clear()
    climb(spaces, 5, time)
    assert len(tried) == 5


@pytest.mark.exhaustive
@pytest.mark.one_target
def test_each_class_of_shapes_has_its_winner(work, target: str) -> None:
    x, large = ones(), ones(8 * SIZE)
    with_extra(work, x)
    work.tune(x, 100, seconds=20.0)
    (entry,) = read_entries(work.variants(x, 100).slot)
    assert entry.shapes == "x 2^11" and entry.best
    work(large, 1)
    assert work.last_launch.knobs == {"EXTRA": "0"}, "the nearest that is known"
    slot = work.variants(x, 100).slot
    write_entry(slot, StoredTuning(entry.device, "x 2^14", "edit", entry.text, None, 1.0, entry.trials))
    ti.init(arch=sessions.CURRENT.arch, log_level=ti.WARN)
    work(ones(8 * SIZE), 1)
    assert work.last_launch.knobs == {}
    assert winner(slot, "another GPU", "x 2^11", "edit") is None


@pytest.mark.exhaustive
@pytest.mark.one_target
def test_the_tuned_text_is_benched_and_compared_beside_the_others(work, target: str) -> None:
    x = ones()
    with_extra(work, x)
    tuned = work.tune(x, 100, seconds=20.0)
    assert tuned.best is not None, str(tuned)
    timing = work.bench(x, 100, seconds=0.5)
    assert [row.name for row in timing.rows] == ["generated", "edit", "tuned"]
    assert timing["edit"].verdict == "slower"


@pytest.mark.one_target
def test_what_is_stored_may_go_out_of_date(work, target: str) -> None:
    x = ones()
    path = with_extra(work, x)
    work.tune(x, 100, seconds=20.0)
    written_programs.replaced(path, "= 0 | 8 | 12 | oops", "= 1 | 2")
    with pytest.warns(ShadesmithWarning, match=r"tuned.json:1: EXTRA=0 in work\.\w+ is no longer among the values"):
        work(x, 1)
    assert work.last_launch.variant == "edit" and work.last_launch.knobs == {}


@pytest.mark.one_target
def test_a_damaged_store_is_named(work, target: str) -> None:
    x = ones()
    with_extra(work, x)
    work.tune(x, 100, seconds=0.05)
    store = work.variants(x, 100).slot.folder / "tuned.json"
    data = json.loads(store.read_text())
    for text, place in (
        ("{\n oops", ":2: "),
        ('{"version": 9, "tunings": []}', ":1: version 9"),
        ("[]", ":1: this is"),
    ):
        store.write_text(text)
        with pytest.raises(TaichiCompilationError, match=f"tuned.json{place}"):
            work.tune(x, 100)
    store.write_text(json.dumps(data))
    work.tune(x, 100, seconds=0.05)


@pytest.mark.all_targets
def test_python_offers_the_block(target: str, tmp_path: Path) -> None:
    text = WORK.replace("@ti.kernel", "@ti.tune(block_dim=[32, 64], where='block_dim > 32')\n    @ti.kernel")
    work = written_programs.write(tmp_path / "p.py", text).work
    x = ones()
    if target == "cpu":
        with pytest.raises(TaichiRuntimeError, match="`ti.tune` names block_dim, which the source does not define"):
            work.tune(x, 10)
        return
    found = work.tune(x, 10, seconds=0.05)
    assert [trial.label for trial in found.trials] == ["BLOCK=64"] and found.variant == "generated"
    entry = read_entries(work.variants(x, 10).slot)[0]
    entry.best = {"work.comp" if target == "vulkan" else "work.cu": {"BLOCK": "64"}}
    write_entry(work.variants(x, 10).slot, entry)
    ti.init(arch=sessions.CURRENT.arch, log_level=ti.WARN)
    x = ones()
    work(x, 10)
    assert work.last_launch.variant == "generated" and work.last_launch.knobs == {"BLOCK": "64"}
    assert work.compile(x, 10).tasks[0].block_dim == 64
    expected = np.ones(SIZE, np.float32)
    for j in range(10):
        expected = np.sqrt(expected + np.float32(j))
    np.testing.assert_allclose(x.to_numpy(), expected, rtol=1e-5)


def test_the_decorator_stands_above_or_below(target: str, tmp_path: Path) -> None:
    below = WORK.replace("@ti.kernel", "@ti.kernel\n    @ti.tune(block_dim=(64, 128))")
    work = written_programs.write(tmp_path / "p.py", below).work
    x = ones()
    work(x, 1)
    assert (x.to_numpy() == 1).all() and work.definition.function.tunable.given == {"block_dim": ("64", "128")}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ti.tune(), "`ti.tune` has no tuning parameters"),
        (lambda: ti.tune(block_dim=64), r"`ti.tune\(block_dim=...\)` takes a list of values, found 64"),
        (lambda: ti.tune(block_dim="64"), "takes a list of values, found '64'"),
        (lambda: ti.tune(TILE=[]), r"`ti.tune\(TILE=...\)` has an empty list"),
        (lambda: ti.tune(TILE=["1 // 2"]), "cannot write '1 // 2' behind a `#define`"),
        (lambda: ti.tune(TILE=[1])(5), "decorates a kernel, found int"),
    ],
)
def test_mistakes_of_the_decorator(call, message: str, target: str) -> None:
    with pytest.raises(TaichiSyntaxError, match=message):
        call()


def test_nothing_to_tune_is_told(work, target: str) -> None:
    path = work.edit(ones(), 1)
    path.write_text(path.read_text() + "// changed\n")
    with pytest.raises(TaichiRuntimeError, match="has nothing to tune. Hint: write `// @tune BLOCK = 64"):
        work.tune(ones(), 1)


def test_classes_of_shapes() -> None:
    assert distance("a 2^11x2^12, n 2^3", "a 2^10x2^12, n 2^5") == 3
    assert distance("a 2^11", "a 2^11x2^1") is None and distance("any", "any") == 0


def test_a_count_is_part_of_the_class(target: str, tmp_path: Path) -> None:
    program = written_programs.write(
        tmp_path / "p.py",
        """
        total = ti.field(ti.i32, ())

        @ti.kernel
        def count(n: ti.i32, weight: ti.i32):
            for i in range(n):
                total[None] += weight
        """,
    )
    variants = program.count.variants(1000, 7)
    assert shape_class(variants.generated, variants.args) == "n 2^10"


def test_values_are_known_again_in_any_order_of_the_file(work, target: str) -> None:
    x = ones()
    with_extra(work, x, "#define Z 1  // @tune Z = 1\n#define A 1  // @tune A = 1 | 2\n#define EXTRA 1\n")
    assert work.tune(x, 100, seconds=0.05).resumed == 0
    found = work.tune(x, 100, seconds=0.05)
    assert found.resumed == 2 and found.trials[0].label == "Z=1, A=1"


@pytest.mark.exhaustive
def test_of_equal_winners_the_one_that_changes_least(work, target: str) -> None:
    x = ones()
    with_extra(work, x, "#define UNUSED 1  // @tune UNUSED = 2 | 1\n" + EXTRA)
    found = work.tune(x, 100, seconds=20.0)
    assert found.values == {"UNUSED": "1", "EXTRA": "0"}, str(found)


@pytest.mark.exhaustive
@pytest.mark.one_target
def test_trials_are_exported_as_kernel_tuner_keeps_its_own(work, target: str, tmp_path: Path) -> None:
    """As util.py of kernel_tuner 1.5.0 writes and reads a cache file; its simulation mode read one of ours."""
    x = ones()
    with_extra(work, x)
    found = work.tune(x, 100, seconds=0.2)
    found.export(tmp_path / "cache.json")
    data = json.loads((tmp_path / "cache.json").read_text())
    assert data["tune_params_keys"] == ["EXTRA"] and data["tune_params"] == {"EXTRA": [0, 8, 12, "oops"]}
    assert data["device_name"] == found.device and data["problem_size"] == [SIZE] and data["objective"] == "time"
    assert set(data["cache"]) == {"0", "8", "12", "oops"}
    fast, failed = data["cache"]["0"], data["cache"]["oops"]
    assert fast["EXTRA"] == 0 and fast["time"] == pytest.approx(1e3 * found.trials[0].seconds)
    assert failed["time"] == "CompilationFailedConfig"
    for name in ("compile_time", "verification_time", "benchmark_time", "framework_time", "strategy_time"):
        assert fast[name] >= 0 and failed[name] >= 0
