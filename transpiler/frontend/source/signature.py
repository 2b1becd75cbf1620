"""Checks the parameters of kernels and real functions when they are decorated."""

from __future__ import annotations

import inspect
from typing import Any

from ...errors import TaichiSyntaxError
from ...lang.annotations import NdarrayAnnotation, RefType, as_type, is_template
from ...lang.textures import RWTextureType, TextureType
from ...options import CompileOptions
from .definition import NO_DEFAULT, KernelDefinition

VARIADIC = {
    inspect.Parameter.VAR_POSITIONAL: ("positional", "*"),
    inspect.Parameter.VAR_KEYWORD: ("keyword", "**"),
}
REMEDY = "write a type such as `ti.i32`, `ti.types.ndarray()`, `ti.types.vector(3, ti.f32)` or `ti.template()`"
TEXTURE_REMEDIES: dict[type, str] = {
    TextureType: "write `ti.types.texture(num_dimensions=2)`",
    RWTextureType: "write `ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.rgba8)`",
}
OPTIONS = CompileOptions()


def check_function(definition: KernelDefinition) -> None:
    """Check the same of a real function, whose parameters may be references too. Raises: TaichiSyntaxError."""
    check_kinds(definition, "functions")
    for position, parameter in enumerate(definition.parameters):
        annotation = parameter.annotation
        if annotation is NO_DEFAULT:
            raise definition.parameter_location(parameter.name).error(
                TaichiSyntaxError,
                f"Taichi function `{definition.name}` parameter `{parameter.name}` must be type annotated",
                REMEDY,
            )
        if not (_is_type(annotation.tp) if isinstance(annotation, RefType) else _is_type(annotation)):
            raise definition.parameter_location(parameter.name).error(
                TaichiSyntaxError,
                f"Invalid type annotation (argument {position}) of Taichi function: `{parameter.name}` is a "
                f"{_shown(annotation)}, which is not a parameter type of a real function",
                REMEDY,
            )


def check_parameters(definition: KernelDefinition) -> None:
    """Check that every parameter has one value and an annotation that is a type. Raises: TaichiSyntaxError."""
    check_kinds(definition)
    for parameter in definition.flat_parameters:
        annotation = parameter.annotation
        if annotation is NO_DEFAULT:
            raise definition.parameter_location(parameter.name).error(
                TaichiSyntaxError,
                f"Taichi kernels parameters must be type annotated; `{parameter.name}` has no annotation",
                REMEDY,
            )
        if not (_is_type(annotation) or isinstance(annotation, (TextureType, RWTextureType))):
            raise definition.parameter_location(parameter.name).error(
                TaichiSyntaxError,
                f"Invalid type annotation of Taichi kernel: `{parameter.name}` is a {_shown(annotation)}, "
                "which is not a type of a kernel parameter",
                TEXTURE_REMEDIES.get(annotation, REMEDY) if isinstance(annotation, type) else REMEDY,
            )


def _shown(annotation: Any) -> str:
    return f"`{annotation.__name__}`" if isinstance(annotation, type) else repr(annotation)


def check_kinds(definition: KernelDefinition, what: str = "kernels") -> None:
    """Check that no parameter takes several arguments. Raises: TaichiSyntaxError."""
    for parameter in definition.parameters:
        if parameter.kind in VARIADIC:
            kind, stars = VARIADIC[parameter.kind]
            raise definition.parameter_location(parameter.name).error(
                TaichiSyntaxError,
                f"Taichi {what} do not support variable {kind} parameters (i.e., {stars}{parameter.name})",
                "name each parameter",
            )


def _is_type(annotation: Any) -> bool:
    if is_template(annotation) or isinstance(annotation, NdarrayAnnotation):
        return True
    return as_type(annotation, OPTIONS) is not None
