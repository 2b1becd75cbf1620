"""`ti.aot.Module`: compiles kernels for a target and archives them with the fields that they use.

In: kernels with arguments to specialize them for. Out: a `.tcm` file or a folder. Nothing is launched, and no device of
the target is needed. The archive depends only on the kernel, its arguments, the options and the target, not on earlier
launches, and a kernel object has no state of it.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import tempfile
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from ...transpiler.backend.module.one_file import task_sources
from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.lang.arch import Arch
from ...transpiler.lang.describe import is_described
from ..cache.compiler import Request
from ..devices.target_tools import part_of
from ..launch.kernel import Kernel
from ..session import session as sessions
from ..session.tracebacks import hides_own_frames
from ..store.atomic_files import write_bytes
from . import manifest
from .archive import TAICHI_METADATA
from .archive_facts import ArchiveFacts
from .binaries import compile_binaries, requirements
from .compilation import compile_for, instance_name, specialize, specialize_call, specialize_flattened
from .container import MAX_MEMBERS, write_container
from .manifest import MAX_NAME, Compiled, Trees
from .targets import find_target

SUFFIX = ".tcm"
RENAME = "add_kernel(..., name='another')"


class Graph(Protocol):
    """A compiled graph, `ti.graph.GraphBuilder().compile()`."""

    def kernels(self) -> Mapping[str, tuple[Kernel, Sequence[Any]]]:
        """Return each specialization once, with values or placeholders for its flattened parameters."""

    def to_data(self) -> Mapping[str, Any]:
        """Return the names of the arguments, and dispatches: the name of a kernel, and its arguments."""


class Module:
    """Kernels, fields and graphs for one target, to be archived.

    arch: an architecture, its name, "vulkan1.1" or "cuda:sm_80"; None: the session's. caps: None: those of the
    session's device; "portable": those of every device of the target; or a list of `ti.DeviceCapability` (Vulkan).
    Raises: TaichiRuntimeError for an unknown target.

    Example:
        >>> @ti.kernel
        ... def double(x: ti.types.ndarray(ti.f32, 1)):
        ...     for i in x:
        ...         x[i] *= 2
        >>> module = ti.aot.Module("vulkan")
        >>> module.add_kernel(double)
        >>> module.archive("double.tcm")
    """

    @hides_own_frames
    def __init__(self, arch: Arch | str | None = None, caps: Any = None) -> None:
        self.target = find_target(arch, caps)
        self._options = sessions.current_config().compile_options()
        self._kernels: dict[str, Compiled] = {}
        self._fields: dict[str, Any] = {}
        self._graphs: dict[str, dict[str, Any]] = {}

    @property
    def kernels(self) -> list[str]:
        """Names of the kernels so far."""
        return list(self._kernels)

    @hides_own_frames
    def add_kernel(
        self, kernel_fn: Any, template_args: Mapping[str, Any] | None = None, name: str | None = None
    ) -> None:
        """Compile a kernel and add it.

        template_args: values of its `ti.template()` parameters, and arrays for those of ndarrays, by name; an ndarray
        may be left out if its annotation has dtype and ndim. name: under which it is launched; None: its own.
        Raises: TaichiRuntimeError if the name is in use; errors of the compilation.
        """
        self._add(kernel_fn, template_args or {}, name or _name_of(kernel_fn), None)

    def add_call(self, kernel_fn: Any, arguments: Sequence[Any], name: str) -> None:
        """Add a kernel for the arguments of a call, all of them in order, a method's object first.

        Raises: as `add_kernel`.
        """
        _check_name(name, self._kernels, "kernel", RENAME)
        request, flat_arguments = specialize_call(kernel_fn, arguments, self._options, self.target)
        self._kernels[name] = self._compile(request, flat_arguments, None)

    @contextmanager
    def add_kernel_template(self, kernel_fn: Any) -> Iterator[KernelTemplate]:
        """Yield an object that adds a kernel for several sets of template arguments: `kt.instantiate(a=x)`.

        Such a kernel is launched as `name(a=x)`, with numbers as in Python and fields by the name they were added with.
        """
        yield KernelTemplate(self, kernel_fn)

    @hides_own_frames
    def add_field(self, name: str, field: Any) -> None:
        """Add a field under a name, by which a loader finds it.

        Raises: TaichiRuntimeError if the name is in use, and for anything but one field.
        """
        if not is_described(field) or field.KIND != "field":
            raise TaichiRuntimeError(f"add_field takes a field, and {field!r} was given", "ndarrays are arguments")
        if hasattr(field, "quant"):
            hint = "copy it to a field of a number type in a kernel, and add that"
            raise TaichiRuntimeError(f"a field of {field.quant} has no name of its own: it is a part of words", hint)
        _check_name(name, self._fields, "field")
        manifest.check_field(name, field)
        field.describe_array()  # allocates its tree, which then has a size
        self._fields[name] = field

    def name_of_field(self, field: Any) -> str | None:
        """Return the name with which a field was added, None for others."""
        return next((name for name, known in self._fields.items() if known is field), None)

    def _add(self, kernel_fn: Any, values: Mapping[str, Any], name: str, template: dict[str, Any] | None) -> None:
        request, arguments = specialize(kernel_fn, values, self._options, self.target)
        hint = RENAME if template is None else f"each is archived once; for arrays of other types {RENAME}"
        _check_name(name, self._kernels, "kernel", hint)
        self._kernels[name] = self._compile(request, arguments, template)

    def _compile(self, request: Request, arguments: Any, template: dict[str, Any] | None) -> Compiled:
        module, fields, edited = compile_for(request, arguments, self.target)
        module = task_sources(module, numbered=True)
        binaries = compile_binaries(module, self.target)
        return Compiled(request.specialization, module, fields, tuple(binaries), template, edited)

    @hides_own_frames
    def add_graph(self, name: str, graph: Graph) -> None:
        """Add a graph, and each kernel that it dispatches, once for each specialization.

        Such a kernel can be launched by itself too: under its own name, or `graph.kernel` if that is in use.
        Raises: TaichiRuntimeError if the name is in use; errors of the compilation.
        """
        _check_name(name, self._graphs, "graph")
        names = {own: self._dispatched(name, own, *found) for own, found in graph.kernels().items()}
        data = graph.to_data()
        dispatches = [
            {"kernel": names[each["kernel"]], "arguments": list(each["arguments"])} for each in data["dispatches"]
        ]
        self._graphs[name] = {
            "arguments": [self._graph_argument(each["name"], dispatches) for each in data["arguments"]],
            "dispatches": dispatches,
        }

    def _dispatched(self, graph: str, own: str, kernel: Kernel, flat_arguments: Sequence[Any]) -> str:
        """Add a specialization that a graph dispatches, unless it is there; return its name."""
        compiled = self._compile(*specialize_flattened(kernel, flat_arguments, self._options, self.target), None)
        for name in (own, f"{graph}.{own}", *(f"{graph}.{own}__{number}" for number in range(2, MAX_MEMBERS))):
            known = self._kernels.setdefault(name, compiled)
            if (known.module, known.fields, known.template) == (compiled.module, compiled.fields, None):
                return name
        raise TaichiRuntimeError(f"graph `{graph}` dispatches kernel `{own}` in too many ways")

    def _graph_argument(self, name: str, dispatches: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the data of a graph's argument: those of the first parameter for which it is passed."""
        for each in dispatches:
            if name in each["arguments"]:
                parameters = manifest.parameters_data(self._kernels[each["kernel"]])
                passed = [parameter for parameter in parameters if parameter["kind"] != "template"]
                return {**passed[each["arguments"].index(name)], "name": name}
        raise TaichiRuntimeError(f"argument `{name}` is passed to no kernel of the graph", "leave it out")

    # --- writing

    @hides_own_frames
    def archive(self, filepath: str | os.PathLike[str], also: Sequence[str] = ()) -> None:
        """Write the module into one file, whose name ends with .tcm. Missing folders are created.

        also: languages to translate shaders to, for people: "msl", "hlsl". Raises: OSError; TaichiRuntimeError if they
        cannot be translated.
        """
        path = Path(filepath)
        assert path.name.endswith(SUFFIX), f"AOT module artifact archive must ends with {SUFFIX}"
        write_bytes(path, write_container(self.members(also)))

    @hides_own_frames
    def save(self, filepath: str | os.PathLike[str], filename: str = "", *, also: Sequence[str] = ()) -> None:
        """Write the module as a folder: the members of the archive, sources next to binaries.

        In addition a Vulkan module has `metadata.json`, `graphs.json` and shaders for tools that read Taichi's modules.
        filename: the second argument in Taichi 1.3, which has no effect. also, raises: as `archive`.
        """
        folder = Path(filepath)
        folder.mkdir(parents=True, exist_ok=True)
        members = self.members(also)
        companions = part_of(self.target.name, ArchiveFacts).companions
        members |= companions(json.loads(members[manifest.MANIFEST]), members) if companions is not None else {}
        new = Path(tempfile.mkdtemp(prefix=".kernels-", dir=folder))
        try:
            for name, data in members.items():
                path = new / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            shutil.rmtree(folder / manifest.FOLDER, ignore_errors=True)
            for old in _older_shaders(folder / TAICHI_METADATA):
                old.unlink(missing_ok=True)
            for each in sorted(new.iterdir()):
                os.replace(each, folder / each.name)
        finally:
            shutil.rmtree(new, ignore_errors=True)

    def members(self, also: Sequence[str] = ()) -> dict[str, bytes]:
        """Return the members of the archive by name. also, raises: as `archive`."""
        trees = Trees()
        fields = {name: manifest.field_data(field, trees) for name, field in sorted(self._fields.items())}
        folders = manifest.folders(list(self._kernels))
        kernels: dict[str, Any] = {}
        members: dict[str, bytes] = {}
        for name, compiled in sorted(self._kernels.items()):
            kernels[name], files = manifest.kernel_data(compiled, folders[name], trees, also)
            members.update(files)
        data = {
            "format": manifest.FORMAT,
            "version": manifest.VERSION,
            "shadesmith": _own_version(),
            "target": self.target.name,
            "requires": requirements(self.target, [b for c in self._kernels.values() for b in c.binaries]),
            "options": manifest.options_data(self._options),
            "capabilities": manifest.capabilities_data(self.target.capabilities),
            "members": manifest.member_table(members),
            "trees": trees.data(),
            "fields": fields,
            "kernels": kernels,
            "graphs": self._graphs,
        }
        return {manifest.MANIFEST: manifest.json_text(data).encode(), **members}


def _check_name(name: Any, known: Container[str], kind: str, hint: str = "give this one another name") -> None:
    """Check that a name is valid and not in use. Raises: TaichiRuntimeError."""
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= MAX_NAME:
        shown = repr(name[:40] if isinstance(name, str) else name)
        raise TaichiRuntimeError(f"{shown} is not a name of a {kind}: 1 to {MAX_NAME} printable characters", hint)
    if name in known:
        raise TaichiRuntimeError(f"there is a {kind} `{name}` already", hint)


class KernelTemplate:
    """Adds a kernel for several sets of template arguments.

    module: the `Module`. kernel_fn: the kernel. `Module.add_kernel_template` makes one.

    Example:
        >>> @ti.kernel
        ... def fill(x: ti.template(), value: ti.f32):
        ...     for i in x:
        ...         x[i] = value
        >>> module = ti.aot.Module("c")
        >>> field = ti.field(ti.f32, 4)
        >>> module.add_field("field", field)
        >>> with module.add_kernel_template(fill) as template:
        ...     template.instantiate(x=field)
    """

    def __init__(self, module: Module, kernel_fn: Any) -> None:
        self._module, self._kernel = module, kernel_fn

    @hides_own_frames
    def instantiate(self, **kwargs: Any) -> None:
        """Compile the kernel for these template arguments, and for arrays as ndarray parameters, and add it.

        Raises: as `Module.add_kernel`.
        """
        name = _name_of(self._kernel)
        arguments = instance_name(self._kernel, kwargs, self._module.name_of_field)
        shown = ", ".join(f"{parameter}={value}" for parameter, value in arguments.items())
        self._module._add(self._kernel, kwargs, f"{name}({shown})", {"of": name, "arguments": arguments})


def _name_of(kernel_fn: Any) -> str:
    definition = getattr(kernel_fn, "definition", None)
    return definition.name if definition is not None else str(getattr(kernel_fn, "__name__", ""))


def _older_shaders(metadata: Path) -> list[Path]:
    """Return the shaders that an older module in the same folder left, by its metadata for readers of Taichi's."""
    try:
        kernels = json.loads(metadata.read_text())["kernels"]
        names = [task["name"] for kernel in kernels for task in kernel["tasks_attribs"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [metadata.parent / f"{name}.spv" for name in names if Path(str(name)).name == name]


def _own_version() -> str:
    try:
        return importlib.metadata.version("shadesmith")
    except importlib.metadata.PackageNotFoundError:  # run from a folder that is not installed
        return "unknown"
