"""What `@ti.kernel` returns: finds or compiles the specialization for a call's arguments, launches it, shows it."""

from __future__ import annotations

import functools
import inspect
import struct
import threading
import weakref
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ...transpiler.errors import (
    TaichiCompilationError,
    TaichiRuntimeError,
    TaichiRuntimeTypeError,
    TaichiSyntaxError,
    as_seen_by_user,
    warn_user,
)
from ...transpiler.frontend.source.definition import KernelDefinition, define
from ...transpiler.frontend.source.signature import check_parameters
from ...transpiler.frontend.source.specialization import Specialization
from ...transpiler.lang.annotations import is_template
from ...transpiler.lang.arch import Arch
from ..arrays.interop import check_argument
from ..cache.compiler import compile_kernel, find_or_compile, generated_key
from ..devices.capabilities import capabilities_for
from ..session import session as sessions
from ..session.session import Session
from ..session.tracebacks import hides_own_frames
from .arguments import classify
from .inspection import Inspection, dump, observe, printing_observer
from .instance import Instance
from .keys import Keys
from .packs import unpacker
from .signatures import signature_of
from .tuning import tunable_of
from .workbench_facade import edited_key, edits_of, workbench

if TYPE_CHECKING:
    from pathlib import Path

    from ...transpiler.backend.module.compilation import Compilation
    from ...transpiler.backend.module.interface import BackendModule
    from ..workbench.bench import Timing
    from ..workbench.compare import Comparison
    from ..workbench.compile_times import CompileReport
    from ..workbench.edits import Choice
    from ..workbench.trials import Tuning
    from ..workbench.variants import Variant, Variants

F = TypeVar("F", bound=Callable[..., Any])


FASTEST = "fastest"
"""What `Kernel.use` takes for the variant that is fastest when measured."""
COMPILING = threading.RLock()
"""Held by the thread that compiles: passes set limits of the whole process, and two threads may want the same."""

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

_PACK_ERRORS = (struct.error, TypeError, OverflowError, ValueError, IndexError)


class Kernel:
    """A function that runs on the device. The first call with each kind of arguments compiles; every call launches."""

    def __init__(self, function: Callable[..., Any], is_method: bool = False, is_kept: bool = True) -> None:
        functools.update_wrapper(self, function)
        self.definition: KernelDefinition = define(function, is_method)
        check_parameters(self.definition)
        self.is_kept = is_kept
        """Whether what is compiled may be kept in the offline cache."""
        self._is_method = is_method
        self._arity = len(self.definition.parameters)
        self._session: Session | None = None
        self._instances: dict[Any, Instance] = {}
        self._launchers: dict[Any, Callable[..., Any]] = {}
        self._keys = Keys(self.definition)
        self._key = self._keys.fast
        self._unpack = unpacker(self.definition)
        self._last: tuple[Choice | None, BackendModule] | None = None
        """What the last launch ran; not the launcher, which holds memory."""
        self._wanted: str | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Launch with these arguments; returns the kernel's result, if it has one, after waiting for it."""
        try:
            if kwargs or len(args) != self._arity:
                args = self._bind(args, kwargs)
            if self._unpack is not None:
                args = self._unpack(args)
            session = self._session
            if session is None or session.epoch < 0:
                self._enter(sessions.current())
            try:
                launch = self._launchers[self._key(args)]
            except AttributeError:  # arrays of other libraries, which will come again
                self._key = self._keys.of
                launch = self._find(args)
            except (KeyError, TypeError):
                launch = self._find(args)
            self._last = launch.ran  # type: ignore[attr-defined]
            try:
                return launch(*args)
            except _PACK_ERRORS:
                self._explain(args)
                raise
        except (TaichiCompilationError, TaichiRuntimeError) as error:
            if sessions.current_config().print_full_traceback:
                raise
            __tracebackhide__ = True  # for pytest and IPython, where a trace function is in the way of the cut
            raise as_seen_by_user(error) from None

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind a kernel that is a method to its object, which becomes the first argument."""
        if instance is None or not self._is_method:
            return self
        return BoundKernel(self, instance)

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}>"  # type: ignore[attr-defined]

    @hides_own_frames
    def compile(self, *args: Any, **kwargs: Any) -> BackendModule:
        """Compile for these arguments on the current device without launching; returns the module."""
        args = self._bind_in_session(args, kwargs)
        self._find(args)
        return self._instances[self._slow_key(args)].module

    @hides_own_frames
    def source(self, *args: Any, arch: Arch | str | None = None) -> str:
        """Return the emitted text for these arguments; nothing is launched and no device is needed.

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
        specialization, target = self._specialization(self._complete(args), arch)
        return observe(specialization, target)

    @hides_own_frames
    def key(self, *args: Any, arch: Arch | str | None = None) -> str:
        """Return a digest of all that decides what a launch runs; equal in every process on this machine.

        It covers the kernel's text and those of the functions it calls, the arguments' types, template values, captured
        globals, the shapes and places of fields, options, capabilities, the compiler, the device and its driver; and
        the edited text that runs instead, if there is one. The frontend does not run for it.
        """
        specialization, target = self._specialization(self._complete(args), arch)
        config = sessions.current_config()
        key = generated_key(specialization, target, config, sessions.CURRENT)
        return edited_key(config, specialization, target, key)

    @hides_own_frames
    def signature(self, *args: Any) -> str:
        """Return what this call is specialised on, as text: `(x, i32)`; fields by name, other arguments by type."""
        specialization, _ = self._specialization(self._complete(args), None)
        return signature_of(self.definition, specialization.arguments)

    @hides_own_frames
    def edit(self, *args: Any, arch: Arch | str | None = None, variant: str = "") -> Path:
        """Write the emitted text for these arguments into its slot and return the file to edit, or the slot's folder.

        The next launch runs what is there; a copy that nobody touched is no edit, and one that was edited is left as it
        is. variant: a name for a further text beside it. Several tasks have several files on Vulkan. See
        docs/hand-tuning.md. Raises: OSError.
        """
        specialization, target = self._specialization(self._complete(args), arch)
        module = compile_kernel(specialization, target).module
        edits_dir = sessions.current_config().edits_dir
        path: Path = workbench("edits").begin(specialization, module, edits_dir, variant)
        self._forget_all()
        return path

    @hides_own_frames
    def variants(self, *args: Any, **kwargs: Any) -> Variants:
        """Return the generated text for these arguments and all edits of it, ready to build; nothing is launched."""
        args = self._bind_in_session(args, kwargs)
        with COMPILING:
            specialization, kinds, compilation = self._emit(args)
        found: Variants = workbench("edits").gather(self._session, specialization, compilation, kinds, args)
        return found

    @hides_own_frames
    def compare(
        self,
        *args: Any,
        variant: str | None = None,
        rounds: int = 3,
        relative: float | None = None,
        absolute: float | None = None,
    ) -> Comparison:
        """Run the generated text and an edit of it on copies of the arguments, and tell what differs.

        variant: name of the edit; None: the one that a launch runs. rounds: runs of each. relative, absolute:
        tolerances of floating-point numbers instead of those by type. See `workbench.compare.Comparison`.
        Raises: the edit's own error where it cannot run.
        """
        found: Comparison = workbench("compare").compare(self.variants(*args), variant, rounds, relative, absolute)
        return found

    def use(self, variant: str | None) -> None:
        """Run a text of the slot from the next launch on: "generated", "edit", or the name of a variant; None: as rules
        say. A launch for whose arguments there is no such variant raises TaichiRuntimeError.

        "fastest": the first launch of each kind of arguments compares and times all texts on copies, and the fastest of
        those that compute the same runs from then on.
        """
        self._wanted = variant
        self._forget_all()

    @hides_own_frames
    def report(self, *args: Any) -> CompileReport:
        """Compile anew for these arguments, past all caches, and tell how long each stage takes: `.times` [s], `.wall`.

        Nothing is launched, and what was compiled before stays in use.
        """
        args = self._bind_in_session(args, {})
        session = sessions.current()
        with COMPILING:
            specialization, _ = self._specialization(args, None)
            found: CompileReport = workbench("compile_times").compile_report(specialization, session.device)
        return found

    @hides_own_frames
    def bench(
        self, *args: Any, variants: Sequence[str] | None = None, seconds: float = 2.0, margin: float = 0.01
    ) -> Timing:
        """Time the generated text and its edits in turns on copies of these arguments; see `workbench.bench`.

        Returns a table with medians, and with the ratio to the first as an interval; "no difference" where it cannot
        tell. variants: which, the base first. seconds: for the rounds. margin: smaller differences count as none.
        """
        found: Timing = workbench("bench").bench(self.variants(*args), variants, seconds, margin)
        return found

    @hides_own_frames
    def tune(self, *args: Any, variant: str | None = None, **options: Any) -> Tuning:
        """Try the values of the text's knobs, keep the fastest for these shapes and this device; see `workbench.tune`.

        Knobs are comments in a text, `// @tune BLOCK = 64 | 128`, and `@ti.tune(block_dim=[64, 128])`. Each setting is
        compared with the generated text before it is timed; later launches use the winner. variant: whose text; None:
        of the one that runs. options: seconds, limit, restart, progress.
        """
        variants, tunable = self.variants(*args), tunable_of(self.definition.function)
        found: Tuning = workbench("tune").tune(variants, variant, tunable, **options)
        self._forget_all()
        return found

    @hides_own_frames
    def export_repro(self, *args: Any, folder: str | Path, variant: str | None = None) -> Path:
        """Write this call into a folder that runs without shadesmith: the text, inputs, what is expected, `run.py`.

        variant: whose text; None: the one that a launch runs. See `workbench.repro`. Raises: TaichiRuntimeError.
        """
        path: Path = workbench("repro").export_repro(self.variants(*args), folder, variant)
        return path

    @property
    def last_launch(self) -> Variant | None:
        """Which text the last launch ran: `.variant` ("generated", "edit" or a name), `.digest`, `.paths`."""
        if self._last is None:
            return None
        choice, module = self._last
        variant: Variant = choice.variant if choice is not None else workbench("variants").variant_of(module)
        return variant

    def leaves_of(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments of a call one by one, packs taken apart and defaults filled in."""
        values = self._bind(args, {})
        return values if self._unpack is None else self._unpack(values)

    def launcher(self, leaves: Sequence[Any]) -> tuple[Instance, Callable[..., Any]]:
        """Return what is compiled for such arguments in the current session, and what launches it."""
        self._enter(sessions.current())
        launch = self._find(leaves)
        return self._instances[self._slow_key(leaves)], launch

    def instances(self) -> list[Instance]:
        """Return what has been compiled in the current session, in order."""
        return list(dict.fromkeys(self._instances.values()))

    def captured(self) -> dict[str, Any]:
        """Return the globals that were read as constants, with the values compiled in."""
        return {name: value for instance in self.instances() for name, value in instance.captured.items()}

    def _bind_in_session(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return the arguments of a call in the current session, packs taken apart."""
        self._enter(sessions.current())
        values = self._bind(args, kwargs)
        return values if self._unpack is None else self._unpack(values)

    def _bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        parameters = self.definition.parameters
        names = [parameter.name for parameter in parameters]
        if len(args) > len(parameters):
            raise self._misuse(
                f"Too many arguments: kernel `{self.definition.name}` takes {len(parameters)}, found {len(args)}"
            )
        for name in kwargs:
            if name not in names:
                text = f"Unexpected argument `{name}` of kernel `{self.definition.name}`"
                close = get_close_matches(name, names, 1)
                raise self._misuse(f"{text}, did you mean `{close[0]}`?" if close else text)
            if name in names[: len(args)]:
                raise self._misuse(f"Multiple values for argument `{name}` of kernel `{self.definition.name}`")
        values = list(args)
        for parameter in parameters[len(args) :]:
            if parameter.name in kwargs:
                values.append(kwargs[parameter.name])
            elif parameter.default is not inspect.Parameter.empty:
                values.append(parameter.default)
            else:
                raise self._misuse(f"Missing argument `{parameter.name}` of kernel `{self.definition.name}`")
        return tuple(values)

    def _misuse(self, text: str) -> TaichiSyntaxError:
        names = ", ".join(parameter.name for parameter in self.definition.parameters[self._is_method :])
        return TaichiSyntaxError(
            f"{text.rstrip('?')}{'?' if text.endswith('?') else '.'} Hint: call it as `{self.definition.name}({names})`"
        )

    def _complete(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Fill up arguments that only their type matters for."""
        if len(args) > self._arity:
            raise self._misuse(
                f"Too many arguments: kernel `{self.definition.name}` takes {self._arity}, found {len(args)}"
            )
        values = list(args)
        for parameter in self.definition.parameters[len(args) :]:
            if is_template(parameter.annotation):
                raise TaichiSyntaxError(f"Missing argument `{parameter.name}` of kernel `{self.definition.name}`")
            values.append(parameter.annotation)
        return tuple(values) if self._unpack is None else self._unpack(values)

    def _specialization(self, args: Sequence[Any], arch: Arch | str | None) -> tuple[Specialization, str]:
        session = sessions.CURRENT
        options = sessions.current_config().compile_options()
        capabilities = capabilities_for(arch, None if session is None else session.device)
        arguments, _ = classify(self.definition, args, options)
        return Specialization(self.definition, arguments, options, capabilities), capabilities.target

    def _enter(self, session: Session) -> None:
        if session is not self._session:
            self._session = session
            self._forget_all()
            self._keys.identities.clear()

    def _forget_all(self) -> None:
        """Compile anew with the next launch."""
        for instance in list(self._instances.values()):
            instance.retire()
        self._instances.clear()
        self._launchers.clear()

    def _slow_key(self, args: Sequence[Any]) -> Any:
        try:
            return self._keys.of(args)
        except TaichiRuntimeTypeError:
            classify(self.definition, args, sessions.current_config().compile_options())  # it names the parameter
            raise

    def _find(self, args: Sequence[Any]) -> Callable[..., Any]:
        key = self._slow_key(args)
        launch = self._launchers.get(key)
        if launch is None:
            with COMPILING:
                launch = self._launchers.get(key)
                if launch is None:
                    launch = self._compile(key, args)
        return launch

    def renew(self, key: Any, args: Sequence[Any]) -> Callable[..., Any]:
        """Compile anew what is launched with arguments of this key, since a text that was edited has changed."""
        with COMPILING:
            launch = self._compile(key, args)
        self._last = launch.ran  # type: ignore[attr-defined]
        return launch

    def _compile(self, key: Any, args: Sequence[Any]) -> Callable[..., Any]:
        instance, launch = self._build(key, args, keeps=False)
        if instance.is_retired:  # by the end of the build: it uses fields that only it made
            _, launch = self._build(key, args, keeps=True)
        return launch

    def _emit(self, args: Sequence[Any]) -> tuple[Specialization, Sequence[str], Compilation]:
        """Emit the text for arguments; return it with what it was specialised on and how the launcher reads each."""
        session = self._session
        assert session is not None
        if self._is_method and args:
            _check_owner(self.definition.name, args[0])
        arguments, kinds = classify(self.definition, args, session.options)
        specialization = Specialization(self.definition, arguments, session.options, session.device.capabilities)
        observer = printing_observer(session.config, self.definition.name)
        target = session.device.name
        return specialization, kinds, find_or_compile(specialization, target, session.config, observer, self.is_kept)

    def launcher_of(self, key: Any, args: Sequence[Any], variant: str) -> Callable[..., Any]:
        """Return what launches one variant, for arguments of this key; compiled when first asked for."""
        launch = self._launchers.get((key, variant))
        if launch is None:
            with COMPILING:
                launch = self._build((key, variant), args, keeps=False, wanted=variant)[1]
        self._last = launch.ran  # type: ignore[attr-defined]
        return launch

    def _build(
        self, key: Any, args: Sequence[Any], keeps: bool, wanted: str | None = None
    ) -> tuple[Instance, Callable[..., Any]]:
        session = self._session
        assert session is not None
        specialization, kinds, compilation = self._emit(args)
        for text in compilation.warnings if not keeps else ():
            warn_user(text)
        if session.config.dump_dir:
            dump(session.config.dump_dir, compilation.module, specialization)
        wanted = wanted or self._wanted
        if wanted == FASTEST:
            gathered = workbench("edits").gather(session, specialization, compilation, kinds, tuple(args))
            wanted = workbench("measured").fastest(gathered)
        compilation, choice = edits_of(session, specialization, compilation, args, wanted)
        instance = Instance(session, specialization, compilation, is_kept=self.is_kept)
        session.compiled_functions += 1
        launch = instance.make_launch(compilation, kinds, keeps)
        if choice is not None and choice.dispatch is not None:
            launch = workbench("watching").dispatch(choice, weakref.ref(self), key)
        if choice is not None and choice.watched:
            launch = workbench("watching").follow(launch, choice, weakref.ref(self), key, session.config.edits)
        launch.ran = choice, compilation.module  # type: ignore[attr-defined]
        self._launchers[key], self._instances[key] = launch, instance
        instance.when_retired = functools.partial(_forget, weakref.ref(self), key)
        return instance, launch

    def _explain(self, args: Sequence[Any]) -> None:
        """Raise an error that names the parameter whose argument cannot be packed, if that is what went wrong."""
        instance = self._instances.get(self._slow_key(args))
        if instance is None:
            return
        classify(self.definition, args, instance.session.options)
        for position, parameter in enumerate(self.definition.leaves):
            where = f"`{parameter.name}` of kernel `{self.definition.name}`"
            if not instance.accepts(position, args[position]):
                error = TaichiRuntimeTypeError.get(position, parameter.annotation, type(args[position]))
                raise TaichiRuntimeTypeError(f"{error}: {where}. Hint: convert the value before the call") from None
            if instance.writes(position):
                check_argument(args[position], f"Argument {position} ({where})")


def as_bound_kernel(value: Any) -> Any:
    """Return a kernel below `classmethod` with its class: Python 3.13 and later make a plain method of it."""
    if isinstance(value, MethodType) and isinstance(value.__func__, Kernel):
        return BoundKernel(value.__func__, value.__self__)
    return value


class BoundKernel:
    """A kernel that is a method, with its object."""

    def __init__(self, kernel: Kernel, instance: Any) -> None:
        self.kernel = kernel
        self.instance = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Launch the method for its object."""
        return self.kernel(self.instance, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        member = getattr(self.kernel, name)
        if name in METHODS_OF_ARGUMENTS:
            return functools.partial(member, self.instance)
        return member

    def ir(self, stage: str, *args: Any, **kwargs: Any) -> str:
        """Return one form of the method's kernel; see `Kernel.ir`."""
        return self.kernel.ir(stage, self.instance, *args, **kwargs)


def _check_owner(name: str, owner: Any) -> None:
    """Raise TaichiSyntaxError for an object whose class has the kernel as a method and is not `ti.data_oriented`."""
    kind = type(owner)
    if isinstance(getattr(kind, name, None), Kernel) and not getattr(kind, "_data_oriented", False):
        raise TaichiSyntaxError(
            f"Please decorate class {kind.__name__} with @ti.data_oriented. "
            f"Hint: write `@ti.data_oriented` above `class {kind.__name__}`"
        )


def _forget(kernel: weakref.ref[Kernel], key: Any, instance: Instance) -> None:
    """Let a kernel compile anew with its next launch: memory that the instance knows is freed, or may be."""
    found = kernel()
    if found is not None and found._instances.get(key) is instance:
        del found._instances[key], found._launchers[key]


def _warn_of_wrapper(function: Any) -> None:
    """Warn where another decorator stands between: the kernel is made of the text inside, the wrapper never runs."""
    where = define(function).location()
    text = f"`{function.__name__}` was wrapped by another decorator, which does nothing in a kernel"
    hint = "put `@ti.kernel` directly above `def`, and the other decorator above it"
    warn_user(where.explained(text, hint))


@overload
def kernel(function: F) -> F: ...
@overload
def kernel(function: None = None, *, offline_cache: bool = True) -> Callable[[F], F]: ...
@hides_own_frames
def kernel(function: Any = None, *, offline_cache: bool = True) -> Any:
    """Make a Python function a kernel: typed arguments, compiled on first call, parallel outermost loops.

    offline_cache: whether what is compiled may be kept for the next process; see docs/cache.md.
    Raises: TaichiSyntaxError if it is not a plain function.
    """
    if function is None:
        return functools.partial(kernel, offline_cache=offline_cache)
    if not inspect.isfunction(function):
        below = isinstance(function, (classmethod, staticmethod, property))
        hint = f"`@ti.kernel` below `@{type(function).__name__}`" if below else "`@ti.kernel` above a `def`"
        raise TaichiSyntaxError(f"ti.kernel decorates functions, found {function!r}. Hint: write {hint}")
    if function.__name__ == "<lambda>":
        define(function).parsed  # noqa: B018 - raises: a lambda is refused where it stands
    if hasattr(function, "__wrapped__"):
        _warn_of_wrapper(function)
    names = function.__qualname__.split(".")
    is_method = len(names) > 1 and names[-2] != "<locals>"
    return Kernel(function, is_method, offline_cache)
