"""One object for each target: whoever does something for a target asks its tools, and compares no name.

A target has a folder in `runtime/targets`, which is loaded when the target is first used. Its `__init__.py` holds the
`TargetTools`: what everybody needs, and what is cheap to load. The other modules of the folder hold one `Part` each,
which the package that needs it declares: how an edited source is checked, what the compiler makes of it, what goes into
an archive. A target without a part lacks the feature.

A new target: its folder, and its name in `TARGETS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.options import Capabilities
from ..config import Config
from .loading import loader

if TYPE_CHECKING:
    from ..store.store import Store
    from .device import Device

TARGETS = ("vulkan", "cuda", "c", "python")
"""In the order in which reports show them."""


def _no_device(config: Config, allow_software: bool) -> Device:
    raise TaichiRuntimeError("shadesmith emits its source and has no device for it")


def _no_compiler(store: Store | None) -> str:
    return ""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)  # each method more takes time at every start
class TargetTools:
    """What differs between targets, for the runtime.

    name: of the target.
    arch: what `ti.init(arch=...)` and `--arch` call it.
    portable: what it can do where no device is asked.
    language: of the emitted source, as panes and classes of pages have it. title: its name for people.
    open_device: takes the options of a session, and whether a software driver will do. Raises: TaichiRuntimeError where
      there is no device, and by default.
    compiler_identity: a text that changes with the compiler; no compiler is run for it.
    lexer: as Pygments names it.
    suffix: of the emitted files.
    build_stages: what makes machine code of a source, and what makes that ready to launch.
    gpus: a regular expression for the names of GPUs that sources are compiled for, "" where they are for any.
    default_gpu: one of these names.
    is_interpreter: kernels run without a source.
    """

    name: str
    arch: str
    portable: Capabilities
    language: str
    title: str
    open_device: Callable[[Config, bool], Device] = _no_device
    compiler_identity: Callable[[Store | None], str] = _no_compiler
    lexer: str = ""
    suffix: str = ""
    build_stages: tuple[str, str] = ("compiler", "loading")
    gpus: str = ""
    default_gpu: str = ""
    is_interpreter: bool = False


class Part:
    """Tools of a target for one purpose. MODULE: the module in the target's folder that holds them, as `TOOLS`."""

    MODULE: ClassVar[str]


PartT = TypeVar("PartT", bound=Part)
_LOADED: dict[tuple[str, str], Any] = {}


def tools_of(target: str) -> TargetTools:
    """Return the tools of a target. Raises: KeyError for a name that is not in `TARGETS`."""
    tools: TargetTools = _LOADED.get((target, "")) or _load(target, "")
    return tools


def part_of(target: str, kind: type[PartT]) -> PartT:
    """Return the tools of a target for one purpose. Raises: TaichiRuntimeError where the target has none."""
    part = find_part(target, kind)
    if part is None:
        raise TaichiRuntimeError(f"target `{target}` has no {kind.MODULE}")
    return part


def find_part(target: str, kind: type[PartT]) -> PartT | None:
    """Return the tools of a target for one purpose, None where the target has none."""
    part = _LOADED.get((target, kind.MODULE)) or _load(target, kind.MODULE)
    assert part is None or isinstance(part, kind)
    return part


def all_tools() -> list[TargetTools]:
    """Return the tools of all targets."""
    return [tools_of(target) for target in TARGETS]


def source_tools() -> list[TargetTools]:
    """Return the tools of the targets that emit sources."""
    return [tools for tools in all_tools() if not tools.is_interpreter]


def _load(target: str, module: str) -> Any:
    if target not in TARGETS:
        raise KeyError(target)
    name = f"..targets.{target}{'.' if module else ''}{module}"
    try:
        tools = loader(name, __package__)().TOOLS
    except ModuleNotFoundError as error:
        if not module or not (error.name or "").endswith(name.lstrip(".")):
            raise
        return None
    return _LOADED.setdefault((target, module), tools)
