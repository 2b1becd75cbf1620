"""`ti.init(watchdog=seconds)`: a launch that takes longer is an error that names the kernel, the task and the edit.

In: programs and launchers. Out: programs that wait for the end of each launch, at most for so long.

- On the host the device stops the launch (`devices/host/watched_launches.py`); the program goes on.
- In the interpreter the thread gets the error between two of its statements.
- lavapipe ends all loops after 65,535 iterations, so its launches are waited for, and late ones are an error.
- A kernel on a GPU cannot be stopped. It is waited for no longer, and refuses all later use.

Tools that run edited sources in this process limit their waits in the same way (`may_wait_for_ever`, `give_up`).
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from ...transpiler.backend.module.interface import BackendModule, TaskSource
from ...transpiler.errors import LaunchTimeoutError, TaichiRuntimeError
from ..devices.device import WATCHDOG_HINT, too_long
from ..devices.forks import end_without_drivers
from ..locks import new_lock
from ..session.session import Session


def limited(session: Session, module: BackendModule, program: Any) -> Any:
    """Return a program whose launches end, or are given up, within the time that the session allows."""
    device: Any = session.device
    if hasattr(device, "finish_within"):
        return _Waiting(session, module, program)
    return program if module.program is None else _Interpreted(session, module, program)


NO_STOP = "No call of the driver stops it, so this process cannot use the device any more; host memory is intact"


def may_wait_for_ever(device: Any) -> bool:
    """Return whether waits for a launch that does not end have to be limited: nothing else ends it, or them."""
    return hasattr(device, "finish_within") and not getattr(device, "ends_loops", False)


def give_up(session: Session, reason: str, hint: str) -> NoReturn:
    """Let a session whose launch does not end refuse all later use, and the process end without its driver.

    Raises: LaunchTimeoutError.
    """
    device: Any = session.device
    session.stuck = reason
    device.refuse(reason)
    end_without_drivers()
    raise LaunchTimeoutError(reason, hint)


def described(module: BackendModule) -> str:
    """Return the name of a kernel, with its tasks if there are several: who waits does not know which of them runs."""
    names = ", ".join(f"`{task.name}`" for task in module.tasks)
    what = "" if len(module.tasks) == 1 else f" (one of the tasks {names})"
    return f"kernel `{module.kernel}`{what}"


def naming(launch: Callable[..., Any], module: BackendModule, paths: Sequence[Path]) -> Callable[..., Any]:
    """Return a launcher whose timeouts name the edited file and the line of the task in it. paths: of the edit."""
    if not paths:
        return launch

    def launch_named(*args: Any) -> Any:
        try:
            return launch(*args)
        except LaunchTimeoutError as error:
            tasks = [task for task in module.tasks if f"`{task.name}`" in error.message] or list(module.tasks)
            raise LaunchTimeoutError(f"{_place(module, tasks[0], paths)}: {error.message}", error.hint) from None

    return launch_named


def _place(module: BackendModule, task: TaskSource, paths: Sequence[Path]) -> str:
    """Return the edited file of a task, and the line where the task begins."""
    file = module.files[task.file]
    stem, _, suffix = file.name.rpartition(".")
    path = next((path for path in paths if re.fullmatch(rf"{re.escape(stem)}(@.*)?\.{suffix}", path.name)), paths[0])
    number = task.name.removeprefix(module.kernel)
    names = "|".join(re.escape(name) for name in (f"task{number}", "task", task.entry))
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
    head = re.compile(rf"\b(?:{names})\s*\([^;]*$")
    return f"{path}:{next((k for k, line in enumerate(lines, 1) if head.search(line)), 1)}"


class _Limited:
    """A program with a time limit; all that is not submitting is the program's own."""

    def __init__(self, session: Session, module: BackendModule, program: Any) -> None:
        self._session, self._module, self._program = session, module, program
        self._seconds = session.config.watchdog
        self.arguments, self.lock = program.arguments, program.lock

    def __getattr__(self, name: str) -> Any:
        if name in ("submit_held", "inlined"):  # `submit` alone waits
            raise AttributeError(name)
        return getattr(self._program, name)

    def instantiate(self) -> Any:
        """Return the same code with its own argument block."""
        return type(self)(self._session, self._module, self._program.instantiate())


class _Waiting(_Limited):
    """A program of a GPU."""

    def submit(self, counts: Sequence[int], *given: Any) -> None:
        """Start the tasks and wait for their end. Raises: LaunchTimeoutError."""
        submit = getattr(self._program, "submit_held", self._program.submit)
        submit(counts, *given)
        device: Any = self._session.device
        stream = given[0] if given and isinstance(given[0], int) else None
        if device.finish_within(self._seconds, stream):
            return
        if getattr(device, "ends_loops", False):
            self._wait_for_end()
        reason = f"{described(self._module)} has run for more than {self._seconds:g} s on {device.title}. {NO_STOP}"
        give_up(self._session, reason, f"{WATCHDOG_HINT}. Start the program again")

    def _wait_for_end(self) -> None:
        """Wait for a driver that ends all loops. Raises: LaunchTimeoutError, with the driver's error if it has one."""
        message = too_long(self._module.kernel, self._module.tasks[0], self._seconds, "has ended since then")
        try:
            self._session.device.synchronize()
        except TaichiRuntimeError as error:
            message += f". {error.message}"
        raise LaunchTimeoutError(message, WATCHDOG_HINT)


class _Interpreted(_Limited):
    """A program of the interpreter."""

    def submit(self, counts: Sequence[int], *given: Any) -> None:
        """Run the tasks. Raises: LaunchTimeoutError in place of what takes too long."""
        thread, lock, ended = ctypes.c_ulong(threading.get_ident()), new_lock(), [False]

        def stop() -> None:
            with lock:  # nothing may reach the thread after the launch
                if not ended[0]:
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(_TimeoutInThread))

        timer = threading.Timer(self._seconds, stop)
        timer.daemon = True
        timer.start()
        try:
            try:
                self._program.submit(counts, *given)
            finally:
                with lock:
                    ended[0] = True
                timer.cancel()
        except _TimeoutInThread:
            message = too_long(self._module.kernel, self._module.tasks[0], self._seconds)
            raise LaunchTimeoutError(message, WATCHDOG_HINT) from None


class _TimeoutInThread(BaseException):
    """Raised in the thread whose launch takes too long."""
