"""The methods of a kernel that look at it, or work on its source, instead of launching it.

In: a kernel and the arguments of a call. Out: its forms and keys; and what the tools of the workbench return, which are
asked by name (`tool_registry.py`) and loaded when they are first asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...transpiler.frontend.source.definition import KernelDefinition
from ...transpiler.lang.arch import Arch
from ..cache import compiler
from ..cache.compiler import COMPILING, Request
from ..devices.capabilities import capabilities_for
from ..session import session as sessions
from ..session.session import Session
from ..session.tracebacks import hides_own_frames
from .arguments.call_arguments import CallArguments
from .arguments.signatures import signature_of
from .inspection import Inspection, observe
from .tool_registry import tool
from .tuning import tunable_of

if TYPE_CHECKING:
    from ...transpiler.backend.module.compilation import Compilation
    from ...transpiler.backend.module.interface import BackendModule

METHODS_OF_ARGUMENTS = frozenset(
    {
        "bench",
        "compare",
        "compile",
        "edit",
        "export_repro",
        "inspect",
        "key",
        "report",
        "signature",
        "source",
        "tune",
        "variants",
    }
)
"""Methods of a kernel that take a call's arguments: of a method's kernel, the object first."""


class KernelTools:
    """What a kernel can be asked. arguments: how it is called. is_cacheable: whether what is compiled may be cached."""

    definition: KernelDefinition
    arguments: CallArguments
    is_cacheable: bool

    def specialize(self, args: Sequence[Any], arch: Arch | str | None = None) -> Request:
        """Return what a call asks for, of the session's target or another; annotations fill up what is missing."""
        session = sessions.CURRENT
        options = sessions.current_config().compile_options()
        capabilities = capabilities_for(arch, None if session is None else session.device)
        return compiler.specialize(self.definition, self.arguments.complete(args), options, capabilities)

    def emitted(self, leaves: Sequence[Any]) -> tuple[Session, Request, Compilation]:
        """Return what is generated for arguments in the current session, which is the kernel's from now on."""
        raise NotImplementedError

    def forget_launchers(self) -> None:
        """Compile anew with the next launch."""
        raise NotImplementedError

    # --- forms and keys

    @hides_own_frames
    def source(self, *args: Any, arch: Arch | str | None = None) -> str:
        """Return the emitted source for these arguments; nothing is launched and no device is needed.

        arch: another target than the session's, for example `ti.cuda` or "cuda:sm_80" on a machine without a GPU. A
        trailing ndarray argument may be left out where its annotation gives dtype and ndim.
        """
        return self.inspect(*args, arch=arch).source

    @hides_own_frames
    def ir(self, stage: str, *args: Any, arch: Arch | str | None = None) -> str:
        """Return one form as text: "frontend", "lowered", "tasks", "final" or "pass:NN:name".

        Raises: KeyError listing the forms there are.
        """
        return self.inspect(*args, arch=arch).ir(stage)

    @hides_own_frames
    def inspect(self, *args: Any, arch: Arch | str | None = None) -> Inspection:
        """Return every form of this kernel as text, from Python to the emitted source; nothing is launched."""
        return observe(self.specialize(args, arch).specialization)

    @hides_own_frames
    def key(self, *args: Any, arch: Arch | str | None = None) -> str:
        """Return a digest of all that decides what a launch runs; equal in every process on this machine.

        It covers the kernel's source and those of the functions it calls, the arguments' types, template values,
        captured globals, the shapes and places of fields, options, capabilities, the compiler, the device and its
        driver; and the edited source that runs instead, if there is one. The frontend does not run for it.
        """
        request, config = self.specialize(args, arch), sessions.current_config()
        keys = compiler.kernel_keys(request.specialization, config, sessions.CURRENT)
        sources = sessions.module_sources()
        return keys.launch(sources.digest(config, request.specialization, lambda: self._generated(request)))

    @hides_own_frames
    def signature(self, *args: Any) -> str:
        """Return what this call is specialised on, as text: `(x, i32)`; fields by name, other arguments by type."""
        return signature_of(self.definition, self.specialize(args).specialization.arguments)

    def _generated(self, request: Request) -> BackendModule:
        config = sessions.current_config()
        return compiler.find_or_compile(request.specialization, config, is_cacheable=self.is_cacheable).module

    # --- tools of the workbench

    @hides_own_frames
    def edit(self, *args: Any, arch: Arch | str | None = None, variant: str = "") -> Path:
        """Write the emitted source for these arguments into its slot; return the file to edit, or the slot's folder.

        The next launch runs what is there; a copy that nobody touched is no edit, and one that was edited is left as it
        is. variant: a name for a further source of the slot. Several tasks have several files on Vulkan. See
        docs/hand-tuning.md. Raises: OSError.
        """
        request = self.specialize(args, arch)
        edits_dir = sessions.current_config().edits_dir
        path: Path = tool("begin_edit")(request.specialization, self._generated(request), edits_dir, variant)
        self.forget_launchers()
        return path

    @hides_own_frames
    def variants(self, *args: Any, **kwargs: Any) -> Any:
        """Return the generated source for these arguments and all edits of it, ready to build; nothing is launched.

        It is a `workbench.variants.Variants`.
        """
        leaves = self.arguments.flattened(args, kwargs)
        session, request, compilation = self.emitted(leaves)
        return tool("gather")(session, request.specialization, compilation, request.argument_kinds, leaves)

    @hides_own_frames
    def compare(
        self,
        *args: Any,
        variant: str | None = None,
        rounds: int = 3,
        relative: float | None = None,
        absolute: float | None = None,
    ) -> Any:
        """Run the generated source and an edit of it on copies of the arguments, and say what differs.

        variant: name of the edit; None: the one that a launch runs. rounds: runs of each. relative, absolute:
        tolerances of floating-point numbers instead of those by type. Returns a `workbench.compare.Comparison`.
        Raises: the edit's own error where it cannot run.
        """
        return self._ask("compare", args, variant, rounds, relative, absolute)

    @hides_own_frames
    def report(self, *args: Any) -> Any:
        """Compile anew for these arguments, past all caches, and say how long each stage takes: `.times` [s], `.wall`.

        Nothing is launched, and what was compiled before stays in use. Returns a
        `workbench.compile_times.CompileReport`.
        """
        session = sessions.current()
        request = self.specialize(self.arguments.bind(args))
        with COMPILING:
            return tool("compile_report")(request.specialization, session.device)

    @hides_own_frames
    def bench(
        self, *args: Any, variants: Sequence[str] | None = None, seconds: float = 2.0, margin: float = 0.01
    ) -> Any:
        """Time the generated source and its edits in turns on copies of these arguments.

        Returns a table with medians, a `workbench.bench.Timing`, and with the ratio to the first as an interval; "no
        difference" where it cannot tell. variants: which, the base first. seconds: for the rounds. margin: smaller
        differences count as none.
        """
        return self._ask("bench", args, variants, seconds, margin)

    @hides_own_frames
    def tune(self, *args: Any, variant: str | None = None, **options: Any) -> Any:
        """Try the values of the source's knobs, keep the fastest for these shapes and this device.

        Knobs are comments in a source, `// @tune BLOCK = 64 | 128`, and `@ti.tune(block_dim=[64, 128])`. Each setting
        is compared with the generated source before it is timed; later launches use the winner. variant: whose source;
        None: of the one that runs. options: seconds, limit, restart, progress. Returns a `workbench.trials.Tuning`.
        """
        tuning = self._ask("tune", args, variant, tunable_of(self.definition.function), **options)
        self.forget_launchers()
        return tuning

    @hides_own_frames
    def export_repro(self, *args: Any, folder: str | Path, variant: str | None = None) -> Path:
        """Write this call into a folder that runs without shadesmith: the source, inputs, what is expected, `run.py`.

        variant: whose source; None: the one that a launch runs. See `workbench.repro`. Raises: TaichiRuntimeError.
        """
        path: Path = self._ask("export_repro", args, folder, variant)
        return path

    def _ask(self, name: str, args: Sequence[Any], *options: Any, **named: Any) -> Any:
        """Return what a tool says of the variants of this kernel for a call's arguments."""
        return tool(name)(self.variants(*args), *options, **named)
