"""Kernels of an archive, launched by the C runtime, give what the JIT gives, bit for bit."""

import numpy as np
import pytest
from c_api import binding
from c_api.binding import CError, f32, i32, ndarray, scalar, structure, tensor

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # the C runtime has no other

needs_memory = pytest.mark.parametrize("count", [0, 1, 5, 127, 128, 129, 4096 + 3])


def test_julia_is_the_same_image(runtime, archive):
    n = 40

    @ti.func
    def complex_sqr(z):
        return ti.Vector([z[0] ** 2 - z[1] ** 2, z[1] * z[0] * 2])

    @ti.kernel
    def paint(pixels: ti.types.ndarray(dtype=ti.f32, ndim=2), n: ti.u32, t: ti.f32):
        for i, j in pixels:
            c = ti.Vector([-0.8, ti.cos(t) * 0.2])
            z = ti.Vector([i / n - 1, j / n - 0.5]) * 2
            iterations = 0
            while z.norm() < 20 and iterations < 50:
                z = complex_sqr(z) + c
                iterations += 1
            pixels[i, j] = 1 - iterations * 0.02

    kernel = runtime.kernel(runtime.load(archive({"paint": paint})), "paint")
    memory = runtime.allocate(8 * n * n)
    runtime.launch(kernel, ndarray(memory, (2 * n, n), "f32"), i32(n), f32(0.7))
    expected = ti.ndarray(ti.f32, (2 * n, n))
    paint(expected, n, 0.7)
    assert runtime.read(memory, 8 * n * n) == expected.to_numpy().tobytes()


@needs_memory
def test_lengths_of_loops(runtime, archive, count):
    @ti.kernel
    def double(x: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in x:
            x[i] = x[i] * 2 + i

    kernel = runtime.kernel(runtime.load(archive({"double": double})), "double")
    given = np.arange(count, dtype=np.int32) - 7
    memory, argument = runtime.array(given, "i32")
    runtime.launch(kernel, argument)
    assert runtime.read(memory, given.nbytes) == (given * 2 + np.arange(count, dtype=np.int32)).tobytes()


@pytest.mark.parametrize("begin, end", [(0, 10), (3, 3), (7, 2), (-5, 5), (1, 300)])
def test_ranges_from_arguments(runtime, archive, begin, end):
    @ti.kernel
    def count(x: ti.types.ndarray(dtype=ti.i32, ndim=1), begin: ti.i32, end: ti.i32):
        for i in range(begin, end):
            x[i + 5] += 1

    kernel = runtime.kernel(runtime.load(archive({"count": count})), "count")
    memory, argument = runtime.array(np.zeros(305, np.int32), "i32")
    runtime.launch(kernel, argument, i32(begin), i32(end))
    expected = np.zeros(305, np.int32)
    if end > begin:
        expected[begin + 5 : end + 5] = 1
    assert runtime.read(memory, expected.nbytes) == expected.tobytes()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", [0, 1, 3, 1023, 1024, 1027])
def test_rows_that_the_launch_puts_together(runtime, archive, n):
    """From 2^20 iterations on a thread takes four rows: the C runtime counts them as Python's launches do."""

    @ti.kernel
    def multiply(
        a: ti.types.ndarray(dtype=ti.i32, ndim=2),
        b: ti.types.ndarray(dtype=ti.i32, ndim=2),
        c: ti.types.ndarray(dtype=ti.i32, ndim=2),
    ):
        for i, j in c:
            s = 0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s + c[i, j]

    kernel = runtime.kernel(runtime.load(archive({"multiply": multiply})), "multiply")
    random = np.random.default_rng(n)
    a, b, c = (random.integers(-9, 9, shape).astype(np.int32) for shape in ((n, 2), (2, 1024), (n, 1024)))
    made = [runtime.array(given, "i32") for given in (a, b, c)]
    runtime.launch(kernel, *(argument for _, argument in made))
    assert runtime.read(made[2][0], c.nbytes) == (a @ b + c).astype(np.int32).tobytes()


@pytest.mark.parametrize("is_one", [False, True])
def test_rows_that_threads_share_where_arrays_do_not_overlap(runtime, archive, is_one):
    """A launch chooses by the addresses of its arrays."""

    @ti.kernel
    def spread(x: ti.types.ndarray(dtype=ti.i32, ndim=2), y: ti.types.ndarray(dtype=ti.i32, ndim=2)):
        for i in range(x.shape[0]):
            total = 0
            for j in range(x.shape[1]):
                total += x[i, j]
            for j in range(x.shape[1]):
                y[i, j] = 2 * x[i, j] + total

    kernel = runtime.kernel(runtime.load(archive({"spread": spread})), "spread")
    x = np.random.default_rng(3).integers(-9, 9, (5, 200)).astype(np.int32)
    memory, first = runtime.array(x, "i32")
    other, second = (memory, first) if is_one else runtime.array(np.zeros_like(x), "i32")
    runtime.launch(kernel, first, second)
    assert runtime.read(other, x.nbytes) == (2 * x + x.sum(1, keepdims=True)).astype(np.int32).tobytes()


@pytest.mark.parametrize("divisor", [3, 0, -3])
def test_bounds_are_divided_as_on_devices(runtime, archive, divisor):
    @ti.kernel
    def count(x: ti.types.ndarray(dtype=ti.i32, ndim=1), n: ti.i32, divisor: ti.i32):
        for i in range(n % divisor, n // divisor + 10):
            x[i + 5] += 1

    kernel = runtime.kernel(runtime.load(archive({"count": count})), "count")
    memory, argument = runtime.array(np.zeros(20, np.int32), "i32")
    runtime.launch(kernel, argument, i32(10), i32(divisor))
    expected = np.zeros(20, np.int32)
    expected[5 + (10 % divisor if divisor else 0) : 15 + (10 // divisor if divisor else 0)] = 1
    assert runtime.read(memory, expected.nbytes) == expected.tobytes()


@pytest.mark.parametrize(
    "type, value",
    [
        ("i8", -128), ("u8", 255), ("i16", -32768), ("u16", 65535), ("i32", -(2**31)), ("u32", 2**32 - 1),
        ("i64", -(2**63)), ("u64", 2**64 - 1), ("f32", -0.0), ("f32", float("inf")), ("f64", 5e-324), ("f16", 65504.0),
    ],
)  # fmt: skip
def test_scalars_of_every_type_arrive_whole(runtime, archive, type, value):
    dtype = getattr(ti, type)

    @ti.kernel
    def put(x: ti.types.ndarray(dtype=dtype, ndim=1), value: dtype):
        for i in x:
            x[i] = value

    kernel = runtime.kernel(runtime.load(archive({"put": put})), "put")
    given = np.zeros(3, binding.NUMPY[type])
    memory, argument = runtime.array(given, type)
    runtime.launch(kernel, argument, scalar(type, value))
    assert runtime.read(memory, given.nbytes) == np.full(3, value, given.dtype).tobytes()


def test_vectors_matrices_and_structs_by_value(runtime, archive):
    ball = ti.types.struct(radius=ti.f32, center=ti.types.vector(3, ti.f32), number=ti.i32)

    @ti.kernel
    def put(
        x: ti.types.ndarray(dtype=ti.f32, ndim=1),
        v: ti.types.vector(3, ti.f32),
        m: ti.types.matrix(2, 2, ti.f32),
        b: ball,
    ):
        for i in range(3):
            x[i] = v[i]
            x[3 + i] = b.center[i] * b.radius
        x[6] = m[0, 1]
        x[7] = m[1, 0]
        x[8] = b.number

    kernel = runtime.kernel(runtime.load(archive({"put": put})), "put")
    memory, argument = runtime.array(np.zeros(9, np.float32), "f32")
    struct = np.array([2, 10, 20, 30], np.float32).tobytes() + np.array([77], np.int32).tobytes()
    runtime.launch(kernel, argument, tensor("f32", [1, 2, 3]), tensor("f32", [[4, 5], [6, 7]]), structure(struct))
    found = np.frombuffer(runtime.read(memory, 36), np.float32)
    assert found.tolist() == [1, 2, 3, 20, 40, 60, 5, 6, 77]


def test_arrays_of_vectors(runtime, archive):
    @ti.kernel
    def turn(x: ti.types.ndarray(dtype=ti.types.vector(2, ti.f32), ndim=2)):
        for i, j in x:
            x[i, j] = ti.Vector([-x[i, j][1], x[i, j][0]])

    kernel = runtime.kernel(runtime.load(archive({"turn": turn})), "turn")
    given = np.arange(24, dtype=np.float32).reshape(3, 4, 2)
    memory, argument = runtime.array(given, "f32", (2,))
    runtime.launch(kernel, argument)
    expected = np.stack([-given[..., 1], given[..., 0]], -1)
    assert runtime.read(memory, given.nbytes) == np.ascontiguousarray(expected).tobytes()


def test_more_arguments_than_push_constants_hold(runtime, archive):
    @ti.kernel
    def put(x: ti.types.ndarray(dtype=ti.f32, ndim=1), v: ti.types.matrix(5, 6, ti.f32), scale: ti.f32):
        for i in range(6):
            x[i] = v[0, i] * scale

    kernel = runtime.kernel(runtime.load(archive({"put": put})), "put")
    numbers = np.arange(30, dtype=np.float32)
    memory, argument = runtime.array(np.zeros(6, np.float32), "f32")
    for scale in range(1500):  # more than one block of arguments holds
        runtime.launch(kernel, argument, tensor("f32", numbers), f32(scale))
    assert np.frombuffer(runtime.read(memory, 24), np.float32).tolist() == [i * 1499 for i in range(6)]


def test_fields_keep_their_values_between_launches(runtime, archive):
    total = ti.field(ti.i32, shape=())
    grid = ti.Vector.field(2, ti.f32, shape=(3, 4))

    @ti.kernel
    def add(n: ti.i32):
        for i, j in grid:
            grid[i, j] += ti.Vector([i, j]) * n
        total[None] += n

    module = runtime.load(archive({"add": add}, {"total": total, "grid": grid}))
    kernel = runtime.kernel(module, "add")
    runtime.launch(kernel, i32(2))
    runtime.launch(kernel, i32(5))
    field = binding.Field()
    runtime.call("ti_get_aot_module_field", module, b"grid", field)
    assert (list(field.shape.dims[:2]), list(field.elem_shape.dims[:1]), field.elem_type) == (
        [3, 4],
        [2],
        binding.TYPES["f32"],
    )
    data = runtime.read(field.slice.memory, field.slice.size, field.slice.offset)
    found = [
        np.frombuffer(data, np.float32, 2, i * field.strides[0] + j * field.strides[1]).tolist()
        for i in range(3)
        for j in range(4)
    ]
    assert found == [[7.0 * i, 7.0 * j] for i in range(3) for j in range(4)]
    runtime.call("ti_get_aot_module_field", module, b"total", field)
    assert np.frombuffer(runtime.read(field.slice.memory, 4, field.slice.offset), np.int32)[0] == 7


def test_results(runtime, archive):
    @ti.kernel
    def add(x: ti.types.ndarray(dtype=ti.i32, ndim=1)) -> ti.i32:
        total = 0
        for i in x:
            total += x[i]
        return total

    kernel = runtime.kernel(runtime.load(archive({"add": add})), "add")
    _, argument = runtime.array(np.arange(100, dtype=np.int32), "i32")
    runtime.launch(kernel, argument)
    assert runtime.result(kernel, "i32").tolist() == [4950]
    with pytest.raises(CError, match="returns 1 values") as caught:
        runtime.result(kernel, "i32", number=1)
    assert caught.value.code == binding.OUT_OF_RANGE


def test_random_numbers_are_those_of_the_jit(runtime, archive):
    @ti.kernel
    def fill(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in x:
            x[i] = ti.random()

    kernel = runtime.kernel(runtime.load(archive({"fill": fill})), "fill")
    memory = runtime.allocate(400)
    first = ti.ndarray(ti.f32, 100)
    for _ in range(2):
        runtime.launch(kernel, ndarray(memory, (100,), "f32"))
        fill(first)
        assert runtime.read(memory, 400) == first.to_numpy().tobytes()


def test_templates_are_not_passed(runtime, archive):
    @ti.kernel
    def scale(x: ti.types.ndarray(dtype=ti.f32, ndim=1), factor: ti.template(), more: ti.f32):
        for i in x:
            x[i] = x[i] * factor + more

    path = archive({"scale": (scale, {"factor": 3})})
    kernel = runtime.kernel(runtime.load(path), "scale")
    memory, argument = runtime.array(np.ones(4, np.float32), "f32")
    runtime.launch(kernel, argument, f32(0.5))
    assert np.frombuffer(runtime.read(memory, 16), np.float32).tolist() == [3.5] * 4


def test_two_modules_and_one_memory(runtime, archive):
    @ti.kernel
    def add(x: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in x:
            x[i] += 1

    path = archive({"add": add})
    modules = [runtime.load(path), runtime.load(path)]
    memory, argument = runtime.array(np.zeros(300, np.int32), "i32")
    for k in range(100):
        runtime.launch(runtime.kernel(modules[k % 2], "add"), argument)
    runtime.call("ti_destroy_aot_module", modules[0])
    runtime.launch(runtime.kernel(modules[1], "add"), argument)
    assert np.frombuffer(runtime.read(memory, 1200), np.int32).tolist() == [101] * 300


def test_prints_come_out_as_in_python(runtime, archive, capsys):
    @ti.kernel
    def show(v: ti.types.vector(2, ti.f32), n: ti.i32):
        for i in range(n):
            print(
                "turn", i, v, f"{v[0]:.2f}|{i:5d}|{-i:<4d}|{i:+d}|{v[1]:8.3e}|{i:05d}|{-i:#x}|{v[0]:^9}|{v[1]:>+9.1f}"
            )
        print(
            "end", ti.cast(0.1, ti.f64), True, f"{ti.cast(n, ti.i64) * 1234567:,}|{n:*^7}|{v[0]:8.1%}|{v[1]:g}|{n:_>6b}"
        )

    kernel = runtime.kernel(runtime.load(archive({"show": show})), "show")
    pieces = []

    @binding.PRINT
    def keep(text, size, user):
        pieces.append(binding.ctypes.string_at(text, size).decode())

    runtime.library.ti_set_print_callback(keep, None)
    try:
        runtime.launch(kernel, tensor("f32", [1.5, -2.25]), i32(3))
    finally:
        runtime.library.ti_set_print_callback(binding.PRINT(), None)
    capsys.readouterr()
    show(ti.Vector([1.5, -2.25]), 3)
    ti.sync()
    assert "".join(pieces) == capsys.readouterr().out


def test_an_assert_that_failed_is_an_error_with_its_place(runtime, archive):
    @ti.kernel
    def check(n: ti.i32):
        for i, j in ti.ndrange(n, n):
            assert i * j < 4, f"{i} times {j} is {0.1 * i}"

    ti.init(arch=getattr(ti, runtime.target), debug=True)
    kernel = runtime.kernel(runtime.load(archive({"check": check})), "check")
    runtime.launch(kernel, i32(2))
    with pytest.raises(CError) as caught:
        runtime.launch(kernel, i32(4))
    text = str(caught.value)
    assert caught.value.code == binding.ASSERTION
    assert "test_launch.py" in text and "2 times 2 is 0.2" in text and "i = 2, j = 2" in text and "4 checks" in text
    runtime.launch(kernel, i32(2))  # and nothing is left of it


def test_sparse_trees(runtime, archive):
    block = ti.root.pointer(ti.ij, 4)
    x = ti.field(ti.f32)
    block.dense(ti.ij, 4).place(x)
    total = ti.field(ti.i32, shape=())

    @ti.kernel
    def activate(n: ti.i32):
        for i in range(n):
            x[i, i * 5 % 16] = i + 1

    @ti.kernel
    def count() -> ti.f32:
        for i, j in x:
            total[None] += 1
        s = 0.0
        for i, j in x:
            s += x[i, j]
        return s

    module = runtime.load(archive({"activate": activate, "count": count}, {"total": total}))
    kernels = [runtime.kernel(module, name) for name in ("activate", "count")]
    runtime.launch(kernels[0], i32(10))
    runtime.launch(kernels[1])
    activate(10)
    assert runtime.result(kernels[1], "f32").tolist() == [count()] == [55.0]
    field = binding.Field()
    runtime.call("ti_get_aot_module_field", module, b"total", field)
    assert np.frombuffer(runtime.read(field.slice.memory, 4, field.slice.offset), np.int32)[0] == total[None]
