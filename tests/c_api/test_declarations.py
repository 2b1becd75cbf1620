"""What shadesmith.c declares of Vulkan and SPIR-V by itself is what the headers say."""

import re
import subprocess
from pathlib import Path

import pytest
import vulkan
from c_api import binding

from shadesmith.runtime.devices.textures import TextureSpec
from shadesmith.runtime.devices.vulkan.images import format_name
from shadesmith.runtime.devices.vulkan.spirv_words import CAPABILITIES
from shadesmith.transpiler.ir.textures import FORMATS

HERE = Path(__file__).parent
FFI = vulkan.ffi
STRUCTS = {
    0: "VkPhysicalDeviceFeatures", 1: "VkPhysicalDeviceVulkan11Features", 2: "VkPhysicalDeviceVulkan12Features",
    3: "VkPhysicalDeviceShaderAtomicFloatFeaturesEXT", 4: "VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT",
}  # fmt: skip
FEATURES = {
    "Float16": "shaderFloat16", "Float64": "shaderFloat64", "Int64": "shaderInt64", "Int16": "shaderInt16",
    "Int8": "shaderInt8", "Int64Atomics": "shaderBufferInt64Atomics",
    "StorageBuffer16BitAccess": "storageBuffer16BitAccess", "StoragePushConstant16": "storagePushConstant16",
    "UniformAndStorageBuffer16BitAccess": "uniformAndStorageBuffer16BitAccess",
    "StorageBuffer8BitAccess": "storageBuffer8BitAccess", "StoragePushConstant8": "storagePushConstant8",
    "UniformAndStorageBuffer8BitAccess": "uniformAndStorageBuffer8BitAccess",
    "PhysicalStorageBufferAddresses": "bufferDeviceAddress",
    "AtomicFloat32MinMaxEXT": "shaderBufferFloat32AtomicMinMax", "AtomicFloat64MinMaxEXT": "shaderBufferFloat64AtomicMinMax",
    "StorageImageExtendedFormats": "shaderStorageImageExtendedFormats", "AtomicFloat32AddEXT": "shaderBufferFloat32AtomicAdd", "AtomicFloat64AddEXT": "shaderBufferFloat64AtomicAdd",
}  # fmt: skip
SOURCE = (binding.FOLDER / "shadesmith.c").read_text()


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    if binding.compiler("gcc") is None:
        pytest.skip("needs gcc")
    program = binding.compile_c(tmp_path_factory.mktemp("declarations") / "print", str(HERE / "declarations.c"))
    return [line.split() for line in subprocess.run([program], capture_output=True, text=True).stdout.splitlines()]


def test_structs(lines):
    sizes = [line for line in lines if line[0] == "size"]
    assert len(sizes) > 30
    for _, name, size in sizes:
        assert FFI.sizeof(name) == int(size), name


def test_members(lines):
    for _, struct, member, offset in (line for line in lines if line[0] == "offset"):
        assert FFI.offsetof(struct, member) == int(offset), (struct, member)
    controls = next(line for line in lines if line[0] == "controls")
    first = FFI.offsetof("VkPhysicalDeviceVulkan12Properties", "shaderSignedZeroInfNanPreserveFloat16")
    assert first == int(controls[1])
    rows = ("SignedZeroInfNanPreserve", "DenormPreserve", "DenormFlushToZero", "RoundingModeRTE", "RoundingModeRTZ")
    for row, name in enumerate(rows):
        assert FFI.offsetof("VkPhysicalDeviceVulkan12Properties", f"shader{name}Float16") == first + 12 * row


def offset_of_feature(struct: str, name: str) -> int:
    return (FFI.offsetof(struct, name) - (0 if struct == "VkPhysicalDeviceFeatures" else 16)) // 4


def test_capabilities_and_features(lines):
    known = CAPABILITIES
    found = [line for line in lines if line[0] == "capability"]
    assert len(found) > 25
    for _, number, name, place, member in found:
        assert known[int(number)] == name
        if int(place) in STRUCTS:
            assert offset_of_feature(STRUCTS[int(place)], FEATURES[name]) == int(member), name


def test_further_features():
    rows = re.search(r"FURTHER_FEATURES\[\] = \{(.*?)\n\};", SOURCE, re.S)[1]
    found = re.findall(r"\{IN_(\w+), (\w+)\}, +/\* (\w+) \*/", rows)
    assert len(found) == 11
    structs = {"1_2": 2, "ATOMIC_FLOAT": 3, "ATOMIC_FLOAT_2": 4}
    numbers = {"SCALAR_BLOCK_LAYOUT": 31}
    for struct, number, name in found:
        assert offset_of_feature(STRUCTS[structs[struct]], name) == int(numbers.get(number, number)), name


def test_numbers_have_the_values_of_the_header():
    checked = 0
    for name, value in re.findall(r"^    (VK_\w+) = (-?\w+),?$", SOURCE, re.M):
        expected = getattr(vulkan, name, None)
        if expected is not None:
            assert int(value, 0) == expected, name
            checked += 1
    assert checked > 40


def test_instructions_are_in_order(lines):
    assert ["instructions", "are", "out", "of", "order"] not in lines


def test_formats_of_texels(lines):
    """Those that Vulkan has no number for are refused: three channels and depth."""
    found = {line[2]: line for line in lines if line[0] == "format"}
    header = (binding.FOLDER / "shadesmith.h").read_text()
    assert set(found) == set(FORMATS)
    for name, row in FORMATS.items():
        _, number, _, vulkan_format, spirv, size, element = found[name]
        assert f"TI_FORMAT_{name.upper()} = {number}," in header and int(number) == row.number
        assert (int(size), element) == (row.texel_bytes, row.element.name)
        assert bool(int(spirv)) == row.is_storage
        known = row.channels != 3 and row.kind != "depth"
        wanted = f"VK_FORMAT_{format_name(TextureSpec(row, (1,), None, ()))}" if known else None
        assert int(vulkan_format) == (getattr(vulkan, wanted) if wanted else 0), name
