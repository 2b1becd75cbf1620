"""`ti.ad.Tape`: records the kernels that are launched, then launches their gradients in reverse order.

A gradient needs values that its kernel read. If a later launch is about to overwrite such elements, or the launch
itself overwrites them, the tape copies them, and the gradient runs with the copy; afterwards all arrays have their
latest values again. What a launch overwrites is compared by array, and by indices that are constants or arguments of
the launch: `x[t + 1, i] = f(x[t, i])` copies nothing, and of `x[t, i] = x[t, i] ** 2` the copy is `x[t, :]`. Time and
memory are those of the launches: `NeededRegions` finds what is overwritten without a look at all earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...transpiler.errors import TaichiRuntimeError
from ..arrays.dense_array import WRITE_OBSERVERS, DenseArray
from ..arrays.foreign import is_tensor
from ..arrays.parts import Part, read_part, write_part
from ..events import CALL_OBSERVERS
from ..launch.derivatives import named_arrays, values_are_restored
from ..launch.kernel import Kernel
from ..session.tracebacks import hides_own_frames
from .checkpoints import TAPES, CheckpointedLoop, Loops
from .clearing import check_placed, clear_all_gradients
from .contents import Latest, Region, copy_of, memory_key, write_back
from .custom import RECORDERS, CustomFunction, is_paused
from .finite_differences import check_gradients
from .launch_regions import LaunchRegions
from .lost_gradients import LostGradients, warn_of_unwritten_loss
from .needed_regions import NeededRegions

Copies = dict[tuple[int, str], Any]
"""Copies made before one call, by the identity of the array and the part."""

PLACE_HINT = "make it with `ti.field(..., needs_grad=True)`"


@dataclass(eq=False, slots=True)
class Record:
    """One call on a tape.

    Attributes:
        function: a kernel, a function of `grad_replaced`, or the write of an array from Python.
        args, kwargs: of the call.
        needed: what its gradient reads.
        saved: arrays, their values from when the gradient must run, and the part of the array, () for all.
        written: what of `needed` the launch may write, too.
        seen: with validation, the values of what is needed.
    """

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    needed: list[Region] = field(default_factory=list)
    saved: list[tuple[Any, Any, Part]] = field(default_factory=list)
    written: list[Region] = field(default_factory=list)
    seen: list[tuple[Region, Any]] = field(default_factory=list)

    def has_saved(self, array: Any, part: Part) -> bool:
        """Return whether the gradient runs with saved values of a part of an array."""
        return any(known is array and (not its_part or its_part == part) for known, _, its_part in self.saved)


class Tape:
    """Records launches inside `with`, and computes the gradients of `loss` at its end.

    Args:
        loss: a 0-D field, or an ndarray or tensor of one element, with a gradient. It is set to 0 at the start. None:
            nothing is computed at the end; call `grad()`.
        clear_gradients: set the gradients of all fields to 0 at the start.
        validation: check before each gradient that the elements it needs have the values that its kernel read; an
            array without a gradient that passes numbers on is an error, else a warning.
        grad_check: arrays whose gradients are compared with finite differences at the end.
        keep: "auto" keeps values that a gradient needs and a later launch overwrites; "never" makes them an error with
            the line that needs them, so that a tape costs no memory.
    Raises: TaichiRuntimeError for a loss without a gradient, or of several elements.

    Example:
        >>> x = ti.field(ti.f32, shape=3, needs_grad=True)
        >>> loss = ti.field(ti.f32, shape=(), needs_grad=True)
        >>> @ti.kernel
        ... def energy():
        ...     for i in x:
        ...         loss[None] += x[i] ** 2
        >>> x.fill(3.0)
        >>> with ti.ad.Tape(loss):
        ...     energy()
        >>> x.grad.to_numpy().tolist()
        [6.0, 6.0, 6.0]
    """

    def __init__(
        self,
        loss: Any = None,
        clear_gradients: bool = True,
        validation: bool = False,
        grad_check: Any = None,
        *,
        keep: str = "auto",
    ) -> None:
        if keep not in ("auto", "never"):
            raise TaichiRuntimeError(f'`keep` of `Tape` is "auto" or "never", found {keep!r}')
        self.loss = loss
        self.keep = keep
        self.clear_gradients = clear_gradients
        self.validation = validation
        self.to_check = grad_check
        self.eval_on_exit = loss is not None
        self.entered = False
        self.gradient_evaluated = False
        self.calls: list[Record] = []
        self.second_order = False
        """Its launches are those of duals, and so are their gradients: the tape computes products of the Hessian."""
        self._open = NeededRegions()
        self._regions = LaunchRegions()
        self._loops = Loops()
        self._before: dict[int, tuple[Any, Any]] = {}
        """What `grad_check` starts from: arrays that were written, with the values from before the first write."""
        self._saves_parts = True
        """What a gradient needs of an array is saved alone; gradients that are written by hand may need all of it."""
        self._lost = LostGradients(is_error=validation)
        self._may_write_loss = loss is None
        if grad_check is not None and not isinstance(grad_check, list):
            raise TaichiRuntimeError("grad_check should be a list of fields that need to check gradients.")

    @hides_own_frames
    def __enter__(self) -> Tape:
        if self.entered:
            raise TaichiRuntimeError("Tape can be entered only once.", "make a new one: `with ti.ad.Tape(loss):`")
        self.entered = True
        check_placed("grad")
        if self.loss is not None:
            check_loss(self.loss)
            if self.clear_gradients and isinstance(self.loss, DenseArray) and self.loss.KIND == "field":
                clear_all_gradients()
            _fill(self.loss, 0.0)
        self.attach()
        return self

    def attach(self) -> None:
        """Record from here on."""
        TAPES.append(self)
        CALL_OBSERVERS.insert(0, self._observe)  # before those that launch another kernel instead
        RECORDERS.append(self._record_custom)
        WRITE_OBSERVERS.append(self._observe_write)

    def detach(self) -> None:
        """Record nothing more."""
        TAPES.remove(self)
        CALL_OBSERVERS.remove(self._observe)
        RECORDERS.remove(self._record_custom)
        WRITE_OBSERVERS.remove(self._observe_write)
        self._regions.clear()

    @hides_own_frames
    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.detach()
        if self.eval_on_exit and kind is None:
            self.grad()

    # --- recording

    def insert(self, func: Any, args: Sequence[Any]) -> None:
        """Record a call."""
        self._may_write_loss, self._saves_parts = True, False
        self.calls.append(Record(func, tuple(args), {}))

    def _record_custom(self, function: CustomFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._note_values()
        self._may_write_loss = True
        self._saves_parts = self._saves_parts and function.is_ignored
        record = Record(function, args, kwargs)
        loop = self._loops.running
        if loop is not None:
            loop.add(record, [])
        else:
            self.calls.append(record)

    def _observe(self, kernel: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if is_paused() or kernel.definition.derivative:
            return
        self._note_values()
        record = Record(kernel, args, kwargs)
        flat = kernel.arguments.flattened(args, kwargs)
        gradient, _ = kernel.grad.launcher(flat)
        self._lost.follow(gradient, flat)
        regions = self._regions.of(gradient, flat)
        loop = self._loops.running
        if loop is not None:
            self._add_to_loop(loop, record, regions, named_arrays(gradient, flat).values())
            return
        copies: Copies = {}
        stored = {id(region.array): region.key for purpose, region in regions if purpose == "stored"}
        for purpose, region in regions:
            if purpose == "needed":
                record.needed.append(region)
            elif purpose == "replayed":
                self._check_keeping(region, "its own kernel overwrites")
                self._save_replayed(record, region.array, regions, copies)
            else:
                self._save_what_is_overwritten(region, copies)
        if self.validation:
            record.seen = noted(region for region in record.needed if id(region.array) not in stored)
            record.written = [region for region in record.needed if id(region.array) in stored]
        for region in record.needed:
            self._open.add(record, region)
        self._may_write_loss = self._may_write_loss or memory_key(self.loss) in stored.values()
        self.calls.append(record)

    def _add_to_loop(
        self, loop: CheckpointedLoop, record: Record, regions: Sequence[tuple[str, Region]], used: Iterable[Any]
    ) -> None:
        """Record a call of an iteration of which not all values are kept. used: the arrays of the launch."""
        copies: Copies = {}
        written: dict[int, Any] = {}
        for purpose, region in regions:
            if purpose == "stored":
                written[id(region.array)] = region.array
                self._save_what_is_overwritten(region, copies)
        both = [other for array in written.values() for other in self._with_dual(array)]
        loop.add(record, both, [other for array in used if array is not None for other in self._with_dual(array)])

    def _observe_write(self, array: Any, source: Any, again: Callable[[], None]) -> None:
        """Record `fill`, `from_numpy` or `copy_from` of an array; source: the array that is copied."""
        if is_paused():
            return
        self._note_values()
        self._lost.overwrite(array)
        self._save_what_is_overwritten(Region(array, (None,) * len(array.shape), None), {})  # type: ignore[arg-type]
        loop = self._loops.running
        if loop is not None:
            loop.add(Record(_Write(array, source, again), (), {}), [array])
        elif _placed_gradient(array) is not None:
            self.calls.append(Record(_Write(array, source), (), {}))

    def begin_loop(self, loop: CheckpointedLoop) -> None:
        """Record the launches from here on as iterations of a loop. Raises: TaichiRuntimeError inside such a loop."""
        if self._loops.running is not None:
            raise TaichiRuntimeError("`ti.ad.checkpoint` is inside another one", "give the outer one more memory")
        self._note_values()
        self._may_write_loss = True
        self._loops.begin(loop)
        self.calls.append(Record(loop, (), {}))

    def _save_what_is_overwritten(self, region: Region, copies: Copies) -> None:
        """Keep the values for the calls that need elements of a region, which the next call overwrites."""
        for array in self._with_dual(region.array):
            self._loops.save_before_write(array, partial(self._copy, array, (), copies))
        if self.to_check is not None and id(region.array) not in self._before:
            self._before[id(region.array)] = region.array, self._copy(region.array, (), copies)
        waiting = self._open.overlapping(region)
        for record, needed in waiting:
            self._check_keeping(needed, "a later launch overwrites")
            self._save(record, needed, copies)
        if waiting:
            self._open.remove_overlapping(region)

    def _check_keeping(self, needed: Region, who: str) -> None:
        """Raise TaichiRuntimeError if a value is to be kept, and the tape keeps none."""
        if self.keep == "never" and needed.location is not None:
            raise needed.location.error(
                TaichiRuntimeError,
                f"The gradient needs this value of `{needed.name}`, which {who}",
                f'give `{needed.name}` an axis for the steps, or let the tape keep it: `ti.ad.Tape(loss, keep="auto")`',
            )

    def _save_replayed(self, record: Record, array: Any, regions: Sequence[tuple[str, Region]], copies: Copies) -> None:
        """Let the gradient of the next call run with the values of an array before it, wherever it accesses that."""
        accessed = [region for _, region in regions if region.array is array]
        whole = next((region for region in accessed if region.part == ()), None)
        for region in accessed if whole is None else [whole]:
            self._save(record, region, copies)

    def _save(self, record: Record, needed: Region, copies: Copies) -> None:
        """Let the gradient of a call run with the present values of a region, and with its present duals."""
        part = needed.part if self._saves_parts else ()
        if part is None:  # a branch that is not executed, x[t - 1] for t = 0, or an index that is clamped
            part = ()
        for each in self._with_dual(needed.array):
            if not record.has_saved(each, part):
                record.saved.append((each, self._copy(each, part, copies), part))

    def _with_dual(self, array: Any) -> list[Any]:
        """Return an array, with its dual if the launches compute duals, too."""
        dual = getattr(array, "dual", None) if self.second_order else None
        return [array] if dual is None or not dual.is_placed else [array, dual]

    def _copy(self, array: Any, part: Part, copies: Copies) -> Any:
        found = copies.get((id(array), str(part)))
        if found is None:
            found = copies[id(array), str(part)] = read_part(array, part) if part else copy_of(array)
        return found

    # --- gradients

    @hides_own_frames
    def grad(self) -> None:
        """Compute the gradients of all recorded calls, last first."""
        if not self.entered or self.gradient_evaluated:
            problem = "only once" if self.entered else "after the tape was entered"
            raise TaichiRuntimeError(f"Gradients of a Tape are evaluated {problem}.", "make a new tape")
        self.gradient_evaluated = True
        self._note_values()
        if not self._may_write_loss:
            warn_of_unwritten_loss()
        _fill(gradient_of_loss(self.loss), 1.0)
        self.run_gradients()
        if self.to_check is not None:
            check_gradients(self.loss, self.to_check, self.calls, list(self._before.values()))

    def run_gradients(self, latest: Latest | None = None) -> None:
        """Launch the gradients of all recorded calls, last first, from the present gradients of what they wrote.

        latest: takes the values of arrays that the caller restores afterwards; None: they are restored here.
        """
        own = Latest() if latest is None else latest
        for record in reversed(self.calls):
            self._run_gradient(record, own)
        if latest is None:
            own.restore()

    def _run_gradient(self, record: Record, latest: Latest) -> None:
        if isinstance(record.function, CheckpointedLoop):
            record.function.run_gradients(self._for_iteration, latest)
            return
        for array, values, part in record.saved:
            latest.keep(array)
            if part:
                write_part(array, part, values)
            else:
                write_back(array, values)
        for region, seen in record.seen:
            check_unchanged(region, seen)
        if record.function.grad is not None:
            with values_are_restored():
                gradient = record.function.grad
                if self.second_order and isinstance(gradient, Kernel):
                    gradient = gradient.dual
                gradient(*record.args, **record.kwargs)

    def _for_iteration(self) -> Tape:
        """Return the tape of one iteration of a loop."""
        tape = Tape()
        tape.second_order, tape._lost = self.second_order, self._lost
        return tape

    # --- validation

    def _note_values(self) -> None:
        """Note the values of what the last call has written and its gradient needs, before anything else happens."""
        if self.validation and self.calls:
            record = self.calls[-1]
            record.seen += noted(record.written)
            record.written = []


@dataclass(frozen=True, slots=True)
class _Write:
    """The write of a whole array from Python. source: the array that is copied, None for values. again: writes it."""

    array: Any
    source: Any
    again: Callable[[], None] | None = None

    def __call__(self) -> None:
        """Write the same again; tapes record that."""
        assert self.again is not None
        for observer in tuple(WRITE_OBSERVERS):
            observer(self.array, self.source, self.again)
        self.again()

    def grad(self) -> None:
        """Pass the gradient on to what was copied; the gradient of the values before is 0."""
        gradient, target = _placed_gradient(self.array), _placed_gradient(self.source)
        if gradient is None:
            return
        if target is not None:
            target.from_numpy(target.to_numpy() + gradient.to_numpy())
        gradient.fill(0)


def _placed_gradient(array: Any) -> Any:
    """Return the gradient of an array, None if it has none, or none that is placed."""
    found = getattr(array, "grad", None)
    return found if found is not None and getattr(found, "is_placed", True) else None


def noted(regions: Iterable[Region]) -> list[tuple[Region, Any]]:
    """Return regions with their present values, as far as the arrays have such elements."""
    parts = ((region, region.part) for region in regions)
    return [(region, read_part(region.array, part)) for region, part in parts if part is not None]


def check_unchanged(region: Region, values: Any) -> None:
    """Raise TaichiRuntimeError if an element that a gradient needs is not what its kernel read."""
    part = region.part
    assert part is not None
    now, then = np.asarray(read_part(region.array, part)), np.asarray(values)
    differs = np.argwhere(~((now == then) | ((now != now) & (then != then))))
    if differs.size:
        found = iter(differs[0])
        offset = getattr(region.array, "offset", ()) or (0,) * len(region.indices)
        pairs = zip(region.indices, offset, strict=True)
        index = [int(next(found, 0)) + start if fixed is None else fixed for fixed, start in pairs]
        message = (
            f"`{region.name}[{', '.join(map(str, index))}]` was read here, and written from Python before its gradient"
        )
        hint = "write it in a kernel, or before the tape; the tape saves what kernels overwrite"
        raise region.location.error(TaichiRuntimeError, message, hint)


def check_loss(loss: Any) -> None:
    """Check that a loss is one number with a gradient. Raises: TaichiRuntimeError."""
    if is_tensor(loss):
        if loss.numel() != 1:
            raise TaichiRuntimeError("The loss of `Tape` must be a tensor only contains one element")
        if not loss.requires_grad:
            raise TaichiRuntimeError(
                "Gradients of loss are not allocated, please set requires_grad=True for all tensors that are required "
                "by autodiff."
            )
        return
    if not isinstance(loss, DenseArray):
        raise TaichiRuntimeError(
            f"The loss of `Tape` must be a field, ndarray or tensor, found {loss!r:.60}", PLACE_HINT
        )
    is_field = loss.KIND == "field"
    count = 1
    for extent in (*loss.shape, *loss.element_shape):
        count *= extent
    if is_field and loss.shape:
        raise TaichiRuntimeError("The loss of `Tape` must be a 0-D field, i.e. scalar", "give it the shape ()")
    if count != 1:
        raise TaichiRuntimeError("The loss of `Tape` must be an ndarray with only one element")
    if loss.grad is None or not getattr(loss.grad, "is_placed", True):
        kinds = "ti.field(..., needs_grad=True) for all fields" if is_field else "needs_grad=True for all ndarrays"
        verb = "use" if is_field else "set"
        raise TaichiRuntimeError(
            f"Gradients of loss are not allocated, please {verb} {kinds} that are required by autodiff."
        )


def gradient_of_loss(loss: Any) -> Any:
    """Return the gradient of a loss; a tensor gets one."""
    if is_tensor(loss) and loss.grad is None:
        loss.grad = loss.detach().new_zeros(loss.shape)
    return loss.grad


def _fill(array: Any, value: float) -> None:
    if is_tensor(array):
        array.detach().fill_(value)
    else:
        array.fill(value)
