"""What a caller may do wrong is an error by text, and the runtime goes on."""

import ctypes

import numpy as np
import pytest
from c_api import binding
from c_api.binding import AllocateInfo, CError, Slice, byref, f32, i32, ndarray, scalar, tensor

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # the C runtime has no other


@pytest.fixture
def kernel(runtime, archive):
    @ti.kernel
    def put(x: ti.types.ndarray(ti.f32, 2), n: ti.u8, v: ti.types.vector(2, ti.f32)):
        for i, j in x:
            x[i, j] = n + v[0]

    return runtime.kernel(runtime.load(archive({"put": put})), "put")


GOOD = np.zeros((3, 4), np.float32)


@pytest.mark.parametrize(
    "change, text",
    [
        (lambda m: (None, i32(1), tensor("f32", [1, 2]), i32(4)), "takes 3 arguments, and 4 were given"),
        (lambda m: (None, i32(256), None), "argument `n` is no u8: it is out of range"),
        (lambda m: (None, i32(-1), None), "argument `n` is no u8"),
        (lambda m: (None, f32(1), None), "argument `n` is no u8: it is out of range, or no integer"),
        (lambda m: (None, tensor("f32", [1]), None), "argument `n` is a tensor, and the kernel takes a scalar"),
        (lambda m: (None, scalar("u8", 1), i32(1)), "argument `v` is an i32, and the kernel takes a vector or matrix"),
        (lambda m: (None, i32(1), tensor("f32", [1, 2, 3])), "argument `v` is 3 numbers of f32, and the kernel takes 2"),
        (lambda m: (None, i32(1), tensor("f64", [1, 2])), "argument `v` is 2 numbers of f64, and the kernel takes 2 of f32"),
        (lambda m: (i32(1), i32(1), None), "argument `x` is an i32, and the kernel takes an ndarray"),
        (lambda m: (ndarray(m, (12,), "f32"), i32(1), None), "argument `x` has 1 dimensions, and the kernel takes 2"),
        (lambda m: (ndarray(m, (3, 4), "i32"), i32(1), None), "elements of i32, and the kernel takes f32"),
        (lambda m: (ndarray(m, (3, 4), "f32", (2,)), i32(1), None), r"elements of shape \(2\), and the kernel takes \(\)"),
        (lambda m: (ndarray(m, (3, 5), "f32"), i32(1), None), r"shape \(3, 5\) needs 60 bytes, and its memory has 48"),
        (lambda m: (ndarray(m, (2**31, 1), "f32"), i32(1), None), "an extent over"),
        (lambda m: (ndarray(m, (2**31 - 1, 2**31 - 1), "f32"), i32(1), None), "needs .* bytes"),
        (lambda m: (ndarray(None, (3, 4), "f32"), i32(1), None), "argument `x` has no memory"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit(runtime, kernel, change, text):
    memory, argument = runtime.array(GOOD, "f32")
    good = (argument, i32(1), tensor("f32", [1, 2]))
    given = change(memory)
    arguments = [good[k] if k < 3 and given[k] is None else given[k] for k in range(len(given))]
    with pytest.raises(CError, match=f"kernel `put`.*{text}"):
        runtime.launch(kernel, *arguments)
    runtime.launch(kernel, *good)
    assert np.frombuffer(runtime.read(memory, 48), np.float32).tolist() == [2.0] * 12


def test_memory_of_another_runtime(runtime, kernel, library):
    other = binding.Runtime(library, binding.ARCHES[runtime.target])
    memory, argument = other.array(GOOD, "f32")
    with pytest.raises(CError, match="of another runtime"):
        runtime.launch(kernel, argument, i32(1), tensor("f32", [1, 2]))
    with pytest.raises(CError, match="of another runtime"):
        runtime.read(memory, 4)
    other.close()


def test_mapping(runtime, kernel):
    memory, argument = runtime.array(GOOD, "f32")
    mapped = runtime.call("ti_map_memory", runtime.handle, memory)
    with pytest.raises(CError, match="mapped already"):
        runtime.call("ti_map_memory", runtime.handle, memory)
    with pytest.raises(CError, match="`x` is mapped: call ti_unmap_memory first"):
        runtime.launch(kernel, argument, i32(1), tensor("f32", [1, 2]))
    with pytest.raises(CError, match="is mapped"):
        runtime.read(memory, 4)
    ctypes.memset(mapped, 0x40, 48)
    runtime.call("ti_unmap_memory", runtime.handle, memory)
    assert runtime.read(memory, 48) == b"\x40" * 48
    with pytest.raises(CError, match="not mapped"):
        runtime.call("ti_unmap_memory", runtime.handle, memory)
    hidden = runtime.allocate(16, read=False, write=False)
    with pytest.raises(CError, match="neither host_read nor host_write"):
        runtime.call("ti_map_memory", runtime.handle, hidden)
    runtime.call("ti_free_memory", runtime.handle, hidden)


def test_slices(runtime):
    memory, other = runtime.allocate(64), runtime.allocate(64)
    runtime.write(memory, bytes(range(64)))
    runtime.call(
        "ti_copy_memory_device_to_device", runtime.handle, byref(Slice(other, 8, 16)), byref(Slice(memory, 4, 16))
    )
    assert runtime.read(other, 64) == bytes(8) + bytes(range(4, 20)) + bytes(40)
    assert runtime.read(memory, 3, 5) == b"\x05\x06\x07"
    for offset, size in ((60, 8), (65, 0), (2**64 - 1, 1), (1, 2**64 - 1)):
        with pytest.raises(CError, match="reaches from byte") as caught:
            runtime.call(
                "ti_read_memory", runtime.handle, byref(Slice(memory, offset, size)), ctypes.create_string_buffer(8)
            )
        assert caught.value.code == binding.OUT_OF_RANGE
    with pytest.raises(CError, match="overlap"):
        runtime.call(
            "ti_copy_memory_device_to_device", runtime.handle, byref(Slice(memory, 0, 16)), byref(Slice(memory, 8, 16))
        )
    with pytest.raises(CError, match="different sizes"):
        runtime.call(
            "ti_copy_memory_device_to_device", runtime.handle, byref(Slice(memory, 0, 16)), byref(Slice(other, 8, 8))
        )


def test_large_memory_passes_in_pieces(runtime):
    """More than the staging memory of a discrete GPU."""
    data = np.random.default_rng(3).integers(0, 256, 20_000_003, np.uint8).tobytes()
    memory = runtime.allocate(len(data))
    runtime.write(memory, data)
    assert runtime.read(memory, len(data)) == data


def test_out_of_memory(runtime):
    with pytest.raises(CError, match="memory") as caught:
        runtime.allocate(1 << 52)
    assert caught.value.code == binding.OUT_OF_MEMORY
    with pytest.raises(CError, match="cannot be exported"):
        runtime.call("ti_allocate_memory", runtime.handle, byref(AllocateInfo(16, 1, 1, 1)))
    assert runtime.read(runtime.allocate(0), 0) == b""


def test_names(runtime, archive):
    @ti.kernel
    def b():
        pass

    @ti.kernel
    def a():
        pass

    module = runtime.load(archive({"b": b, "a": a}))
    assert [runtime.call("ti_get_aot_module_kernel_name", module, number) for number in range(3)] == [b"a", b"b", None]
    runtime.launch(runtime.kernel(module, "a"))
    for function, kind in (("kernel", "kernel"), ("compute_graph", "graph")):
        with pytest.raises(CError, match=f"the archive has no {kind} `c`") as caught:
            runtime.call(f"ti_get_aot_module_{function}", module, b"c")
        assert caught.value.code == binding.NOT_FOUND
    with pytest.raises(CError, match="no field `x`"):
        runtime.call("ti_get_aot_module_field", module, b"x", binding.Field())


def test_archives_for_another_target(runtime, tmp_path):
    @ti.kernel
    def put(x: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            x[i] = 1

    module = ti.aot.Module(ti.cpu)
    module.add_kernel(put)
    module.archive(str(tmp_path / "module.tcm"))
    with pytest.raises(CError, match="made for target c") as caught:
        runtime.load(tmp_path / "module.tcm")
    assert caught.value.code == binding.INCOMPATIBLE


def test_devices_that_are_not_there(library):
    runtime = binding.Runtime.__new__(binding.Runtime)
    runtime.library = library
    with pytest.raises(CError, match="arch 7 is none") as caught:
        runtime.call("ti_create_runtime", 7, 0)
    assert caught.value.code == binding.NOT_SUPPORTED
    for arch in (binding.VULKAN, binding.CUDA):
        with pytest.raises(CError):
            runtime.call("ti_create_runtime", arch, 1000)


def test_nulls(runtime):
    for name, *arguments in (
        ("ti_wait", None), ("ti_flush", None), ("ti_destroy_runtime", None), ("ti_free_memory", runtime.handle, None),
        ("ti_map_memory", runtime.handle, None), ("ti_load_aot_module", runtime.handle, None),
        ("ti_create_aot_module", runtime.handle, None, 5), ("ti_destroy_aot_module", None),
        ("ti_get_aot_module_kernel", None, b"x"), ("ti_launch_kernel", runtime.handle, None, 0, None),
        ("ti_allocate_memory", runtime.handle, None), ("ti_read_memory", runtime.handle, None, None),
        ("ti_launch_compute_graph", runtime.handle, None, 0, None), ("ti_allocate_memory", None, byref(AllocateInfo(16))),
    ):  # fmt: skip
        with pytest.raises(CError, match="null"):
            runtime.call(name, *arguments)


def test_the_text_of_an_error_by_pieces(library):
    library.ti_set_last_error(-4, b"something")
    size = ctypes.c_uint64()
    assert library.ti_get_last_error(byref(size), None) == -4 and size.value == 10
    text, size = ctypes.create_string_buffer(5), ctypes.c_uint64(5)
    library.ti_get_last_error(byref(size), text)
    assert text.value == b"some" and size.value == 10
    library.ti_set_last_error(0, None)
    assert library.ti_get_last_error(None, None) == 0 and library.ti_get_last_error_message() == b""


def test_archs_that_are_there(runtime):
    count = ctypes.c_uint32(8)
    archs = (ctypes.c_int * 8)()
    runtime.library.ti_get_available_archs(byref(count), archs)
    assert binding.ARCHES[runtime.target] in archs[: count.value]


def test_gradients_of_arguments_come_behind_all_arguments(runtime, archive):
    @ti.kernel
    def square(a: ti.f32, x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            y[i] = a * x[i] * x[i]

    kernel = runtime.kernel(runtime.load(archive({"square": square, "square_grad": square.grad})), "square_grad")
    (_, x), (_, y) = (runtime.array(np.array([1, 2, 3], np.float32), "f32") for _ in range(2))
    x_memory, x_grad = runtime.array(np.array([0, 1, 0], np.float32), "f32")
    y_memory, y_grad = runtime.array(np.ones(3, np.float32), "f32")
    runtime.launch(kernel, binding.f32(3.0), x, y, x_grad, y_grad)
    assert np.frombuffer(runtime.read(x_memory, 12), np.float32).tolist() == [6, 13, 18]
    assert np.frombuffer(runtime.read(y_memory, 12), np.float32).tolist() == [0, 0, 0]
    with pytest.raises(CError, match="takes 5 arguments, and 3 were given"):
        runtime.launch(kernel, binding.f32(3.0), x, y)
    _, short = runtime.array(np.zeros(2, np.float32), "f32")
    with pytest.raises(CError, match=r"argument `x.grad` has another shape than `x`"):
        runtime.launch(kernel, binding.f32(3.0), x, y, short, y_grad)
