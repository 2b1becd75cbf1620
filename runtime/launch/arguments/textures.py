"""Textures as kernel arguments: their description for specialization, and errors for arguments that do not fit."""

from __future__ import annotations

from typing import Any

from ....transpiler.errors import TaichiRuntimeTypeError
from ....transpiler.frontend.source.specialization import TextureArgument, texture_argument
from ....transpiler.lang.textures import RWTextureType, TextureAnnotation
from ...arrays.texture import Texture


def as_texture(value: Any) -> Texture:
    """Return an argument that is a texture. Raises: TaichiRuntimeTypeError if it is none."""
    if isinstance(value, Texture):
        return value
    raise TaichiRuntimeTypeError(f"{value!r} is not a texture")  # `classify` gives a better message


def describe_texture(value: Any, annotation: TextureAnnotation, name: str, kernel: str) -> TextureArgument:
    """Return the description of a texture argument for the compiler. name: of the parameter, in `kernel`.

    Raises: TaichiRuntimeTypeError if it is not a texture, or has other axes or another format than annotated.
    """
    if value is annotation:
        return texture_argument(annotation)
    if not isinstance(value, Texture):
        raise TaichiRuntimeTypeError(
            f"Argument {name} must be a texture, got {type(value)} (kernel `{kernel}`)",
            "pass `ti.Texture(ti.Format.rgba8, (n, m))`",
        )
    kind, axes = type(annotation).__name__, annotation.num_dimensions
    if value.num_dims != axes:
        raise TaichiRuntimeTypeError(
            f"{kind} dimension mismatch for argument {name}: expected {axes}, got {value.num_dims} (kernel `{kernel}`)",
            f"pass a texture with {axes} extents, or annotate num_dimensions={value.num_dims}",
        )
    if isinstance(annotation, RWTextureType) and annotation.row is not value.spec.format:
        wanted, found = annotation.row.name, value.spec.format.name
        raise TaichiRuntimeTypeError(
            f"{kind} format mismatch for argument {name}: expected Format.{wanted}, got Format.{found} "
            f"(kernel `{kernel}`)",
            f"pass a texture of ti.Format.{wanted}, or annotate fmt=ti.Format.{found}",
        )
    return texture_argument(annotation, value.fmt)
