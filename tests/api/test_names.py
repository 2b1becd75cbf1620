"""Taichi's public names: those of this version exist, the others say that they are missing."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import shadesmith as ti

TI = """
CRITICAL DEBUG ERROR Field GUI INFO Layout Matrix MatrixField MatrixNdarray Ndarray ScalarField ScalarNdarray Struct StructField TRACE
TaichiAssertionError TaichiCompilationError TaichiNameError TaichiRuntimeError TaichiRuntimeTypeError
TaichiSyntaxError TaichiTypeError Vector VectorNdarray WARN abs acos amdgpu arm64 asin atan2 atomic_add atomic_and
atomic_max atomic_min atomic_mul atomic_or atomic_sub atomic_xor bit_cast bit_shr cast cc ceil cos cpu cuda
data_oriented dataclass dx11 dx12 exp extension f16 f32 f64 field float16 float32 float64 floor func gles gpu grouped
hex_to_rgb i16 i32 i64 i8 init int16 int32 int64 int8 is_logging_effective kernel log loop_config math max metal
min ndarray ndrange one opengl pow pyfunc randn random raw_div raw_mod real_func ref reset rgb_to_hex round rsqrt select
set_logging_level sin sqrt static static_assert static_print stop_grad sync tan tanh template types u1 u16 u32 u64
u8 uint1 uint16 uint32 uint64 uint8 vulkan x64 x86_64 zero lang simt _lib _logging python cfg __version__
""".split()

MATH = """
acos asin atan2 cconj cdiv ceil cexp cinv clamp clog clz cmul cos cpow cross csqrt degrees determinant distance dot
e exp eye floor fract inf inverse isinf isnan ivec2 ivec3 ivec4 length log log2 mat2 mat3 mat4 max min mix mod nan
normalize pi popcnt pow radians reflect refract rot_by_axis rot_yaw_pitch_roll rotation2d rotation3d round scale
sign sin smoothstep sqrt step tan tanh translate uvec2 uvec3 uvec4 vdir vec2 vec3 vec4
""".split()

TYPES = """f16 f32 f64 float16 float32 float64 i16 i32 i64 i8 int16 int32 int64 int8 is_integral is_real is_signed
is_tensor matrix ndarray struct template u1 u16 u32 u64 u8 uint1 uint16 uint32 uint64 uint8 vector NDArray""".split()

MATRIX = """all any cast cols cross determinant diag dot field fill get_shape identity inverse max min ndarray norm
norm_inv norm_sqr normalized one outer_product rows sum to_list to_numpy trace transpose unit zero
x y z w r g b a s t p q xy zyx rgba stpq xxxx wzyx""".split()

SIMT = {
    "block": """SharedArray global_thread_idx mem_sync sync sync_all_nonzero sync_any_nonzero sync_count_nonzero
        thread_idx""",
    "grid": "memfence",
    "warp": """active_mask all_nonzero any_nonzero ballot match_all match_any shfl_down_f32 shfl_down_i32 shfl_sync_f32
        shfl_sync_i32 shfl_up_f32 shfl_up_i32 shfl_xor_i32 sync unique""",
    "subgroup": """all_equal all_true any_true barrier broadcast broadcast_first elect exclusive_add exclusive_and
        exclusive_max exclusive_min exclusive_mul exclusive_or exclusive_xor group_size inclusive_add inclusive_and
        inclusive_max inclusive_min inclusive_mul inclusive_or inclusive_xor invocation_id memory_barrier reduce_add
        reduce_and reduce_max reduce_min reduce_mul reduce_or reduce_xor shuffle shuffle_down shuffle_up shuffle_xor""",
}

PATHS = """math types types.primitive_types lang lang.impl lang.misc lang.util lang.exception lang.ops lang.kernel_impl
lang.matrix lang.simt lang.simt.block lang.struct _lib _lib.core _lib.utils _logging simt simt.subgroup""".split()


def test_public_names_exist() -> None:
    assert [name for name in TI if not hasattr(ti, name)] == []


@pytest.mark.parametrize(
    ("owner", "names"),
    [(ti.math, MATH), (ti.types, TYPES), (ti.Matrix, MATRIX), (ti.Vector, MATRIX)],
    ids=["math", "types", "Matrix", "Vector"],
)
def test_names_of_a_namespace_exist(owner: object, names: list[str]) -> None:
    assert [name for name in names if not hasattr(owner, name)] == []


@pytest.mark.parametrize("module", SIMT)
def test_names_of_threads_exist(module: str) -> None:
    assert [name for name in SIMT[module].split() if not hasattr(getattr(ti.simt, module), name)] == []


@pytest.mark.parametrize("path", PATHS)
def test_taichis_import_path_exists(path: str) -> None:
    module = importlib.import_module(f"shadesmith.{path}")
    owner: object = ti
    for part in path.split("."):
        owner = getattr(owner, part)
    assert owner is module


def test_a_name_of_a_later_version_says_so() -> None:
    with pytest.raises(AttributeError, match=r"ti.aot.conventions is not in this version of shadesmith; .*archive"):
        ti.aot.conventions  # noqa: B018


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        ti.no_such_name  # noqa: B018


def test_all_lists_what_exists() -> None:
    assert [name for name in ti.__all__ if not hasattr(ti, name)] == []


def test_import_loads_nothing_heavy() -> None:
    heavy = ["jinja2", "vulkan", "cupy", "rich", "torch", "tkinter", "PIL", "platformdirs"]
    heavy += ["subprocess", "tempfile", "pathlib", "shadesmith.runtime.gui.gui"]  # these would cost 5 % each
    # An editable install's own finder may have loaded some before.
    code = "import sys; before = {*sys.modules}; import shadesmith; loaded = {*sys.modules} - before; "
    code += f"print([module for module in {heavy} if module in loaded])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("statement", [
    "import shadesmith.tools.image as module", "from shadesmith.tools import image as module",
    "import shadesmith; module = shadesmith.tools.image", "import shadesmith as ti; ti.GUI; module = ti.tools.image",
    "from shadesmith import *; module = tools.image",
])  # fmt: skip
def test_modules_that_are_loaded_later_are_loaded_once(statement: str) -> None:
    code = f"""{statement}
import shadesmith.tools.image, shadesmith.ui, sys, warnings
warnings.simplefilter("error")
assert module is sys.modules["shadesmith.tools.image"] is sys.modules["shadesmith.runtime.tools.image"]
assert module.__spec__.name == module.__name__ == "shadesmith.runtime.tools.image"
assert shadesmith.ui is sys.modules["shadesmith.runtime.gui.ui"] and "GUI" in dir(shadesmith)
assert shadesmith.tools.video.get_ffmpeg_path
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_standard_library_is_not_shadowed() -> None:
    code = "import shadesmith, math, types; assert math.sqrt(4.0) == 2.0 and types.ModuleType"
    subprocess.run([sys.executable, "-c", code], check=True)
