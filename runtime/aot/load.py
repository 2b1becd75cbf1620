"""`ti.aot.load`: kernels, fields and graphs of an archive, to be called from Python without the program they are from.

In: an archive. Out: `LoadedModule`. Nothing is compiled where a binary fits the device. A kernel's code is given to the
device, and a shared object loaded, with its first launch. Launching is what it is for other kernels: the same
launchers, with arguments of all libraries, results, and reports of print and assert.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from ...transpiler.backend.module.compilation import Compilation
from ...transpiler.backend.module.interface import Interface
from ...transpiler.errors import TaichiRuntimeError, TaichiRuntimeTypeError
from ...transpiler.frontend.source.definition import KernelDefinition
from ...transpiler.frontend.source.specialization import ArrayArgument
from ...transpiler.ir.types import Struct, Tensor, element_of, u8
from ..arrays.memory import Memory, ended_error
from ..arrays.ndarray import array_in_memory
from ..cache.compiler import COMPILING, specialize
from ..close_names import close_names
from ..launch.arguments.captured import TreePart
from ..launch.arguments.keys import Keys
from ..launch.instance import Instance, Launcher
from ..session import session as sessions
from ..session.programs import Code
from ..session.session import Session
from ..session.tracebacks import hides_own_frames
from .archive import open_archive
from .archive_data import Archive, Kernel
from .container import ArchiveError
from .fits import check_device, codes_for
from .loaded_graph import LoadedGraph
from .stored_types import LoadedDefinition
from .stored_types import element_of as stored_element

LAZY_BYTES = 64 << 20
"""Memory of a module from this size on is not touched before it is used, where the device has such memory."""

PACK_ERRORS = (struct.error, TypeError, OverflowError, ValueError, IndexError)


@hides_own_frames
def load(source: str | os.PathLike[str] | bytes) -> LoadedModule:
    """Load an archive, or a folder that `save` wrote, for the device of the session.

    source: a path, or the bytes of an archive. Its kernels can be called, and its fields used, as long as the session
    lasts.
    Raises: TaichiRuntimeError for an archive that is damaged, and one for another target or another device; OSError.

    Example:
        >>> ti.init(arch=ti.cpu)
        >>> @ti.kernel
        ... def double(x: ti.types.ndarray(ti.f32, 1)):
        ...     for i in x:
        ...         x[i] *= 2
        >>> module = ti.aot.Module()
        >>> module.add_kernel(double)
        >>> module.archive("example.tcm")
        >>> loaded = ti.aot.load("example.tcm")
        >>> x = ti.ndarray(ti.f32, 3)
        >>> x.fill(1.5)
        >>> loaded.double(x)
        >>> x.to_numpy().tolist()
        [3.0, 3.0, 3.0]
    """
    session = sessions.current("a module")
    archive = open_archive(source)
    check_device(archive, session)
    return LoadedModule(archive, session)


class LoadedModule:
    """A module in the current session.

    kernels, graphs: by name. fields: by name, as ndarrays that share the module's memory; indices count from 0. Kernels
    are attributes too: `module.paint(pixels, n, t)`.
    archive: what `ti.aot.load` has read.

    Example:
        >>> ti.init(arch=ti.cpu)
        >>> mass = ti.field(ti.f32, 4)
        >>> module = ti.aot.Module()
        >>> module.add_field("mass", mass)
        >>> module.archive("fields.tcm")
        >>> loaded = ti.aot.load("fields.tcm")
        >>> loaded.fields["mass"].shape, list(loaded.kernels)
        ((4,), [])
    """

    def __init__(self, archive: Archive, session: Session) -> None:
        self.title = archive.title
        self.target = archive.manifest.target
        self.requires = archive.manifest.requires
        self._session = session
        self._trees = [self._tree(size, number) for number, size in enumerate(archive.manifest.trees)]
        self.kernels = {name: LoadedKernel(name, kernel, self, session) for name, kernel in archive.kernels.items()}
        self.fields: Mapping[str, Any] = Fields(archive.manifest.fields, self._trees)
        self.graphs = {name: LoadedGraph(name, data, self.kernels) for name, data in archive.manifest.graphs.items()}

    def _tree(self, size_bytes: int, number: int) -> Memory:
        lazily = self._session.device.lazy_memory and size_bytes >= LAZY_BYTES
        return Memory(self._session, Tensor((max(1, size_bytes),), u8), (1,), f"tree {number} of {self.title}", lazily)

    def tree(self, number: int) -> Memory:
        """Return one of the module's memory blocks. Raises: ArchiveError if it does not exist."""
        if number >= len(self._trees):
            raise ArchiveError(f"{self.title}: a kernel captures memory, and the module has none")
        return self._trees[number]

    def __getattr__(self, name: str) -> Any:
        kernels = self.__dict__.get("kernels", {})
        if name in kernels:
            return kernels[name]
        close = close_names(name, kernels)
        hint = f"did you mean `{close[0]}`?" if close else f"its kernels are {', '.join(kernels) or 'none'}"
        raise AttributeError(f"module {self.__dict__.get('title')} has no kernel `{name}`. Hint: {hint}")

    def __repr__(self) -> str:
        return f"<module {self.title} for {self.target}: {', '.join(self.kernels)}>"


class Fields(Mapping[str, Any]):
    """Fields of a module by name, created on first use."""

    def __init__(self, stored: Mapping[str, Mapping[str, Any]], trees: Sequence[Memory]) -> None:
        self._stored, self._trees = stored, trees
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._make(name, self._stored[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)

    def _make(self, name: str, data: Mapping[str, Any]) -> Any:
        """Return an ndarray over a part of a tree. Raises: TaichiRuntimeError if its elements have no strides."""
        if data["strides_bytes"] is None:
            raise TaichiRuntimeError(
                f"the elements of field `{name}` have no strides (blocks of cells, or a sparse tree), so that it is "
                "no array",
                "archive a kernel that copies it to an ndarray",
            )
        element, whole = stored_element(data), self._trees[data["tree"]]
        dtype = element.numpy if isinstance(element, Struct) else element_of(element).numpy
        inner = element.shape if isinstance(element, Tensor) else ()
        dense = [dtype.itemsize * int(np.prod(inner[axis + 1 :], dtype=int)) for axis in range(len(inner))]
        strides = (*data["strides_bytes"], *dense)
        view: np.ndarray[Any, Any] = np.ndarray(
            (*data["shape"], *inner), dtype, whole.view.data, data["offset_bytes"], strides
        )
        return array_in_memory(whole, view, element, name)


class LoadedKernel:
    """A kernel of a module. Calling it launches it with the parameters that are no templates, in order or by name.

    name: in the archive. kernel, module, session: what it launches, and where.

    Example:
        >>> ti.init(arch=ti.cpu)
        >>> @ti.kernel
        ... def add(a: ti.i32, b: ti.i32) -> ti.i32:
        ...     return a + b
        >>> module = ti.aot.Module()
        >>> module.add_kernel(add)
        >>> module.archive("add.tcm")
        >>> ti.aot.load("add.tcm").kernels["add"](2, b=3)
        5
    """

    def __init__(self, name: str, kernel: Kernel, module: LoadedModule, session: Session) -> None:
        self.name, self._kernel, self._session = name, kernel, session
        self._requires = module.requires
        self.parameters = kernel.stored.parameters
        self._definition = cast(
            KernelDefinition, LoadedDefinition(name, self.parameters, kernel.module.interface.results)
        )
        self._passed = [place for place, each in enumerate(self.parameters) if each["kind"] != "template"]
        self._is_plain = len(self._passed) == len(self.parameters)
        self._keys = Keys(self._definition)
        self._key = self._keys.fast
        self._launchers: dict[Any, Callable[..., Any]] = {}
        self._instances: dict[Any, tuple[Instance, Launcher]] = {}
        self._code: Code | None = None
        self._fields = _captured(kernel, module)

    @property
    def source(self) -> str:
        """The source that was compiled."""
        return self._kernel.module.source()

    def __repr__(self) -> str:
        names = ", ".join(self.parameters[place]["name"] for place in self._passed)
        return f"<loaded kernel {self.name}({names})>"

    @hides_own_frames
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Launch with these arguments; returns the kernel's result, if it has one, after waiting for it.

        Raises: TaichiRuntimeTypeError for an argument that does not fit; TaichiRuntimeError after `ti.reset()`.
        """
        if kwargs or len(args) != len(self._passed):
            args = self._bind(args, kwargs)
        if not self._is_plain:
            args = self.flattened(args)
        if self._session.epoch < 0:
            raise ended_error()
        try:
            launch = self._launchers[self._key(args)]
        except AttributeError:  # arrays of other libraries, which will be passed again
            self._key = self._keys.of
            launch = self._find(args)
        except (KeyError, TypeError):
            launch = self._find(args)
        try:
            return launch(*args)
        except PACK_ERRORS:
            self._explain(args)
            raise

    def _bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        names = [self.parameters[place]["name"] for place in self._passed]
        values = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names or name in values:
                fault = "is given twice" if name in names else "is none of these"
                raise TypeError(f"kernel `{self.name}` takes {', '.join(names) or 'no arguments'}; `{name}` {fault}")
            values[name] = value
        if len(args) > len(names) or len(values) != len(names):
            count = f"{len(names)} argument{'s' * (len(names) != 1)} ({', '.join(names)})" if names else "no arguments"
            raise TypeError(f"kernel `{self.name}` takes {count}, found {len(values) + max(0, len(args) - len(names))}")
        return tuple(values[name] for name in names)

    def flattened(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Return a value for each parameter, given those that are no templates; others are not looked at."""
        values: list[Any] = [0] * len(self.parameters)
        for place, value in zip(self._passed, args, strict=True):
            values[place] = value
        return tuple(values)

    def launcher(self, flat_arguments: Sequence[Any]) -> tuple[Instance, Launcher]:
        """Return what is made ready for such arguments, and what launches it; for graphs.

        Raises: TaichiRuntimeError after `ti.reset()`.
        """
        if self._session.epoch < 0:
            raise ended_error()
        key = self._keys.of(flat_arguments)
        if key not in self._instances:
            self._find(flat_arguments)
        return self._instances[key]

    @property
    def definition(self) -> KernelDefinition:
        """The parameters, for graphs."""
        return self._definition

    def _find(self, args: Sequence[Any]) -> Callable[..., Any]:
        session = self._session
        request = specialize(self._definition, args, session.options, session.device.capabilities)
        arguments = request.specialization.arguments
        self._check_textures(arguments)
        key = self._keys.of(args)
        with COMPILING:
            launch = self._launchers.get(key)
            if launch is not None:
                return launch
            argument_kinds = self._reachable(arguments, request.argument_kinds)
            compilation = Compilation(self._kernel.module, self._fields, {}, (), {})
            instance = Instance(session, request.specialization, compilation, code=self._load())
            launcher = instance.make_launch(compilation, argument_kinds, keeps=True)
            self._launchers[key], self._instances[key] = launcher.launch, (instance, launcher)
        return launcher.launch

    def _check_textures(self, arguments: Sequence[Any]) -> None:
        """Check that textures hold what the kernel was archived for: numbers with or without a point."""
        for argument, parameter in zip(arguments, self.parameters, strict=True):
            if parameter["kind"] == "texture" and argument.element.name != parameter["element"]:
                raise TaichiRuntimeTypeError(
                    f"texture `{parameter['name']}` of kernel `{self.name}` gives {argument.element}, and the kernel "
                    f"was archived for one that gives {parameter['element']}",
                    "archive it for this format too",
                )

    def _reachable(self, arguments: Sequence[Any], argument_kinds: Sequence[str]) -> tuple[str, ...]:
        """Return how the launcher reads each argument: arrays with gaps are copied, unless the source uses strides.

        Raises: TaichiRuntimeTypeError for an ndarray with gaps.
        """
        interface: Interface = self._kernel.module.interface
        taking = {array.parameter for slot, array in enumerate(interface.arrays) if interface.takes_strides(slot)}
        found = list(argument_kinds)
        for place, argument in enumerate(arguments):
            if isinstance(argument, ArrayArgument) and argument.strided and place not in taking:
                if argument_kinds[place] == "ndarray":
                    raise TaichiRuntimeTypeError(
                        f"Argument {place} (`{self.parameters[place]['name']}` of kernel `{self.name}`) has gaps, and "
                        "the kernel was archived for arrays without",
                        "pass a copy, or archive it for such a part",
                    )
                found[place] = "other"
        return tuple(found)

    def _load(self) -> Code:
        if self._code is None:
            kernel, device = self._kernel, self._session.device
            codes = codes_for(kernel, self._requires, device)
            module = kernel.module
            program = device.build(module) if codes is None else device.load(module, codes)
            self._code = Code(module, program)
        return self._code

    def _explain(self, args: Sequence[Any]) -> None:
        """Raise an error with the parameter whose argument cannot be packed, if that is the reason."""
        found = self._instances.get(self._keys.of(args))
        if found is not None:
            found[0].explain(args, self._passed)


def _captured(kernel: Kernel, module: LoadedModule) -> tuple[TreePart | None, ...]:
    """Return what the kernel captured, by slot, in the module's own memory."""
    interface = kernel.module.interface
    places: dict[int, tuple[Memory, int]] = {}
    numbers: dict[int, dict[tuple[Any, ...], int]] = {}
    for member, value in zip(interface.members, kernel.stored.constants, strict=True):
        if isinstance(value, dict):
            places[member.source[1]] = module.tree(value["tree"]), value["offset_bytes"]
        elif value is not None:
            slot, key = member.source[1], (member.source[0], *member.source[2:])
            numbers.setdefault(slot, {})[key] = value
    found: list[TreePart | None] = []
    for slot in range(len(interface.arrays)):
        if slot not in places and slot not in numbers:
            found.append(None)
            continue
        memory, offset = places.get(slot) or (
            module.tree(0),
            0,
        )  # an array of which only the shape is used needs no address
        found.append(TreePart(memory, offset, numbers.get(slot, {})))
    return tuple(found)


__all__ = ["LoadedGraph", "LoadedKernel", "LoadedModule", "load"]
