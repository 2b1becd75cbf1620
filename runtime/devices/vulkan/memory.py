"""Device memory: buffers with addresses, slabs for small ones, and copies between host and device.

If device memory is host memory (lavapipe, integrated devices), it stays mapped, and a read is a wait and a `memmove`.
Otherwise data passes through a ring of staging blocks, so that copies on both sides overlap.
"""

from __future__ import annotations

import ctypes
import weakref
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from typing import Any

from ....transpiler.errors import TaichiRuntimeError
from ....transpiler.lazy_dataclasses import dataclass
from ..device import OutOfMemory, format_size
from ..host_memory import Budget, clear_fresh
from .instance import MEMORY_BUDGET, Adapter, Api
from .queue import Queue

ALIGNMENT = 256
SLAB_BYTES = 64 << 20
RESULT_SLAB_BYTES = 64 << 10
SMALL_BYTES = 4 << 20
"""Allocations up to this size come from slabs: drivers may allow as few as 4,096 allocations."""
STAGING_BYTES = 8 << 20
STAGING_BLOCKS = 4
INLINE_BYTES = 65536
"""Size limit of vkCmdUpdateBuffer, whose data is in the command buffer."""

NVIDIA_BYTES = 1 << 32
"""Of an array: NVIDIA's driver 580 computes offsets with 32 bits (`IMAD R1, R1, 0xc; LDG [R1.U32+UR4]`), and does not
refuse larger ones, though it promises none (maxMemoryAllocationSize)."""

OUT_OF_MEMORY = (-1, -2)
DEVICE_ADDRESS_USAGE = 0x20000
DEVICE_LOCAL = 1
DEVICE_ADDRESS_ALLOCATION = 2
"""VK_BUFFER_USAGE_ and VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT, which are None in the package (1.3.275)."""


def local_bytes(api: Api, adapter: Any) -> int:
    """Return the size of a physical device's own memory [bytes]."""
    properties = api.ffi.new("VkPhysicalDeviceMemoryProperties*")
    api.lib.vkGetPhysicalDeviceMemoryProperties(adapter, properties)
    heaps = properties.memoryHeaps[0 : properties.memoryHeapCount]
    return max((int(heap.size) for heap in heaps if heap.flags & DEVICE_LOCAL), default=0)


class Block:
    """An allocation of the driver with one buffer.

    size_bytes: of the buffer. taken_bytes: of the memory. pointer: its host address, 0 if not mapped.
    """

    __slots__ = ("address", "buffer", "heap", "memory", "pointer", "size_bytes", "taken_bytes")

    def __init__(self, size_bytes: int, taken_bytes: int, heap: int) -> None:
        self.size_bytes, self.taken_bytes, self.heap = size_bytes, taken_bytes, heap
        self.buffer: Any = None
        self.memory: Any = None
        self.address = self.pointer = 0


class Slab:
    """A block divided into allocations; its free ranges are sorted and merged."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self._offsets = [0]
        self._sizes = [block.size_bytes]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is allocated from it."""
        return self._sizes == [self.block.size_bytes]

    def acquire(self, size_bytes: int) -> int | None:
        """Allocate a range; return its offset, or None if none is large enough."""
        for index, size in enumerate(self._sizes):
            if size >= size_bytes:
                offset = self._offsets[index]
                if size == size_bytes:
                    del self._offsets[index], self._sizes[index]
                else:
                    self._offsets[index] += size_bytes
                    self._sizes[index] -= size_bytes
                return offset
        return None

    def release(self, offset: int, size_bytes: int) -> None:
        """Free a range."""
        index = bisect_left(self._offsets, offset)
        if index < len(self._offsets) and offset + size_bytes == self._offsets[index]:
            size_bytes += self._sizes[index]
            del self._offsets[index], self._sizes[index]
        if index and self._offsets[index - 1] + self._sizes[index - 1] == offset:
            self._sizes[index - 1] += size_bytes
        else:
            self._offsets.insert(index, offset)
            self._sizes.insert(index, size_bytes)


class VulkanAllocation:
    """Memory on the device, at `offset` bytes in a block. slab: None if it has the whole block."""

    __slots__ = ("address", "block", "is_free", "leases", "offset", "padded_bytes", "size_bytes", "slab")

    def __init__(self, block: Block, offset: int, size_bytes: int, padded_bytes: int, slab: Slab | None) -> None:
        self.block, self.offset, self.slab = block, offset, slab
        self.size_bytes, self.padded_bytes = size_bytes, padded_bytes
        self.address = block.address + offset
        self.is_free = False
        self.leases: set[int] = set()


@dataclass(frozen=True, slots=True)
class ImageMemory:
    """Memory of one image. requested_bytes: of its texels. taken_bytes: of the memory."""

    handle: Any
    taken_bytes: int
    heap: int
    requested_bytes: int


class Lease:
    """Represents an external user of the bytes of an allocation."""

    __slots__ = ("__weakref__",)


class Memory:
    """All memory of a device.

    is_mapped: whether the host can access device memory. force_staging: behave as if it could not.
    lent_bytes: total size of live allocations, as requested; `used_bytes` is the driver's memory for them.
    leases: of bytes that external code uses. when_unused: called when the last lease ends.
    """

    def __init__(self, api: Api, adapter: Adapter, device: Any, queue: Queue, force_staging: bool) -> None:
        self._api, self._adapter, self._device, self._queue = api, adapter, device, queue
        self.leases: set[int] = set()
        self.when_unused: Callable[[], None] | None = None
        self._properties = api.ffi.new("VkPhysicalDeviceMemoryProperties*")
        api.lib.vkGetPhysicalDeviceMemoryProperties(adapter.handle, self._properties)
        vk = api.constants
        local = vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
        visible = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        cached = visible | vk.VK_MEMORY_PROPERTY_HOST_CACHED_BIT
        self.is_mapped = not force_staging and self._has_type(local | cached)
        # Uncached mapped memory (the window over PCIe) is read at a few MB/s, so it does not count as mapped.
        self._data_types = (local | cached,) if self.is_mapped else (local, 0)
        self._staging_types = (cached, visible)
        self._argument_types = (local | visible, visible)
        self._visible = visible
        self._used = [0] * self._properties.memoryHeapCount
        self.lent_bytes = 0
        self._budget = Budget(adapter.name) if adapter.is_software else None
        self._most_bytes = self._read_most_bytes()
        self._addressed_bytes = NVIDIA_BYTES if adapter.is_nvidia else None
        self._slabs: list[Slab] = []
        self._result_slabs: list[Slab] = []
        self._blocks: set[Block] = set()
        self._staging = Staging(self, queue)

    def _has_type(self, flags: int) -> bool:
        types = self._properties.memoryTypes[0 : self._properties.memoryTypeCount]
        return any(type.propertyFlags & flags == flags for type in types)

    @property
    def used_bytes(self) -> int:
        """Bytes allocated from the driver."""
        return sum(self._used)

    def addresses_are_host_pointers(self) -> bool:
        """Whether the device's addresses are addresses of this process (lavapipe)."""
        if not self.is_mapped:
            return False
        if not self._slabs:
            self._slabs.append(Slab(self.make_block(SLAB_BYTES, self._data_types, SLAB_BYTES)))
        block = self._slabs[0].block
        return bool(block.address == block.pointer)

    # --- allocate and free

    def allocate(self, size_bytes: int) -> VulkanAllocation:
        """Return zeroed memory. Raises: OutOfMemory naming the bytes requested, used and available."""
        with self._queue.lock:
            self._queue.require()
            if self._addressed_bytes is not None and size_bytes > self._addressed_bytes:
                reason = f"its driver addresses {format_size(self._addressed_bytes)} of an array"
                raise OutOfMemory(self._adapter.name, size_bytes, self.lent_bytes, None, reason)
            self._queue.collect()
            try:
                allocation = self._carve(size_bytes)
            except OutOfMemory:
                self._queue.synchronize()  # memory that was freed during launches becomes available now
                allocation = self._carve(size_bytes)
            if allocation.slab is None and self.is_mapped and self._adapter.is_software:
                clear_fresh(allocation.block.pointer, allocation.padded_bytes)
            elif allocation.block.pointer and self.is_mapped:
                ctypes.memset(allocation.block.pointer + allocation.offset, 0, allocation.padded_bytes)
            else:
                self._fill(allocation, 0)
            self.lent_bytes += size_bytes
        return allocation

    def allocate_result(self, size_bytes: int) -> VulkanAllocation:
        """Return zeroed memory that the host can read fast; the device writes it in place. Raises: OutOfMemory."""
        with self._queue.lock:
            self._queue.require()
            self._queue.collect()
            allocation = self._carve(size_bytes, for_results=True)
            ctypes.memset(allocation.block.pointer + allocation.offset, 0, allocation.padded_bytes)
            self.lent_bytes += size_bytes
        return allocation

    def _carve(self, size_bytes: int, for_results: bool = False) -> VulkanAllocation:
        types, slabs, slab_bytes = self._data_types, self._slabs, SLAB_BYTES
        if for_results:
            types, slabs, slab_bytes = self._staging_types, self._result_slabs, RESULT_SLAB_BYTES
        padded = max(1, -(-size_bytes // ALIGNMENT)) * ALIGNMENT
        if padded > min(SMALL_BYTES, slab_bytes):
            block = self.make_block(padded, types, size_bytes)
            return VulkanAllocation(block, 0, size_bytes, padded, None)
        for slab in slabs:
            offset = slab.acquire(padded)
            if offset is not None:
                return VulkanAllocation(slab.block, offset, size_bytes, padded, slab)
        slab = Slab(self.make_block(slab_bytes, types, size_bytes))
        slabs.append(slab)
        return VulkanAllocation(slab.block, slab.acquire(padded) or 0, size_bytes, padded, slab)

    def free(self, allocation: VulkanAllocation) -> None:
        """Free memory once all launches recorded so far have ended. Freeing twice is harmless."""
        if not allocation.is_free and allocation.block in self._blocks:  # else the device was closed in the meantime
            allocation.is_free = True
            if not allocation.leases:
                self._queue.defer(lambda: self._release(allocation))
                self._queue.collect_if_free()

    def lend(self, allocation: VulkanAllocation) -> Lease:
        """Return an object that keeps the bytes valid while it lives, even after `free`."""
        lease = Lease()
        self.leases.add(id(lease))
        allocation.leases.add(id(lease))
        weakref.finalize(lease, self._take_back, allocation, id(lease)).atexit = False
        return lease

    def _take_back(self, allocation: VulkanAllocation, lease: int) -> None:
        """End a lease: perform a delayed free of its allocation, and close the device after the last lease.

        Any thread may call this at any moment: the set operations used here are atomic.
        """
        allocation.leases.discard(lease)
        self.leases.discard(lease)
        if allocation.is_free and not allocation.leases:
            self._queue.defer(lambda: self._release(allocation))
            self._queue.collect_if_free()
        if self.when_unused is not None and not self.leases:
            self.when_unused()

    def _release(self, allocation: VulkanAllocation) -> None:
        if allocation.block not in self._blocks:  # closed in the meantime
            return
        self.lent_bytes -= allocation.size_bytes
        slab = allocation.slab
        if slab is None:
            self.destroy_block(allocation.block)
            return
        slab.release(allocation.offset, allocation.padded_bytes)
        if slab.is_empty and len(self._slabs) > 1 and slab in self._slabs:
            self._slabs.remove(slab)
            self.destroy_block(slab.block)

    def close(self) -> None:
        """Free everything."""
        for block in list(self._blocks):
            self.destroy_block(block)
        self._slabs.clear()
        self._result_slabs.clear()

    # --- blocks of driver memory

    def make_staging_block(self, size_bytes: int) -> Block:
        """Return mapped memory with fast reads by the host."""
        return self.make_block(size_bytes, self._staging_types, size_bytes)

    def make_argument_block(self, size_bytes: int) -> Block:
        """Return mapped memory with fast reads by the device."""
        return self.make_block(size_bytes, self._argument_types, size_bytes)

    def make_block(self, size_bytes: int, choices: tuple[int, ...], requested_bytes: int) -> Block:
        """Allocate from the driver, from the first available memory type of `choices` (property flags)."""
        api = self._api
        null = api.ffi.NULL
        vk = api.constants
        usage = vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | DEVICE_ADDRESS_USAGE
        usage |= vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT | vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT
        info = api.new("VkBufferCreateInfo", "BUFFER_CREATE_INFO", size=size_bytes, usage=usage)
        out = api.ffi.new("VkBuffer*")
        code = api.lib.vkCreateBuffer(self._device, info, null, out)
        if code in OUT_OF_MEMORY:
            raise self._refusal(requested_bytes, 0, "the driver makes no buffer of this size")
        api.check(code, "making a buffer")
        needs = api.ffi.new("VkMemoryRequirements*")
        api.lib.vkGetBufferMemoryRequirements(self._device, out[0], needs)
        index = self._choose_type(needs.memoryTypeBits, choices)
        block = Block(size_bytes, needs.size, self._properties.memoryTypes[index].heapIndex)
        block.buffer = out[0]
        try:
            self._back(block, index, requested_bytes)
        except BaseException:
            api.lib.vkDestroyBuffer(self._device, block.buffer, null)
            if block.memory is not None:
                api.lib.vkFreeMemory(self._device, block.memory, null)
            raise
        self._used[block.heap] += block.taken_bytes
        self._blocks.add(block)
        return block

    def _choose_type(self, allowed: int, choices: tuple[int, ...]) -> int:
        for flags in choices:
            for index in range(self._properties.memoryTypeCount):
                if allowed >> index & 1 and self._properties.memoryTypes[index].propertyFlags & flags == flags:
                    return index
        raise TaichiRuntimeError(f"{self._adapter.name} has no memory for buffers that the host can reach")

    def _back(self, block: Block, type_index: int, requested_bytes: int) -> None:
        """Allocate, bind and map the memory of a block.

        The memory is dedicated to its buffer. NVIDIA's driver then reads it faster at random places: on an H200
        neighbours of 2^20 particles took 1.42 ms in place of 2.78, a gather from 32 MB 57 us in place of 99.
        """
        api, lib, device = self._api, self._api.lib, self._device
        flags = api.new(
            "VkMemoryAllocateFlagsInfo",
            "MEMORY_ALLOCATE_FLAGS_INFO",
            flags=DEVICE_ADDRESS_ALLOCATION,
        )
        alone = api.new(
            "VkMemoryDedicatedAllocateInfo", "MEMORY_DEDICATED_ALLOCATE_INFO", pNext=flags, buffer=block.buffer
        )
        block.memory = self._take(block.taken_bytes, type_index, requested_bytes, alone)
        api.check(lib.vkBindBufferMemory(device, block.buffer, block.memory, 0), "binding memory")
        if self._properties.memoryTypes[type_index].propertyFlags & self._visible == self._visible:
            pointer = api.ffi.new("void**")
            api.check(lib.vkMapMemory(device, block.memory, 0, block.size_bytes, 0, pointer), "mapping memory")
            block.pointer = int(api.ffi.cast("uintptr_t", pointer[0]))
        address = api.new("VkBufferDeviceAddressInfo", "BUFFER_DEVICE_ADDRESS_INFO", buffer=block.buffer)
        block.address = lib.vkGetBufferDeviceAddress(device, address)

    def _take(self, size_bytes: int, type_index: int, requested_bytes: int, flags: Any) -> Any:
        """Allocate driver memory. flags: the first of the structs that are chained to the request."""
        api, heap = self._api, self._properties.memoryTypes[type_index].heapIndex
        if not self._grants(size_bytes, heap):
            raise self._refusal(requested_bytes, heap, "")
        info = api.new(
            "VkMemoryAllocateInfo",
            "MEMORY_ALLOCATE_INFO",
            pNext=flags,
            allocationSize=size_bytes,
            memoryTypeIndex=type_index,
        )
        out = api.ffi.new("VkDeviceMemory*")
        code = api.lib.vkAllocateMemory(self._device, info, api.ffi.NULL, out)
        if code in OUT_OF_MEMORY:
            raise self._refusal(requested_bytes, heap, f"the driver returned {api.code_name(code)}")
        api.check(code, "allocating memory")
        return out[0]

    def take_for_image(self, image: Any, requested_bytes: int) -> ImageMemory:
        """Allocate and bind memory for an image with texels of `requested_bytes`. Raises: OutOfMemory."""
        api = self._api
        needs = api.ffi.new("VkMemoryRequirements*")
        api.lib.vkGetImageMemoryRequirements(self._device, image, needs)
        index = self._choose_type(needs.memoryTypeBits, (api.constants.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0))
        heap = self._properties.memoryTypes[index].heapIndex
        taken = ImageMemory(
            self._take(needs.size, index, requested_bytes, api.ffi.NULL), needs.size, heap, requested_bytes
        )
        self._used[heap] += taken.taken_bytes
        self.lent_bytes += requested_bytes
        code = api.lib.vkBindImageMemory(self._device, image, taken.handle, 0)
        if code < 0:
            self.give_back(taken)
        if code in OUT_OF_MEMORY:
            raise self._refusal(requested_bytes, heap, f"the driver returned {api.code_name(code)}")
        api.check(code, "binding memory")
        return taken

    def give_back(self, taken: ImageMemory) -> None:
        """Return the memory of an image to the driver."""
        self._used[taken.heap] -= taken.taken_bytes
        self.lent_bytes -= taken.requested_bytes
        self._api.lib.vkFreeMemory(self._device, taken.handle, self._api.ffi.NULL)

    def destroy_block(self, block: Block) -> None:
        """Return a block to the driver."""
        self._blocks.discard(block)
        self._used[block.heap] -= block.taken_bytes
        self._api.lib.vkDestroyBuffer(self._device, block.buffer, self._api.ffi.NULL)
        self._api.lib.vkFreeMemory(self._device, block.memory, self._api.ffi.NULL)

    def give_block(self, block: Block) -> None:
        """Return a block to the driver, unless the device was closed in the meantime."""
        if block in self._blocks:
            self.destroy_block(block)

    def _grants(self, size_bytes: int, heap: int) -> bool:
        if self._budget is not None:
            return self._budget.grants(size_bytes, self.used_bytes, size_bytes)
        return size_bytes <= self._available(heap)

    def _available(self, heap: int) -> int:
        """Return how many bytes may still be allocated from a heap."""
        if self._budget is not None:  # lavapipe's heap size is a constant, and the system kills who allocates more
            available = self._budget.available_bytes(self.used_bytes)
            return int(self._properties.memoryHeaps[heap].size) if available is None else available
        api = self._api
        size: int = self._properties.memoryHeaps[heap].size
        if MEMORY_BUDGET not in self._adapter.extensions:
            return size - self._used[heap]
        budget = api.new("VkPhysicalDeviceMemoryBudgetPropertiesEXT", "PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT")
        query = api.new("VkPhysicalDeviceMemoryProperties2", "PHYSICAL_DEVICE_MEMORY_PROPERTIES_2", pNext=budget)
        api.lib.vkGetPhysicalDeviceMemoryProperties2(self._adapter.handle, query)
        return max(0, int(budget.heapBudget[heap] - budget.heapUsage[heap]))

    def _refusal(self, requested_bytes: int, heap: int, reason: str) -> OutOfMemory:
        most = self._most_bytes
        if 0 < most < requested_bytes:
            reason = f"the driver promises pieces of at most {format_size(most)}"
        return OutOfMemory(self._adapter.name, requested_bytes, self.lent_bytes, self._available(heap), reason)

    def _read_most_bytes(self) -> int:
        """Return the largest allocation that the driver reports; it may allow more."""
        api = self._api
        limits = api.new("VkPhysicalDeviceMaintenance3Properties", "PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES")
        query = api.new("VkPhysicalDeviceProperties2", "PHYSICAL_DEVICE_PROPERTIES_2", pNext=limits)
        api.lib.vkGetPhysicalDeviceProperties2(self._adapter.handle, query)
        return int(limits.maxMemoryAllocationSize)

    # --- data

    def read(self, allocation: VulkanAllocation, destination: memoryview, offset_bytes: int) -> None:
        """Copy to the host after everything recorded before."""
        _check_range(allocation, offset_bytes, destination.nbytes)
        if not destination.nbytes:
            return
        target = self._host_address(destination, writable=True)
        if self.is_mapped:
            self._queue.synchronize()
            ctypes.memmove(target, allocation.block.pointer + allocation.offset + offset_bytes, destination.nbytes)
        else:
            self._staging.read(allocation, offset_bytes, target, destination.nbytes)

    def read_result(self, allocation: VulkanAllocation, size_bytes: int) -> bytes:
        """Return the start of memory made by `allocate_result`, after everything recorded before."""
        self._queue.synchronize()
        return ctypes.string_at(allocation.block.pointer + allocation.offset, size_bytes)

    def write(self, allocation: VulkanAllocation, source: memoryview, offset_bytes: int) -> None:
        """Copy from the host after everything recorded before."""
        size = source.nbytes
        _check_range(allocation, offset_bytes, size)
        if not size:
            return
        origin = self._host_address(source, writable=False)
        queue = self._queue
        queue.require()
        if self.is_mapped and queue.is_idle:
            ctypes.memmove(allocation.block.pointer + allocation.offset + offset_bytes, origin, size)
        elif size <= INLINE_BYTES and size % 4 == 0 and offset_bytes % 4 == 0:
            with queue.lock:
                commands = queue.open_commands()
                data = self._api.ffi.cast("void*", origin)
                place = allocation.offset + offset_bytes
                self._api.lib.vkCmdUpdateBuffer(commands, allocation.block.buffer, place, size, data)
                self._queue.flush_if_full()
        elif self.is_mapped:
            queue.synchronize()
            ctypes.memmove(allocation.block.pointer + allocation.offset + offset_bytes, origin, size)
        else:
            self._staging.write(allocation, offset_bytes, origin, size)

    def _host_address(self, view: memoryview, writable: bool) -> int:
        ffi = self._api.ffi
        return int(ffi.cast("uintptr_t", ffi.from_buffer(view, require_writable=writable)))

    def copy(self, source: VulkanAllocation, destination: VulkanAllocation, size_bytes: int) -> None:
        """Copy within the device, in order."""
        _check_range(source, 0, size_bytes)
        _check_range(destination, 0, size_bytes)
        if size_bytes:
            with self._queue.lock:
                self.record_copy(source.block, source.offset, destination.block, destination.offset, size_bytes)
                self._queue.flush_if_full()

    def record_copy(self, source: Block, source_offset: int, target: Block, target_offset: int, size: int) -> None:
        """Record one copy. The lock must be held."""
        region = self._api.new("VkBufferCopy", srcOffset=source_offset, dstOffset=target_offset, size=size)
        commands = self._queue.open_commands()
        self._api.lib.vkCmdCopyBuffer(commands, source.buffer, target.buffer, 1, region)

    def fill(self, allocation: VulkanAllocation, pattern: bytes) -> None:
        """Repeat 1, 2, 4 or 8 bytes over the memory, in order."""
        eight = pattern * (8 // len(pattern))
        with self._queue.lock:
            if eight[:4] == eight[4:]:
                self._fill(allocation, int.from_bytes(eight[:4], "little"))
            else:
                self._fill_eight(allocation, eight)

    def _fill(self, allocation: VulkanAllocation, word: int) -> None:
        commands = self._queue.open_commands()
        block, size = allocation.block, allocation.padded_bytes
        self._api.lib.vkCmdFillBuffer(commands, block.buffer, allocation.offset, size, word)
        self._queue.flush_if_full()

    def _fill_eight(self, allocation: VulkanAllocation, eight: bytes) -> None:
        """Write a first piece, then double it: Vulkan's own fill supports only patterns of four bytes."""
        block, start = allocation.block, allocation.offset
        done = min(INLINE_BYTES, allocation.padded_bytes)
        commands = self._queue.open_commands()
        self._api.lib.vkCmdUpdateBuffer(commands, block.buffer, start, done, eight * (done // 8))
        while done < allocation.padded_bytes:
            size = min(done, allocation.padded_bytes - done)
            self.record_copy(block, start, block, start + done, size)
            done += size
        self._queue.flush_if_full()


class Staging:
    """A ring of mapped blocks for copies, made on first use. serial: of the work that uses a block."""

    def __init__(self, memory: Memory, queue: Queue) -> None:
        self._memory, self._queue = memory, queue
        self._blocks: list[Block] = []
        self._serials = [0] * STAGING_BLOCKS
        self._next = 0

    def _take(self) -> int:
        """Return the number of the next block when the device has finished with it."""
        if len(self._blocks) < STAGING_BLOCKS:
            self._blocks.append(self._memory.make_staging_block(STAGING_BYTES))
            return len(self._blocks) - 1
        number = self._next
        self._next = (number + 1) % STAGING_BLOCKS
        if self._serials[number] == self._queue.serial:
            self._queue.flush()
        self._queue.wait(self._serials[number])
        return number

    def write(self, allocation: VulkanAllocation, offset: int, origin: int, size: int) -> None:
        """Copy `size` bytes at host address `origin` to the device; the host may change them after the return."""
        with self._queue.lock:
            for done in range(0, size, STAGING_BYTES):
                piece = min(STAGING_BYTES, size - done)
                number = self._take()
                block = self._blocks[number]
                ctypes.memmove(block.pointer, origin + done, piece)
                self._memory.record_copy(block, 0, allocation.block, allocation.offset + offset + done, piece)
                self._serials[number] = self._queue.serial
                if size > STAGING_BYTES:
                    self._queue.flush()  # the device copies this piece while the host prepares the next

    def read(self, allocation: VulkanAllocation, offset: int, target: int, size: int) -> None:
        """Copy `size` bytes from the device to host address `target`, and wait for them."""
        under_way: deque[tuple[int, int, int]] = deque()
        with self._queue.lock:
            for done in range(0, size, STAGING_BYTES):
                if len(under_way) == STAGING_BLOCKS:
                    self._finish(under_way.popleft(), target)
                piece = min(STAGING_BYTES, size - done)
                number = self._take()
                source = allocation.offset + offset + done
                self._memory.record_copy(allocation.block, source, self._blocks[number], 0, piece)
                self._serials[number] = self._queue.flush()
                under_way.append((number, done, piece))
            while under_way:
                self._finish(under_way.popleft(), target)
        self._queue.collect()

    def _finish(self, piece: tuple[int, int, int], target: int) -> None:
        number, done, size = piece
        self._queue.wait(self._serials[number])
        ctypes.memmove(target + done, self._blocks[number].pointer, size)


def _check_range(allocation: VulkanAllocation, offset_bytes: int, size_bytes: int) -> None:
    if allocation.is_free:
        raise TaichiRuntimeError("this array's memory was freed")
    if offset_bytes < 0 or offset_bytes + size_bytes > allocation.size_bytes:
        raise TaichiRuntimeError(
            f"bytes {offset_bytes} to {offset_bytes + size_bytes} of an allocation of {allocation.size_bytes} bytes"
        )
