"""One macro an array holds the arithmetic of its addresses."""

import pytest

import shadesmith as ti
from shadesmith.transpiler.backend.languages.common.target import Target
from shadesmith.transpiler.backend.languages.registry import LANGUAGES
from shadesmith.transpiler.backend.layout.accessors import (
    MemoryExpressions,
    accessors,
    clamped,
    less_offset,
    row_major,
    strided,
)
from shadesmith.transpiler.backend.layout.constants import NamedConstants
from shadesmith.transpiler.ir.statements import Array
from shadesmith.transpiler.ir.types import f32

TEXTS = {"rows": "args.rows", "columns": "args.columns"}


def array(ndim: int, shape: tuple[int, ...] | None = None, **options: object) -> Array:
    return Array("x", f32, ndim, 0, shape, **options)


def lines(*arrays: Array, target: str = "c", taken: frozenset[str] = frozenset(), shared=()) -> list[str]:
    texts: dict[object, str] = {}
    for owner in arrays:
        texts[owner] = f"args.{owner.name}_data"
        texts |= {(owner, axis): f"args.n{axis}" for axis in range(owner.ndim)}
        texts |= {("stride", owner, axis): f"args.s{axis}" for axis in range(owner.ndim)}
    found = accessors(arrays, shared, MemoryExpressions(Target(LANGUAGES[target]), texts, {}, None), taken)
    return [*found.lines.values(), *(found.names[array] for array in shared)]


@pytest.mark.parametrize(("found", "wanted"), [
    (array(0, ()), "#define x() args.x_data[0]"),
    (array(1, (8,)), "#define x(i) args.x_data[i]"),
    (array(2, (8, 4)), "#define x(i, j) args.x_data[(i) * 4 + (j)]"),
    (array(3, (2, 3, 4)), "#define x(i, j, k) args.x_data[((i) * 3 + (j)) * 4 + (k)]"),
    (array(2, (8, 1)), "#define x(i, j) args.x_data[(i) + (j)]"),
    (array(1, (8,), offset=(-4,)), "#define x(i) args.x_data[(i) + 4]"),
    (array(2, None, strided=True), "#define x(i, j) args.x_data[(i) * args.s0 + (j) * args.s1]"),
    (array(1, None, clamped=True), "#define x(i) args.x_data[clamp_index(i, args.n0)]"),
])  # fmt: skip
def test_elements_are_found_row_by_row(found: Array, wanted: str) -> None:
    assert lines(found, target="cuda") == [wanted]


def test_an_index_of_several_axes_cannot_wrap_in_c() -> None:
    assert lines(array(2, (8, 4))) == ["#define x(i, j) args.x_data[(long long)(i) * 4 + (j)]"]
    assert lines(array(1, (8,))) == ["#define x(i) args.x_data[i]"]


def test_indices_of_unknown_extent_are_64_bits_wide_where_there_are_pointers() -> None:
    assert lines(array(2)) == ["#define x(i, j) args.x_data[(long long)(i) * args.n1 + (j)]"]
    assert lines(array(2), target="vulkan") == ["#define x(i, j) args.x_data.v[(i) * args.n1 + (j)]"]


def test_a_field_of_many_elements_is_64_bits_wide() -> None:
    wide, narrow = (lines(array(2, (2**16, n)), target="cuda")[0] for n in (2**15, 2**14))
    assert "(long long)" in wide and "(long long)" not in narrow


def test_macros_keep_away_from_names_that_are_taken() -> None:
    twin = Array("x", f32, 1, 1, (8,))
    assert [line.split("(")[0] for line in lines(array(1, (8,)), twin, taken=frozenset({"x"}))] == [
        "#define x_", "#define x__1".replace("__", "_"),
    ]  # fmt: skip


def test_shared_arrays_have_a_name_and_no_macro() -> None:
    assert lines(shared=[Array("", f32, 1, 0, (8,), is_shared=True)]) == ["tile"]


def test_a_stride_begins_at_the_first_element_if_that_is_not_the_lowest() -> None:
    assert strided(["(i)"], ["s"], "first") == "first + (i) * s"


def test_offsets_of_zero_leave_an_index_alone() -> None:
    owner = array(2, (8, 8), offset=(0, 3))
    assert less_offset(owner, ["i", "j"]) == ["i", "(j) - 3"]
    assert clamped(owner, ["i", "j"], {}) == ["i", "j"]
    assert row_major(owner, ["i", "(j) - 3"], Target(LANGUAGES["cuda"]), {}, NamedConstants()) == "(i) * 8 + ((j) - 3)"


def test_a_copy_of_a_split_field_loads_all_parts_before_it_stores():
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, y = (ti.Vector.field(9, ti.f32, (40, 30), layout=ti.Layout.SOA) for _ in range(2))

    @ti.kernel
    def copy():
        for I in ti.grouped(x):
            y[I] = x[I]

    source = copy.source(arch=ti.cuda)
    assert "#define x_8(i, j) __ldg(&args.x->x_8[" in source and "#define y_8(i, j) args.y->y_8[" in source
