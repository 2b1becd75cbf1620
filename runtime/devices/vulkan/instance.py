"""Open Vulkan: the raw functions, an instance, its physical devices, and a logical device with the needed features.

In: the preferred device, and whether to use the validation layer. Out: `Api`, `Instance`, `Adapter`, and `Capabilities`
for the compiler.

The `vulkan` package's own constructors and wrappers are not used: its structs lose their nested strings and arrays as
soon as the wrapper object dies (1.3.275: the second pipeline gets a garbage entry name), and a call costs 20 raw ones.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from ....transpiler.errors import TaichiRuntimeError, warn_user
from ...loading import loader
from .declarations import Declarations, load_declarations

if TYPE_CHECKING:
    from typing import Protocol

    class _Forks(Protocol):
        def end_children_at_once(self) -> None: ...


_forks: Callable[[], _Forks] = loader("..forks", __package__)

INSTALL_HINT = "apt-get install libvulkan1 mesa-vulkan-drivers glslang-tools"
VALIDATION_LAYER = "VK_LAYER_KHRONOS_validation"
API_VERSION = (1 << 22) | (2 << 12)
"""Vulkan 1.2: the lowest with buffer addresses, scalar layout and timeline semaphores in the core."""

LLVMPIPE_DRIVER_ID = 13
NVIDIA_DRIVER_ID = 4
DEVICE_TYPES = ("other", "integrated", "discrete", "virtual", "cpu")
PREFERENCE = ("discrete", "integrated", "virtual", "other", "cpu")

WARNING_OR_ERROR = 0x1100
VALIDATION_OR_PERFORMANCE, PERFORMANCE = 0x6, 0x4
GENERAL_LAYOUT = "DrawState-InvalidImageLayout"
"""Part of the warning, on every copy, that a texture is in the layout GENERAL, which is intended (`images`)."""

ATOMIC_FLOAT = "VK_EXT_shader_atomic_float"
ATOMIC_FLOAT_2 = "VK_EXT_shader_atomic_float2"
MEMORY_BUDGET = "VK_EXT_memory_budget"
STATISTICS = "VK_KHR_pipeline_executable_properties"
IMAGE_ROBUSTNESS = "VK_EXT_image_robustness"
"""Feature: loads outside an image return 0, and stores there are dropped."""
DEBUG_UTILS = "VK_EXT_debug_utils"
NON_SEMANTIC = "VK_KHR_shader_non_semantic_info"
"""Extension for SPIR-V that includes its source, as `-gVS` makes it; part of Vulkan 1.3."""

FEATURES: tuple[tuple[str, str, str | None, tuple[str, ...]], ...] = (
    (
        "VkPhysicalDeviceVulkan11Features",
        "PHYSICAL_DEVICE_VULKAN_1_1_FEATURES",
        None,
        ("storageBuffer16BitAccess", "uniformAndStorageBuffer16BitAccess", "storagePushConstant16"),
    ),
    (
        "VkPhysicalDeviceVulkan12Features",
        "PHYSICAL_DEVICE_VULKAN_1_2_FEATURES",
        None,
        (
            "bufferDeviceAddress",
            "scalarBlockLayout",
            "timelineSemaphore",
            "storageBuffer8BitAccess",
            "uniformAndStorageBuffer8BitAccess",
            "storagePushConstant8",
            "shaderInt8",
            "shaderFloat16",
            "shaderBufferInt64Atomics",
            "shaderSharedInt64Atomics",
            "shaderSubgroupExtendedTypes",
        ),
    ),
    (
        "VkPhysicalDeviceShaderAtomicFloatFeaturesEXT",
        "PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT",
        ATOMIC_FLOAT,
        (
            "shaderBufferFloat32Atomics",
            "shaderBufferFloat32AtomicAdd",
            "shaderBufferFloat64Atomics",
            "shaderBufferFloat64AtomicAdd",
            "shaderSharedFloat32Atomics",
            "shaderSharedFloat32AtomicAdd",
            "shaderSharedFloat64Atomics",
            "shaderSharedFloat64AtomicAdd",
        ),
    ),
    (
        "VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT",
        "PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_2_FEATURES_EXT",
        ATOMIC_FLOAT_2,
        (
            "shaderBufferFloat32AtomicMinMax",
            "shaderBufferFloat64AtomicMinMax",
            "shaderSharedFloat32AtomicMinMax",
            "shaderSharedFloat64AtomicMinMax",
        ),
    ),
    (
        "VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR",
        "PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR",
        STATISTICS,
        ("pipelineExecutableInfo",),
    ),
    (
        "VkPhysicalDeviceImageRobustnessFeatures",
        "PHYSICAL_DEVICE_IMAGE_ROBUSTNESS_FEATURES",
        IMAGE_ROBUSTNESS,
        ("robustImageAccess",),
    ),
)
"""Structs of the feature chain: type, structure type, required extension, members that are enabled if present."""

CORE_FEATURES = ("shaderInt64", "shaderFloat64", "shaderInt16", "shaderStorageImageExtendedFormats")
RENDERDOC_VARIABLE = "ENABLE_VULKAN_RENDERDOC_CAPTURE"
RENDERDOC = " (RenderDoc's layer hides it for drivers that lack bufferDeviceAddressCaptureReplay, as lavapipe does)"
REQUIRED_FEATURES = ("bufferDeviceAddress", "scalarBlockLayout", "timelineSemaphore")

SUBGROUP_FEATURES = ("basic", "vote", "arithmetic", "ballot", "shuffle", "shuffle_relative", "clustered", "quad")
"""Names of the bits of VkSubgroupFeatureFlagBits, from the lowest on."""
COMPUTE_STAGE = 0x20


class Api:
    """Vulkan's raw functions and constants, and structs that keep their parts alive.

    lib: the functions, which return codes and raise nothing. Tests replace it to make a chosen call fail.
    """

    def __init__(self, constants: Declarations) -> None:
        self.constants = constants
        self.ffi, self.lib = constants.ffi, constants.lib
        self._parts: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def new(self, type: str, structure: str = "", **members: Any) -> Any:
        """Return a pointer to a struct; `structure` is the end of its VK_STRUCTURE_TYPE_ constant, if it has one."""
        if structure:
            members["sType"] = getattr(self.constants, "VK_STRUCTURE_TYPE_" + structure)
        out = self.ffi.new(type + "*", members)
        self._parts[out] = tuple(members.values())
        return out

    def array(self, type: str, items: Sequence[Any]) -> Any:
        """Return an array; structs are given by the pointers that `new` returned."""
        pointer = self.ffi.typeof(f"{type} *")
        pointers = bool(items) and not isinstance(items[0], int) and self.ffi.typeof(items[0]) is pointer
        out = self.ffi.new(f"{type}[]", [item[0] for item in items] if pointers else list(items))
        self._parts[out] = tuple(items)
        return out

    def string(self, value: str) -> Any:
        """Return a C string."""
        return self.ffi.new("char[]", value.encode())

    def names(self, values: Iterable[str]) -> Any:
        """Return an array of C strings."""
        return self.array("char *", [self.string(value) for value in values])

    def check(self, code: int, action: str) -> None:
        """Raise TaichiRuntimeError with the failed action and Vulkan's result, unless it succeeded."""
        if code < 0:
            raise TaichiRuntimeError(f"Vulkan: {action} failed ({self.code_name(code)})")

    def code_name(self, code: int) -> str:
        """Return the name of a VkResult."""
        return str(self.ffi.typeof("VkResult").elements.get(code, code))

    def enumerate(self, type: str, function: Any, *arguments: Any) -> Any:
        """Return the items of a count-then-fill function."""
        count = self.ffi.new("uint32_t*")
        self.check_listed(function(*arguments, count, self.ffi.NULL))
        items = self.ffi.new(f"{type}[]", count[0])
        self.check_listed(function(*arguments, count, items))
        return items

    def check_listed(self, code: int | None) -> None:
        """Check the code of a listing function; some return nothing."""
        if code is not None:
            self.check(code, "listing what is there")

    def function(self, instance: Any, name: str) -> Any:
        """Return an extension's function."""
        address = self.lib.vkGetInstanceProcAddr(instance, name.encode())
        return self.ffi.cast("PFN_" + name, address)


@functools.cache
def load_api() -> Api:
    """Return Vulkan's functions. Raises: TaichiRuntimeError naming what to install."""
    try:
        return Api(load_declarations())
    except ImportError as error:
        raise TaichiRuntimeError("the Python package `vulkan` is missing: pip install vulkan") from error
    except OSError as error:
        raise TaichiRuntimeError(f"the Vulkan loader was not found. Install it: {INSTALL_HINT}") from error


class Instance:
    """A Vulkan instance.

    messages: warnings and errors of the validation layer so far.
    names: objects and commands get names that tools show.
    is_borrowed: it is the process's, which stays open.
    """

    def __init__(self, api: Api, validation: bool, names: bool = False) -> None:
        self.api = api
        self.messages: list[str] = []
        self.validation = validation and self._has_layer()
        self.is_borrowed = False
        self._adapters: list[Adapter] | None = None
        self._messenger: Any = None
        self._callback: Any = None
        application = api.new(
            "VkApplicationInfo", "APPLICATION_INFO", pApplicationName=api.string("shadesmith"), apiVersion=API_VERSION
        )
        members: dict[str, Any] = {"pApplicationInfo": application}
        messenger = self._messenger_info() if self.validation else None
        if messenger is not None:
            layers = api.names([VALIDATION_LAYER])
            members |= {"pNext": messenger, "enabledLayerCount": 1, "ppEnabledLayerNames": layers}
        self.names = names and (messenger is not None or DEBUG_UTILS in instance_extensions(api))
        if messenger is not None or self.names:
            members |= {"enabledExtensionCount": 1, "ppEnabledExtensionNames": api.names([DEBUG_UTILS])}
        out = api.ffi.new("VkInstance*")
        info = api.new("VkInstanceCreateInfo", "INSTANCE_CREATE_INFO", **members)
        code = api.lib.vkCreateInstance(info, api.ffi.NULL, out)
        if code < 0:
            raise TaichiRuntimeError(
                f"no Vulkan driver could be started ({api.code_name(code)}). Install one: {INSTALL_HINT}"
            )
        self.handle = out[0]
        _forks().end_children_at_once()
        if messenger is not None:
            try:
                self._start_messenger(messenger)
            except BaseException:
                self.close()
                raise

    def _has_layer(self) -> bool:
        if VALIDATION_LAYER in layer_names(self.api):
            return True
        text = f"{VALIDATION_LAYER} is not installed, so nothing is validated"
        warn_user(f"{text}. Hint: apt-get install vulkan-validationlayers")
        return False

    def _messenger_info(self) -> Any:
        ffi, messages = self.api.ffi, self.messages

        def on_message(severity: int, kind: int, data: Any, user: Any) -> int:
            text = ffi.string(data.pMessage).decode(errors="replace")
            if not (kind & PERFORMANCE and GENERAL_LAYOUT in text):
                messages.append(text)
            return 0

        signature = (
            "VkBool32(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,"
            " const VkDebugUtilsMessengerCallbackDataEXT*, void*)"
        )
        self._callback = ffi.callback(signature, on_message)
        return self.api.new(
            "VkDebugUtilsMessengerCreateInfoEXT",
            "DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT",
            messageSeverity=WARNING_OR_ERROR,
            messageType=VALIDATION_OR_PERFORMANCE,
            pfnUserCallback=self._callback,
        )

    def _start_messenger(self, info: Any) -> None:
        out = self.api.ffi.new("VkDebugUtilsMessengerEXT*")
        create = self.api.function(self.handle, "vkCreateDebugUtilsMessengerEXT")
        self.api.check(create(self.handle, info, self.api.ffi.NULL, out), "starting the validation messenger")
        self._messenger = out[0]

    def adapters(self) -> list[Adapter]:
        """Return the devices in the driver's order, without those that are too old or lack compute; found out once."""
        if self._adapters is not None:
            return self._adapters
        api = self.api
        handles = api.enumerate("VkPhysicalDevice", api.lib.vkEnumeratePhysicalDevices, self.handle)
        read = (read_adapter(api, number, handle) for number, handle in enumerate(handles))
        self._adapters = [adapter for adapter in read if adapter is not None]
        return self._adapters

    def borrowed(self) -> Instance:
        """Return the same instance for a user whose `close` leaves it open."""
        found = copy(self)
        found.is_borrowed = True
        found.messages = []
        return found

    def close(self) -> None:
        """Destroy the instance. All devices made from it must be gone."""
        if self.is_borrowed:
            return
        if self._messenger is not None:
            destroy = self.api.function(self.handle, "vkDestroyDebugUtilsMessengerEXT")
            destroy(self.handle, self._messenger, self.api.ffi.NULL)
        self.api.lib.vkDestroyInstance(self.handle, self.api.ffi.NULL)


_resident: tuple[tuple[int, object], Instance] | None = None
"""An instance that lives as long as the process, with what it depends on."""


def resident_instance(api: Api) -> Instance | None:
    """Return the instance that this process keeps, so that the loader never unloads the driver; None if it differs.

    NVIDIA's 580.159 cannot be loaded again after some 40 cycles of `ti.init` and `ti.reset`: vkCreateInstance then
    returns VK_ERROR_INCOMPATIBLE_DRIVER (each load takes static thread storage that unloading does not free). Sessions
    use this instance too, since making one takes half of the time of `ti.init`. A forked child makes its own, and so
    does a session for which the environment names other drivers.
    """
    global _resident
    key = os.getpid(), [item for item in os.environ.items() if item[0].startswith("VK_")]
    if _resident is None or _resident[0][0] != os.getpid():
        _resident = key, Instance(api, validation=False)
    return _resident[1] if _resident[0] == key else None


class Adapter(NamedTuple):
    """A physical device.

    kind: one of `DEVICE_TYPES`.
    number: its index in the driver's list.
    features: the supported ones of `FEATURES` and `CORE_FEATURES`.
    queue_family: a queue family with compute.
    float_controls: as in `Capabilities`.
    """

    number: int
    handle: Any
    name: str
    kind: str
    api_version: int
    driver_id: int
    driver: str
    queue_family: int
    extensions: frozenset[str]
    features: frozenset[str]
    max_push_bytes: int
    max_block_dim: int
    max_groups: tuple[int, int]
    max_shared_bytes: int
    subgroup_size: int
    float_controls: frozenset[str]
    subgroup_features: frozenset[str]

    @property
    def is_software(self) -> bool:
        """Whether the host's processor does the work."""
        return self.kind == "cpu"

    @property
    def is_llvmpipe(self) -> bool:
        """Whether it is Mesa's software rasteriser, which ends long loops early."""
        return self.driver_id == LLVMPIPE_DRIVER_ID

    @property
    def is_nvidia(self) -> bool:
        """Whether the driver is NVIDIA's own, which may lose negations and bits of integers."""
        return self.driver_id == NVIDIA_DRIVER_ID

    def lacks(self) -> list[str]:
        """Return the features that shaders need and the device lacks."""
        return [name for name in REQUIRED_FEATURES if name not in self.features]

    def describe(self) -> str:
        """Return a one-line description."""
        return f"{self.number}: {self.name} ({self.kind}, Vulkan {version_text(self.api_version)}, {self.driver})"


def version_text(version: int) -> str:
    """Return "1.2.3" for a packed Vulkan version."""
    return f"{version >> 22 & 0x7F}.{version >> 12 & 0x3FF}.{version & 0xFFF}"


def instance_extensions(api: Api) -> list[str]:
    """Return the names of the instance extensions of the loader and its drivers."""
    listed = api.enumerate("VkExtensionProperties", api.lib.vkEnumerateInstanceExtensionProperties, api.ffi.NULL)
    return [api.ffi.string(item.extensionName).decode() for item in listed]


def layer_names(api: Api) -> list[str]:
    """Return the names of the installed layers."""
    layers = api.enumerate("VkLayerProperties", api.lib.vkEnumerateInstanceLayerProperties)
    return [api.ffi.string(layer.layerName).decode(errors="replace") for layer in layers]


def read_adapter(api: Api, number: int, handle: Any) -> Adapter | None:
    """Query a physical device; return None if it is older than Vulkan 1.2 or lacks compute."""
    ffi, lib = api.ffi, api.lib
    plain = ffi.new("VkPhysicalDeviceProperties*")
    lib.vkGetPhysicalDeviceProperties(handle, plain)
    family = _compute_family(api, handle)
    if plain.apiVersion < API_VERSION or family is None:
        return None
    twelve = api.new("VkPhysicalDeviceVulkan12Properties", "PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES")
    eleven = api.new("VkPhysicalDeviceVulkan11Properties", "PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES", pNext=twelve)
    properties = api.new("VkPhysicalDeviceProperties2", "PHYSICAL_DEVICE_PROPERTIES_2", pNext=eleven)
    lib.vkGetPhysicalDeviceProperties2(handle, properties)
    limits = plain.limits
    listed = api.enumerate("VkExtensionProperties", lib.vkEnumerateDeviceExtensionProperties, handle, ffi.NULL)
    extensions = frozenset(ffi.string(item.extensionName).decode() for item in listed)
    features = _present_features(api, handle, extensions)
    return Adapter(
        number=number,
        handle=handle,
        name=ffi.string(plain.deviceName).decode(errors="replace"),
        kind=DEVICE_TYPES[plain.deviceType] if plain.deviceType < len(DEVICE_TYPES) else "other",
        api_version=plain.apiVersion,
        driver_id=twelve.driverID,
        driver=" ".join(ffi.string(text).decode(errors="replace") for text in (twelve.driverName, twelve.driverInfo)),
        queue_family=family,
        extensions=extensions,
        features=features,
        max_push_bytes=limits.maxPushConstantsSize,
        max_block_dim=min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]),
        max_groups=(limits.maxComputeWorkGroupCount[0], limits.maxComputeWorkGroupCount[1]),
        max_shared_bytes=limits.maxComputeSharedMemorySize,
        subgroup_size=eleven.subgroupSize,
        float_controls=_float_controls(api, twelve),
        subgroup_features=_subgroup_features(eleven, features),
    )


def _float_controls(api: Api, properties: Any) -> frozenset[str]:
    """Return the supported execution modes for f32 and f64.

    Modes for subnormals are included only if they can be set for one width alone: NVIDIA's driver couples f64 to f16
    and leaves f32 independent.
    """
    constants, independence = api.constants, properties.denormBehaviorIndependence
    free = {
        constants.VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL: (32, 64),
        constants.VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY: (32,),
    }
    names = [("SignedZeroInfNanPreserve", bits) for bits in (32, 64)]
    names += [("DenormPreserve", bits) for bits in free.get(independence, ())]
    return frozenset(f"{mode} {bits}" for mode, bits in names if getattr(properties, f"shader{mode}Float{bits}"))


def _subgroup_features(properties: Any, features: frozenset[str]) -> frozenset[str]:
    """Return the subgroup operations in compute shaders."""
    if not properties.subgroupSupportedStages & COMPUTE_STAGE:
        return frozenset()
    found = {name for bit, name in enumerate(SUBGROUP_FEATURES) if properties.subgroupSupportedOperations >> bit & 1}
    return frozenset(found | ({"extended_types"} if "shaderSubgroupExtendedTypes" in features else set()))


def _compute_family(api: Api, handle: Any) -> int | None:
    """Return the queue family for kernels, one without graphics if it has time stamps too, None if there is none.

    On an H200 a barrier costs 2.02 us in a queue without graphics and 2.15 in the first one, a dispatch .29 and .36.
    """
    get = api.lib.vkGetPhysicalDeviceQueueFamilyProperties
    families = api.enumerate("VkQueueFamilyProperties", get, handle)
    compute, graphics = api.constants.VK_QUEUE_COMPUTE_BIT, api.constants.VK_QUEUE_GRAPHICS_BIT
    found = [(index, family) for index, family in enumerate(families) if family.queueFlags & compute]
    alone = (index for index, family in found if not family.queueFlags & graphics and family.timestampValidBits)
    return next(alone, found[0][0] if found else None)


def _feature_chain(api: Api, extensions: frozenset[str], wanted: frozenset[str]) -> tuple[Any, list[Any]]:
    """Return a VkPhysicalDeviceFeatures2 with `wanted` set, and the chained structs in the order of `FEATURES`."""
    chain: list[Any] = []
    following = api.ffi.NULL
    for type, structure, extension, names in FEATURES:
        if extension is None or extension in extensions:
            following = api.new(type, structure, pNext=following, **{name: 1 for name in names if name in wanted})
            chain.append(following)
    core = {name: 1 for name in CORE_FEATURES if name in wanted}
    head = api.new("VkPhysicalDeviceFeatures2", "PHYSICAL_DEVICE_FEATURES_2", pNext=following, features=core)
    return head, chain


def _present_features(api: Api, handle: Any, extensions: frozenset[str]) -> frozenset[str]:
    head, chain = _feature_chain(api, extensions, frozenset())
    api.lib.vkGetPhysicalDeviceFeatures2(handle, head)
    tables = [names for _, _, extension, names in FEATURES if extension is None or extension in extensions]
    present = {name for struct, names in zip(chain, tables, strict=True) for name in names if getattr(struct, name)}
    return frozenset(present | {name for name in CORE_FEATURES if getattr(head.features, name)})


def choose_adapter(adapters: Sequence[Adapter], preference: int | str | None, allow_software: bool) -> Adapter:
    """Return the preferred device, by number or part of its name, else the one that is probably fastest.

    preference: None: use the variables SHADESMITH_DEVICE and TI_VISIBLE_DEVICE.
    Raises: TaichiRuntimeError that lists the available devices.
    """
    if preference is None:
        preference = os.environ.get("SHADESMITH_DEVICE") or os.environ.get("TI_VISIBLE_DEVICE") or None
    if preference is not None:
        return _preferred(adapters, str(preference))
    able = [adapter for adapter in adapters if not adapter.lacks() and (allow_software or not adapter.is_software)]
    if not able:
        kind = "Vulkan 1.2" if allow_software else "hardware Vulkan 1.2"
        raise TaichiRuntimeError(f"no {kind} device was found. {_listed(adapters)}Install a driver: {INSTALL_HINT}")
    return min(able, key=lambda adapter: (PREFERENCE.index(adapter.kind), adapter.number))


def _preferred(adapters: Sequence[Adapter], preference: str) -> Adapter:
    for adapter in adapters:
        if preference == str(adapter.number) or (
            not preference.isdigit() and preference.lower() in adapter.name.lower()
        ):
            if adapter.lacks():
                raise TaichiRuntimeError(f"{adapter.name} lacks {', '.join(adapter.lacks())}, which every kernel needs")
            return adapter
    raise TaichiRuntimeError(f"there is no Vulkan device `{preference}`. {_listed(adapters)}")


def _listed(adapters: Sequence[Adapter]) -> str:
    return "".join(f"There is {adapter.describe()}{_lacking(adapter)}. " for adapter in adapters) or (
        "There is none at all. "
    )


def _lacking(adapter: Adapter) -> str:
    """Return what keeps a device from being used, as the end of a sentence."""
    lacks = adapter.lacks()
    renderdoc = RENDERDOC if "bufferDeviceAddress" in lacks and os.environ.get(RENDERDOC_VARIABLE) else ""
    return f", which lacks {', '.join(lacks)}{renderdoc}" if lacks else ""


def create_device(api: Api, adapter: Adapter) -> tuple[Any, Any]:
    """Return a new logical device with every feature of `FEATURES` that is present, and its queue."""
    ffi = api.ffi
    queue = api.new(
        "VkDeviceQueueCreateInfo",
        "DEVICE_QUEUE_CREATE_INFO",
        queueFamilyIndex=adapter.queue_family,
        queueCount=1,
        pQueuePriorities=ffi.new("float[]", [1.0]),
    )
    known = (ATOMIC_FLOAT, ATOMIC_FLOAT_2, MEMORY_BUDGET, STATISTICS, IMAGE_ROBUSTNESS, NON_SEMANTIC)
    extensions = [name for name in known if name in adapter.extensions]
    head, _ = _feature_chain(api, adapter.extensions, adapter.features)
    info = api.new(
        "VkDeviceCreateInfo",
        "DEVICE_CREATE_INFO",
        pNext=head,
        queueCreateInfoCount=1,
        pQueueCreateInfos=queue,
        enabledExtensionCount=len(extensions),
        ppEnabledExtensionNames=api.names(extensions),
    )
    out, handle = ffi.new("VkDevice*"), ffi.new("VkQueue*")
    api.check(api.lib.vkCreateDevice(adapter.handle, info, ffi.NULL, out), f"opening {adapter.name}")
    api.lib.vkGetDeviceQueue(out[0], adapter.queue_family, 0, handle)
    return out[0], handle[0]
