"""One kernel for one target: the requested specialization, compiled as for a launch.

In: a kernel, values of some of its parameters, options and a target. Out: the module, and the captured fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from ...transpiler.backend.module.interface import BackendModule
from ...transpiler.errors import TaichiRuntimeError, UnsupportedError, warn_user
from ...transpiler.frontend.source.definition import ParameterDefinition
from ...transpiler.frontend.source.specialization import Argument, ArrayArgument, describe
from ...transpiler.ir.textures import FORMATS
from ...transpiler.lang.annotations import NdarrayAnnotation, as_type, is_template
from ...transpiler.lang.textures import RWTextureType, TextureType
from ...transpiler.options import CompileOptions
from ..arrays.ndarray import make_placeholder
from ..arrays.texture import make_placeholder as make_texture_placeholder
from ..cache import compiler
from ..cache.compiler import Request
from ..close_names import close_names
from ..devices.target_tools import part_of
from ..launch.derivatives import check_archivable
from ..launch.kernel import BoundKernel, Kernel, as_bound_kernel
from ..session import session as sessions
from ..session.module_source import GENERATED
from .archive_facts import ArchiveFacts
from .targets import Target

COMPLETE = "`ti.types.ndarray(dtype=ti.f32, ndim=1)`"


def specialize(
    kernel: Any, values: Mapping[str, Any], options: CompileOptions, target: Target
) -> tuple[Request, tuple[Any, ...]]:
    """Return what a kernel is compiled for, and a value for each flattened parameter, or a type if that suffices.

    values: of parameters, by name. Raises: TaichiRuntimeError for names and values that do not fit.
    """
    own, arguments = _arguments(kernel, values)
    return specialize_call(own, arguments, options, target)


def specialize_call(
    kernel: Kernel, arguments: Sequence[Any], options: CompileOptions, target: Target
) -> tuple[Request, tuple[Any, ...]]:
    """Return the same for all arguments of a call; annotations may replace values."""
    return specialize_flattened(kernel, kernel.arguments.flatten_packs(arguments), options, target)


def specialize_flattened(
    kernel: Kernel, flat_arguments: Sequence[Any], options: CompileOptions, target: Target
) -> tuple[Request, tuple[Any, ...]]:
    """Return the same for values of all flattened parameters: members of packs in place of the packs."""
    values = [
        _example(parameter, argument, options)
        for parameter, argument in zip(kernel.definition.flat_parameters, flat_arguments, strict=True)
    ]
    request = compiler.specialize(kernel.definition, values, options, target.capabilities)
    arguments = tuple(map(_with_shared_gradient, request.specialization.arguments))
    return replace(request, specialization=replace(request.specialization, arguments=arguments)), tuple(values)


def _with_shared_gradient(argument: Argument) -> Argument:
    """Return an argument of which a caller of the archive may pass the gradient's memory as another argument, too."""
    return replace(argument, owns_gradient=False) if isinstance(argument, ArrayArgument) else argument


def _example(parameter: ParameterDefinition, value: Any, options: CompileOptions) -> Any:
    """Return what stands for a value where a type was given in its place, as `ti.aot.export_as` takes them.

    The parameter's own annotation stands for itself. Raises: TaichiRuntimeError for a type that says too little.
    """
    if value is parameter.annotation:
        return value
    match value:
        case NdarrayAnnotation():
            _check_complete(value, f"the type given for `{parameter.name}`")
            element = as_type(value.dtype, options)
            assert element is not None and value.ndim is not None
            return make_placeholder(element, value.ndim, parameter.name)
        case TextureType():
            return make_texture_placeholder(value.num_dimensions, FORMATS["rgba8"])
        case RWTextureType():
            return make_texture_placeholder(value.num_dimensions, value.row)
    return value


def compile_for(
    request: Request, arguments: tuple[Any, ...], target: Target
) -> tuple[BackendModule, tuple[Any, ...], str | None]:
    """Return the module, the captured fields by slot, and the digest of an edit that runs instead of what is generated.

    Raises: what compiling raises.
    """
    specialization = request.specialization
    if specialization.definition.derivative == "reverse":
        check_archivable(specialization)
    try:
        compilation = compiler.compile_source(specialization)
    except UnsupportedError as error:
        raise error if target.is_of_session else _lacking(error, target) from None
    for text in compilation.warnings:
        warn_user(text)
    sources = sessions.module_sources()
    if not target.is_of_session:
        module, found = sources.archived(sessions.current_config(), specialization, compilation.module)
        return module, compilation.fields, found or None
    with compiler.COMPILING:
        choice = sources.choose(sessions.current(), specialization, request.argument_kinds, compilation, arguments)
    digest = None
    if choice.dispatch is None and choice.selected is not None and choice.selected.variant != GENERATED:
        digest = choice.selected.digest
    return choice.module, compilation.fields, digest


def _lacking(error: UnsupportedError, target: Target) -> UnsupportedError:
    """Return the error with a module's remedy: its capabilities were chosen."""
    choice = part_of(target.name, ArchiveFacts).choice
    hint = f"ti.aot.Module(arch, caps) says what the target has: {choice}"
    return UnsupportedError(error.message, hint, error.location)


def _arguments(kernel: Any, values: Mapping[str, Any]) -> tuple[Kernel, tuple[Any, ...]]:
    """Return the kernel itself and a value for each parameter: an annotation where its type alone matters."""
    bound: tuple[Any, ...] = ()
    own = kernel = as_bound_kernel(kernel)
    if isinstance(kernel, BoundKernel):
        own, bound = kernel.kernel, (kernel.instance,)
    if not isinstance(own, Kernel):
        raise TaichiRuntimeError(f"{kernel!r} is no kernel", "decorate the function with @ti.kernel")
    parameters = own.definition.parameters[len(bound) :]
    names = [parameter.name for parameter in parameters]
    for name in values:
        if name not in names:
            close = close_names(name, names)
            hint = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(names) or 'none'}"
            raise TaichiRuntimeError(f"kernel `{own.definition.name}` has no parameter `{name}`", hint)
    found = [*bound]
    for parameter in parameters:
        if parameter.name in values:
            found.append(values[parameter.name])
        elif is_template(parameter.annotation):
            raise TaichiRuntimeError(
                f"parameter `{parameter.name}` of kernel `{own.definition.name}` is a template, and nothing was given "
                "for it",
                f"template_args={{'{parameter.name}': ...}}, or instantiate({parameter.name}=...)",
            )
        else:
            annotation = parameter.annotation
            if isinstance(annotation, NdarrayAnnotation):
                what = f"the annotation of `{parameter.name}` of kernel `{own.definition.name}`"
                hint = f"template_args={{'{parameter.name}': x}} with an ndarray x, or a type such as {COMPLETE}"
                _check_complete(annotation, what, hint)
            found.append(annotation)
    return own, tuple(found)


def _check_complete(annotation: NdarrayAnnotation, what: str, hint: str = f"write {COMPLETE}") -> None:
    """Check that a type alone says what is passed. Raises: TaichiRuntimeError."""
    missing = [word for word in ("dtype", "ndim") if getattr(annotation, word) is None]
    if missing or annotation.is_element_open:
        raise TaichiRuntimeError(f"{what} leaves {' and '.join(missing) or 'elements'} open", hint)


def instance_name(kernel: Any, values: Mapping[str, Any], name_of_field: Callable[[Any], str | None]) -> dict[str, str]:
    """Return what identifies an instance: its template arguments by name, as strings.

    Numbers and strings are written as in Python, fields by the name they were added with or their own, others
    by a digest of what they are; arrays given for parameters that take ndarrays are left out.
    """
    own = kernel.kernel if isinstance(kernel, BoundKernel) else kernel
    found: dict[str, str] = {}
    for parameter in own.definition.parameters:
        if parameter.name in values and is_template(parameter.annotation):
            value = values[parameter.name]
            known = name_of_field(value) or getattr(value, "name", None)
            if value is None or isinstance(value, int | float | str):
                found[parameter.name] = repr(value)
            elif isinstance(known, str) and known:
                found[parameter.name] = known
            else:
                found[parameter.name] = sha256(describe(value).encode()).hexdigest()[:8]
    return found
