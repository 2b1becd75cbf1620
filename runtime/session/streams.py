"""Streams: queues of launches, each in order, that a GPU may run at the same time; and events, which order them.

In: a session, or a stream of CuPy, torch or another library. Out: `Stream`, `Event`, and `launch_on`, which launches a
kernel on a stream. Only CUDA has several streams. On the other targets all launches are on one queue in order, so a
program with streams computes the same there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from threading import local
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from ...transpiler.errors import TaichiRuntimeError, TaichiRuntimeTypeError
from . import session as sessions

if TYPE_CHECKING:
    from ..devices.device import GpuDevice

HANDLES = ("ptr", "cuda_stream", "handle")
"""Attributes with the handle of a stream: CuPy's, torch's, numba's and ours."""


class Stream:
    """A queue of launches in order; launches on different streams may run at the same time.

    A stream belongs to the session in which it is made. `kernel(..., stream=s)` launches on it, and `with s:` launches
    all kernels of a block. Launches that use the same data on two streams are ordered by events, or by `s.wait(other)`;
    reads by the host wait for all streams. Libraries that read `__cuda_stream__` take it as a stream.

    Example:
        >>> first, second = ti.Stream(), ti.Stream()
        >>> @ti.kernel
        ... def add(x: ti.types.ndarray(ti.i32, 1), n: ti.i32):
        ...     for i in x:
        ...         x[i] += n
        >>> x = ti.ndarray(ti.i32, 4)
        >>> add(x, 1, stream=first)
        >>> second.wait(first)
        >>> with second:
        ...     add(x, 2)
        >>> x.to_numpy()
        array([3, 3, 3, 3], dtype=int32)
    """

    def __init__(self) -> None:
        self._session = sessions.current("a stream")
        device = self._session.device
        self._own: Any = cast("GpuDevice", device).make_stream() if device.cuda_memory else None
        self._entered = local()

    @property
    def handle(self) -> int:
        """The address of the `CUstream`; 0 on targets with one queue."""
        return 0 if self._own is None else int(self._own.ptr)

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of this protocol, and the handle."""
        return 0, self.handle

    def __enter__(self) -> Stream:
        """Launch what follows on this stream, in this thread."""
        stack = ExitStack()
        stack.enter_context(_current(self))
        self._entered.stacks = [*getattr(self._entered, "stacks", ()), stack]
        return self

    def __exit__(self, *error: object) -> None:
        """Launch on the stream before again."""
        self._entered.stacks.pop().close()

    def synchronize(self) -> None:
        """Wait for the launches on this stream. Raises: TaichiRuntimeError if one failed."""
        self.record().synchronize()

    def record(self) -> Event:
        """Return an event that occurs when the launches on this stream so far have ended."""
        event = Event()
        event.record(self)
        return event

    def wait(self, other: Event | Stream | Any) -> None:
        """Let later launches on this stream wait for an event, or for the launches on another stream so far."""
        _require_open(self._session, "a stream")
        if isinstance(other, Event):
            other.wait(self)
        elif self._own is not None:
            device = cast("GpuDevice", self._session.device)
            device.let_wait(self.handle, _handle_of(other))


class Event:
    """A moment in a stream: it occurs when the launches before it have ended.

    An event that was never recorded has occurred. `elapsed_time` needs events of one device.

    Example:
        >>> begin, end = ti.Event(), ti.Event()
        >>> begin.record()
        >>> end.record()
        >>> end.synchronize()
        >>> end.query()
        True
    """

    def __init__(self) -> None:
        self._session = sessions.current("an event")
        device = self._session.device
        self._own: Any = cast("GpuDevice", device).make_event() if device.cuda_memory else None
        self._seconds: float | None = None
        self._is_recorded = False

    def record(self, stream: Stream | Any = None) -> None:
        """Place the event after the launches on a stream so far, CuPy's current stream if none is given."""
        session = _require_open(self._session, "an event")
        if session.pending:
            session.flush_pending()
        self._is_recorded = True
        if self._own is not None:
            handle = cast("GpuDevice", session.device).current_stream().ptr if stream is None else _handle_of(stream)
            self._called(lambda: cast("GpuDevice", session.device).record_event(self._own, handle))
        elif _finish_within(session) is None:
            self._seconds = perf_counter()

    def wait(self, stream: Stream | Any = None) -> None:
        """Let later launches on a stream, CuPy's current one if none is given, wait for the event, on the GPU."""
        session = _require_open(self._session, "an event")
        if self._own is not None and self._is_recorded:
            device = cast("GpuDevice", session.device)
            handle = device.current_stream().ptr if stream is None else _handle_of(stream)
            self._called(lambda: device.wait_event(handle, self._own))

    def synchronize(self) -> None:
        """Wait on the host until the event has occurred. Raises: TaichiRuntimeError if a launch failed."""
        session = _require_open(self._session, "an event")
        if self._own is None:
            session.sync()
        elif self._is_recorded:
            self._called(self._own.synchronize)

    def query(self) -> bool:
        """Return whether the event has occurred. Vulkan tells whether all launches have ended."""
        session = _require_open(self._session, "an event")
        if not self._is_recorded:
            return True
        if self._own is not None:
            return bool(self._called(lambda: self._own.done))
        finish_within = _finish_within(session)
        return finish_within is None or finish_within(0.0)

    def elapsed_time(self, end: Event) -> float:
        """Return the time from this event to a later one [ms]; both have occurred.

        Raises: TaichiRuntimeError on Vulkan, and for events that were not recorded.
        """
        if not (self._is_recorded and end._is_recorded):
            raise TaichiRuntimeError("an event that was not recorded has no time", "call `event.record()` first")
        if self._own is not None and end._own is not None:
            return float(self._called(lambda: cast("GpuDevice", self._session.device).elapsed_ms(self._own, end._own)))
        if self._seconds is None or end._seconds is None:
            raise TaichiRuntimeError(
                f"events on ti.{self._session.device.name} have no times",
                "`ti.init(kernel_profiler=True)` and `kernel.bench(...)` measure by the device's time stamps",
            )
        return (end._seconds - self._seconds) * 1e3

    def _called(self, function: Callable[[], Any]) -> Any:
        """Call CuPy; the driver's errors become ours."""
        device = cast("GpuDevice", self._session.device)
        try:
            return function()
        except device.failure as error:
            raise device.describe(error) from error


def launch_on(kernel: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Launch a kernel on the stream that is given as `stream=`; returns the kernel's result."""
    rest = dict(kwargs)
    with _current(rest.pop("stream")):
        return kernel(*args, **rest)


@contextmanager
def _current(stream: Any) -> Iterator[None]:
    """Make a stream the current one of this thread. Raises: TaichiRuntimeTypeError for what is none."""
    session = sessions.current()
    if isinstance(stream, Stream):
        if stream._session is not session:
            _require_open(stream._session, "a stream")
            raise TaichiRuntimeError("this stream belongs to another session", "make one by `ti.Stream()` in this one")
    elif stream is not None and not session.device.cuda_memory:
        _handle_of(stream)
        raise TaichiRuntimeTypeError(
            f"ti.{session.device.name} launches on no stream of another library, found {type(stream).__name__}",
            "give a `ti.Stream()`, which is one queue there, or leave `stream` out",
        )
    if stream is None or not session.device.cuda_memory:
        yield
        return
    owner = stream._own if isinstance(stream, Stream) else stream
    with cast("GpuDevice", session.device).on_stream(_handle_of(stream), owner):
        yield


def _handle_of(stream: Any) -> int:
    """Return the handle of a stream. Raises: TaichiRuntimeTypeError for what is none."""
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    own = (getattr(stream, name) for name in HANDLES if hasattr(stream, name))
    found = protocol()[1] if callable(protocol) else next(own, None)
    value = getattr(found, "value", found)  # numba's is a `c_void_p`
    if not isinstance(value, int):
        raise TaichiRuntimeTypeError(
            f"`stream` takes a stream of ti, CuPy or torch, or its handle, found {type(stream).__name__}",
            "make one by `ti.Stream()`",
        )
    return value


def _finish_within(session: sessions.Session) -> Callable[[float], bool] | None:
    """Return what waits for launches for some seconds; None on devices on which a launch has ended when it returns."""
    found: Callable[[float], bool] | None = getattr(session.device, "finish_within", None)
    return found


def _require_open(session: sessions.Session, what: str) -> sessions.Session:
    if session.epoch < 0:
        raise TaichiRuntimeError(f"{what} belongs to a session that has ended", "make it after `ti.init()`")
    return session
