"""`@ti.kernel(fast_math=...)`: the option of one kernel, and of its gradient, whatever that of the session is."""

from __future__ import annotations

import pytest

import shadesmith as ti


@pytest.mark.all_targets
def test_kernels_of_one_session_differ(target: str) -> None:
    x = ti.field(ti.f32, 2, needs_grad=True)
    x[0], x[1] = 3e38, 7.0

    @ti.kernel(fast_math=False)
    def exact() -> ti.f32:
        return x[0] * 0.0 + x[1] * 0.0

    @ti.kernel
    def usual() -> ti.f32:
        return x[1] * 2.0

    @ti.kernel(fast_math=True)
    def fast():
        x[1] = x[1] + 1.0

    assert [kernel.inspect().module.options["fast_math"] for kernel in (exact, usual, fast)] == [False, True, True]
    assert exact.grad.definition.fast_math is False
    x[0] = float("inf")
    if target != "vulkan":  # lavapipe counts a product with a literal zero as zero
        assert exact() != exact()  # inf * 0.0 is no number
    assert usual() == 14.0
    fast()
    assert x[1] == 8.0


@pytest.mark.one_target
def test_the_cache_knows_the_option(target: str, tmp_path: object) -> None:
    ti.init(arch=getattr(ti, target), offline_cache=True, offline_cache_file_path=str(tmp_path))

    def body(a: ti.f32) -> ti.f32:
        return a * 0.0

    one, other = ti.kernel(body, fast_math=True), ti.kernel(body, fast_math=False)
    one(1.0)
    if target != "vulkan":  # lavapipe counts a product with a literal zero as zero
        assert other(float("inf")) != other(float("inf"))
    assert one.inspect(1.0).module.options != other.inspect(1.0).module.options


@pytest.mark.one_target
def test_refused(target: str) -> None:
    with pytest.raises(ti.TaichiSyntaxError, match="fast_math is True or False, found 1"):

        @ti.kernel(fast_math=1)
        def kernel():
            pass
