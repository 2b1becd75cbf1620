"""The methods of a kernel that inspect it, or work on its source, instead of launching it.

In: a kernel and the arguments of a call. Out: its forms and keys; and the results of the tools of the workbench, which
are found by name (`tool_registry.py`) and loaded at their first use.
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
from .inspection import Inspection, observe, source_of
from .tool_registry import tool
from .tuning import tunable_of

if TYPE_CHECKING:
    from ...transpiler.backend.module.compilation import Compilation
    from ...transpiler.backend.module.interface import BackendModule

EDITED_FORMS = {"source": "start_edit", "ir": "start_ir_edit"}
"""What people edit, and the tool that writes it."""

METHODS_OF_ARGUMENTS = frozenset(
    {
        "bench",
        "bisect",
        "compare",
        "compile",
        "edit",
        "export_repro",
        "inspect",
        "key",
        "launch_plan",
        "report",
        "signature",
        "source",
        "stats",
        "tune",
        "variants",
    }
)
"""Methods of a kernel that take a call's arguments; for a kernel that is a method, the object comes first."""


class KernelTools:
    """The inspection methods of a kernel. is_cacheable: whether what is compiled may be cached."""

    definition: KernelDefinition
    arguments: CallArguments
    is_cacheable: bool

    def specialize(self, args: Sequence[Any], arch: Arch | str | None = None) -> Request:
        """Return the request of a call, for the session's target or another; annotations replace missing arguments."""
        session = sessions.active()
        options = sessions.current_config().compile_options()
        capabilities = capabilities_for(arch, None if session is None else session.device)
        return compiler.specialize(self.definition, self.arguments.complete(args), options, capabilities)

    def emitted(self, flat_arguments: Sequence[Any]) -> tuple[Session, Request, Compilation]:
        """Return what is generated for arguments in the current session; the kernel belongs to it from now on."""
        raise NotImplementedError

    def forget_launchers(self) -> None:
        """Recompile at the next launch."""
        raise NotImplementedError

    # --- forms and keys

    @hides_own_frames
    def source(self, *args: Any, arch: Arch | str | None = None) -> str:
        """Return the emitted source for these arguments; nothing is launched and no device is needed.

        arch: another target than the session's, for example `ti.cuda` or "cuda:sm_80" on a machine without a GPU. A
        trailing ndarray argument may be left out if its annotation gives dtype and ndim.
        Raises: TaichiCompilationError or one of its subclasses, with the location in the Python.

        Example:
            >>> @ti.kernel
            ... def double(x: ti.types.ndarray(ti.f32, 1)):
            ...     for i in x:
            ...         x[i] *= 2
            >>> print(double.source(arch=ti.cuda).splitlines()[-1])
            }
        """
        return source_of(self.specialize(args, arch).specialization)

    @hides_own_frames
    def ir(self, stage: str, *args: Any, arch: Arch | str | None = None) -> str:
        """Return one form as a string. stage: "frontend", "lowered", "tasks", "final" or "pass:NN:name".

        arch: another target than the session's, as for `source`. Raises: KeyError listing the forms there are.

        Example:
            >>> @ti.kernel
            ... def double(x: ti.types.ndarray(ti.f32, 1)):
            ...     for i in x:
            ...         x[i] *= 2
            >>> print(double.ir("final").splitlines()[0])
            shadesmith ir 1
        """
        return self.inspect(*args, arch=arch).ir(stage)

    @hides_own_frames
    def inspect(self, *args: Any, arch: Arch | str | None = None) -> Inspection:
        """Return every form of this kernel, from Python to the emitted source; nothing is launched.

        arch: another target than the session's, as for `source`.

        Example:
            >>> @ti.kernel
            ... def double(x: ti.types.ndarray(ti.f32, 1)):
            ...     for i in x:
            ...         x[i] *= 2
            >>> sorted(double.inspect(arch=ti.cuda).times)[:2]
            ['emit', 'frontend']
        """
        return observe(self.specialize(args, arch).specialization)

    @hides_own_frames
    def key(self, *args: Any, arch: Arch | str | None = None) -> str:
        """Return a digest of everything that determines what a launch runs; equal in every process on this machine.

        It covers the source of the kernel and of the functions it calls, the arguments' types, template values,
        captured globals, the shapes and layouts of fields, options, capabilities, the compiler, the device and its
        driver; and the edited source that runs instead, if there is one. The frontend does not run for it.
        arch: another target than the session's, as for `source`.
        """
        request, config = self.specialize(args, arch), sessions.current_config()
        keys = compiler.kernel_keys(request.specialization, config, sessions.active())
        sources = sessions.module_sources()
        return keys.launch(sources.digest(config, request.specialization, lambda: self._generated(request)))

    @hides_own_frames
    def signature(self, *args: Any) -> str:
        """Return what this call is specialised on, such as `(x, i32)`; fields by name, other arguments by type.

        Example:
            >>> @ti.kernel
            ... def double(x: ti.types.ndarray(ti.f32, 1)):
            ...     for i in x:
            ...         x[i] *= 2
            >>> double.signature(ti.ndarray(ti.f32, 4))
            '(ndarray[f32, 1])'
        """
        return signature_of(self.definition, self.specialize(args).specialization.arguments)

    @hides_own_frames
    def blame(self, value: str, *args: Any, stage: str = "final", arch: Arch | str | None = None) -> Any:
        """Return which pass made a value of a form, `kernel.blame("$12")`, for which line of Python.

        stage: the form that has the number; "final", or another of `kernel.inspect(*args).names()`.
        Raises: TaichiRuntimeError for a number that the form does not have; KeyError for an unknown form.
        """
        return self.inspect(*args, arch=arch).blame(value, stage)

    @hides_own_frames
    def stats(self, *args: Any, arch: Arch | str | None = None) -> Any:
        """Return what the compiler made of the kernel: operations, loads and stores of each task, registers, spills.

        It prints as a table; nothing is launched. arch: another target. See `workbench/inspect/statistics.py`.
        """
        return tool("statistics")(self.inspect(*args, arch=arch))

    @hides_own_frames
    def launch_plan(self, *args: Any, **kwargs: Any) -> Any:
        """Return what a call would launch: grid and block of each task, arguments by offset, barriers, the variant.

        It prints as a table; nothing is launched. See `workbench/inspect/launch_plan.py`.
        """
        return tool("launch_plan")(self.variants(*args, **kwargs))

    def cache_info(self) -> Any:
        """Return hits and misses of the cache for this kernel, with reasons: `workbench/inspect/kernel_list.py`."""
        return tool("cache_info")(self)

    def _generated(self, request: Request) -> BackendModule:
        config = sessions.current_config()
        return compiler.find_or_compile(request.specialization, config, is_cacheable=self.is_cacheable).module

    # --- tools of the workbench

    @hides_own_frames
    def edit(
        self,
        *args: Any,
        arch: Arch | str | None = None,
        variant: str = "",
        form: str = "source",
        parameters: bool = False,
    ) -> Path:
        """Write the emitted source for these arguments into its slot; return the file to edit, or the slot's folder.

        The next launch runs the edited source; an unchanged copy is no edit, and an edited file is never overwritten.
        arch: another target than the session's. form: "source", or "ir": the final IR, for all targets. variant: name
        of a further source in the slot. parameters: its comments offer the tuning parameters of the compiler. On Vulkan
        several tasks have several files. See docs/hand-tuning.md. Raises: OSError; ValueError for another form.

        Example:
            >>> @ti.kernel
            ... def double(x: ti.types.ndarray(ti.f32, 1)):
            ...     for i in x:
            ...         x[i] *= 2
            >>> double.edit(ti.ndarray(ti.f32, 4), variant="mine").suffix
            '.c'
        """
        request = self.specialize(args, arch)
        edits_dir = sessions.current_config().edits_dir
        if form not in EDITED_FORMS:
            raise ValueError(f"form={form!r}: an edit is of one of {', '.join(map(repr, EDITED_FORMS))}")
        if parameters and form != "source":
            raise ValueError(
                f"parameters=True: the parameters of the compiler are those of a source, not of form={form!r}"
            )
        offers = {"offers": True} if parameters else {}
        start = tool(EDITED_FORMS[form])
        path: Path = start(request.specialization, self._generated(request), edits_dir, variant, **offers)
        self.forget_launchers()
        return path

    @hides_own_frames
    def variants(self, *args: Any, **kwargs: Any) -> Any:
        """Return the generated source for these arguments and all edits of it, ready to build; nothing is launched.

        It is a `workbench.variants.Variants`.
        """
        flat_arguments = self.arguments.flattened(args, kwargs)
        session, request, compilation = self.emitted(flat_arguments)
        return tool("gather")(session, request.specialization, compilation, request.argument_kinds, flat_arguments)

    @hides_own_frames
    def compare(
        self,
        *args: Any,
        variant: str | None = None,
        rounds: int = 3,
        relative: float | None = None,
        absolute: float | None = None,
        **options: Any,
    ) -> Any:
        """Run the generated source and an edit of it on copies of the arguments, and return what differs.

        variant: name of the edit; None: the one that a launch runs. rounds: runs of each. relative, absolute:
        tolerances of floating-point numbers instead of those of their type. options: `in_process`, `time_limit`,
        `sanitize`, of `workbench.measure.compare.compare`. Returns a `Comparison`.
        Raises: the edit's own error if it cannot run; TaichiRuntimeError if it crashes or exceeds the time limit.
        """
        return self._run_tool("compare", args, variant, rounds, relative, absolute, **options)

    @hides_own_frames
    def bisect(self, *args: Any, in_process: bool = False, time_limit: float | None = None) -> Any:
        """Return the first pass after which a result of this call differs from the interpreter's; it prints.

        The call runs on copies of the arguments; the interpreter is slow, so a small call is best. in_process: run what
        was compiled in this process, which it may end. time_limit: of each run [s].
        Returns a `workbench.bisect.bisection.Bisection`.
        """
        return tool("bisect")(self.variants(*args), in_process, time_limit)

    @hides_own_frames
    def report(self, *args: Any) -> Any:
        """Recompile for these arguments without caches, and return how long each stage takes: `.times` [s], `.wall`.

        Nothing is launched, and the kernels compiled before stay in use. Returns a
        `workbench.compile_times.CompileReport`.
        """
        session = sessions.current()
        request = self.specialize(self.arguments.bind(args))
        with COMPILING:
            return tool("compile_report")(request.specialization, session.device)

    @hides_own_frames
    def bench(
        self,
        *args: Any,
        variants: Sequence[str] | None = None,
        seconds: float = 2.0,
        margin: float = 0.01,
        **options: Any,
    ) -> Any:
        """Time the generated source and its edits alternately on copies of these arguments.

        Returns a table with medians, a `workbench.bench.Timing`, and with the ratio to the first as an interval; "no
        difference" if it is undecided. variants: which, the base first. seconds: for the rounds. margin: smaller
        differences count as none. options: `in_process`, `time_limit`.
        """
        return self._run_tool("bench", args, variants, seconds, margin, **options)

    @hides_own_frames
    def tune(self, *args: Any, variant: str | None = None, **options: Any) -> Any:
        """Try the values of the source's tuning parameters, store the fastest for these shapes and this device.

        They are declared by comments in a source, `// @tune BLOCK = 64 | 128`, and by `@ti.tune(block_dim=[64, 128])`.
        The results of each setting are compared with those of the generated source before it is timed; later launches
        use the fastest. variant: whose source; None: of the one that runs. options: seconds, limit, restart, progress,
        in_process, time_limit.
        Returns a `workbench.trials.Tuning`.
        """
        tuning = self._run_tool("tune", args, variant, tunable_of(self.definition.function), **options)
        self.forget_launchers()
        return tuning

    @hides_own_frames
    def export_repro(self, *args: Any, folder: str | Path, variant: str | None = None) -> Path:
        """Write this call into a folder that runs without shadesmith: the source, inputs, expected outputs, `run.py`.

        variant: whose source; None: the one that a launch runs. See `workbench.repro`. Raises: TaichiRuntimeError.
        """
        path: Path = self._run_tool("export_repro", args, folder, variant)
        return path

    def _run_tool(self, name: str, args: Sequence[Any], *options: Any, **named: Any) -> Any:
        """Return the result of a tool for the variants of this kernel for a call's arguments."""
        return tool(name)(self.variants(*args), *options, **named)
