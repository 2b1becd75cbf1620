"""Names of every kind that some target cannot spell: renamed readably there, and never mixed up with another."""

import emitted
import numpy as np
import pytest

import shadesmith as ti

RESERVED = [
    "input", "sample", "float2", "restrict", "register", "double", "uniform", "shared", "half", "texture", "image",
    "threadIdx", "template", "operator", "vec3", "mat4", "uint", "int32_t", "switch", "do", "new", "this", "asm",
    "main", "task", "args", "Args", "Result", "rng", "BLOCK", "gl_Position", "a__b", "__x", "_", "printf", "sin",
    "length", "distance", "clamp", "mix", "min3", "dot", "transpose", "unix", "linux", "errno", "NULL", "true", "std",
    "atomicAdd", "abs", "buffer", "layout", "discard", "precise", "const", "signed", "volatile", "extern", "inline",
    "θ", "λ", "x̂", "Größe", "naïve", "数", "été", "ß", "Δt",
]  # fmt: skip

KERNEL = """def compute({name}: ti.i32, out: ti.types.ndarray()) -> ti.i32:
    {name}_1 = {name} * 2
    total = 0
    for {name}_i in range(3):
        total += {name}_1
        out[{name}_i] = {name} + {name}_i
    return total
"""


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", RESERVED)
def test_a_name_of_an_argument_a_variable_and_an_index(target: str, define_kernel, name: str) -> None:
    out = np.zeros(3, np.int32)
    assert define_kernel(KERNEL.format(name=name))(7, out) == 42 and out.tolist() == [7, 8, 9]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", [name for name in RESERVED if name != "_"])
def test_a_name_of_a_kernel_a_field_and_an_array(target: str, name: str, define_kernel) -> None:
    field = ti.field(ti.i32, 2)
    text = f"""def {name}(array_{name}: ti.types.ndarray()):
    for i in {name}_field:
        {name}_field[i] = array_{name}[i] + i
    for i in array_{name}:
        array_{name}[i] = {name}_field[i]
"""
    array = np.array([5, 6], np.int32)
    define_kernel(text, **{f"{name}_field": field})(array)
    assert array.tolist() == [5, 7] and field.to_numpy().tolist() == [5, 7]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", [name for name in RESERVED if name not in ("_", "ti")])
def test_a_name_of_an_array_alone(target: str, name: str, define_kernel) -> None:
    text = f"def compute({name}: ti.types.ndarray(), n: ti.i32):\n    for i in {name}:\n        {name}[i] += n\n"
    array = np.array([5, 6], np.int32)
    define_kernel(text)(array, 2)
    assert array.tolist() == [7, 8]


FUNCTION = """
@ti.func
def {name}(value):
    if value > 5:
        return value
    {name} = value
    while {name} < 10:
        {name} += value
    return {name}

@ti.kernel
def compute(n: ti.i32) -> ti.i32:
    {name}_ = {name}(n) + {name}(value=n + 1)
    return {name}_
"""


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", [name for name in RESERVED if name != "_"])
def test_a_name_of_a_function_and_of_its_variables(target: str, name: str, define_program) -> None:
    assert define_program(FUNCTION.format(name=name))["compute"](3) == 12 + 12


def test_names_that_become_equal_stay_apart(target: str) -> None:
    @ti.kernel
    def compute(theta: ti.i32, θ: ti.i32, input: ti.i32, input_: ti.i32) -> ti.i32:  # noqa: A002
        sample, sample_, sample__ = theta + 1, θ + 1, input + 1
        é, e, è = input_ + 1, 7, 8
        sample += 1
        sample_ += 1
        é += 1
        return ((((sample * 10 + sample_) * 10 + sample__) * 10 + é) * 10 + e) * 10 + è

    assert compute(0, 1, 2, 3) == 233578


def test_reserved_names_stay_readable() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def main(θ: ti.f32, input: ti.f32) -> ti.f32:  # noqa: A002
        sample = θ * input
        sample += 1
        register = sample * sample
        return register / (register + 1) + sample

    for arch in (ti.vulkan, ti.cuda, ti.cpu):
        text = main.source(1.0, 1.0, arch=arch)
        code = "\n".join(line.split("//")[0] for line in text.splitlines())
        assert code.isascii() and "args.theta" in code
        assert "float register_ =" in code or "float register =" in code
        assert "sample_" in code if arch is ti.vulkan else "sample" in code


def test_two_fields_of_one_name(target: str) -> None:
    def make(n: int):
        x = ti.field(ti.i32, n)

        @ti.func
        def last():
            return x[n - 1]

        return x, last

    (a, last_a), (b, last_b) = make(2), make(3)

    @ti.kernel
    def run() -> ti.i32:
        x = last_a() * 10
        return x + last_b()

    a[1], b[2] = 4, 5
    assert run() == 45


@pytest.mark.parametrize("name", ["count", "index", "i_1", "end_i", "extent_i", "extent_j", "n", "t0", "BLOCK_1"])
def test_a_variable_that_bounds_a_parallel_loop(target: str, name: str, define_kernel) -> None:
    """Its value is computed again where the loop's threads start, beside names of ours."""
    n, x = ti.field(ti.i32, ()), ti.field(ti.i32, (9, 9))
    n[None] = 4
    text = f"""def fill(out: ti.types.ndarray()):
    {name} = n[None] + 1
    for i in range({name} - 1):
        out[i] = {name}
    for i, j in ti.ndrange({name} - 1, (1, {name} * 2 - 4)):
        x[i, j] = {name}
    for i in range({name}):
        out[i] += 10
"""
    out = np.zeros(9, np.int32)
    define_kernel(text, n=n, x=x)(out)
    expected = np.zeros((9, 9), int)
    expected[:4, 1:6] = 5
    assert out.tolist() == [15] * 4 + [10] + [0] * 4 and np.array_equal(x.to_numpy(), expected)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", [name for name in RESERVED if name not in ("_", "__x")])  # `__x` is private
def test_a_name_of_a_struct_and_its_members(target: str, name: str, define_program) -> None:
    text = f"""
@ti.dataclass
class {name}:
    {name}: ti.i32
    {name}_2: ti.math.vec2

    @ti.func
    def {name}_3(self, by):
        return self.{name} * by

made = {name}.field(shape=2)

@ti.kernel
def compute(given: {name}) -> {name}:
    for i in made:
        made[i].{name} = given.{name} + i
        made[i].{name}_2.y = 1
    return {name}(given.{name}_3(10), given.{name}_2)
"""
    space = define_program(text)
    found = space["compute"](space[name](7, [1, 2]))
    assert getattr(found, name) == 70 and getattr(found, f"{name}_2").to_list() == [1, 2]
    assert getattr(space["made"][1], name) == 8


HELPERS = ["vec3_length", "vec3_mul_vs", "length", "atomic_add_f32", "floor_div_i32", "Mask", "Texture", "F32x3", "max"]


@pytest.mark.parametrize("arch", [ti.vulkan, ti.cuda, ti.cpu])
@pytest.mark.parametrize("name", HELPERS)
def test_a_name_of_a_helper_stays_where_nothing_needs_the_helper(define_kernel, name: str, arch) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    text = (
        f"def compute({name}_1: ti.f32) -> ti.f32:\n    {name} = {name}_1 * {name}_1\n    return {name} + {name} * 3\n"
    )
    assert f"float {name} = args.{name}_1 * args.{name}_1;" in define_kernel(text).source(1, arch=arch)


@pytest.mark.parametrize("name", HELPERS)
def test_a_name_of_a_helper_beside_the_helper(target: str, define_kernel, name: str) -> None:
    x, total = ti.Vector.field(3, ti.f32, shape=2), ti.field(ti.f32, ())
    x.fill(2.0)
    text = f"""def compute(n: ti.i32) -> ti.i32:
    for i in x:
        {name} = x[i] * 0.5
        total[None] += {name}.norm() + ti.max({name}.x, {name}.y)
    {name}_ = n // 3
    return {name}_ + ti.max({name}_, n)
"""
    assert define_kernel(text, x=x, total=total)(-7) == -6
    assert total[None] == pytest.approx(2 * (3**0.5 + 1))


def test_members_called_as_the_indices_of_macros(target: str) -> None:
    i, pool = ti.root.dense(ti.ij, (4, 4)), ti.root.pointer(ti.i, 4)
    j, k, cell = (ti.field(ti.i32) for _ in range(3))
    i.place(j, k)
    pool.dense(ti.i, 4).place(cell)

    @ti.kernel
    def run(x: ti.types.ndarray(dtype=ti.i32, ndim=2)) -> ti.i32:
        i = x.shape[0]
        l = x.shape[1]
        for a, b in x:
            x[a, b] = a * 10 + b + i * l
        for a, b in j:
            j[a, b] = a * 4 + b
            k[a, b] += j[a, b] + 1
        for a in range(8):
            cell[a] = a
        total = 0
        for a in cell:
            total += cell[a]
        return total

    x = np.zeros((3, 5), np.int32)
    assert run(x) == 28 and x[2, 3] == 38 and k[2, 3] == 12 and k.to_numpy().sum() == 136


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name", ["cell", "main", "in_", "_", "_out", "input", "list", "place", "args", "x", "x_number"]
)
def test_a_name_of_a_sparse_node(target: str, name: str, define_program) -> None:
    text = f"""
{name} = ti.root.pointer(ti.i, 4)
{name}_list = {name}.dynamic(ti.j, 8, chunk_size=2)
y = ti.field(ti.i32)
{name}_list.place(y)

@ti.kernel
def fill() -> ti.i32:
    total = 0
    for i in range(8):
        ti.append({name}_list, i % 2, i)
    for i, j in y:
        total += y[i, j] + ti.length({name}_list, i)
    for i in range(2):
        ti.deactivate({name}, i)
    return total
"""
    assert define_program(text)["fill"]() == 28 + 8 * 4


def test_names_that_differ_in_case_or_at_their_end(target: str, define_kernel) -> None:
    long = "a_name_that_goes_on_" * 5
    text = f"""def compute({long}x: ti.i32, {long}y: ti.i32, N: ti.i32, n: ti.i32) -> ti.i32:
    {long}a, {long}b, Sum, sum = {long}x, {long}y, N, n
    for {long} in range(2):
        {long}a += {long}x
        Sum += {long}b
    return ({long}a * 10 + Sum) * 10 + sum
"""
    assert define_kernel(text)(1, 2, 3, 4) == (3 * 10 + 7) * 10 + 4


def test_a_member_that_begins_with_an_underscore(target: str) -> None:
    pair = ti.types.struct(_first=ti.i32, _second_=ti.math.vec2)
    made = pair.field(shape=2)

    @ti.kernel
    def fill(given: pair) -> pair:
        for i in made:
            made[i]._first = given._first + i
        return pair(made[1]._first, given._second_ * 2)

    found = fill(pair(5, ti.math.vec2(1, 2)))
    assert found._first == 6 and found._second_.to_list() == [2, 4]
    assert made._first.to_numpy().tolist() == [5, 6] and made[0]._first == 5


@pytest.mark.parametrize("name", ["result", "temporaries"])
def test_a_tree_named_as_a_member_of_ours(target: str, name: str, define_kernel) -> None:
    a, b = ti.field(ti.i32), ti.field(ti.i32)
    node = ti.root.dense(ti.i, 4)
    node.place(a, b)
    text = """def compute() -> ti.i32:
    total = 0
    for i in a:
        a[i] += i
        b[i] -= i
        total += a[i] * 2 + b[i]
    for i in {name}:
        total += 1
    return total
"""
    assert define_kernel(text.format(name=name), a=a, b=b, **{name: node})() == 6 + 4


@pytest.mark.parametrize("name", ["memoryBarrierBuffer", "subgroupAdd", "BLOCK_64"])
def test_a_shared_array_named_as_what_blocks_call(target: str, name: str, define_kernel) -> None:
    out = np.zeros(256, np.int32)
    text = f"""def compute(out: ti.types.ndarray(ti.i32, 1)):
    ti.loop_config(block_dim=64)
    for i in range(256):
        {name} = ti.simt.block.SharedArray((64,), ti.i32)
        {name}[i % 64] = i
        out[i] = 1
        ti.simt.block.sync()
        out[i] += {name}[63 - i % 64]
"""
    define_kernel(text)(out)
    ti.sync()
    assert np.array_equal(out, 1 + np.arange(256).reshape(4, 64)[:, ::-1].ravel())


def test_a_variable_named_as_the_size_of_a_block(define_kernel) -> None:
    """Two tasks of two sizes have two macros in CUDA."""
    text = """def compute(out: ti.types.ndarray(ti.i32, 1)):
    ti.loop_config(block_dim=32)
    for i in range(8):
        out[i] = i
    ti.loop_config(block_dim=128)
    for i in range(8):
        BLOCK_1 = out[i] + 1
        out[7 - i] += BLOCK_1 * BLOCK_1
"""
    source = define_kernel(text).source(np.zeros(8, np.int32), arch=ti.cuda)
    assert "#define BLOCK_1" in source and "int BLOCK_1 =" not in source


@ti.kernel
def bounds_named_like_tasks(x: ti.types.ndarray(ti.i32, 1), n: ti.i32):
    for i in x:
        x[i] = i
    task_1 = n * 2
    for parallel in range(task_1):
        x[parallel % 5] = task_1


def test_bounds_named_like_the_functions_of_tasks(target: str) -> None:
    x = np.zeros(5, np.int32)
    bounds_named_like_tasks(x, 4)
    ti.sync()
    assert x.tolist() == [8] * 5


KNOWN = """
@ti.real_func
def {name}(v: ti.math.vec3) -> ti.math.vec3:
    return v * v + 1.0

@ti.kernel
def run(x: ti.types.ndarray(ti.math.vec3, 1)):
    for i in x:
        x[i] = {name}(x[i] + {name}(x[i]))
"""


@pytest.mark.parametrize("name", ["cexp", "conjf", "exp10", "index", "strlen", "isalpha", "fork"])
def test_functions_of_headers_that_are_not_included_are_not_declared_again(name: str, define_program) -> None:
    """gcc knows their types, and warns of a function with others."""
    if emitted.missing_tool(".c"):
        pytest.skip("gcc is not here")
    ti.init(arch=ti.python, log_level=ti.ERROR)
    kernel = define_program(KNOWN.format(name=name))["run"]
    (file,) = kernel.inspect(ti.Vector.ndarray(3, ti.f32, 4), arch=ti.cpu).module.files
    assert f" {name}_(" in file.text and not emitted.diagnostics_of(file.name, file.text)
