"""Taichi's inner modules, architecture constants, options by name."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti


@pytest.fixture
def session():
    ti.init(arch=ti.python, log_level=ti.ERROR)
    yield
    ti.reset()


ARCHES = "cpu x64 arm64 cc cuda vulkan opengl gles metal amdgpu dx11 dx12 python".split()


@pytest.mark.parametrize("name", ARCHES)
def test_architectures_compare_and_print(name: str) -> None:
    arch = getattr(ti, name)
    assert arch == getattr(ti, name) and hash(arch) == hash(getattr(ti, name))
    assert str(arch) == f"Arch.{arch.name}"
    assert [other for other in ARCHES if getattr(ti, other) == arch] == [name] or name in ("cpu", ti.cpu.name)


def test_gpu_is_a_list_and_cpu_an_alias() -> None:
    assert isinstance(ti.gpu, list) and ti.cuda in ti.gpu and ti.vulkan in ti.gpu
    assert ti.cpu in (ti.x64, ti.arm64)
    assert ti.x86_64 == ti.x64


def test_extensions_answer_per_target() -> None:
    supported = ti.lang.misc.is_extension_supported
    assert supported(ti.cpu, ti.extension.data64)
    assert supported(ti.cuda, ti.extension.assertion)
    assert supported(ti.vulkan, ti.extension.sparse) and supported(ti.cpu, ti.extension.mesh)
    assert not supported(ti.vulkan, ti.extension.extfunc)
    assert not supported(ti.metal, ti.extension.data64)


def test_current_cfg_has_every_option(session) -> None:
    options = ti.lang.impl.current_cfg()
    assert options.arch == ti.python
    assert options.default_fp == ti.f32 and options.offline_cache in (True, False)
    assert options is ti.lang.impl.get_runtime().prog.config() is ti.cfg


def test_runtime_by_taichis_names(session) -> None:
    runtime = ti.lang.impl.get_runtime()
    assert (runtime.default_fp, runtime.default_ip) == (ti.f32, ti.i32)
    assert runtime.get_num_compiled_functions() == 0
    runtime.materialize()


def test_without_a_session_there_is_no_program() -> None:
    ti.reset()
    assert ti.lang.impl.get_runtime().prog is None
    assert ti.cfg is None
    with pytest.raises(ti.TaichiRuntimeError):
        ti.lang.impl.current_cfg()


def test_types_of_other_libraries() -> None:
    util = ti.lang.util
    assert util.to_numpy_type(ti.f32) is np.float32
    assert util.to_taichi_type(np.float32) == util.to_taichi_type("float32") == ti.f32
    assert util.cook_dtype(float) == ti.f32 and util.cook_dtype(bool) == ti.u1
    assert util.has_pytorch() in (True, False) and util.has_paddle() in (True, False)


def test_operators_copies_and_angles_of_inner_modules(session) -> None:
    from shadesmith._kernels import blit_from_field_to_field
    from shadesmith.ui.utils import euler_to_vec, vec_to_euler

    ops, x, y = ti.lang.ops, ti.field(ti.i32, 3), ti.field(ti.i32, 5)

    @ti.kernel
    def compute() -> ti.types.vector(6, ti.i32):
        a, b = x[0] - 7, x[1] + 3
        quotient = ops.cast(ops.truediv(a, 2) * 10, ti.i32)
        return ti.Vector(
            [ops.floordiv(a, b), ops.neg(a), ops.bit_xor(a, b), ops.bit_sar(a, 1), quotient, ops.mul(a, b)]
        )

    assert compute().to_numpy().tolist() == [-3, 7, -7 ^ 3, -4, -35, -21]
    assert ops.floordiv(-7, 3) == -3 and ops.add(1, 2.5) == 3.5 and ops.cmp_le(2, 2)
    x.from_numpy(np.array([4, 5, 6], np.int32))
    blit_from_field_to_field(y, x, 2, 3)
    assert y.to_numpy().tolist() == [0, 0, 4, 5, 6]
    direction = euler_to_vec(0.3, 0.4)
    assert np.allclose(direction.to_numpy(), [0.27219214, 0.38941834, 0.87992318])
    assert np.allclose(vec_to_euler(2.0 * direction), (0.3, 0.4))
    with pytest.warns(UserWarning, match="mind"):
        ti.lang.util.warning("mind")


def test_core_and_utils() -> None:
    assert ti._lib.core.GGUI_AVAILABLE in (True, False)
    assert ti._lib.core.get_max_num_indices() >= 8
    assert ti._lib.utils.get_os_name() in ("linux", "osx", "win")
    assert ti.lang.misc.get_host_arch_list() == [ti.cpu]


def test_primitive_types() -> None:
    assert (ti.f32.to_string(), ti.u1.to_string()) == ("f32", "u1")
    listed = ti.types.primitive_types.all_types
    assert ti.f32 in listed and ti.u1 in listed and float in listed and int in listed
    assert set(ti.types.primitive_types.real_types) == {ti.f16, ti.f32, ti.f64, float}


def test_logging_levels() -> None:
    ti.set_logging_level(ti.ERROR)
    assert not ti.is_logging_effective(ti.INFO) and ti.is_logging_effective(ti.ERROR)
    ti.set_logging_level(ti.INFO)
    assert ti._logging.is_logging_effective("info")


def test_fields_and_ndarrays_through_the_types(session) -> None:
    assert ti.Vector.field(3, ti.f32, shape=4).shape == (4,)
    assert ti.Matrix.field(2, 3, ti.f32, shape=(2, 2)).shape == (2, 2)
    assert ti.math.vec3.field(shape=(2,)).shape == (2,)
    assert isinstance(ti.Vector.ndarray(2, ti.i32, 5), ti.VectorNdarray)
    assert isinstance(ti.field(ti.f32, 3), ti.Field) and isinstance(ti.ndarray(ti.f32, 3), ti.Ndarray)
