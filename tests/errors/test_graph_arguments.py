"""What graphs refuse, by name and with what to write instead; and both spellings of `ti.graph.Arg`."""

import numpy as np
import pytest

import shadesmith as ti

ArgKind, Arg = ti.graph.ArgKind, ti.graph.Arg


@pytest.fixture(autouse=True)
def session():
    ti.init(arch=ti.python, log_level=ti.WARN)
    yield
    ti.reset()


@ti.kernel
def add(n: ti.i32, x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
    for i in x:
        x[i] += n


@ti.kernel
def scale(factor: ti.template(), v: ti.types.vector(2, ti.f32)):
    pass


N, X = Arg(ArgKind.SCALAR, "n", ti.i32), Arg(ArgKind.NDARRAY, "x", ti.f32, ndim=1)


def test_kinds_have_taichis_names_and_numbers():
    assert [(kind.name, kind.value, int(kind)) for kind in ArgKind] == [
        ("SCALAR", 0, 0), ("MATRIX", 1, 1), ("NDARRAY", 2, 2), ("TEXTURE", 3, 3), ("RWTEXTURE", 4, 4),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "arg",
    [
        lambda: Arg(ArgKind.NDARRAY, "p", ti.types.vector(3, ti.f32), 2),
        lambda: Arg(tag=ArgKind.NDARRAY, name="p", dtype=ti.math.vec3, ndim=2),
        lambda: Arg(ArgKind.NDARRAY, "p", ti.f32, field_dim=2, element_shape=(3,)),
        lambda: Arg(ArgKind.NDARRAY, "p", ti.f32, ndim=2, element_shape=[3]),
    ],
)
def test_an_ndarray_of_vectors_in_all_spellings(arg):
    found = arg()
    assert (found.tag, found.name, found.ndim, found.field_dim) == (ArgKind.NDARRAY, "p", 2, 2)
    assert (found.dtype(), found.element_shape) == (ti.f32, (3,))


def test_a_matrix_in_both_spellings():
    new = Arg(ArgKind.MATRIX, "m", ti.types.matrix(2, 3, ti.f32))
    old = Arg(tag=ArgKind.MATRIX, name="m", dtype=ti.f32, element_shape=(2, 3))
    assert new.is_like(old)
    assert repr(new) == "Arg(ArgKind.MATRIX, 'm', matrix(2, 3, f32))"


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {"name": "n"}, "needs a tag, found None. Hint: `tag=ti.graph.ArgKind.SCALAR`"),
        (("SCALAR", "n", ti.i32), {}, "needs a tag, found 'SCALAR'"),
        ((ArgKind.SCALAR,), {"dtype": ti.i32}, "needs a name, found None"),
        ((ArgKind.SCALAR, "n"), {}, "`n` needs a dtype. Hint: `dtype=ti.f32`"),
        ((ArgKind.SCALAR, "n", ti.i32), {"ndim": 1}, "Invalid argument: ndim, .* SCALAR with: tag, name, dtype$"),
        ((ArgKind.SCALAR, "n"), {"dtpe": ti.i32}, "Invalid argument: dtpe, .* Did you mean `dtype`?"),
        ((ArgKind.SCALAR, "n", ti.i32), {"dtype": ti.i32}, "dtype is given twice"),
        ((ArgKind.SCALAR, "n", ti.i32, 1), {}, "Invalid arguments: 4 were given"),
        ((ArgKind.SCALAR, "n", ti.math.vec2), {}, r"SCALAR needs a number type, as ti.f32, found vector\(2, f32\)"),
        ((ArgKind.SCALAR, "n", "i32"), {}, "needs a number type, as ti.f32, found 'i32'"),
        ((ArgKind.MATRIX, "n", ti.f32), {}, r"MATRIX needs a type as ti.types.vector\(3, ti.f32\), found f32"),
        ((ArgKind.NDARRAY, "x", ti.f32), {}, "`x` is an NDARRAY and needs ndim, found None"),
        ((ArgKind.NDARRAY, "x", ti.f32, -1), {}, "needs ndim, found -1"),
        ((ArgKind.NDARRAY, "x", ti.f32, 1), {"field_dim": 1}, "ndim and field_dim mean the same"),
        (
            (ArgKind.NDARRAY, "x", ti.math.vec2, 1),
            {"element_shape": (3,)},
            r"vector\(2, f32\) and element_shape \(3,\)",
        ),
    ],
)
def test_an_argument_that_cannot_be(args, kwargs, message):
    with pytest.raises(ti.TaichiRuntimeError, match=message):
        Arg(*args, **kwargs)


@pytest.mark.parametrize(
    ("launch", "message"),
    [
        ((add, N), "Missing argument `x` of kernel `add`"),
        ((add, N, X, X), "Too many arguments: kernel `add` takes 2, found 3"),
        ((add, Arg(ArgKind.SCALAR, "f", ti.f32), X), "`f` for `n` of kernel `add`: Arg n's dtype f32 doesn't match"),
        ((add, Arg(ArgKind.SCALAR, "w", ti.i64), X), "doesn't match kernel's annotated dtype=i32. Hint: `dtype=i32`"),
        ((add, X, X), "`x` for `n` of kernel `add` has kind NDARRAY, and SCALAR or MATRIX is needed"),
        ((add, N, N), "`n` for `x` of kernel `add` has kind SCALAR, and NDARRAY is needed"),
        ((add, N, Arg(ArgKind.NDARRAY, "y", ti.i32, 1)), "needs dtype=f32, found dtype=i32"),
        ((add, N, Arg(ArgKind.NDARRAY, "y", ti.f32, 2)), "`y` for `x` .* needs ndim=1, found ndim=2. Hint: `ndim=1`"),
        ((add, N, Arg(ArgKind.NDARRAY, "y", ti.math.vec2, 1)), r"needs dtype=f32, found dtype=vector\(2, f32\)"),
        ((scale, N, ti.Vector([1.0, 2.0])), r"`n` for `factor` of kernel `scale`: a ti.template\(\) is compiled in"),
        ((lambda n: n, N), "a graph dispatches kernels, found <function"),
    ],
)
def test_a_launch_that_cannot_be(launch, message):
    with pytest.raises((ti.TaichiCompilationError, ti.TaichiSyntaxError), match=message):
        ti.graph.GraphBuilder().dispatch(*launch)


def test_an_ndarray_is_no_constant():
    with pytest.raises(ti.TaichiCompilationError, match="was given an ndarray, which a graph takes with each run"):
        ti.graph.GraphBuilder().dispatch(add, N, ti.ndarray(ti.f32, 3))


def test_one_name_means_one_thing():
    builder = ti.graph.GraphBuilder()
    builder.dispatch(add, N, X)
    builder.create_sequential().dispatch(add, Arg(ArgKind.SCALAR, "n", ti.i32), X)
    with pytest.raises(ti.TaichiCompilationError, match="An arg with name x already exists"):
        builder.dispatch(scale, 1, Arg(ArgKind.MATRIX, "x", ti.math.vec2))


def test_what_is_appended():
    builder, other = ti.graph.GraphBuilder(), ti.graph.GraphBuilder()
    with pytest.raises(ti.TaichiCompilationError, match="a graph appends sequences, found 3"):
        builder.append(3)
    with pytest.raises(ti.TaichiCompilationError, match="belongs to another builder"):
        builder.append(other.create_sequential())


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"x": None}, ti.TaichiRuntimeError, "Missing runtime value for graph argument `n`"),
        ({"N": 1}, ti.TaichiRuntimeError, "graph argument `n`"),
        ({"n": 1.5}, ti.TaichiRuntimeTypeError, r"`n` takes a number of type i32, found 1.5. Hint: pass `int\(n\)`"),
        ({"n": "1"}, ti.TaichiRuntimeTypeError, "`n` takes a number of type i32, found '1'"),
        ({"x": 3}, ti.TaichiRuntimeTypeError, r"`x` takes an ndarray\(f32, ndim=1\), found 3"),
        (
            {"x": np.zeros(3, np.float32)},
            ti.TaichiRuntimeTypeError,
            r"found a numpy.ndarray. Hint: make one by `ti.ndarray",
        ),
        ({"x": "field"}, ti.TaichiRuntimeTypeError, "`x` takes an ndarray"),
        ({"x": (ti.i32, 3)}, ti.TaichiRuntimeTypeError, "found one of i32, ndim=1"),
        ({"x": (ti.f32, (3, 3))}, ti.TaichiRuntimeTypeError, "found one of f32, ndim=2"),
    ],
)
def test_a_value_that_does_not_fit(values, error, message):
    builder = ti.graph.GraphBuilder()
    builder.dispatch(add, N, X)
    graph = builder.compile()
    given = {"n": 1, "x": ti.ndarray(ti.f32, 3), **values}
    if isinstance(given["x"], tuple):
        given["x"] = ti.ndarray(*given["x"])
    if isinstance(given["x"], str):
        given["x"] = ti.field(ti.f32, 3)
    if "N" in given or given["x"] is None:
        del given["n"]
    good = {"n": 1, "x": ti.ndarray(ti.f32, 3)}
    for _ in range(2):
        with pytest.raises(error, match=message):
            graph.run(given)
        graph.run(good)


def test_a_run_takes_a_dict():
    builder = ti.graph.GraphBuilder()
    builder.dispatch(add, N, X)
    with pytest.raises(ti.TaichiRuntimeError, match=r"a dict of values by name, found a list. Hint: `graph.run\(\{'n'"):
        builder.compile().run([1])


def test_a_graph_needs_a_session():
    ti.reset()
    with pytest.raises(ti.TaichiRuntimeError, match="ti.init"):
        ti.graph.GraphBuilder().compile()


def test_numbers_out_of_range_wrap_as_in_a_call():
    builder = ti.graph.GraphBuilder()
    builder.dispatch(add, N, X)
    x = ti.ndarray(ti.f32, 1)
    graph = builder.compile()
    with pytest.warns(ti.ShadesmithWarning, match="wraps to 1") as found:
        graph.run({"n": 2**32 + 1, "x": x})
    assert x[0] == 1.0
    assert [warning.filename for warning in found] == [__file__]


def test_a_matrix_of_another_shape_is_shown():
    builder = ti.graph.GraphBuilder()
    builder.dispatch(scale, 3, Arg(ArgKind.MATRIX, "v", ti.math.vec2))
    with pytest.raises(
        ti.TaichiRuntimeTypeError, match=r"a vector\(2, f32\), found a shadesmith.Vector of shape \(3,\)"
    ):
        builder.compile().run({"v": ti.Vector([1.0, 2.0, 3.0])})


def test_the_source_lists_launches_and_each_kernel_once():
    builder = ti.graph.GraphBuilder()
    odd = Arg(ArgKind.SCALAR, "n\n#define x", ti.i32)
    for number in (N, 3, odd):
        builder.dispatch(add, number, X)
    lines = builder.compile().source().splitlines()
    assert lines[:4] == [
        "// graph(n: i32, x: ndarray(f32, ndim=1), 'n\\n#define x': i32): 3 launches of 1 kernel",
        "//   1. add(n, x)",
        "//   2. add(3, x)",
        "//   3. add('n\\n#define x', x)",
    ]
    assert sum(line.startswith("// ===== kernel") for line in lines) == 1
