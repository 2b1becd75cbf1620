"""The arrays of a kernel: parameters, and fields and ndarrays that it reaches by name.

Input: objects of the runtime, which describe themselves. Output: `Array`s of the kernel, and its trees of SNodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import TaichiRuntimeError, TaichiTypeError
from ...ir.nodes import Statement
from ...ir.snodes import Node, Tree, top_of
from ...ir.sparse import unique_name
from ...ir.statements import Array
from ...ir.tasks import Kernel
from ...ir.types import Type, describe_type, scalars_of, u1
from ...lang.describe import ArrayDescription, Step, identify_step, is_described, name_step, steps_of
from .dependencies import Dependencies
from .reporter import Reporter
from .struct_types import StructTypes
from .trees import describe_tree, in_sight, name_parts
from .values import ArrayMember, Lvalue

MAX_NAMES = 3
"""A word is named after so many of the fields in it."""


def _whole_of(field: Any) -> Any:
    """Return the field of vectors whose component a field is, None if there is none."""
    whole = getattr(field, "whole", None)
    return None if whole is None else whole()


class Arrays:
    """The arrays of a kernel under construction.

    Attributes:
        fields: the Python object of each array of the kernel, by binding; None for a parameter.
        trees: the owners of the memory of sparse trees, by their top nodes.
        objects: the Python objects of the kernel's arrays, except parameters.
        names: all names of arrays.
        stopped: arrays of `ti.stop_grad`, which count as constant.
    """

    def __init__(self, kernel: Kernel, reporter: Reporter, structs: StructTypes, dependencies: Dependencies) -> None:
        self.kernel = kernel
        self.reporter = reporter
        self.structs = structs
        self.dependencies = dependencies
        self.fields: list[Any] = []
        self.trees: dict[Node, Any] = {}
        self.objects: dict[Array, Any] = {}
        self.names: set[str] = set()
        self._by_object: dict[int, Array] = {}
        self.stopped: set[Array] = set()
        self._gradients: dict[Array, Array] = {}

    def is_known(self, value: Any) -> bool:
        """Return whether the kernel already uses the array of an object."""
        return id(value) in self._by_object

    def find(self, value: Any) -> Array | None:
        """Return the array of a parameter or of an object that describes itself; None for other values."""
        array = self._by_object.get(id(value))
        if array is not None:  # most are
            return array
        if isinstance(value, (Array, ArrayMember)):
            return value if isinstance(value, Array) else value.array
        if isinstance(value, (Statement, Lvalue, list, tuple, int, float, type)):
            return None
        description = self.describe(value)
        if description is None:
            return None
        if description.path:
            return self.find(description.owner)
        names = {} if description.place is None else self.enter_tree(description.place, description.tree).names
        seen = names.get(description.place)  # type: ignore[arg-type]
        used = self.dependencies
        name = used.names.get(id(value)) or description.name or used.items.get(id(value)) or seen or "array"
        return self._add(value, name, description)

    def describe(self, value: Any) -> ArrayDescription | None:
        """Return the description of an object of the runtime, None if it is no array."""
        try:
            return value.describe_array() if is_described(value) else None
        except TaichiRuntimeError:
            return self.reporter.call_user(value.describe_array)  # type: ignore[no-any-return]

    def _add(self, value: Any, name: str, description: ArrayDescription, path: str = "") -> Array:
        """Add the array that an object describes, or one for each part of a split field. path: as in `Array`."""
        element = self.structs.named(description.element)
        if description.parts:
            array = Array(self.unique(name), element, len(description.shape), -1, path=path)
            steps = zip(description.parts, steps_of(element), strict=True)
            array.parts = tuple(self._part(array, part, step) for part, step in steps)
        elif description.packing is not None:
            array = Array(self.unique(name), element, len(description.shape), -1, path=path)
            array.packing, array.words = description.packing, self._words(description.words, array.name)
        else:
            array = self.new(name, element, len(description.shape))
            self.fields[array.binding], array.path = value, path
        array.shape = tuple(description.shape)
        array.may_alias = description.kind == "ndarray"
        array.offset, array.strided = description.offset, description.strided
        if description.packing is not None:
            array.place = description.place
        elif description.place is not None:
            array.place = description.place
            self.enter_tree(array.place, description.tree).names[array.place] = array.name
        elif array.parts:
            array.place = array.parts[0].place  # loops run over the cells of the first part, as in Taichi
            name_parts(array, self.kernel.trees)
        self._by_object[id(value)], self.objects[array] = array, value
        return array

    def _part(self, whole: Array, value: Any, step: Step) -> Array:
        """Return the array of a part of a split field, named after the whole if it has no Python name."""
        known = self.dependencies.names.get(id(value))
        array = self._by_object.get(id(value))
        if array is not None:
            array.path = array.path or array.name
            return array
        name = known or identify_step(whole.name, whole.element, step)
        path = whole.path or whole.name  # also of a component: errors show the Python name, `v` of `v[i]`
        path = known or (name_step(path, whole.element, step) if isinstance(step, str) else path)
        description = self.describe(value)
        assert description is not None
        return self._add(value, name, description, path)

    def _words(self, words: Any, first: str) -> Array:
        """Return the array of the words of quantised fields, named after those fields that have names."""
        known = self.find(words) if self.is_known(words) else None
        if known is not None:
            return known
        used = self.dependencies.names
        seen = {id(value): name for name, value in in_sight(self.structs.frames)}
        given: dict[str, None] = {}
        for field in words.living_members():
            whole = _whole_of(field)
            known_as = (used.get(id(field)), used.get(id(whole)), field.name, seen.get(id(field)), seen.get(id(whole)))
            given.update(dict.fromkeys([name for name in known_as if name][:1]))
        names = [name.replace(".", "_") for name in list(given)[:MAX_NAMES]] or [first]
        description = self.describe(words)
        assert description is not None
        if description.place is not None:
            self.enter_tree(description.place, description.tree)
        return self._add(words, "_".join([*names, "bits"]), description)

    def enter_tree(self, node: Node, owner: Any) -> Tree:
        """Return the kernel's view of the tree of a node. owner: of its memory, if it is sparse."""
        top = top_of(node)
        if top not in self.kernel.trees:
            structs, names = self.structs, self.dependencies.items | self.dependencies.names
            self.kernel.trees[top] = describe_tree(top, structs.frames, names, structs.named)
        if owner is not None:
            self.trees[top] = owner
        return self.kernel.trees[top]

    def cells_of(self, node: Any) -> Array:
        """Return an array that represents the cells of a node of a tree, for a loop over them."""
        cells = self.reporter.call_user(node.describe_domain)
        if cells.place is not None:
            self.enter_tree(cells.place, cells.tree)
        name = self.dependencies.names.get(id(node)) or cells.name or "cells"
        return Array(name, u1, len(cells.shape), -1, cells.shape, place=cells.place, offset=cells.offset)

    def gradient(self, array: Array) -> Array:
        """Return the gradient of an argument; a launch passes `argument.grad`."""
        grad = self._gradients.get(array)
        if grad is None:
            if not all(scalar.is_float for scalar in scalars_of(array.element)):
                message = f"`{array.name}` has no gradient: its elements are {describe_type(array.element)}"
                raise self.reporter.error(TaichiTypeError, message, "pass an array of floating-point numbers")
            grad = self._gradients[array] = self.new(f"{array.name}_grad", array.element, array.ndim)
            grad.parameter, grad.may_alias, grad.is_gradient = array.parameter, True, True
            grad.strided, grad.clamped = array.strided, array.clamped
        return grad

    def add_derivatives(self, mode: str, arguments: Sequence[Any]) -> None:
        """Add the gradients of all arrays that have one, or the duals. mode: "reverse", "forward" or both."""
        member = "dual" if mode == "forward" else "grad"
        for array, value in list(self.objects.items()):
            self._add_derivative(array, value, member, "derivative")
        for array in [array for array in self.kernel.arrays if array.parameter is not None and not array.is_gradient]:
            assert array.parameter is not None
            argument = arguments[array.parameter]
            if getattr(argument, "has_gradient", False) and array not in self.stopped:
                array.derivative = self.gradient(array)
                array.derivative.may_alias = not argument.owns_gradient
        if mode == "forward_over_reverse":
            for array, value in list(self.objects.items()):
                self._add_derivative(array, value, "dual", "tangent")

    def _add_derivative(self, array: Array, value: Any, member: str, attribute: str) -> None:
        """Add the derivative of the array of an object, as an attribute of the array, and those of its parts."""
        found = getattr(value, member, None)
        if found is None or array in self.stopped or not getattr(found, "is_placed", True):
            return
        if id(found) not in self._by_object:
            description = self.describe(found)
            assert description is not None
            self._add(found, f"{array.name}_{member}", description)
        setattr(array, attribute, self._by_object[id(found)])
        for part, other in zip(array.parts, self._by_object[id(found)].parts):
            setattr(part, attribute, other)

    def new(self, name: str, element: Type, ndim: int) -> Array:
        """Add an array with a unique name to the kernel."""
        array = Array(self.unique(name), element, ndim, len(self.kernel.arrays))
        self.kernel.arrays.append(array)
        self.fields.append(None)
        return array

    def unique(self, name: str) -> str:
        """Return `name`, with a number if another array of the kernel has this name."""
        unique = unique_name(name, self.names)
        self.names.add(unique)
        return unique
