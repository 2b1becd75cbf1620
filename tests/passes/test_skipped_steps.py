"""Steps of the cleanup that do not run again would find nothing: it is asked here each time one is skipped. And a pass
adds no kind of statement that the passes after it do not expect.

After `struct_for` and `offload`, which leave equal numbers for printers, all steps run.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import growing_kernels
import pytest
from bare_targets import bare
from golden_kernels import KERNELS, RECURSIVE, SUFFIX, compiled_anew

import shadesmith as ti
from shadesmith.runtime.cache import compiler
from shadesmith.runtime.devices.capabilities import portable
from shadesmith.transpiler import passes
from shadesmith.transpiler.ir.tasks import kinds_in
from shadesmith.transpiler.options import CompileOptions
from shadesmith.transpiler.passes import PassContext, run

sys.path.insert(0, str(Path(__file__).parent))
from random_kernels import RandomKernel  # noqa: E402

LEAVING = ("struct_for", "offload")


@pytest.fixture
def skipped(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Let each skipped step run and find nothing; return how often each was skipped."""
    counts: Counter[str] = Counter()
    run_step = passes._run_step

    def checked(step, stage, kernel, context, waiting) -> bool:
        if step not in passes.cleanup or step in waiting:
            has_changed = run_step(step, stage, kernel, context, waiting)
            if has_changed and step.__name__ in LEAVING:
                waiting.update(passes.cleanup)
            return has_changed
        left = context.left
        assert not step(kernel, context), f"{step.__name__} finds something in {kernel.name}, at {stage.name}"
        context.left = left
        counts[step.__name__] += 1
        return False

    def all_steps(steps, stage, kernel, context, waiting) -> None:
        for _ in range(passes.MAX_ROUNDS):
            changed = [passes._run_step(step, stage, kernel, context, waiting) for step in steps]
            if not any(changed):
                return

    monkeypatch.setattr(passes, "_run_step", checked)
    monkeypatch.setattr(passes, "_run_until_stable", all_steps)
    return counts


@pytest.fixture
def counted_kinds(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Compare, after each pass, the kinds that a kernel may have with those that it has; return the passes compared."""
    counts: Counter[str] = Counter()
    run_pass = passes._run_pass

    def checked(step, stage, kernel, context) -> bool:
        has_changed = run_pass(step, stage, kernel, context)
        if has_changed and context.kinds is not None:
            missing = kinds_in(kernel) - context.kinds
            assert not missing, f"`{step.__name__}` adds {missing} to {kernel.name}, which `ADDED` does not say"
            counts[step.__name__] += 1
        return has_changed

    monkeypatch.setattr(passes, "_run_pass", checked)
    return counts


@pytest.mark.parametrize("language", SUFFIX)
def test_kernels_of_users_and_random_ones(language: str, skipped: Counter[str], counted_kinds: Counter[str]) -> None:
    for name in KERNELS:
        if name not in RECURSIVE:
            compiled_anew(name, language)
    assert set(skipped) == {step.__name__ for step in passes.cleanup}
    if language == "c":  # no random kernel has what a language adds
        skipped.clear()
        for seed in range(60):
            kernel = RandomKernel(seed).kernel()
            run(kernel, PassContext(CompileOptions(fast_math=bool(seed % 2)), bare("c")))
        assert sum(skipped.values()) > 60
    assert set(counted_kinds) >= {step.__name__ for step in passes.ADDED} - {"struct_for"}


@pytest.mark.parametrize("language", SUFFIX)
def test_kernels_of_many_statements(language: str, skipped: Counter[str], tmp_path: Path) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    for family in growing_kernels.FAMILIES.values():
        module = growing_kernels.load(family(25), tmp_path)
        request = compiler.specialize(module.kernel.definition, module.arguments, CompileOptions(), portable(language))
        compiler.compile_source(request.specialization)
    ti.reset()
    assert skipped
