"""What Taichi's page on its differences from Python teaches, with what this version takes in addition."""

import pytest

import shadesmith as ti

# --- what is refused --------------------------------------------------------------------------------------------------

REFUSED = {
    "try": "try:\n        x = 1\n    except:\n        pass",
    "with": "with open('x') as f:\n        pass",
    "import": "import math",
    "from import": "from math import sin",
    "lambda": "f = lambda x: x",
    "function": "def f():\n        pass",
    "class": "class C:\n        pass",
    "global": "global g\n    g = 1",
    "nonlocal set": "s = {1, 2}",
    "set comprehension": "s = {i for i in range(3)}",
    "generator": "s = (i for i in range(3))",
    "del": "x = 1\n    del x",
    "raise": "raise ValueError",
    "yield": "yield 1",
    "starred assignment": "a, *b = 1, 2, 3",
    "starred loop": "for a, *b in ti.static([(1, 2, 3)]):\n        pass",
    "is": "x = n is n",
    "is not": "x = n is not n",
    "in of an array": "x = n in f",
    "else of for": "for i in range(3):\n        pass\n    else:\n        pass",
    "else of while": "while n > 3:\n        pass\n    else:\n        pass",
    "text": "x = 'a' + n",
    "matrix power": "m = ti.Vector([1, 2]) ** ti.Vector([1, 2, 3])",
    "step of a slice": "v = ti.Vector([1, 2, 3])[0:n]",
    "unpacking": "a, b = ti.Vector([1, 2, 3])",
    "call of a number": "x = n()",
    "subscript of a number": "x = n[0]",
    "attribute of a number": "x = n.real",
    "loop over a number": "for i in n:\n        pass",
    "loop over a list": "for i in [1, 2]:\n        pass",
    "return in a parallel loop": "for i in range(3):\n        return 1",
    "complex": "x = 1j",
    "bytes": "x = b'1' + n",
    "ellipsis index": "x = f[...]",
    "negative index": "x = f[-1]",
    "float index": "x = f[0.5]",
    "missing index": "x = f[0, 0]",
    "assignment to a field": "f = 1\n    f[0] = 2",
    "assignment to an attribute": "ti.x = 1",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_kernels_refuse(define_kernel, name: str) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    with pytest.raises((ti.TaichiCompilationError, ti.TaichiRuntimeError)) as caught:
        define_kernel(f"def run(n: ti.i32) -> ti.i32:\n    {REFUSED[name]}\n    return 0\n", f=ti.field(ti.i32, 3))(1)
    assert "fault of shadesmith" not in str(caught.value)
    assert getattr(caught.value, "location", None) is not None


# --- what means the same ----------------------------------------------------------------------------------------------


def test_plain_statements(target: str) -> None:
    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        """A docstring says what it does."""
        "so may any text"
        ...  # noqa: PIE790
        pass  # noqa: PIE790
        if n:
            pass
        a = b = n + 1
        (a, b), c = (b, a + 1), 5
        a += 1
        b -= 1  # noqa: E702
        x = y = ti.Vector([1, 2])
        x[0] = 10  # what was assigned together stays apart
        return a * 1000 + b * 100 + c * 10 + y[0]

    assert run(1) == 3000 + 200 + 50 + 1


def test_types_are_static(target: str) -> None:
    @ti.kernel
    def run() -> ti.f32:
        a = 1
        a = 2.7
        return a  # noqa: RET504

    with pytest.warns(ti.ShadesmithWarning, match="may lose precision"):
        assert run() == 2.0


def test_a_variable_cannot_become_a_vector(target: str) -> None:
    @ti.kernel
    def run() -> ti.i32:
        a = 1
        a = ti.Vector([1, 2])
        return a  # noqa: RET504

    with pytest.raises((ti.TaichiCompilationError, ti.TaichiRuntimeError)):
        run()


def test_lists_comprehensions_and_dicts_at_compile_time(target: str) -> None:
    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        values = [n, n + 1, n + 2]
        doubled = [2 * value for value in values]
        table = {"a": n, "b": doubled[2]}
        a, b, c = doubled
        return a * 1000 + b * 100 + c * 10 + table["a"] + table["b"] * 0 + values[-1] * 0

    assert run(1) == 2000 + 400 + 60 + 1


def test_conditions_in_one_line(target: str) -> None:
    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        a = 1 if n > 0 else -1 if n < 0 else 0
        b = (n > 1) and (n < 5) or n == 9
        return a * 10 + (1 if b else 0)

    assert [run(n) for n in (-2, 0, 1, 3, 9)] == [-10, 0, 10, 11, 11]


def test_numbers_are_written_as_in_python(target: str) -> None:
    @ti.kernel
    def run() -> (ti.i32, ti.f32):
        return 0xFF + 0b101 + 0o17 + 1_000, 1e-3 + 2.5e2 + 0.5 + 1.0

    whole, real = run()
    assert whole == 255 + 5 + 15 + 1000 and real == pytest.approx(252.5 - 1 + 0.001)


def test_long_expressions_over_lines(target: str) -> None:
    @ti.kernel
    def run(
        n: ti.i32,
        m: ti.i32,  # a comment
    ) -> ti.i32:
        return (
            n
            + m  # another
            * 2
        ) - 1

    assert run(1, 2) == 4


def test_annotations_of_variables(target: str) -> None:
    @ti.kernel
    def run(n: ti.i32) -> ti.f32:
        a: ti.f32 = n
        b: "ti.i32" = 2.9
        c: float = n
        return a / 2 + b + c / 4

    assert run(1) == 0.5 + 2 + 0.25


def test_a_static_value_assigned_to_a_variable(target: str) -> None:
    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        found = 1
        if n:
            found = ti.static(2 + 2)
        return found

    assert run(0) == 1 and run(1) == 4


def test_assert_forms(target: str) -> None:
    @ti.kernel
    def run(n: ti.i32):
        assert n
        assert n > 0, "message"
        assert n > 0, f"{n}"
        assert n > 0 and n < 10, ("n", n)

    ti.init(arch=getattr(ti, target), debug=True, log_level=ti.ERROR)
    run(1)
    with pytest.raises(ti.TaichiAssertionError):
        run(0)
