"""Record commands, submit them in batches, wait for them, and free what they used.

In: dispatches (recorded by `VulkanProgram.submit_held` directly into the open command buffer) and copies. Out: a serial
number per submission, counted by one timeline semaphore; resources that the device uses are freed after their serial.

This is a launch path: a batched launch costs 3 us, a launch with its own submit and wait costs 30 to 80 (lavapipe). So
commands are collected in an open command buffer until a result is needed, `BATCH` dispatches are recorded, or the work
is large.
"""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any
from weakref import WeakSet

from ....transpiler.errors import ShadesmithWarning, TaichiRuntimeError
from ...locks import new_lock
from ..forks import HINT, REASON
from .instance import Adapter, Api

BATCH = 64
"""Commands after which a command buffer is submitted."""
FIRST_BATCH = 4
"""The same if the device does nothing. Each submission has twice as many as the one before, up to `BATCH`: an H200 ends
50 substeps of mpm88, four tasks each, 0.1 ms sooner than with 64 from the start."""
EAGER_THREADS = 1 << 20
"""Work [threads] that is submitted immediately, so that the device starts while Python continues."""
AHEAD = 2
"""Submissions that keep a device busy. While it has so many, large work is collected, too: between two submissions an
H200 does nothing for 8 to 15 us, between two commands of one for less than 1."""
COLLECTED = 8
"""Commands of large work that are collected at most: they start late if Python is busy until the others have ended."""
IN_FLIGHT = 16
"""Number of command buffers; with `BATCH` this limits how far Python runs ahead of the device."""
SLICE_NANOSECONDS = 100_000_000
"""Length of one slice of a wait; Python handles signals (Ctrl-C) between slices."""
SPIN_SECONDS = 2e-3
"""How long a wait queries a GPU again and again before it sleeps: waking takes 25 us (H200), as long as a short kernel.

A software driver needs the processor itself."""
RECENT = 8
CLOSED = "the Vulkan device was closed; arrays and kernels made on it cannot be used"

VK_TIMEOUT = 2
VK_ERROR_DEVICE_LOST = -4


_QUEUES: WeakSet[Queue] = WeakSet()


def _after_fork() -> None:
    """Close the command buffers in a child, which may not record into its parent's."""
    for queue in list(_QUEUES):
        queue.slot = queue.commands = queue.held = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Submission:
    """A submission of command buffers. value: the serial that the semaphore reaches. info: the struct."""

    __slots__ = ("info", "value")

    def __init__(self, api: Api, handles: Sequence[Any], semaphore: Any) -> None:
        self.value = api.ffi.new("uint64_t*")
        timeline = api.new(
            "VkTimelineSemaphoreSubmitInfo",
            "TIMELINE_SEMAPHORE_SUBMIT_INFO",
            signalSemaphoreValueCount=1,
            pSignalSemaphoreValues=self.value,
        )
        self.info = api.new(
            "VkSubmitInfo",
            "SUBMIT_INFO",
            pNext=timeline,
            commandBufferCount=len(handles),
            pCommandBuffers=api.array("VkCommandBuffer", handles),
            signalSemaphoreCount=1,
            pSignalSemaphores=api.array("VkSemaphore", [semaphore]),
        )


class Repeat:
    """A recorded launch. inner: the commands for an open command buffer, an array; alone: a submission of nothing else.

    commands: number of its dispatches, with or without iterations. name: of the kernel.
    """

    __slots__ = ("alone", "commands", "inner", "name")

    def __init__(self, name: str, commands: int, inner: Any, alone: Submission) -> None:
        self.name, self.commands, self.inner, self.alone = name, commands, inner, alone


class CommandSlot:
    """A command buffer with the structs of its submission. serial: of its last submission."""

    __slots__ = ("arguments", "arguments_used", "handle", "serial", "submit_info", "value")

    def __init__(self, api: Api, handle: Any, semaphore: Any) -> None:
        self.handle = handle
        self.serial = 0
        self.arguments: Any = None
        self.arguments_used = 0
        submission = Submission(api, [handle], semaphore)
        self.value, self.submit_info = submission.value, submission.info


class Queue:
    """The only queue of a device. `submitting` reads its public fields, since calls would cost too much.

    lock: held while recording.
    owner: the process that may use it, or -1 once it is lost or closed.
    commands: the open command buffer or None.
    held: a recorded launch, in place of a command buffer that would hold it alone, or None.
    recorded: number of commands in either; if it is not 0, the next command needs a barrier.
    limit: number of commands after which they are submitted.
    repeats: whether launches that repeat are recorded for later ones.
    is_held: only a wait submits: a timer needs all measured work in one command buffer.
    check: called after each wait; raises if the work that has ended is wrong. None on drivers that are right.
    """

    def __init__(self, api: Api, adapter: Adapter, device: Any, handle: Any) -> None:
        self.api, self.device, self.handle = api, device, handle
        self.lock = new_lock()
        self.owner = self._process = os.getpid()
        _QUEUES.add(self)
        self.slot: CommandSlot | None = None
        self.commands: Any = None
        self.held: Repeat | None = None
        self.repeats = True
        self.limit = FIRST_BATCH
        self.recorded = 0
        self.is_held = False
        self._spins = not adapter.is_software
        self.check: Callable[[], None] | None = None
        self.serial = 1
        self.completed = 0
        self.recent: deque[str] = deque(maxlen=RECENT)
        self._refusal = ""
        self._flying: deque[CommandSlot] = deque()
        self._idle: list[CommandSlot] = []
        self._count = 0
        self._waits: list[tuple[Any, Any]] = []
        self._retiring: deque[tuple[int, Callable[[], None]]] = deque()
        self._pool = api.ffi.NULL
        self._semaphore = api.ffi.new("VkSemaphore*")
        try:
            self._make_objects(adapter)
        except BaseException:
            self.close()
            raise

    def _make_objects(self, adapter: Adapter) -> None:
        api, vk = self.api, self.api.constants
        null = api.ffi.NULL
        pool = api.ffi.new("VkCommandPool*")
        info = api.new(
            "VkCommandPoolCreateInfo",
            "COMMAND_POOL_CREATE_INFO",
            flags=vk.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
            queueFamilyIndex=adapter.queue_family,
        )
        api.check(api.lib.vkCreateCommandPool(self.device, info, null, pool), "making a command pool")
        self._pool = pool[0]
        kind = api.new(
            "VkSemaphoreTypeCreateInfo", "SEMAPHORE_TYPE_CREATE_INFO", semaphoreType=vk.VK_SEMAPHORE_TYPE_TIMELINE
        )
        info = api.new("VkSemaphoreCreateInfo", "SEMAPHORE_CREATE_INFO", pNext=kind)
        api.check(api.lib.vkCreateSemaphore(self.device, info, null, self._semaphore), "making a semaphore")
        self._begin_info = api.new(
            "VkCommandBufferBeginInfo",
            "COMMAND_BUFFER_BEGIN_INFO",
            flags=vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
        )
        self._begin_tape_info = api.new(
            "VkCommandBufferBeginInfo",
            "COMMAND_BUFFER_BEGIN_INFO",
            flags=vk.VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT,
        )
        self._make_inner_info()
        self._make_barriers()

    def _make_inner_info(self) -> None:
        """Prepare the recording of commands that command buffers execute."""
        vk = self.api.constants
        self._begin_inner_info = self.api.new(
            "VkCommandBufferBeginInfo",
            "COMMAND_BUFFER_BEGIN_INFO",
            flags=vk.VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT,
            pInheritanceInfo=self.api.new("VkCommandBufferInheritanceInfo", "COMMAND_BUFFER_INHERITANCE_INFO"),
        )
        self._barrier_between, self._execute = self.api.lib.vkCmdPipelineBarrier, self.api.lib.vkCmdExecuteCommands

    def _make_barriers(self) -> None:
        """Prepare two barriers: between commands, and at the end of a batch, before reads by the host."""
        vk = self.api.constants
        written = vk.VK_ACCESS_SHADER_WRITE_BIT | vk.VK_ACCESS_TRANSFER_WRITE_BIT
        touched = written | vk.VK_ACCESS_SHADER_READ_BIT | vk.VK_ACCESS_TRANSFER_READ_BIT
        self.stages = vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | vk.VK_PIPELINE_STAGE_TRANSFER_BIT
        self._end_stages = self.stages | vk.VK_PIPELINE_STAGE_HOST_BIT
        self.barrier = self._barrier(written, touched)
        self._end_barrier = self._barrier(written, touched | vk.VK_ACCESS_HOST_READ_BIT | vk.VK_ACCESS_HOST_WRITE_BIT)

    def _barrier(self, before: int, after: int) -> Any:
        return self.api.new("VkMemoryBarrier", "MEMORY_BARRIER", srcAccessMask=before, dstAccessMask=after)

    def begin(self) -> Any:
        """Open a command buffer and return it. The lock must be held, none may be open.

        Launches call it only if none is open, so it checks for all of them that the device can be used.
        """
        self.require()
        slot = self._free_slot()
        try:
            self._answer(self.api.lib.vkBeginCommandBuffer(slot.handle, self._begin_info), "recording")
        except TaichiRuntimeError:
            self._idle.append(slot)
            raise
        slot.arguments_used = 0
        held, self.held = self.held, None
        self.slot, self.commands, self.recorded = slot, slot.handle, 0
        if held is not None:
            self.insert(held)
        return slot.handle

    def hold(self, repeat: Repeat) -> None:
        """Hold a recorded launch, which becomes the first of a command buffer if another command follows it.

        The lock must be held, no command buffer may be open.
        """
        self.require()
        self.held, self.recorded = repeat, repeat.commands
        self.recent.append(repeat.name)

    def insert(self, repeat: Repeat) -> None:
        """Record a recorded launch, with a barrier after all earlier commands. The lock must be held."""
        commands, null = self.commands or self.begin(), self.api.ffi.NULL
        recorded = self.recorded
        self.recorded = recorded + repeat.commands
        if recorded:
            self._barrier_between(commands, self.stages, self.stages, 0, 1, self.barrier, 0, null, 0, null)
        self._execute(commands, 1, repeat.inner)
        self.recent.append(repeat.name)

    def _free_slot(self) -> CommandSlot:
        if not self._idle and self._flying:
            self.poll()
        if self._idle:
            return self._idle.pop()
        if self._count < IN_FLIGHT:
            return self._new_slot()
        self.wait(self._flying[0].serial)
        return self._idle.pop()

    def _new_slot(self) -> CommandSlot:
        slot = CommandSlot(self.api, self.allocate_commands(), self._semaphore[0])
        self._count += 1
        return slot

    # --- prerecorded command buffers (`recording`); the lock must be held

    def allocate_commands(self, is_inner: bool = False) -> Any:
        """Allocate a command buffer that the caller owns. is_inner: others execute it."""
        api, vk = self.api, self.api.constants
        out = api.ffi.new("VkCommandBuffer*")
        level = vk.VK_COMMAND_BUFFER_LEVEL_SECONDARY if is_inner else vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY
        info = api.new(
            "VkCommandBufferAllocateInfo",
            "COMMAND_BUFFER_ALLOCATE_INFO",
            commandPool=self._pool,
            level=level,
            commandBufferCount=1,
        )
        api.check(api.lib.vkAllocateCommandBuffers(self.device, info, out), "making a command buffer")
        return out[0]

    def free_commands(self, handles: Sequence[Any]) -> None:
        """Free command buffers; the device has finished with them."""
        array = self.api.array("VkCommandBuffer", handles)
        self.api.lib.vkFreeCommandBuffers(self.device, self._pool, len(handles), array)

    def begin_tape(self, handle: Any, is_inner: bool = False) -> None:
        """Open a command buffer that may be submitted again while the device still runs it."""
        info = self._begin_inner_info if is_inner else self._begin_tape_info
        self._answer(self.api.lib.vkBeginCommandBuffer(handle, info), "recording")

    def end_tape(self, handle: Any, is_last: bool) -> None:
        """Close a command buffer. is_last: make its writes visible to the host and to all later work."""
        if is_last:
            self._end_batch(handle)
        self._answer(self.api.lib.vkEndCommandBuffer(handle), "ending a command buffer")

    def make_submission(self, handles: Sequence[Any]) -> Submission:
        """Return a submission of several command buffers, in order."""
        return Submission(self.api, handles, self._semaphore[0])

    def submit(self, submission: Submission) -> int:
        """Submit prerecorded command buffers after all recorded work; return the serial of their end."""
        self.flush()
        return self._submit(submission)

    def _submit(self, submission: Submission) -> int:
        if self.serial - self.completed > IN_FLIGHT:
            self.wait(self.serial - IN_FLIGHT)
        serial = submission.value[0] = self.serial
        code = self.api.lib.vkQueueSubmit(self.handle, 1, submission.info, self.api.ffi.NULL)
        self._answer(code, "submitting work")
        self.serial += 1
        return serial

    def _end_batch(self, handle: Any) -> None:
        null = self.api.ffi.NULL
        end = self._end_barrier
        self.api.lib.vkCmdPipelineBarrier(handle, self.stages, self._end_stages, 0, 1, end, 0, null, 0, null)

    def require(self) -> None:
        """Raise TaichiRuntimeError if the device cannot be used: lost, closed, or owned by a parent process."""
        if os.getpid() == self.owner:
            return
        if self._refusal:
            raise TaichiRuntimeError(self._refusal)
        raise TaichiRuntimeError(REASON.format(api="Vulkan"), HINT)

    def open_commands(self) -> Any:
        """Return the open command buffer, with a barrier after all earlier commands. The lock must be held."""
        self.require()
        commands = self.commands or self.begin()
        if self.recorded:
            null = self.api.ffi.NULL
            self.api.lib.vkCmdPipelineBarrier(commands, self.stages, self.stages, 0, 1, self.barrier, 0, null, 0, null)
        self.recorded += 1
        return commands

    def offer(self) -> None:
        """Submit the recorded commands, unless `is_held`, or they are few and the device is busy. Needs the lock."""
        if self.is_held or (self.recorded < COLLECTED and self._is_busy()):
            return
        self.flush()

    def _is_busy(self) -> bool:
        """Return whether the device has so much to do that it need not get more at once."""
        if self.serial - 1 - self.completed >= AHEAD:
            self.poll()
        return self.serial - 1 - self.completed >= AHEAD

    def flush_if_full(self) -> None:
        """Submit the recorded commands if there are `BATCH` of them."""
        if self.recorded >= BATCH:
            self.flush()

    def flush(self) -> int:
        """Submit the recorded commands and return the serial of the end of all work."""
        with self.lock:
            self.require()
            slot = self.slot
            if slot is None:
                held, self.held = self.held, None
                return self.serial - 1 if held is None else self._submit(held.alone)
            lib, null = self.api.lib, self.api.ffi.NULL
            self._end_batch(slot.handle)
            self.slot = self.commands = None
            slot.serial = slot.value[0] = self.serial
            try:
                self._answer(lib.vkEndCommandBuffer(slot.handle), "ending a command buffer")
                self._answer(lib.vkQueueSubmit(self.handle, 1, slot.submit_info, null), "submitting work")
            except TaichiRuntimeError:
                self._idle.append(slot)
                raise
            self._flying.append(slot)
            self.serial += 1
            self.limit = min(2 * self.limit, BATCH)
            return slot.serial

    def wait(self, serial: int) -> None:
        """Wait until the device has finished all work up to `serial`; Ctrl-C interrupts the wait."""
        self.require()
        if self.completed < serial and not (self._spins and self._spin(serial)):
            info, value = self._waits.pop() if self._waits else self._new_wait()
            value[0] = serial
            wait = self.api.lib.vkWaitSemaphores
            while self._answer(wait(self.device, info, SLICE_NANOSECONDS), "waiting") == VK_TIMEOUT:
                pass
            self._waits.append((info, value))
            with self.lock:
                self._complete(serial)
        if self.check is not None:
            self.check()

    def finish_within(self, seconds: float) -> bool:
        """Wait until the device has finished all work, at most for some seconds; return whether it has."""
        serial, end = self.flush(), perf_counter() + seconds
        info, value = self._new_wait()
        value[0] = serial
        wait = self.api.lib.vkWaitSemaphores
        while (
            self._answer(wait(self.device, info, int(min(SLICE_NANOSECONDS, seconds * 1e9))), "waiting") == VK_TIMEOUT
        ):
            if perf_counter() > end:
                return False
        self.wait(serial)
        return True

    def refuse(self, reason: str) -> None:
        """Refuse later use, for a reason, without waiting for the device."""
        self._refusal, self.owner = reason, -1
        self.slot = self.commands = self.held = None

    def _spin(self, serial: int) -> bool:
        """Return whether the device has finished all work up to `serial` within a moment."""
        reached = self.api.ffi.new("uint64_t*")
        query, device, semaphore = self.api.lib.vkGetSemaphoreCounterValue, self.device, self._semaphore[0]
        end = perf_counter() + SPIN_SECONDS
        while True:
            self._answer(query(device, semaphore, reached), "waiting")
            if reached[0] >= serial:
                with self.lock:
                    self._complete(reached[0])
                return True
            if perf_counter() > end:
                return False

    def _new_wait(self) -> tuple[Any, Any]:
        """Return the struct of a wait and the array of its serial; each waiting thread has its own."""
        value = self.api.ffi.new("uint64_t*")
        info = self.api.new(
            "VkSemaphoreWaitInfo",
            "SEMAPHORE_WAIT_INFO",
            semaphoreCount=1,
            pSemaphores=self._semaphore,
            pValues=value,
        )
        return info, value

    def synchronize(self) -> None:
        """Wait for all work, and run the deferred actions."""
        self.wait(self.flush())
        self.collect()

    @property
    def is_idle(self) -> bool:
        """Whether all submitted work is known to have ended."""
        return self.commands is None and self.held is None and self.completed == self.serial - 1

    def poll(self) -> None:
        """Query the last finished serial."""
        reached = self.api.ffi.new("uint64_t*")
        code = self.api.lib.vkGetSemaphoreCounterValue(self.device, self._semaphore[0], reached)
        self._answer(code, "querying progress")
        self._complete(reached[0])

    def _complete(self, serial: int) -> None:
        self.completed = max(self.completed, serial)
        if self.completed == self.serial - 1:
            self.limit = FIRST_BATCH
        while self._flying and self._flying[0].serial <= self.completed:
            self._idle.append(self._flying.popleft())

    def _answer(self, code: int, action: str) -> int:
        """Check a result that may report a lost device."""
        if code == VK_ERROR_DEVICE_LOST:
            names = ", ".join(dict.fromkeys(reversed(self.recent))) or "none"
            self._refusal = (
                f"the Vulkan device was lost while {action}; kernels submitted last, newest first: {names}."
                " Usual causes are an access out of bounds or a loop without end: run with `ti.init(debug=True)`."
                " Device data is gone; `ti.reset()` and `ti.init()` start anew"
            )
            self.owner = -1
            self.slot = self.commands = self.held = None
            self.require()
        self.api.check(code, action)
        return code

    def defer(self, action: Callable[[], None]) -> None:
        """Run `action` once all work so far has ended. Takes no lock: finalizers may call it at any moment."""
        self._retiring.append((self.serial, action))

    def collect(self) -> None:
        """Run the deferred actions whose work has ended."""
        with self.lock:
            if self._retiring and self.completed < self.serial - 1:
                self.poll()
            idle = self.is_idle
            while self._retiring and (idle or self._retiring[0][0] <= self.completed):
                self._retiring.popleft()[1]()

    def collect_if_free(self) -> None:
        """Run the deferred actions whose work has ended, unless a recording is in progress; never waits.

        Finalizers call this at any moment, also while this thread is inside a call that holds the lock.
        """
        held: Callable[[], bool] = getattr(self.lock, "_is_owned")  # noqa: B009 - `threading.Condition` uses it too
        if os.getpid() != self.owner or held() or not self.lock.acquire(blocking=False):
            return
        try:
            self.collect()
        except TaichiRuntimeError:  # the device is lost: the next call reports it
            pass
        finally:
            self.lock.release()

    def finish(self) -> None:
        """Wait for the device for the last time, and refuse later use. Failures are warnings: closing continues."""
        try:
            if os.getpid() == self.owner:
                self.synchronize()
        except TaichiRuntimeError as error:
            warnings.warn(str(error), ShadesmithWarning, stacklevel=4)
        finally:
            self.api.lib.vkDeviceWaitIdle(self.device)  # required before anything is destroyed; returns at once if lost
            self.owner = -1
            self._refusal = CLOSED

    def close(self) -> None:
        """Run the deferred actions and destroy the queue's objects."""
        lib, null = self.api.lib, self.api.ffi.NULL
        with self.lock:
            self.commands = self.slot = self.held = None
            while self._retiring:
                self._retiring.popleft()[1]()
        lib.vkDestroySemaphore(self.device, self._semaphore[0], null)
        lib.vkDestroyCommandPool(self.device, self._pool, null)
