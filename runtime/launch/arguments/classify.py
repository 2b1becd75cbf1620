"""Classification of a call's arguments for specialization, with an error for every argument that does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ....transpiler.errors import TaichiCompilationError, TaichiRuntimeTypeError
from ....transpiler.frontend.source.definition import KernelDefinition, ParameterDefinition
from ....transpiler.frontend.source.specialization import (
    Argument,
    ArrayArgument,
    ScalarArgument,
    StructArgument,
    TemplateArgument,
)
from ....transpiler.ir.types import Scalar, Struct, Tensor, Type, describe_type, element_of, scalars_of, with_element
from ....transpiler.lang.annotations import NdarrayAnnotation, as_type, is_template
from ....transpiler.lang.describe import is_described
from ....transpiler.lang.textures import RWTextureType, TextureType
from ....transpiler.options import CompileOptions
from ...arrays.interop import GRADIENT_HINT, ArgumentDescription, describe_argument, has_grad, owns_gradients
from .textures import describe_texture


def classify(
    definition: KernelDefinition, values: Sequence[Any], options: CompileOptions
) -> tuple[tuple[Argument, ...], tuple[str, ...]]:
    """Return, for each argument, its description for the compiler and how the launcher reads it.

    Raises: TaichiRuntimeTypeError naming the parameter, the expected and the given type.
    """
    pairs = [
        _classify_one(definition, position, parameter, value, options)
        for position, (parameter, value) in enumerate(zip(definition.flat_parameters, values, strict=True))
    ]
    arguments = tuple(pair[0] for pair in pairs)
    if definition.derivative == "reverse" and owns_gradients(values):
        arguments = tuple(_with_own_gradient(argument) for argument in arguments)
    return arguments, tuple(pair[1] for pair in pairs)


def _with_own_gradient(argument: Argument) -> Argument:
    if isinstance(argument, ArrayArgument) and argument.has_gradient:
        return replace(argument, owns_gradient=True)
    return argument


def _classify_one(
    definition: KernelDefinition, position: int, parameter: ParameterDefinition, value: Any, options: CompileOptions
) -> tuple[Argument, str]:
    annotation = parameter.annotation
    if is_template(annotation):
        if _is_ndarray(value):
            return _array(definition, position, parameter, NdarrayAnnotation(), value, options)
        return TemplateArgument(value), "template"
    if isinstance(annotation, NdarrayAnnotation):
        return _array(definition, position, parameter, annotation, value, options)
    if isinstance(annotation, (TextureType, RWTextureType)):
        return describe_texture(value, annotation, parameter.name, definition.name), "texture"
    type = as_type(annotation, options)
    assert type is not None, "`check_parameters` refuses other annotations when a kernel is decorated"
    if isinstance(type, Struct):
        return StructArgument(type), "struct"
    return ScalarArgument(type), "tensor" if isinstance(type, Tensor) else "scalar"


def _is_ndarray(value: Any) -> bool:
    return is_described(value) and value.describe_array().kind == "ndarray"


def _array(
    definition: KernelDefinition,
    position: int,
    parameter: ParameterDefinition,
    annotation: NdarrayAnnotation,
    value: Any,
    options: CompileOptions,
) -> tuple[Argument, str]:
    if value is annotation:
        return array_of_annotation(annotation, options, definition.derivative), "ndarray"
    where = f"Argument {position} (`{parameter.name}` of kernel `{definition.name}`)"
    wanted = _wanted_element(annotation, options)
    struct = wanted if isinstance(wanted, Struct) else None
    found = describe_argument(value, where, annotation.element_axes, struct)
    if annotation.is_element_open:
        wanted = _element_of_argument(annotation, wanted, found, where)
    element, ndim = found.element, len(found.shape)
    if isinstance(wanted, Tensor) and isinstance(element, Scalar):
        trailing = found.shape[ndim - len(wanted.shape) :]
        if trailing != wanted.shape or element != wanted.element:
            axes = ", ".join(map(str, wanted.shape))
            raise TaichiRuntimeTypeError(
                f"{where} needs elements {describe_type(wanted)}, found {element} of shape {found.shape}",
                f"pass an array of {wanted.element} whose shape ends in {axes}: (..., {axes})",
            )
        element, ndim = with_element(wanted, element), ndim - len(wanted.shape)
    if wanted is not None and element != wanted:
        message = f"{where} needs dtype={describe_type(wanted)}, found dtype={describe_type(element)}"
        raise TaichiRuntimeTypeError(message, f"pass {_array_like(wanted, found.access)}")
    if annotation.ndim is not None and annotation.ndim != ndim:
        raise TaichiRuntimeTypeError(
            f"{where} needs ndim={annotation.ndim}, found ndim={ndim} (shape {found.shape})",
            f"pass `x.reshape(...)` with {annotation.ndim} axes, or annotate ndim={ndim}",
        )
    if annotation.needs_grad and not has_grad(value):
        raise TaichiRuntimeTypeError(f"{where} needs an array with a gradient", GRADIENT_HINT)
    has_gradient = (
        definition.derivative == "reverse" and has_grad(value) and all(s.is_float for s in scalars_of(element))
    )
    return ArrayArgument(element, ndim, found.strided, annotation.boundary == "clamp", has_gradient), found.access


def _element_of_argument(
    annotation: NdarrayAnnotation, scalar: Type | None, found: ArgumentDescription, where: str
) -> Type:
    """Return the vector or matrix type that an argument's last axes form; the annotation gives how many these are.

    scalar: its number type, None: any. Raises: TaichiRuntimeTypeError if the argument has other elements.
    """
    axes = annotation.element_axes
    given = found.element
    shape = given.shape if isinstance(given, Tensor) else found.shape[max(0, len(found.shape) - axes) :]
    is_whole = not isinstance(given, Struct) and (isinstance(given, Tensor) or found.access != "ndarray")
    if not is_whole or len(shape) != axes or annotation.element_shape not in (None, shape):
        wanted = annotation.element_shape or ("vectors", "matrices")[axes - 1]
        raise TaichiRuntimeTypeError(
            f"{where} needs elements of shape {wanted}, found {describe_type(given)} of shape {found.shape}",
            "pass `ti.Vector.ndarray(...)`, `ti.Matrix.ndarray(...)`, or an array with axes for the elements",
        )
    element = element_of(given if scalar is None else scalar)
    return Tensor(shape, element)


def _array_like(element: Type, access: str) -> str:
    """Return the code that makes an array of `element`. access: of the array that was given."""
    if isinstance(element, Struct):
        return "an array of that struct: `S.ndarray(shape)`"
    if access == "ndarray":
        return f"`ti.ndarray(ti.{element_of(element)}, shape)`"
    return f"`x.astype(numpy.{element_of(element).numpy.name})`"


def _wanted_element(annotation: NdarrayAnnotation, options: CompileOptions) -> Type | None:
    if annotation.dtype is None:
        return None
    type = as_type(annotation.dtype, options)
    if type is None:
        raise TaichiCompilationError(f"`ndarray(dtype={annotation.dtype!r})` needs a scalar, vector or matrix type")
    return type


def array_of_annotation(annotation: NdarrayAnnotation, options: CompileOptions, derivative: str = "") -> ArrayArgument:
    """Return the array that a complete annotation describes, for looking at a kernel without arguments.

    derivative: of the kernel; an array of numbers then has a gradient unless the annotation says that it has none.

    Raises: TaichiRuntimeTypeError if dtype or ndim is open.
    """
    element = _wanted_element(annotation, options)
    if element is None or annotation.ndim is None or annotation.is_element_open:
        raise TaichiRuntimeTypeError("An ndarray annotation leaves dtype or ndim open", "pass an array instead")
    has_gradient = derivative == "reverse" and annotation.needs_grad is not False
    has_gradient = has_gradient and all(scalar.is_float for scalar in scalars_of(element))
    return ArrayArgument(element, annotation.ndim, clamped=annotation.boundary == "clamp", has_gradient=has_gradient)
