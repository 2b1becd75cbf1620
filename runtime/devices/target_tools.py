"""One object for each target: code that does something for a target uses its tools and compares no name.

A target has a folder in `runtime/targets`, which is loaded when the target is first used. Its `__init__.py` defines the
`TargetTools`: what all packages need and what is cheap to load. Each other module of the folder defines one `Part`,
whose class is declared by the package that needs it: how an edited source is checked, what the compiler makes of it,
what goes into an archive. A target without a part lacks the feature.

This module imports no target: `runtime/targets/registry.py` installs the function that does.

A new target: its folder, and its name in `TARGETS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.options import Capabilities
from ..config import Config

if TYPE_CHECKING:
    from ...transpiler.backend.module.interface import BackendModule
    from ..store.store import Store
    from .device import Device

TARGETS = ("vulkan", "cuda", "c", "python")
"""Names of the targets, in the order in which reports show them."""


def _no_device(config: Config, allow_software: bool, chosen: int | str | None = None) -> Device:
    raise TaichiRuntimeError("shadesmith emits its source and has no device for it")


def _no_devices() -> list[tuple[str, int | None]]:
    return []


def _no_compiler(store: Store | None) -> str:
    return ""


def _no_sizes(module: BackendModule) -> dict[str, tuple[int, int | None]]:
    return {}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)  # each method more takes time at every start
class TargetTools:
    """What differs between targets, for the runtime.

    name: the target.
    arch: its name in `ti.init(arch=...)` and `--arch`.
    portable: the capabilities that are assumed if no device is queried.
    language: the emitted language, as panes and CSS classes of reports name it.
    title: the language's name for people.
    open_device: takes the options of a session, whether a software driver is acceptable, and the number or name of the
      device if one is chosen. Raises TaichiRuntimeError if there is no device; so does the default.
    list_devices: returns the names of its devices by their numbers, with their memory [bytes], None if it is unknown.
    compiler_identity: returns a string that changes with the compiler; it runs no compiler.
    lexer: Pygments' name of the language.
    suffix: of the emitted files.
    build_stages: names of the step from source to machine code, and of the step that makes that ready to launch.
    binary_sizes: returns the bytes of each file's binary by name, before an optimizer and after it; None: not known.
    gpus: a regular expression for the names of GPUs that sources are compiled for, "" if sources fit any GPU.
    default_gpu: one of these names.
    is_interpreter: kernels run without an emitted source.
    """

    name: str
    arch: str
    portable: Capabilities
    language: str
    title: str
    open_device: Callable[..., Device] = _no_device
    list_devices: Callable[[], list[tuple[str, int | None]]] = _no_devices
    compiler_identity: Callable[[Store | None], str] = _no_compiler
    lexer: str = ""
    suffix: str = ""
    build_stages: tuple[str, str] = ("compiler", "loading")
    binary_sizes: Callable[[BackendModule], dict[str, tuple[int, int | None]]] = _no_sizes
    gpus: str = ""
    default_gpu: str = ""
    is_interpreter: bool = False


class Part:
    """Tools of a target for one purpose. MODULE: the module in the target's folder that defines them, as `TOOLS`."""

    MODULE: ClassVar[str]


PartT = TypeVar("PartT", bound=Part)
ToolsLoader = Callable[[str, str], Any]
"""Takes a target and a part, or "" for the `TargetTools`; returns its `TOOLS`, None if the target lacks the part."""


def _no_loader(target: str, module: str) -> Any:
    raise TaichiRuntimeError(f"target `{target}` has no tools: `runtime.targets.registry.install` was not called")


_LOADED: dict[tuple[str, str], Any] = {}
_loader: ToolsLoader = _no_loader


def install_loader(load: ToolsLoader) -> None:
    """Let the functions of this module load targets by `load`."""
    global _loader
    _loader = load


def tools_of(target: str) -> TargetTools:
    """Return the tools of a target. Raises: KeyError for a name that is not in `TARGETS`."""
    tools: TargetTools = _LOADED.get((target, "")) or _load(target, "")
    return tools


def part_of(target: str, kind: type[PartT]) -> PartT:
    """Return the tools of a target for one purpose. Raises: TaichiRuntimeError if the target has none."""
    part = find_part(target, kind)
    if part is None:
        raise TaichiRuntimeError(f"target `{target}` has no {kind.MODULE}")
    return part


def find_part(target: str, kind: type[PartT]) -> PartT | None:
    """Return the tools of a target for one purpose, None if the target has none."""
    part = _LOADED.get((target, kind.MODULE)) or _load(target, kind.MODULE)
    assert part is None or isinstance(part, kind)
    return part


def all_tools() -> list[TargetTools]:
    """Return the tools of all targets."""
    return [tools_of(target) for target in TARGETS]


def source_tools() -> list[TargetTools]:
    """Return the tools of the targets that emit source."""
    return [tools for tools in all_tools() if not tools.is_interpreter]


def _load(target: str, module: str) -> Any:
    if target not in TARGETS:
        raise KeyError(target)
    tools = _loader(target, module)
    return None if tools is None else _LOADED.setdefault((target, module), tools)
