from typing import Any, TypeAlias, TypeVar

from shadesmith import NDArray as NDArray
from shadesmith.transpiler.lang.packs import ArgPackType as argpack
from shadesmith import f16 as f16
from shadesmith import f32 as f32
from shadesmith import f64 as f64
from shadesmith import float16 as float16
from shadesmith import float32 as float32
from shadesmith import float64 as float64
from shadesmith import i16 as i16
from shadesmith import i32 as i32
from shadesmith import i64 as i64
from shadesmith import i8 as i8
from shadesmith import int16 as int16
from shadesmith import int32 as int32
from shadesmith import int64 as int64
from shadesmith import int8 as int8
def is_integral(dtype: Any) -> Any:
    """Return whether number type `dtype` is an integer (u1 counts). Raises: TypeError for other objects."""
def is_real(dtype: Any) -> Any:
    """Return whether number type `dtype` is a floating-point type. Raises: TypeError as `is_integral`."""
def is_signed(dtype: Any) -> Any:
    """Return whether number type `dtype` holds negative numbers. Raises: TypeError as `is_integral`."""
def is_tensor(dtype: Any) -> Any:
    """Return whether element type `dtype` is that of vectors or matrices. Raises: TypeError for other objects."""
def matrix(n: Any, m: Any, dtype: Any) -> Any:
    """Return the type of (n, m) matrices with elements of `dtype`."""
ndarray: Any
from shadesmith.types import primitive_types as primitive_types
from shadesmith import ref as ref
from shadesmith.transpiler.lang.textures import RWTextureType as rw_texture
from shadesmith import sparse_matrix_builder as sparse_matrix_builder
def struct(**kwargs: Any) -> Any:
    """Return the type of structs with the members `kwargs`: `ti.types.struct(pos=vec3, mass=ti.f32)`."""
from shadesmith import template as template
from shadesmith.transpiler.lang.textures import TextureType as texture
from shadesmith import u1 as u1
from shadesmith import u16 as u16
from shadesmith import u32 as u32
from shadesmith import u64 as u64
from shadesmith import u8 as u8
from shadesmith import uint1 as uint1
from shadesmith import uint16 as uint16
from shadesmith import uint32 as uint32
from shadesmith import uint64 as uint64
from shadesmith import uint8 as uint8
def vector(n: Any, dtype: Any) -> Any:
    """Return the type of vectors of `n` elements of `dtype`."""
