"""`Graph`: launches in a fixed order, run with values by name, printed as source, and stored in modules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...transpiler.errors import TaichiRuntimeError
from ..close_names import close_names
from ..launch.arguments.owners import other_session
from ..launch.kernel import Kernel
from ..locks import new_lock
from ..session import session as sessions
from ..session.tracebacks import hides_own_frames
from .argument import Arg
from .dispatch import Dispatch
from .plan import Plan, signatures_of


class Graph:
    """Launches in order. dispatches: the launches; arguments: of a run, by name, in order of appearance.

    It may be run in any session: its kernels are compiled at the first run there. It keeps no memory alive except
    that of values that were given to `dispatch`.

    Example:
        >>> @ti.kernel
        ... def double(x: ti.types.ndarray(ti.f32, 1)):
        ...     for i in x:
        ...         x[i] *= 2
        >>> symbol = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim=1)
        >>> builder = ti.graph.GraphBuilder()
        >>> for _ in range(3):
        ...     builder.dispatch(double, symbol)
        >>> graph = builder.compile()
        >>> x = ti.ndarray(ti.f32, 2)
        >>> x.fill(1.0)
        >>> graph.run({"x": x})
        >>> x.to_numpy().tolist()
        [8.0, 8.0]
    """

    def __init__(self, dispatches: Sequence[Dispatch]) -> None:
        self.dispatches = tuple(dispatches)
        self.arguments: dict[str, Arg] = {
            argument.name: argument
            for dispatch in self.dispatches
            for argument in dispatch.arguments
            if isinstance(argument, Arg)
        }
        differentiated = {
            argument.name
            for dispatch in self.dispatches
            for argument in dispatch.arguments
            if isinstance(argument, Arg) and dispatch.takes_gradients
        }
        self._examples = {name: arg.example(name in differentiated) for name, arg in self.arguments.items()}
        self._lock = new_lock()
        self._plan: Plan | None = None
        self._plans: dict[tuple[Any, ...], Plan] = {}

    @hides_own_frames
    def run(self, args: Mapping[str, Any]) -> None:
        """Launch everything in order, as calls of the kernels one after the other would.

        args: a value for each argument by name: numbers, matrices, ndarrays; values of other names are ignored.
        Raises: TaichiRuntimeError for a missing value; TaichiRuntimeTypeError for one that does not fit.
        """
        with self._lock:
            plan = self._plan
            if plan is None or plan.session is not sessions.active():
                plan = self.prepare()
            try:
                changed = plan.changed(args)
            except (KeyError, TypeError):
                self._check_names(args)
                raise
            if changed:
                plan = self._checked(plan, args, changed)
                changed = plan.changed(args)
            plan.run(args, changed)

    @hides_own_frames
    def prepare(self) -> Plan:
        """Compile, in the current session, what is not compiled yet. Raises: as the first call of each kernel."""
        if self._plans and next(iter(self._plans.values())).session is not sessions.active():
            self.drop()
        self._plan = self._plan_for(signatures_of(self.arguments, self._examples), self._examples)
        return self._plan

    @hides_own_frames
    def source(self) -> str:
        """Return the launches in order, and the emitted source of each kernel once."""
        names, plan = self._names(), self._plan
        assert plan is not None
        takes = ", ".join(f"{_shown(name)}: {arg.shown_type()}" for name, arg in self.arguments.items())
        head = f"{_counted(len(names), 'launch', 'es')} of {_counted(len(set(names)), 'kernel', 's')}"
        lines = [f"// graph({takes}): {head}"]
        for number, (name, dispatch) in enumerate(zip(names, self.dispatches, strict=True), 1):
            lines.append(f"//   {number}. {name}({', '.join(map(_shown_argument, dispatch.arguments))})")
        sources = dict(zip(names, (step.instance.module.source() for step in plan.steps), strict=True))
        return "\n".join([*lines, *(f"\n// ===== kernel {name}\n{source}" for name, source in sources.items())])

    @hides_own_frames
    def to_data(self) -> dict[str, Any]:
        """Return arguments and launches for a module's manifest, whose kernels are those of `kernels`."""
        pairs = zip(self._names(), self.dispatches, strict=True)
        return {
            "arguments": [arg.to_data() for arg in self.arguments.values()],
            "dispatches": [{"kernel": name, "arguments": dispatch.to_data()} for name, dispatch in pairs],
        }

    @hides_own_frames
    def kernels(self) -> dict[str, tuple[Kernel, tuple[Any, ...]]]:
        """Return each specialisation once, by a unique name: the kernel, and placeholder arguments of its types."""
        kernels: dict[str, tuple[Kernel, tuple[Any, ...]]] = {}
        for name, dispatch in zip(self._names(), self.dispatches, strict=True):
            kernels.setdefault(name, (dispatch.kernel, dispatch.values(self._examples)))
        return kernels

    def drop(self) -> None:
        """Forget what was compiled, until the next run: memory whose addresses it holds is freed, or may be."""
        self._plan = None
        self._plans = {}

    def __repr__(self) -> str:
        return f"<graph of {len(self.dispatches)} launches, arguments {', '.join(self.arguments) or 'none'}>"

    def _checked(self, plan: Plan, args: Mapping[str, Any], changed: Iterable[str]) -> Plan:
        """Check values that changed, and return the plan for arrays of their types."""
        self._check_names(args)
        for name in changed:
            self.arguments[name].check(args[name])
            owner = getattr(args[name], "session", plan.session)
            if owner is not plan.session:
                raise other_session(f"argument `{name}`, {args[name]!r},", owner, "this graph", plan.session)
        signatures = signatures_of(self.arguments, args)
        return plan if signatures == plan.signatures else self._plan_for(signatures, args)

    def _plan_for(self, signatures: tuple[Any, ...], values: Mapping[str, Any]) -> Plan:
        plan = self._plans.get(signatures)
        if plan is None:
            plan = Plan(self.dispatches, self.arguments, values)
            self._plans[signatures] = plan
            for instance in plan.instances():
                instance.dependents.add(self)
        return plan

    def _names(self) -> list[str]:
        """Return a name for each launch: of its kernel, with a number if that has several specialisations."""
        plan = self.prepare()
        names: dict[int, str] = {}
        for step in plan.steps:
            if id(step.instance) not in names:
                name = step.instance.module.kernel
                taken = sum(other == name or other.startswith(f"{name}__") for other in names.values())
                names[id(step.instance)] = f"{name}__{taken + 1}" if taken else name
        return [names[id(step.instance)] for step in plan.steps]

    def _check_names(self, args: Any) -> None:
        """Raise TaichiRuntimeError for a name without a value."""
        if not isinstance(args, Mapping):
            raise TaichiRuntimeError(
                f"a graph runs with a dict of values by name, found a {type(args).__name__}",
                f"`graph.run({{{', '.join(f'{name!r}: ...' for name in self.arguments)}}})`",
            )
        for name in self.arguments:
            if name not in args:
                close = close_names(name, [key for key in args if isinstance(key, str)])
                meant = f"; `{close[0]}` was given, did you mean that?" if close else ""
                raise TaichiRuntimeError(f"Missing runtime value for graph argument `{name}`{meant}")


def _counted(count: int, noun: str, ending: str) -> str:
    return f"{count} {noun}{'' if count == 1 else ending}"


def _shown(name: str) -> str:
    """Return a name in a form that fits on one line, whatever it contains."""
    return name if name.isidentifier() else repr(name)


def _shown_argument(argument: Any) -> str:
    if isinstance(argument, Arg):
        return _shown(argument.name)
    return repr(argument) if isinstance(argument, (bool, int, float, str)) else f"<{type(argument).__name__}>"
