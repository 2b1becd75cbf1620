"""One kernel in a graph with its arguments: names of the graph's, and values that stay as they are.

In: what `dispatch` was called with. Out: `Dispatch`, checked against the kernel's parameters as a call would be.
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
    """A kernel and, for each leaf of its parameters, an `Arg` or the value itself.

    values(given): the arguments of a launch. given: the values of the graph's arguments by name. shape: equal for
    dispatches of one kernel with the same leaves.
    """

    def __init__(self, kernel: Kernel, leaves: tuple[Any, ...]) -> None:
        self.kernel, self.leaves = kernel, leaves
        self.values: Callable[[Mapping[str, Any]], tuple[Any, ...]] = _picker(leaves)
        self.shape = (kernel, *(("", leaf.name) if isinstance(leaf, Arg) else id(leaf) for leaf in leaves))

    def specialise(self, given: Mapping[str, Any], options: CompileOptions) -> tuple[Argument, ...]:
        """Return what the kernel is compiled for. Raises: TaichiRuntimeTypeError where an argument does not fit."""
        return classify(self.kernel.definition, self.values(given), options)[0]

    def to_data(self) -> list[Any]:
        """Return the arguments as a manifest has them: one a parameter that is no template, a name or a value."""
        pairs = zip(self.kernel.definition.flat_parameters, self.leaves, strict=True)
        return [_data(leaf) for parameter, leaf in pairs if not is_template(parameter.annotation)]


def make_dispatch(function: Any, args: Sequence[Any]) -> Dispatch:
    """Check a kernel and what it is given. Raises: TaichiCompilationError, in the words of a call where one would."""
    function = as_bound_kernel(function)
    kernel = function.kernel if isinstance(function, BoundKernel) else function
    if not isinstance(kernel, Kernel):
        raise TaichiCompilationError(f"a graph dispatches kernels, found {function!r}", "`@ti.kernel` above its def")
    owner = (function.instance,) if isinstance(function, BoundKernel) else ()
    dispatch = Dispatch(kernel, kernel.arguments.flattened((*owner, *args)))
    options = sessions.current_config().compile_options()
    for parameter, leaf in zip(kernel.definition.flat_parameters, dispatch.leaves, strict=True):
        if isinstance(leaf, Arg):
            _check(leaf, parameter.name, parameter.annotation, kernel.definition.name, options)
        elif isinstance(leaf, Texture) or (isinstance(leaf, DenseArray) and leaf.KIND == "ndarray"):
            what, kind = ("a texture", "TEXTURE") if isinstance(leaf, Texture) else ("an ndarray", "NDARRAY")
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
    """Return a value that stands for each argument where the kernel is compiled."""
    return {leaf.name: leaf.example() for leaf in dispatch.leaves if isinstance(leaf, Arg)}


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
    """Check axes and elements, where both sides say them. Raises: TaichiCompilationError."""
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


def _picker(leaves: tuple[Any, ...]) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """Return what picks the values of leaves, in the fastest way there is: a run calls it for each launch."""
    names = [leaf.name for leaf in leaves if isinstance(leaf, Arg)]
    if len(names) == len(leaves) > 1:
        return itemgetter(*names)
    if not names:
        return lambda given: leaves
    return lambda given: tuple([given[leaf.name] if isinstance(leaf, Arg) else leaf for leaf in leaves])


def _data(leaf: Any) -> Any:
    if isinstance(leaf, Arg):
        return leaf.name
    return leaf if isinstance(leaf, (bool, int, float)) else flatten(leaf)
