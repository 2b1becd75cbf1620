"""The Vulkan device below the compiler: hand-written GLSL, hand-made modules, with and without mapped memory.

Every test runs under the validation layer and fails on any message, also from closing the device.
"""

from __future__ import annotations

import os
import shutil
import struct
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from shadesmith.runtime.devices.vulkan.device import VulkanDevice, diagnose, open_device
from shadesmith.runtime.devices.vulkan.instance import choose_adapter
from shadesmith.runtime.devices.vulkan.queue import EAGER_THREADS
from shadesmith.transpiler.backend.module.interface import BackendModule, Interface, SourceFile, TaskSource
from shadesmith.transpiler.errors import ShadesmithWarning, TaichiCompilationError, TaichiRuntimeError, UnsupportedError


def vulkan_is_here() -> bool:
    try:
        open_device().close()
    except TaichiRuntimeError:
        return False
    return shutil.which("glslangValidator") is not None


pytestmark = pytest.mark.skipif(not vulkan_is_here(), reason="no Vulkan device or no glslangValidator")

HEAD = """#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = BLOCK) in;
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
uint linear() { return gl_GlobalInvocationID.x; }
"""
ADD_ONE = """layout(push_constant, scalar) uniform Args { I32 a; int n; } args;
void main() { for (uint i = linear(); i < uint(args.n); i += gl_NumWorkGroups.x * BLOCK) args.a.v[i] += 1; }
"""


def module(*bodies: str, args_bytes: int, block: int = 64, strided: bool = True, folded: bool = False) -> BackendModule:
    files = tuple(
        SourceFile(f"k_{i}.comp", (HEAD + body).replace("BLOCK", str(block))) for i, body in enumerate(bodies)
    )
    tasks = tuple(
        TaskSource(f"k_{i}", "range_for", "main", i, block, (), strided=strided, folded=folded)
        for i in range(len(bodies))
    )
    return BackendModule("k", "vulkan", files, tasks, Interface((), args_bytes, (), (), 0, 0))


@pytest.fixture(params=["mapped", "staged"])
def device(request: pytest.FixtureRequest) -> Iterator[VulkanDevice]:
    made = open_device(validation=True, force_staging=request.param == "staged")
    yield made
    made.close()
    assert made.messages == []


def read(device: VulkanDevice, allocation: object, dtype: str, count: int, offset: int = 0) -> np.ndarray:
    result = np.empty(count, dtype)
    device.read(allocation, memoryview(result).cast("B"), offset)
    return result


def write(device: VulkanDevice, allocation: object, data: np.ndarray, offset: int = 0) -> None:
    device.write(allocation, memoryview(data).cast("B"), offset)


def test_launches_run_in_order_over_many_batches(device: VulkanDevice) -> None:
    n = 1000
    a = device.allocate(4 * n)
    double = ADD_ONE.replace("+= 1", "*= 2")
    program = device.build(module(ADD_ONE, double, args_bytes=12))
    struct.pack_into("Qi", program.arguments, 0, a.address, n)
    for _ in range(20):
        program.submit((n, n))
    for _ in range(100):
        program.submit((n, 0))
    assert (read(device, a, "i4", n) == 2**21 - 2 + 100).all()


def test_arguments_over_the_push_limit_travel_by_pointer(device: VulkanDevice) -> None:
    body = """layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Args {
        I32 a; int at; int fill[38]; int x; };
    layout(push_constant, scalar) uniform Push { Args args; } push;
    void main() { push.args.a.v[push.args.at] = push.args.x; }"""
    a = device.allocate(4 * 1000)
    program = device.build(module(body, args_bytes=168, block=1))
    for i in range(1000):  # more than one argument block holds
        struct.pack_into("Qi", program.arguments, 0, a.address, i)
        struct.pack_into("i", program.arguments, 164, 3 * i)
        program.submit((1,))
    assert (read(device, a, "i4", 1000) == 3 * np.arange(1000)).all()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("count", [0, 1, 63, 65, 65535, 65536, 70001, 200_000])
def test_every_iteration_runs_once_also_where_groups_are_fewer_than_turns(device: VulkanDevice, count: int) -> None:
    a = device.allocate(4 * 200_000)
    program = device.build(module(ADD_ONE, args_bytes=12, block=1))
    struct.pack_into("Qi", program.arguments, 0, a.address, count)
    program.submit((count,))
    data = read(device, a, "i4", 200_000)
    assert (data[:count] == 1).all() and not data[count:].any()


@pytest.mark.parametrize(("count", "rows"), [(65_535, 1), (65_536, 2), (131_071, 3)])
def test_more_groups_than_a_row_takes_stand_in_further_rows(device: VulkanDevice, count: int, rows: int) -> None:
    body = """layout(push_constant, scalar) uniform Args { I32 a; } args;
    void main() {
        uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
        args.a.v[group] = int(gl_NumWorkGroups.y);
    }"""
    a = device.allocate(4 * 140_000)
    program = device.build(module(body, args_bytes=8, block=1, strided=False, folded=True))
    struct.pack_into("Q", program.arguments, 0, a.address)
    program.submit((count,))
    data = read(device, a, "i4", 140_000)
    assert (data[:count] == rows).all() and not data[count + rows :].any()


def test_more_groups_than_a_row_takes_are_refused_where_the_text_has_no_rows(device: VulkanDevice) -> None:
    program = device.build(module("void main() {}", args_bytes=0, block=1, strided=False))
    program.submit((65_535,))
    with pytest.raises(TaichiRuntimeError, match="65536 groups; its edited source supports one row"):
        program.submit((65_536,))


def test_a_count_known_to_the_device_only_gets_1024_groups(device: VulkanDevice) -> None:
    body = """layout(push_constant, scalar) uniform Args { I32 a; } args;
    void main() { if (linear() == 0u) args.a.v[0] = int(gl_NumWorkGroups.x); }"""
    a = device.allocate(4)
    program = device.build(module(body, args_bytes=8))
    struct.pack_into("Q", program.arguments, 0, a.address)
    program.submit((-1,))
    assert read(device, a, "i4", 1)[0] == 1024


def test_a_kernel_without_arguments_can_be_launched(device: VulkanDevice) -> None:
    program = device.build(module("void main() {}", args_bytes=0))
    program.submit((5,))
    device.synchronize()


def test_new_memory_is_zero_also_where_old_memory_returns(device: VulkanDevice) -> None:
    for _ in range(3):
        pieces = [device.allocate(size) for size in (1, 300, 5000, 6 << 20)]
        for piece in pieces:
            assert not read(device, piece, "u1", piece.size_bytes).any()
            device.fill(piece, b"\xff")
            device.free(piece)


def test_many_small_arrays_share_few_pieces_of_driver_memory(device: VulkanDevice) -> None:
    arrays = [device.allocate(16) for _ in range(5000)]
    addresses = np.array([a.address for a in arrays])
    assert len(set(addresses)) == 5000 and not (addresses % 256).any()
    for i in (0, 4999):
        write(device, arrays[i], np.full(4, i, "i4"))
    assert (read(device, arrays[4999], "i4", 4) == 4999).all() and not read(device, arrays[4998], "i4", 4).any()
    for array in arrays:
        device.free(array)
    device.synchronize()


def test_memory_freed_during_a_launch_stays_until_the_launch_ended(device: VulkanDevice) -> None:
    n = 1 << 16
    program = device.build(module(ADD_ONE, args_bytes=12))
    kept = device.allocate(4 * n)
    for _ in range(20):
        a = device.allocate(4 * n)
        struct.pack_into("Qi", program.arguments, 0, a.address, n)
        program.submit((n,))
        device.free(a)
    assert not read(device, kept, "i4", n).any()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("pattern", [b"\x07", b"\x01\x02", b"\x01\x02\x03\x04", bytes(range(8))])
@pytest.mark.parametrize("size", [8, 264, 100_000, 5_000_000])
def test_fill_repeats_the_pattern_and_spares_the_neighbour(device: VulkanDevice, pattern: bytes, size: int) -> None:
    array, neighbour = device.allocate(size), device.allocate(64)
    device.fill(array, pattern)
    assert read(device, array, "u1", size).tobytes() == pattern * (size // len(pattern))
    assert not read(device, neighbour, "u1", 64).any()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("offset", "size"), [(0, 1), (3, 5), (4, 8), (100, 70_000), (5, 45_000_000)])
def test_what_is_written_is_read_back_at_any_offset_and_size(device: VulkanDevice, offset: int, size: int) -> None:
    array = device.allocate(offset + size + 3)
    data = (np.arange(size) * 7 % 251).astype("u1")
    write(device, array, data, offset)
    assert (read(device, array, "u1", size, offset) == data).all()
    assert not read(device, array, "u1", 3, offset + size).any()


def test_writes_and_launches_keep_their_order(device: VulkanDevice) -> None:
    a = device.allocate(400)
    program = device.build(module(ADD_ONE, args_bytes=12))
    struct.pack_into("Qi", program.arguments, 0, a.address, 100)
    for i in range(50):
        write(device, a, np.full(1, 10 * i, "i4"))
        program.submit((100,))
        write(device, a, np.full(1, i, "u1"), 7)
    data = read(device, a, "i4", 100)
    assert data[0] == 491 and data[2] == 50


def test_copy_is_ordered_with_launches(device: VulkanDevice) -> None:
    a, b = device.allocate(400), device.allocate(400)
    program = device.build(module(ADD_ONE, args_bytes=12))
    struct.pack_into("Qi", program.arguments, 0, a.address, 100)
    program.submit((100,))
    device.copy(a, b, 200)
    program.submit((100,))
    assert (read(device, b, "i4", 100) == [1] * 50 + [0] * 50).all()
    assert (read(device, a, "i4", 100) == 2).all()


def test_access_outside_an_allocation_is_refused(device: VulkanDevice) -> None:
    a = device.allocate(10)
    with pytest.raises(TaichiRuntimeError, match="bytes 8 to 12 of an allocation of 10 bytes"):
        read(device, a, "u1", 4, 8)
    device.free(a)
    with pytest.raises(TaichiRuntimeError, match="was freed"):
        read(device, a, "u1", 4)


def test_too_much_memory_is_refused_with_numbers_and_harms_nothing(device: VulkanDevice) -> None:
    a = device.allocate(400)
    write(device, a, np.arange(100, dtype="i4"))
    with pytest.raises(
        TaichiRuntimeError,
        match=r"needs 32.0 TiB \(35,184,372,088,832 bytes\), .* are in use(?: and .* available|; its driver addresses 4.0 GiB)",
    ):
        device.allocate(1 << 45)
    assert (read(device, a, "i4", 100) == np.arange(100)).all()
    assert device.allocate(5 << 20).size_bytes == 5 << 20


def test_arrays_that_a_driver_cannot_address_are_refused(device: VulkanDevice) -> None:
    device._memory._addressed_bytes = 8 << 20
    assert device.allocate(8 << 20).size_bytes == 8 << 20
    with pytest.raises(TaichiRuntimeError, match=r"its driver addresses 8.0 MiB of an array"):
        device.allocate((8 << 20) + 4)


TYPES = {"i8": "int8_t", "u16": "uint16_t", "i64": "int64_t", "u64": "uint64_t", "f16": "float16_t", "f64": "double"}


@pytest.mark.parametrize(("name", "glsl"), TYPES.items())
def test_every_type_the_capabilities_name_computes(device: VulkanDevice, name: str, glsl: str) -> None:
    if name not in device.capabilities.types:
        pytest.skip(f"the device has no {name}")
    dtype = np.dtype({"i": "i", "u": "u", "f": "f"}[name[0]] + str(int(name[1:]) // 8))
    body = f"""layout(buffer_reference, scalar, buffer_reference_align = {dtype.itemsize}) buffer X {{ {glsl} v[]; }};
    layout(push_constant, scalar) uniform Args {{ X a; int n; }} args;
    void main() {{ uint i = linear(); if (i < uint(args.n)) args.a.v[i] = args.a.v[i] * {glsl}(3) + {glsl}(1); }}"""
    a = device.allocate(100 * dtype.itemsize)
    data = np.arange(30).astype(dtype)
    write(device, a, data)
    program = device.build(module(body, args_bytes=12))
    struct.pack_into("Qi", program.arguments, 0, a.address, 30)
    program.submit((30,))
    assert (read(device, a, dtype.str, 30) == data * dtype.type(3) + dtype.type(1)).all()


def test_native_float_atomics_add(device: VulkanDevice) -> None:
    if ("f32", "add") not in device.capabilities.atomics:
        pytest.skip("the device has none")
    body = """layout(push_constant, scalar) uniform Args { F32 a; } args;
    void main() { atomicAdd(args.a.v[linear() % 2u], 1.0); }"""
    source = HEAD.replace("#version 460\n", "#version 460\n#extension GL_EXT_shader_atomic_float : require\n") + body
    file = SourceFile("k.comp", source.replace("BLOCK", "64"))
    interface = Interface((), 8, (), (), 0, 0)
    task = TaskSource("k", "range_for", "main", 0, 64, ())
    program = device.build(BackendModule("k", "vulkan", (file,), (task,), interface))
    a = device.allocate(8)
    struct.pack_into("Q", program.arguments, 0, a.address)
    program.submit((6400,))
    assert (read(device, a, "f4", 2) == 3200).all()


def test_threads_may_launch_at_once(device: VulkanDevice) -> None:
    arrays = [device.allocate(4000) for _ in range(4)]
    programs = [device.build(module(ADD_ONE, args_bytes=12)) for _ in arrays]

    def work(number: int) -> None:
        struct.pack_into("Qi", programs[number].arguments, 0, arrays[number].address, 1000)
        for i in range(200):
            programs[number].submit((1000,))
            if i % 50 == number:
                device.free(device.allocate(1000))
                device.synchronize()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((read(device, array, "i4", 1000) == 200).all() for array in arrays)


def test_programs_may_be_dropped_while_they_run(device: VulkanDevice) -> None:
    a = device.allocate(4000)
    for _ in range(5):
        program = device.build(module(ADD_ONE, args_bytes=12))
        struct.pack_into("Qi", program.arguments, 0, a.address, 1000)
        program.submit((1000,))
        del program
    assert (read(device, a, "i4", 1000) == 5).all()


def test_a_block_larger_than_the_device_takes_is_refused(device: VulkanDevice) -> None:
    with pytest.raises(UnsupportedError, match="wants 100000 threads a block"):
        device.build(module(ADD_ONE, args_bytes=12, block=100_000))


def test_a_refused_text_names_emitted_and_python_line(device: VulkanDevice) -> None:
    file = SourceFile("k.comp", "#version 460\nvoid main() {\n    float s = y;\n}\n", ((3, __file__, 1),))
    task = TaskSource("k", "serial", "main", 0, 1, ())
    with pytest.raises(TaichiCompilationError) as caught:
        device.build(BackendModule("k", "vulkan", (file,), (task,), Interface((), 0, (), (), 0, 0)))
    text = str(caught.value)
    assert "k.comp:3: 'y' : undeclared identifier" in text and "     3 |     float s = y;" in text
    assert f'File "{__file__}", line 1' in text and "The Vulkan device below the compiler" in text


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_gets_an_error_at_once(device: VulkanDevice) -> None:
    program = device.build(module(ADD_ONE, args_bytes=12))
    child = os.fork()
    if child == 0:
        try:
            program.submit((1,))
        except TaichiRuntimeError as error:
            device.close()  # leaves the parent's device alone
            os._exit(0 if "forked" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_closed_device_refuses_and_closes_twice() -> None:
    device = open_device(validation=True)
    array = device.allocate(16)
    program = device.build(module(ADD_ONE, args_bytes=12))
    device.close()
    device.close()
    with pytest.raises(TaichiRuntimeError, match="was closed"):
        device.allocate(4)
    with pytest.raises(TaichiRuntimeError, match="was closed"):
        program.submit((1,))
    with pytest.raises(TaichiRuntimeError, match="was closed"):
        device.synchronize()
    device.free(array)
    del program
    assert device.messages == []


def test_devices_are_chosen_by_number_name_and_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    first = open_device(0)
    name = first.adapter.name
    first.close()
    named = open_device(name[:6].upper())
    assert named.adapter.name == name
    named.close()
    with pytest.raises(TaichiRuntimeError, match="there is no Vulkan device `77`"):
        open_device(77)
    monkeypatch.setenv("TI_VISIBLE_DEVICE", "66")
    with pytest.raises(TaichiRuntimeError, match="`66`"):
        open_device()
    monkeypatch.setenv("SHADESMITH_DEVICE", name)
    open_device().close()


def test_software_is_refused_where_hardware_is_wanted() -> None:
    device = open_device()
    device.close()
    if not device.is_software:
        pytest.skip("there is hardware")
    with pytest.raises(TaichiRuntimeError, match="no hardware Vulkan 1.2 device"):
        open_device(allow_software=False)


def test_validation_finds_what_is_wrong() -> None:
    device = open_device(validation=True)
    body = "layout(push_constant, scalar) uniform Args { I32 a; int n; } args; void main() { args.a.v[0] = args.n; }"
    device.build(module(body, args_bytes=0))
    device.close()
    if not device.messages:
        pytest.skip("the validation layer is not installed")
    assert any("push" in message.lower() for message in device.messages)


def test_diagnose_names_loader_devices_and_tools() -> None:
    text = "\n".join(diagnose())
    assert "Vulkan loader 1." in text and "device 0: " in text and "glslangValidator: /" in text


def test_missing_validation_layer_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shadesmith.runtime.devices.vulkan.instance.VALIDATION_LAYER", "VK_LAYER_not_there")
    with pytest.warns(ShadesmithWarning, match="VK_LAYER_not_there is not installed"):
        open_device(validation=True).close()


def test_a_wait_that_asks_again_and_again_ends(device: VulkanDevice) -> None:
    device._queue._spins = True  # as on a GPU
    try:
        a = device.allocate(16)
        for value in range(20):
            device.write(a, memoryview(bytes([value] * 16)))
            device.synchronize()
            found = bytearray(16)
            device.read(a, memoryview(found))
            assert set(found) == {value}
        assert device._queue.completed == device._queue.serial - 1
    finally:
        device._queue._spins = False


def test_large_work_is_collected_while_the_device_is_busy(
    device: VulkanDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first two launches start at once, further ones together: a device pauses between submissions."""
    count, queue = EAGER_THREADS, device._queue
    memory = device.allocate(4 * count)
    program = device.build(module(ADD_ONE, args_bytes=12))
    struct.pack_into("Qi", program.arguments, 0, memory.address, count)
    device.synchronize()
    monkeypatch.setattr(queue, "poll", lambda: None)  # as if nothing had ended yet
    serials = []
    for _ in range(11):
        program.submit((count,))
        serials.append(queue.serial)
    monkeypatch.undo()
    first = serials[0]
    assert [serial - first for serial in serials] == [0, *[1] * 8, *[2] * 2]
    assert np.array_equal(read(device, memory, "i4", count), np.full(count, 11))
    program.submit((count,))
    assert queue.commands is None, "an idle device gets large work at once"


def test_an_error_says_what_a_device_lacks(device: VulkanDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHADESMITH_DEVICE", raising=False)
    poor = device.adapter._replace(features=device.adapter.features - {"bufferDeviceAddress"})
    with pytest.raises(TaichiRuntimeError, match=r"There is .*, which lacks bufferDeviceAddress\. Install"):
        choose_adapter([poor], None, True)
    monkeypatch.setenv("ENABLE_VULKAN_RENDERDOC_CAPTURE", "1")
    with pytest.raises(TaichiRuntimeError, match=r"lacks bufferDeviceAddress \(RenderDoc's layer hides it for"):
        choose_adapter([poor], None, True)
