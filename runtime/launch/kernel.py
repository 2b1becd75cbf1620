"""What `@ti.kernel` returns: it finds or compiles the specialization for a call's arguments and launches it."""

from __future__ import annotations

import functools
import inspect
import struct
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
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
from ...transpiler.frontend.source.definition import KernelDefinition, define, is_in_class
from ...transpiler.frontend.source.signature import check_parameters
from ..cache import compiler
from ..cache.compiler import COMPILING, Request
from ..events import CALL_OBSERVERS, INSTANTIATION, LAUNCH, REGISTRATION, SINKS, note
from ..loading import loader
from ..session import session as sessions
from ..session import several
from ..session.module_source import GENERATED, Choice, Launch, Variant
from ..session.session import Session
from ..session.tracebacks import hides_own_frames
from .arguments.call_arguments import CallArguments
from .arguments.classify import classify
from .arguments.keys import Keys
from .arguments.owners import check_arguments
from .arguments.signatures import signature_of
from .derivatives import find_accesses, guarded
from .inspection import dump, printing_observer
from .instance import Instance, Launcher
from .kernel_tools import METHODS_OF_ARGUMENTS, KernelTools

if TYPE_CHECKING:
    from ...transpiler.backend.module.compilation import Compilation
    from ...transpiler.backend.module.interface import BackendModule
    from ...transpiler.frontend.source.specialization import Specialization

F = TypeVar("F", bound=Callable[..., Any])

_passes = loader("..passes", __package__)
_streams = loader("..session.streams", __package__)
_watchdog = loader(".watchdog", __package__)

_PACK_ERRORS = (struct.error, TypeError, OverflowError, ValueError, IndexError)


class Kernel(KernelTools):
    """A function that runs on the device. The first call with each kind of arguments compiles; every call launches."""

    def __init__(
        self,
        function: Callable[..., Any],
        is_method: bool = False,
        is_cacheable: bool = True,
        derivative: str = "",
        fast_math: bool | None = None,
        passes: tuple[Any, ...] = (),
    ) -> None:
        start = perf_counter()
        functools.update_wrapper(self, function)
        self.definition: KernelDefinition = define(function, is_method, derivative)
        self.definition.fast_math = fast_math
        self.definition.passes = passes
        check_parameters(self.definition)
        self.arguments = CallArguments(self.definition, is_method)
        self.is_cacheable = is_cacheable
        self._is_method = is_method
        self._plain_arity = len(self.definition.parameters) if self.arguments.unpack is None else -1
        """Number of the arguments of a call that needs no binding, -1 if it has packs."""
        self._session: Session | None = None
        self._instances: dict[Any, tuple[Instance, Launcher]] = {}
        self._launchers: dict[Any, tuple[Launch, Choice]] = {}
        self._keys = Keys(self.definition)
        self._key = self._keys.fast
        self._is_keyed = self._keys.is_keyed
        self._last: Choice | None = None
        """What the last launch ran; not its launcher, which holds memory."""
        self.wanted: str | None = None
        """The variant that `use` named."""
        self.given: Callable[[Session, Specialization, BackendModule], Choice] | None = None
        """Returns what runs in place of a generated module, whatever edits there are (`ti.kernel_from_source`)."""
        KERNELS.add(self)
        note(REGISTRATION, function.__name__, function.__name__, start)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Launch with these arguments; returns the kernel's result, if it has one, after waiting for it.

        stream: a `ti.Stream`, or a stream of CuPy or torch; without it CuPy's current one, torch's for tensors.
        """
        if kwargs and "stream" in kwargs and not self._has_parameter("stream"):
            return _streams().launch_on(self, args, kwargs)
        if CALL_OBSERVERS:
            replacement = _observed(self, args, kwargs)
            if replacement is not None:
                return replacement(*args, **kwargs)
        try:
            if kwargs or len(args) != self._plain_arity:
                args = self.arguments.flattened(args, kwargs)
            session = self._session
            if session is None or session.epoch < 0:
                self._enter(sessions.current())
            try:
                launch, self._last = self._launchers[self._key(args) if self._is_keyed else ()]
            except (AttributeError, KeyError, TypeError) as error:
                launch, self._last = self._missed(args, error)
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

    def _has_parameter(self, name: str) -> bool:
        """Return whether the function has a parameter of this name."""
        return any(parameter.name == name for parameter in self.definition.parameters)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind a kernel that is a method to its object, which becomes the first argument."""
        if instance is None or not self._is_method:
            return self
        return BoundKernel(self, instance)

    def __copy__(self) -> Kernel:
        return self

    def __deepcopy__(self, memo: Any) -> Kernel:
        return self  # as functions

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}>"  # type: ignore[attr-defined]

    @hides_own_frames
    def compile(self, *args: Any, **kwargs: Any) -> BackendModule:
        """Compile for these arguments on the current device without launching; returns the module."""
        return self.launcher(self.arguments.flattened(args, kwargs))[0].module

    def use(self, variant: str | None) -> None:
        """Select the source that runs from the next launch on.

        variant: "generated", "edit", or a variant's name; None: the rules in the sources decide. A launch raises
        TaichiRuntimeError if there is no such variant for its arguments. "fastest": the first launch of each kind of
        arguments compares and times all sources on copies; the fastest of those with equal results runs from then on.
        """
        for kernel in self._everywhere():
            kernel.wanted = variant
        self.forget_launchers()

    @property
    def last_launch(self) -> Variant | None:
        """Which source the last launch ran: `.variant` ("generated", "edit" or a name), `.digest`, `.paths`."""
        last = self.here()._last
        return None if last is None else last.variant

    def launcher(self, flat_arguments: Sequence[Any]) -> tuple[Instance, Launcher]:
        """Return the instance and the launcher for such arguments in the current session."""
        kernel = self.here()
        found = kernel._instances.get(kernel._slow_key(flat_arguments))
        if found is None:
            kernel._find(flat_arguments)
            found = kernel._instances[kernel._slow_key(flat_arguments)]
        return found

    def instances(self) -> list[Instance]:
        """Return the instances compiled in the current session, in order."""
        return list(dict.fromkeys(instance for instance, _ in self._found_here()._instances.values()))

    def instances_with_variants(self) -> list[tuple[Instance, str]]:
        """Return the instances, each with the name of the source that runs."""
        kernel = self._found_here()
        pairs = [(instance, kernel._launchers[key][1]) for key, (instance, _) in list(kernel._instances.items())]
        return [(i, GENERATED if choice.selected is None else choice.selected.variant) for i, choice in pairs]

    def captured(self) -> dict[str, Any]:
        """Return the globals that were read as constants, with the values compiled in."""
        return {name: value for instance in self.instances() for name, value in instance.captured.items()}

    def forget_launchers(self) -> None:
        """Recompile at the next launch, in all sessions."""
        for kernel in self._everywhere():
            for instance, _ in list(kernel._instances.values()):
                instance.invalidate()
            kernel._instances.clear()
            kernel._launchers.clear()

    @functools.cached_property
    def grad(self) -> Kernel:
        """The kernel of the gradient: from adjoints of what this one wrote to adjoints of what it read.

        It takes the same arguments, and is inspected, edited, compared and timed like any other kernel.
        """
        return self.derived("reverse")

    @functools.cached_property
    def dual(self) -> Kernel:
        """The kernel that computes this one's results and their duals, from the duals of what it reads.

        That of a gradient, `kernel.grad.dual`, computes products of the Hessian: see `ti.ad.hessian_vector`.
        """
        return self.derived("forward")

    def derived(self, mode: str) -> Kernel:
        """Return the kernel of a derivative. Raises: TaichiRuntimeError for a kernel that is one itself."""
        if self.definition.derivative == "reverse" and mode == "forward":
            mode = "forward_over_reverse"
        elif self.definition.derivative:
            raise TaichiRuntimeError(
                f"`{self.definition.name}` is a derivative already, and derivatives are not differentiated",
                "write the first derivative as a kernel, and differentiate that",
            )
        made = self.definition
        return Kernel(made.function, self._is_method, self.is_cacheable, mode, made.fast_math, made.passes)

    # --- compilation

    def emitted(self, flat_arguments: Sequence[Any]) -> tuple[Session, Request, Compilation]:
        """Return what is generated for arguments in the current session; the kernel belongs to it from now on."""
        return self.here()._emit(flat_arguments)

    def recompile(self, key: Any, args: Sequence[Any]) -> Launch:
        """Recompile the launch for arguments of this key, since an edited source has changed."""
        with COMPILING:
            launch, self._last = self._compile(key, args)
        return launch

    def launch_of_variant(self, key: Any, args: Sequence[Any], variant: str) -> Launch:
        """Return the launch of one variant for arguments of this key; it is compiled at the first request."""
        found = self._launchers.get((key, variant))
        if found is None:
            with COMPILING:
                found = self._build((key, variant), args, keeps=False, wanted=variant)[1]
        launch, self._last = found
        return launch

    # --- sessions

    def here(self) -> Kernel:
        """Return the kernel with the instances of the current session: itself in the default one.

        Every other session has a kernel of its own for this one, which shares the definition and nothing else.
        """
        session = sessions.current()
        if session is sessions.CURRENT:
            self._enter(session)
            return self
        found: Kernel | None = session.kernels.get(self)
        if found is None:
            with COMPILING:
                found = session.kernels.get(self)
                if found is None:
                    found = session.kernels[self] = self._copy_for(session)
        return found

    def _found_here(self) -> Kernel:
        """Return the kernel with the instances of the current session, without making one; itself before `ti.init`."""
        session = sessions.active()
        found: Kernel = self if session is None else session.kernels.get(self, self)
        return found

    def _everywhere(self) -> list[Kernel]:
        """Return the kernel, and those with the instances of other sessions."""
        others = [session.kernels.get(self) for session in list(several.OTHERS)]
        return [self, *(kernel for kernel in others if kernel is not None)]

    def renewed(self) -> Kernel:
        """Return another kernel of the same function, which has run nothing."""
        known = self.definition
        return Kernel(
            known.function, self._is_method, self.is_cacheable, known.derivative, known.fast_math, known.passes
        )

    def _copy_for(self, session: Session) -> Kernel:
        made = object.__new__(type(self))
        made.__dict__.update({name: value for name, value in self.__dict__.items() if name not in ("grad", "dual")})
        made._session = session
        made._instances, made._launchers = {}, {}
        made._keys = Keys(self.definition)
        made._key, made._last = made._keys.fast, None
        return made

    @hides_own_frames
    def _launch_here(self, *args: Any, **kwargs: Any) -> Any:
        """Launch in the current session, while several are open. Raises: TaichiRuntimeError for another's arrays."""
        kernel = self.here()
        if kwargs or len(args) != self._plain_arity:
            args = self.arguments.flattened(args, kwargs)
        session = kernel._session
        assert session is not None
        check_arguments(self.definition, args, session)
        if session.activate is None:
            return kernel._launch(args)
        restore = session.activate()
        try:
            return kernel._launch(args)
        finally:
            restore()

    def _launch(self, args: Sequence[Any]) -> Any:
        """Launch in the kernel's own session. `__call__` repeats these lines: its calls cost half a microsecond."""
        try:
            launch, self._last = self._launchers[self._key(args) if self._is_keyed else ()]
        except (AttributeError, KeyError, TypeError) as error:
            launch, self._last = self._missed(args, error)
        try:
            return launch(*args)
        except _PACK_ERRORS:
            self._explain(args)
            raise

    def _missed(self, args: Sequence[Any], error: Exception) -> tuple[Launch, Choice]:
        """Find the launcher of arguments whose key is new, or could not be made in the fast way."""
        if isinstance(error, AttributeError):  # arrays of other libraries; later calls probably have them too
            self._key = self._keys.of
        return self._find(args)

    def _enter(self, session: Session) -> None:
        if session is not self._session:
            self._session = session
            self.forget_launchers()
            self._keys.identities.clear()

    def _slow_key(self, args: Sequence[Any]) -> Any:
        try:
            return self._keys.of(args)
        except TaichiRuntimeTypeError:
            classify(self.definition, args, sessions.current_config().compile_options())  # it names the parameter
            raise

    def _find(self, args: Sequence[Any]) -> tuple[Launch, Choice]:
        key = self._slow_key(args)
        found = self._launchers.get(key)
        if found is None:
            with COMPILING:
                found = self._launchers.get(key)
                if found is None:
                    found = self._compile(key, args)
        return found

    def _compile(self, key: Any, args: Sequence[Any]) -> tuple[Launch, Choice]:
        instance, found = self._build(key, args, keeps=False)
        if instance.is_invalid:  # by the end of the build: it uses fields that nothing else references
            _, found = self._build(key, args, keeps=True)
        return found

    def _emit(self, args: Sequence[Any]) -> tuple[Session, Request, Compilation]:
        """Return what is generated for arguments in the kernel's session."""
        session = self._session
        assert session is not None
        if self._is_method and args:
            _check_owner(self.definition.name, args[0])
        request = compiler.specialize(self.definition, args, session.options, session.device.capabilities)
        observer = printing_observer(session.config, self.definition.name)
        prepare = getattr(session.device, "prepare_compiler", None)
        compilation = compiler.find_or_compile(
            request.specialization, session.config, observer, self.is_cacheable, prepare
        )
        return session, request, compilation

    def _build(
        self, key: Any, args: Sequence[Any], keeps: bool, wanted: str | None = None
    ) -> tuple[Instance, tuple[Launch, Choice]]:
        start = perf_counter()
        session, request, compilation = self._emit(args)
        specialization, argument_kinds, sources = request.specialization, request.argument_kinds, session.sources
        for message in compilation.warnings if not keeps else ():
            warn_user(message)
        if session.config.dump_dir:
            dump(session.config.dump_dir, compilation.module, specialization)
        if self.given is not None:
            choice = self.given(session, specialization, compilation.module)
        else:
            choice = sources.choose(session, specialization, argument_kinds, compilation, args, wanted or self.wanted)
        if choice.module is not compilation.module:
            compilation = replace(compilation, module=choice.launched)
        instance = Instance(session, specialization, compilation, is_cacheable=self.is_cacheable)
        session.compiled_functions += 1
        launcher = instance.make_launch(compilation, argument_kinds, keeps)
        if self.definition.derivative == "reverse":
            find_accesses(instance, specialization)
            launch = guarded(instance, launcher.launch)
            launcher = Launcher(launch, launcher.make_packer if launch is launcher.launch else None)
        if session.config.watchdog:
            launcher = Launcher(_watchdog().naming(launcher.launch, instance.module, choice.variant.paths))
        following = sources.follow(launcher.launch, choice, weakref.ref(self), key, session.config)
        if following is not None:
            launcher = Launcher(following)
        found = self._launchers[key] = launcher.launch, choice
        self._instances[key] = instance, launcher
        instance.on_invalidated = functools.partial(_forget, weakref.ref(self), key)
        if SINKS:
            shown = signature_of(self.definition, specialization.arguments)
            note(
                INSTANTIATION,
                f"{self.definition.name}{shown}",
                self.definition.name,
                start,
                variant=choice.variant.variant,
            )
        return instance, found

    def forget(self, key: Any, instance: Instance) -> None:
        """Recompile at the next launch with arguments of this key, if `instance` is what runs for them."""
        found = self._instances.get(key)
        if found is not None and found[0] is instance:
            del self._instances[key], self._launchers[key]

    def _explain(self, args: Sequence[Any]) -> None:
        """Raise an error that names the parameter if an argument cannot be packed."""
        found = self._instances.get(self._slow_key(args))
        if found is not None:
            classify(self.definition, args, found[0].session.options)
            found[0].explain(args, range(len(args)))


def _forget(kernel: weakref.ref[Kernel], key: Any, instance: Instance) -> None:
    """Let a kernel recompile: memory whose address the instance holds is freed, or may be."""
    found = kernel()
    if found is not None:
        found.forget(key, instance)


KERNELS: weakref.WeakSet[Kernel] = weakref.WeakSet()
"""All kernels of this process, for `ti.kernels()`."""

_TIMED = threading.local()
"""`kernel`: the one whose call is being timed, until it starts: that call has been observed already."""


def _observed(kernel: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any] | None:
    """Let the observers see a call; return what is called instead, None for the kernel itself."""
    if getattr(_TIMED, "kernel", None) is kernel:
        _TIMED.kernel = None
        return kernel._launch_here if several.OTHERS else None
    for observer in tuple(CALL_OBSERVERS):
        replacement: Callable[..., Any] | None = observer(kernel, args, kwargs)
        if replacement is not None:
            return replacement
    if SINKS:
        return functools.partial(_timed, kernel)
    return kernel._launch_here if several.OTHERS else None


def _timed(kernel: Kernel, *args: Any, **kwargs: Any) -> Any:
    """Launch a kernel and note the time of the call."""
    _TIMED.kernel = kernel
    start = perf_counter()
    try:
        return kernel(*args, **kwargs)
    finally:
        _TIMED.kernel = None
        name, last = kernel.definition.name, kernel._found_here()._last
        note(
            LAUNCH,
            name,
            name,
            start,
            variant=GENERATED if last is None or last.selected is None else last.selected.variant,
        )


def as_bound_kernel(value: Any) -> Any:
    """Return a kernel below `classmethod` bound to its class, of which Python 3.13 and later make a plain method."""
    if isinstance(value, MethodType) and isinstance(value.__func__, Kernel):
        return BoundKernel(value.__func__, value.__self__)
    return value


class BoundKernel:
    """A kernel that is a method, with its object."""

    def __init__(self, kernel: Kernel, instance: Any) -> None:
        self.kernel = kernel
        self.instance = instance

    @property
    def grad(self) -> BoundKernel:
        """The kernel of the gradient, with the object."""
        return BoundKernel(self.kernel.grad, self.instance)

    @property
    def dual(self) -> BoundKernel:
        """The kernel of the duals, with the object."""
        return BoundKernel(self.kernel.dual, self.instance)

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

    def blame(self, value: str, *args: Any, **kwargs: Any) -> Any:
        """Return which pass made a value of the method's kernel; see `Kernel.blame`."""
        return self.kernel.blame(value, self.instance, *args, **kwargs)


def _check_owner(name: str, owner: Any) -> None:
    """Raise TaichiSyntaxError for an object whose class has the kernel as a method and is not `ti.data_oriented`."""
    kind = type(owner)
    if isinstance(getattr(kind, name, None), Kernel) and not getattr(kind, "_data_oriented", False):
        raise TaichiSyntaxError(
            f"Please decorate class {kind.__name__} with @ti.data_oriented",
            f"write `@ti.data_oriented` above `class {kind.__name__}`",
        )


def _warn_of_wrapper(function: Any) -> None:
    """Warn of a decorator below `@ti.kernel`: the kernel is compiled from the source, so the wrapper never runs."""
    where = define(function).location()
    message = f"`{function.__name__}` was wrapped by another decorator, which does nothing in a kernel"
    hint = "put `@ti.kernel` directly above `def`, and the other decorator above it"
    warn_user(where.explained(message, hint))


@overload
def kernel(fn: F) -> F: ...
@overload
def kernel(
    fn: None = None, *, offline_cache: bool = True, fast_math: bool | None = None, passes: Any = ()
) -> Callable[[F], F]: ...
@hides_own_frames
def kernel(fn: Any = None, *, offline_cache: bool = True, fast_math: bool | None = None, passes: Any = ()) -> Any:
    """Make a Python function a kernel: typed arguments, compiled on first call, parallel outermost loops.

    offline_cache: whether the compiled kernel may be cached on disk; see docs/cache.md.
    fast_math: of this kernel, instead of the option of `ti.init`; see docs/numerics.md.
    fn: the function; all its parameters have annotations. A kernel that is a method needs `ti.data_oriented`.
    passes: passes of the compiler that are left out, `["-fold"]`, and passes of the program; see docs/passes.md.
    Raises: TaichiSyntaxError if it is not a plain function.

    Example:
        >>> @ti.kernel
        ... def total(x: ti.types.ndarray(ti.f32, 1)) -> ti.f32:
        ...     s = 0.0
        ...     for i in x:
        ...         s += x[i]
        ...     return s
        >>> total(np.ones(100, np.float32))
        100.0
    """
    if fn is None:
        return functools.partial(kernel, offline_cache=offline_cache, fast_math=fast_math, passes=passes)
    if not (fast_math is None or isinstance(fast_math, bool)):
        raise TaichiSyntaxError(f"fast_math is True or False, found {fast_math!r}", "write `fast_math=False`")
    if not inspect.isfunction(fn):
        below = isinstance(fn, (classmethod, staticmethod, property))
        hint = f"`@ti.kernel` below `@{type(fn).__name__}`" if below else "`@ti.kernel` above a `def`"
        raise TaichiSyntaxError(f"ti.kernel decorates functions, found {fn!r}", f"write {hint}")
    if fn.__name__ == "<lambda>":
        message = "A `lambda` cannot be a kernel: its parameters have no types"
        raise define(fn).location().error(TaichiSyntaxError, message, "write a `def` below `@ti.kernel`")
    if hasattr(fn, "__wrapped__"):
        _warn_of_wrapper(fn)
    read = _passes().read_passes(passes, f"`passes` of kernel `{fn.__name__}`") if passes else ()
    return Kernel(fn, is_in_class(fn), offline_cache, fast_math=fast_math, passes=read)
