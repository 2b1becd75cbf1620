"""Textures on Vulkan: an image with its memory and view, a sampler, and the descriptor sets that programs bind.

Images stay in the layout GENERAL, which allows sampling, stores and copies, so that a launch need not know the previous
use of an image.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from ....transpiler.errors import TaichiRuntimeError, UnsupportedError
from ....transpiler.ir.textures import ADDRESS_MODES
from ..device import OutOfMemory
from ..textures import TextureSpec, choose_filter, lacks_format
from .instance import Adapter, Api
from .memory import OUT_OF_MEMORY, ImageMemory, Memory, VulkanAllocation
from .queue import Queue

SETS_A_POOL = 16
POOL_IS_EMPTY = -1000069000
"""VK_ERROR_OUT_OF_POOL_MEMORY."""
NO_SUCH_FORMAT = -11

SAMPLED, STORED, INTERPOLATED, COPIED = 0x1, 0x2, 0x1000, 0xC000
"""Bits of VkFormatFeatureFlagBits: sampled image, storage image, linear filter, transfer from and to."""

KINDS = {"unorm": "UNORM", "srgb": "SRGB", "float": "SFLOAT", "uint": "UINT", "int": "SINT"}
"""Suffixes of Vulkan's format names."""


def format_name(spec: TextureSpec) -> str:
    """Return Vulkan's name of a format: "R8G8B8A8_UNORM"."""
    letters = "BGRA" if spec.format.is_swapped else "RGBA"[: spec.format.channels]
    bits = spec.format.channel.size_bytes * 8
    return "".join(f"{letter}{bits}" for letter in letters) + "_" + KINDS[spec.format.kind]


class VulkanTexture:
    """An image of a device. number: unique for the life of the device. is_storage: kernels may store into it."""

    __slots__ = ("filter", "image", "is_free", "is_storage", "memory", "number", "sampler", "spec", "view")
    sampled = texels = storage = address = 0

    def __init__(self, spec: TextureSpec, number: int) -> None:
        self.spec, self.number = spec, number
        self.filter = "nearest"
        self.is_free = self.is_storage = False
        self.image: Any = None
        self.view: Any = None
        self.sampler: Any = None
        self.memory: ImageMemory | None = None


class Images:
    """All textures of a device."""

    def __init__(self, api: Api, adapter: Adapter, device: Any, queue: Queue, memory: Memory) -> None:
        self._api, self._adapter, self._device = api, adapter, device
        self._queue, self._memory = queue, memory
        self._numbers = count()
        self._samplers: dict[tuple[Any, ...], Any] = {}
        self._textures: set[VulkanTexture] = set()
        self.sets = DescriptorSets(api, device)
        constants = api.constants
        self._range = api.new("VkImageSubresourceRange", aspectMask=1, levelCount=1, layerCount=1)
        self._general = constants.VK_IMAGE_LAYOUT_GENERAL
        self._zero = api.new("VkClearColorValue")

    # --- make and free

    def make(self, spec: TextureSpec) -> VulkanTexture:
        """Make a texture of zeros. Raises: UnsupportedError naming the format or extent; OutOfMemory."""
        with self._queue.lock:
            self._queue.require()
            self._queue.collect()
            format = getattr(self._api.constants, f"VK_FORMAT_{format_name(spec)}")
            usage = self._check(spec, format)
            try:
                texture = self._make(spec, format, usage)
            except OutOfMemory:
                self._queue.synchronize()
                texture = self._make(spec, format, usage)
            self._clear(texture)
        return texture

    def _check(self, spec: TextureSpec, format: int) -> int:
        """Return the supported usage of an image. Raises: UnsupportedError if the device has no such images."""
        api = self._api
        vk = api.constants
        properties = api.ffi.new("VkFormatProperties*")
        api.lib.vkGetPhysicalDeviceFormatProperties(self._adapter.handle, format, properties)
        features = properties.optimalTilingFeatures
        if (
            spec.format.channels == 3 or not features & SAMPLED or features & COPIED != COPIED
        ):  # few devices support 3 channels
            raise lacks_format(spec, self._adapter.name)
        usage = vk.VK_IMAGE_USAGE_SAMPLED_BIT | vk.VK_IMAGE_USAGE_TRANSFER_SRC_BIT | vk.VK_IMAGE_USAGE_TRANSFER_DST_BIT
        if features & STORED:
            usage |= vk.VK_IMAGE_USAGE_STORAGE_BIT
        limits = api.ffi.new("VkImageFormatProperties*")
        code = api.lib.vkGetPhysicalDeviceImageFormatProperties(
            self._adapter.handle, format, len(spec.shape) - 1, vk.VK_IMAGE_TILING_OPTIMAL, usage, 0, limits
        )
        if code == NO_SUCH_FORMAT:
            raise lacks_format(spec, self._adapter.name)
        api.check(code, "querying the limits of textures")
        most = limits.maxExtent.width, limits.maxExtent.height, limits.maxExtent.depth
        if any(extent > limit for extent, limit in zip(spec.extents, most)):
            axes = len(spec.shape)
            raise UnsupportedError(
                f"{self._adapter.name} has no textures of shape {spec.shape}; with {axes} axes they have at most "
                f"{most[:axes]} texels.",
                "use an ndarray, or several textures",
            )
        if spec.size_bytes > limits.maxResourceSize:
            raise self._refusal(spec)
        return int(usage)

    def _refusal(self, spec: TextureSpec) -> OutOfMemory:
        reason = "the driver makes no image of this size"
        return OutOfMemory(self._adapter.name, spec.size_bytes, self._memory.lent_bytes, None, reason)

    def _make(self, spec: TextureSpec, format: int, usage: int) -> VulkanTexture:
        api, lib, null = self._api, self._api.lib, self._api.ffi.NULL
        texture = VulkanTexture(spec, next(self._numbers))
        texture.filter = choose_filter(spec, self._interpolates(format), self._adapter.name)
        texture.is_storage = bool(usage & api.constants.VK_IMAGE_USAGE_STORAGE_BIT)
        width, height, depth = spec.extents
        info = api.new(
            "VkImageCreateInfo",
            "IMAGE_CREATE_INFO",
            imageType=len(spec.shape) - 1,
            format=format,
            extent={"width": width, "height": height, "depth": depth},
            mipLevels=1,
            arrayLayers=1,
            samples=1,
            tiling=api.constants.VK_IMAGE_TILING_OPTIMAL,
            usage=usage,
        )
        out = api.ffi.new("VkImage*")
        code = lib.vkCreateImage(self._device, info, null, out)
        if code in OUT_OF_MEMORY:
            raise self._refusal(spec)
        api.check(code, "making a texture")
        texture.image = out[0]
        self._textures.add(texture)
        try:
            texture.memory = self._memory.take_for_image(texture.image, spec.size_bytes)
            texture.view = self._view(texture, format)
            texture.sampler = self._sampler(texture)
        except BaseException:
            self._destroy(texture)
            raise
        return texture

    def _interpolates(self, format: int) -> bool:
        properties = self._api.ffi.new("VkFormatProperties*")
        self._api.lib.vkGetPhysicalDeviceFormatProperties(self._adapter.handle, format, properties)
        return bool(properties.optimalTilingFeatures & INTERPOLATED)

    def _view(self, texture: VulkanTexture, format: int) -> Any:
        api = self._api
        info = api.new(
            "VkImageViewCreateInfo",
            "IMAGE_VIEW_CREATE_INFO",
            image=texture.image,
            viewType=len(texture.spec.shape) - 1,
            format=format,
            subresourceRange=self._range[0],
        )
        out = api.ffi.new("VkImageView*")
        api.check(api.lib.vkCreateImageView(self._device, info, api.ffi.NULL, out), "making a view of a texture")
        return out[0]

    def _sampler(self, texture: VulkanTexture) -> Any:
        """Return the sampler of a texture; textures with equal sampling share it.

        Vulkan numbers the address modes as `ADDRESS_MODES` does.
        """
        spec = texture.spec
        key = texture.filter, spec.address_modes, spec.is_integer
        if key not in self._samplers:
            api = self._api
            vk = api.constants
            u, v, w = (*map(ADDRESS_MODES.index, spec.address_modes), 2, 2)[:3]
            filter = vk.VK_FILTER_LINEAR if texture.filter == "linear" else vk.VK_FILTER_NEAREST
            border = "INT" if spec.is_integer else "FLOAT"
            info = api.new(
                "VkSamplerCreateInfo",
                "SAMPLER_CREATE_INFO",
                magFilter=filter,
                minFilter=filter,
                mipmapMode=vk.VK_SAMPLER_MIPMAP_MODE_NEAREST,
                addressModeU=u,
                addressModeV=v,
                addressModeW=w,
                borderColor=getattr(vk, f"VK_BORDER_COLOR_{border}_TRANSPARENT_BLACK"),
            )
            out = api.ffi.new("VkSampler*")
            api.check(api.lib.vkCreateSampler(self._device, info, api.ffi.NULL, out), "making a sampler")
            self._samplers[key] = out[0]
        return self._samplers[key]

    def free(self, texture: VulkanTexture) -> None:
        """Free a texture once all launches recorded so far have ended. Freeing twice is harmless."""
        if not texture.is_free and texture in self._textures:
            texture.is_free = True
            self._queue.defer(lambda: self._destroy(texture))
            self._queue.collect_if_free()

    def _destroy(self, texture: VulkanTexture) -> None:
        if texture not in self._textures:
            return
        self._textures.discard(texture)
        self.sets.forget(texture)
        lib, null = self._api.lib, self._api.ffi.NULL
        if texture.view is not None:
            lib.vkDestroyImageView(self._device, texture.view, null)
        lib.vkDestroyImage(self._device, texture.image, null)
        if texture.memory is not None:
            self._memory.give_back(texture.memory)

    def close(self) -> None:
        """Destroy all remaining textures and samplers."""
        for texture in list(self._textures):
            self._destroy(texture)
        self.sets.close()
        for sampler in self._samplers.values():
            self._api.lib.vkDestroySampler(self._device, sampler, self._api.ffi.NULL)
        self._samplers.clear()

    # --- texels

    def _clear(self, texture: VulkanTexture) -> None:
        """Record the change to the layout GENERAL, and clear to zeros."""
        api, queue = self._api, self._queue
        commands = queue.open_commands()
        both = api.constants.VK_ACCESS_TRANSFER_WRITE_BIT
        barrier = api.new(
            "VkImageMemoryBarrier",
            "IMAGE_MEMORY_BARRIER",
            dstAccessMask=both,
            oldLayout=api.constants.VK_IMAGE_LAYOUT_UNDEFINED,
            newLayout=self._general,
            srcQueueFamilyIndex=0xFFFFFFFF,
            dstQueueFamilyIndex=0xFFFFFFFF,
            image=texture.image,
            subresourceRange=self._range[0],
        )
        null = api.ffi.NULL
        api.lib.vkCmdPipelineBarrier(commands, queue.stages, queue.stages, 0, 0, null, 0, null, 1, barrier)
        api.lib.vkCmdClearColorImage(commands, texture.image, self._general, self._zero, 1, self._range)
        self._queue.flush_if_full()

    def copy_in(self, source: VulkanAllocation, texture: VulkanTexture) -> None:
        """Set all texels from an allocation, in order with launches."""
        self._check_size(source, texture)
        with self._queue.lock:
            commands = self._queue.open_commands()
            self._api.lib.vkCmdCopyBufferToImage(
                commands, source.block.buffer, texture.image, self._general, 1, self._region(source, texture)
            )
            self._queue.flush_if_full()

    def copy_out(self, texture: VulkanTexture, destination: VulkanAllocation) -> None:
        """Copy all texels into an allocation, in order with launches."""
        self._check_size(destination, texture)
        with self._queue.lock:
            commands = self._queue.open_commands()
            self._api.lib.vkCmdCopyImageToBuffer(
                commands, texture.image, self._general, destination.block.buffer, 1, self._region(destination, texture)
            )
            self._queue.flush_if_full()

    def _region(self, allocation: VulkanAllocation, texture: VulkanTexture) -> Any:
        width, height, depth = texture.spec.extents
        return self._api.new(
            "VkBufferImageCopy",
            bufferOffset=allocation.offset,
            imageSubresource={"aspectMask": 1, "layerCount": 1},
            imageExtent={"width": width, "height": height, "depth": depth},
        )

    @staticmethod
    def _check_size(allocation: VulkanAllocation, texture: VulkanTexture) -> None:
        if texture.is_free or allocation.is_free:
            raise TaichiRuntimeError("this texture's or array's memory was freed")
        if allocation.size_bytes < texture.spec.size_bytes:
            raise TaichiRuntimeError(f"{allocation.size_bytes} bytes for a texture of {texture.spec.size_bytes} bytes")


class DescriptorSets:
    """The sets that programs bind: one for each list of textures of a launch, cached while all textures live.

    A list of kinds has for each binding whether it is a storage image; else it is an image with a sampler.
    """

    def __init__(self, api: Api, device: Any) -> None:
        self._api, self._device = api, device
        self._layouts: dict[tuple[bool, ...], Any] = {}
        self._pools: dict[tuple[bool, ...], list[Any]] = {}
        self._sets: dict[tuple[Any, ...], tuple[Any, Any]] = {}

    def layout(self, kinds: tuple[bool, ...]) -> Any:
        """Return the descriptor set layout for textures of these kinds."""
        if kinds not in self._layouts:
            api = self._api
            bindings = [
                api.new(
                    "VkDescriptorSetLayoutBinding",
                    binding=number,
                    descriptorType=self._type(is_storage),
                    descriptorCount=1,
                    stageFlags=api.constants.VK_SHADER_STAGE_COMPUTE_BIT,
                )
                for number, is_storage in enumerate(kinds)
            ]
            info = api.new(
                "VkDescriptorSetLayoutCreateInfo",
                "DESCRIPTOR_SET_LAYOUT_CREATE_INFO",
                bindingCount=len(bindings),
                pBindings=api.array("VkDescriptorSetLayoutBinding", bindings),
            )
            out = api.ffi.new("VkDescriptorSetLayout*")
            code = api.lib.vkCreateDescriptorSetLayout(self._device, info, api.ffi.NULL, out)
            api.check(code, "making a layout for textures")
            self._layouts[kinds] = out[0]
        return self._layouts[kinds]

    def _type(self, is_storage: bool) -> int:
        vk = self._api.constants
        kind = vk.VK_DESCRIPTOR_TYPE_STORAGE_IMAGE if is_storage else vk.VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER
        return int(kind)

    def get(self, kinds: tuple[bool, ...], textures: Sequence[VulkanTexture]) -> Any:
        """Return an array with the descriptor set of these textures. The queue's lock must be held.

        Raises: UnsupportedError if a kernel stores into a texture that does not support it.
        """
        key = (kinds, *(texture.number for texture in textures))
        found = self._sets.get(key)
        if found is None:
            for is_storage, texture in zip(kinds, textures, strict=True):
                if is_storage and not texture.is_storage:
                    name = texture.spec.format.name
                    raise UnsupportedError(f"this device cannot load and store textures of ti.Format.{name}")
            found = self._sets[key] = self._make(kinds)
            self._fill(found[1], kinds, textures)
        return found[1]

    def _make(self, kinds: tuple[bool, ...]) -> tuple[Any, Any]:
        """Return the pool of a new set, and an array with the set."""
        pools = self._pools.setdefault(kinds, [])
        for pool in pools:
            descriptor_set = self._allocate(pool, kinds)
            if descriptor_set is not None:
                return pool, descriptor_set
        pools.append(self._pool(kinds))
        descriptor_set = self._allocate(pools[-1], kinds)
        if descriptor_set is None:
            raise TaichiRuntimeError("Vulkan: a new pool has no room for a descriptor set")
        return pools[-1], descriptor_set

    def _pool(self, kinds: tuple[bool, ...]) -> Any:
        api = self._api
        sizes = [
            api.ffi.new(
                "VkDescriptorPoolSize*",
                {"type": self._type(kind), "descriptorCount": kinds.count(kind) * SETS_A_POOL},
            )
            for kind in sorted(set(kinds))
        ]
        info = api.new(
            "VkDescriptorPoolCreateInfo",
            "DESCRIPTOR_POOL_CREATE_INFO",
            flags=api.constants.VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT,
            maxSets=SETS_A_POOL,
            poolSizeCount=len(sizes),
            pPoolSizes=api.array("VkDescriptorPoolSize", sizes),
        )
        out = api.ffi.new("VkDescriptorPool*")
        code = api.lib.vkCreateDescriptorPool(self._device, info, api.ffi.NULL, out)
        api.check(code, "making a pool of descriptor sets")
        return out[0]

    def _allocate(self, pool: Any, kinds: tuple[bool, ...]) -> Any:
        """Return an array with a new set from the pool, None if the pool is full."""
        api = self._api
        info = api.new(
            "VkDescriptorSetAllocateInfo",
            "DESCRIPTOR_SET_ALLOCATE_INFO",
            descriptorPool=pool,
            descriptorSetCount=1,
            pSetLayouts=api.array("VkDescriptorSetLayout", [self.layout(kinds)]),
        )
        descriptor_set = api.ffi.new("VkDescriptorSet[1]")
        code = api.lib.vkAllocateDescriptorSets(self._device, info, descriptor_set)
        if code in (POOL_IS_EMPTY, -12):  # -12: VK_ERROR_FRAGMENTED_POOL
            return None
        api.check(code, "making a descriptor set")
        return descriptor_set

    def _fill(self, descriptor_set: Any, kinds: tuple[bool, ...], textures: Sequence[VulkanTexture]) -> None:
        api = self._api
        layout = api.constants.VK_IMAGE_LAYOUT_GENERAL
        writes = []
        for number, (is_storage, texture) in enumerate(zip(kinds, textures, strict=True)):
            image = {"imageView": texture.view, "imageLayout": layout}
            if not is_storage:
                image["sampler"] = texture.sampler
            writes.append(
                api.new(
                    "VkWriteDescriptorSet",
                    "WRITE_DESCRIPTOR_SET",
                    dstSet=descriptor_set[0],
                    dstBinding=number,
                    descriptorCount=1,
                    descriptorType=self._type(is_storage),
                    pImageInfo=api.new("VkDescriptorImageInfo", **image),
                )
            )
        array = api.array("VkWriteDescriptorSet", writes)
        api.lib.vkUpdateDescriptorSets(self._device, len(writes), array, 0, api.ffi.NULL)

    def forget(self, texture: VulkanTexture) -> None:
        """Free the sets of a texture; their launches have ended."""
        for key in [key for key in self._sets if texture.number in key[1:]]:
            pool, descriptor_set = self._sets.pop(key)
            self._api.lib.vkFreeDescriptorSets(self._device, pool, 1, descriptor_set)

    def close(self) -> None:
        """Destroy pools and layouts."""
        lib, null = self._api.lib, self._api.ffi.NULL
        for pools in self._pools.values():
            for pool in pools:
                lib.vkDestroyDescriptorPool(self._device, pool, null)
        for layout in self._layouts.values():
            lib.vkDestroyDescriptorSetLayout(self._device, layout, null)
        self._sets.clear()
        self._pools.clear()
        self._layouts.clear()
