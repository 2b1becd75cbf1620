"""One kernel in a graph with its arguments: arguments of the graph by name, and constant values.

In: the arguments of `dispatch`. Out: `Dispatch`, checked against the kernel's parameters as a call would be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from ...transpiler.errors import TaichiCompilationError, TaichiRuntimeTypeError
from ...transpiler.frontend.source.specialization import Argument
from ...transpiler.ir.types import describe_type
from ...transpiler.lang.annotations import NdarrayAnnotation, as_type, is_template
from ...transpiler.lang.textures import RWTextureType, TextureType
from ...transpiler.options import CompileOptions
from ..arrays.dense_array import DenseArray
from ..arrays.texture import Texture
from ..launch.arguments.classify import classify
from ..launch.arguments.packing import flatten
from ..launch.kernel import BoundKernel, Kernel, as_bound_kernel
from ..session import session as sessions
from .argument import Arg, ArgKind


class Dispatch:
    """A kernel and, for each flattened parameter, an `Arg` or the value itself.

    Attributes:
        values: returns the arguments of a launch, given the values of the graph's arguments by name.
        identity: equal for dispatches of one kernel with the same arguments.
    """

    def __init__(self, kernel: Kernel, arguments: tuple[Any, ...]) -> None:
        self.kernel, self.arguments = kernel, arguments
        self.values: Callable[[Mapping[str, Any]], tuple[Any, ...]] = _selector(arguments)
        self.identity = (
            kernel,
            *(("", argument.name) if isinstance(argument, Arg) else id(argument) for argument in arguments),
        )

    @property
    def takes_gradients(self) -> bool:
        """Whether it launches the kernel of a gradient, which uses those of its arrays."""
        return self.kernel.definition.derivative == "reverse"

    def specialise(self, given: Mapping[str, Any], options: CompileOptions) -> tuple[Argument, ...]:
        """Return what the kernel is compiled for. Raises: TaichiRuntimeTypeError if an argument does not fit."""
        return classify(self.kernel.definition, self.values(given), options)[0]

    def to_data(self) -> list[Any]:
        """Return the arguments for a manifest: a name or a value per parameter that is not a template."""
        pairs = zip(self.kernel.definition.flat_parameters, self.arguments, strict=True)
        return [_data(argument) for parameter, argument in pairs if not is_template(parameter.annotation)]


def make_dispatch(function: Any, args: Sequence[Any]) -> Dispatch:
    """Check a kernel and its arguments. Raises: TaichiCompilationError with the message that a call would give."""
    function = as_bound_kernel(function)
    kernel = function.kernel if isinstance(function, BoundKernel) else function
    if not isinstance(kernel, Kernel):
        raise TaichiCompilationError(f"a graph dispatches kernels, found {function!r}", "`@ti.kernel` above its def")
    owner = (function.instance,) if isinstance(function, BoundKernel) else ()
    dispatch = Dispatch(kernel, kernel.arguments.flattened((*owner, *args)))
    options = sessions.current_config().compile_options()
    for parameter, argument in zip(kernel.definition.flat_parameters, dispatch.arguments, strict=True):
        if isinstance(argument, Arg):
            _check(argument, parameter.name, parameter.annotation, kernel.definition.name, options)
        elif isinstance(argument, Texture) or (isinstance(argument, DenseArray) and argument.KIND == "ndarray"):
            what, kind = ("a texture", "TEXTURE") if isinstance(argument, Texture) else ("an ndarray", "NDARRAY")
            raise TaichiCompilationError(
                f"`{parameter.name}` of kernel `{kernel.definition.name}` was given {what}, which a graph takes "
                "with each run",
                f"pass a `ti.graph.Arg` of kind {kind}",
            )
    try:
        dispatch.specialise(examples(dispatch), options)
    except TaichiRuntimeTypeError as error:
        raise TaichiCompilationError(error.message, error.hint) from None
    return dispatch


def examples(dispatch: Dispatch) -> dict[str, Any]:
    """Return a placeholder value for each argument, by name, to compile the kernel with."""
    arguments = (argument for argument in dispatch.arguments if isinstance(argument, Arg))
    return {argument.name: argument.example(dispatch.takes_gradients) for argument in arguments}


def _check(arg: Arg, parameter: str, annotation: Any, kernel: str, options: CompileOptions) -> None:
    """Check what `classify` cannot see: the types of numbers. Raises: TaichiCompilationError."""
    where = f"graph argument `{arg.name}` for `{parameter}` of kernel `{kernel}`"
    if is_template(annotation):
        if arg.tag is not ArgKind.NDARRAY:
            raise TaichiCompilationError(
                f"{where}: a ti.template() is compiled in",
                f"pass its value to `dispatch`, or annotate it with `{describe_type(arg.type)}`",
            )
        return
    wanted = as_type(annotation, options)
    kinds = _kinds_for(annotation)
    if arg.tag not in kinds:
        needed = " or ".join(kind.name for kind in kinds)
        raise TaichiCompilationError(f"{where} has kind {arg.tag.name}, and {needed} is needed")
    if isinstance(annotation, NdarrayAnnotation):
        _check_array(arg, annotation, where, options)
    if wanted is not None and arg.type != wanted:
        raise TaichiCompilationError(
            f"{where}: Arg {parameter}'s dtype {describe_type(arg.type)} doesn't match kernel's annotated "
            f"dtype={describe_type(wanted)}",
            f"`dtype={describe_type(wanted)}`",
        )


def _check_array(arg: Arg, annotation: NdarrayAnnotation, where: str, options: CompileOptions) -> None:
    """Check axes and elements if both sides specify them. Raises: TaichiCompilationError."""
    if annotation.ndim is not None and arg.ndim != annotation.ndim and not annotation.is_element_open:
        raise TaichiCompilationError(
            f"{where} needs ndim={annotation.ndim}, found ndim={arg.ndim}", f"`ndim={annotation.ndim}`"
        )
    wanted = None if annotation.dtype is None else as_type(annotation.dtype, options)
    if wanted is not None and arg.type != wanted and not annotation.is_element_open:
        raise TaichiCompilationError(
            f"{where} needs dtype={describe_type(wanted)}, found dtype={describe_type(arg.type)}",
            f"`dtype={describe_type(wanted)}`",
        )


def _kinds_for(annotation: Any) -> tuple[ArgKind, ...]:
    """Return the kinds of arguments that a parameter takes."""
    if isinstance(annotation, NdarrayAnnotation):
        return (ArgKind.NDARRAY,)
    if isinstance(annotation, TextureType):
        return (ArgKind.TEXTURE,)
    return (ArgKind.RWTEXTURE,) if isinstance(annotation, RWTextureType) else (ArgKind.SCALAR, ArgKind.MATRIX)


def _selector(arguments: tuple[Any, ...]) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """Return the function that selects the values of a launch; fast, since a run calls it for each launch."""
    names = [argument.name for argument in arguments if isinstance(argument, Arg)]
    if len(names) == len(arguments) > 1:
        return itemgetter(*names)
    if not names:
        return lambda given: arguments
    return lambda given: tuple([given[item.name] if isinstance(item, Arg) else item for item in arguments])


def _data(argument: Any) -> Any:
    if isinstance(argument, Arg):
        return argument.name
    return argument if isinstance(argument, (bool, int, float)) else flatten(argument)
