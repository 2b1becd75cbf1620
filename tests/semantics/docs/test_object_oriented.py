"""What Taichi's pages on object-oriented programming teach: classes whose methods are kernels and functions."""

import enum
from collections import namedtuple

import numpy as np
import pytest

import shadesmith as ti


@ti.data_oriented
class Calculator:
    """Kernels as methods; members are constants of the kernel, fields change."""

    tick = 3

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.total = ti.field(ti.i32, (width, height))
        self.total.fill(0)

    @ti.func
    def weight(self, i, j):
        return i * self.height + j

    @ti.kernel
    def fill(self, factor: ti.i32):
        for i, j in self.total:
            self.total[i, j] = self.weight(i, j) * factor

    @ti.kernel
    def sum(self) -> ti.i32:
        found = 0
        for i, j in ti.ndrange(self.width, self.height):
            found += self.total[i, j]
        return found

    @staticmethod
    @ti.func
    def clamp(x, low, high):
        return max(low, min(x, high))

    @staticmethod
    @ti.kernel
    def add(a: ti.i32, b: ti.i32) -> ti.i32:
        return Calculator.clamp(a + b, -10, 10)

    @classmethod
    @ti.kernel
    def scaled(cls, a: ti.i32) -> ti.i32:
        return cls.tick * a

    @property
    def size(self) -> int:
        return self.width * self.height

    @ti.kernel
    def ask_size(self) -> ti.i32:
        return self.size


class Doubled(Calculator):
    """A class derived without a decorator, with a function and a constant of its own."""

    tick = 5

    def __init__(self, width: int) -> None:
        super().__init__(width, 2)
        self.extra = ti.field(ti.f32, ())

    @ti.func
    def weight(self, i, j):
        return 2 * Calculator.weight(self, i, j) + self.tick

    @ti.kernel
    def store(self, x: ti.f32):
        self.extra[None] = x / self.size


class Tripled(Doubled):
    """Derived twice; calls the function it overrides."""

    @ti.func
    def weight(self, i, j):
        return super().weight(i, j) * 3


def test_kernels_and_functions_are_methods(target: str) -> None:
    calculator = Calculator(4, 3)
    calculator.fill(10)
    assert calculator.total.to_numpy().tolist() == [[10 * (3 * i + j) for j in range(3)] for i in range(4)]
    assert calculator.sum() == 660 and calculator.ask_size() == 12


def test_keywords_of_a_method(target: str) -> None:
    calculator = Calculator(2, 2)
    calculator.fill(factor=1)
    assert calculator.sum() == 6


def test_each_instance_has_its_own_kernel(target: str) -> None:
    small, large = Calculator(1, 2), Calculator(3, 5)
    small.fill(1)
    large.fill(1)
    small.fill(2)
    assert small.sum() == 2 and large.sum() == sum(range(15))
    assert len(Calculator.fill.instances()) == 2


def test_static_methods(target: str) -> None:
    assert Calculator.add(3, 4) == 7 and Calculator.add(30, 4) == 10
    assert Calculator(1, 1).add(-30, 4) == -10


def test_class_methods(target: str) -> None:
    assert Calculator.scaled(2) == 6 and Calculator(1, 1).scaled(3) == 9 and Doubled.scaled(2) == 10


def test_a_derived_class_overrides_functions_of_inherited_kernels(target: str) -> None:
    base, derived = Calculator(2, 2), Doubled(2)
    base.fill(1)
    derived.fill(1)
    assert base.total.to_numpy().tolist() == [[0, 1], [2, 3]]
    assert derived.total.to_numpy().tolist() == [[5, 7], [9, 11]]
    assert derived.sum() == 32


def test_a_derived_class_has_kernels_of_its_own(target: str) -> None:
    derived = Doubled(4)
    derived.store(2.0)
    assert derived.extra[None] == 0.25


def test_super_in_a_function(target: str) -> None:
    derived = Tripled(2)
    derived.fill(1)
    assert derived.total.to_numpy().tolist() == [[15, 21], [27, 33]]


def test_a_member_is_a_constant_from_the_first_call_on(target: str) -> None:
    @ti.data_oriented
    class Counter:
        def __init__(self) -> None:
            self.count = 1

        @ti.kernel
        def early(self) -> ti.i32:
            return self.count

        @ti.kernel
        def late(self) -> ti.i32:
            return self.count

    counter = Counter()
    first = counter.early()
    counter.count = 2
    assert (first, counter.early(), counter.late()) == (1, 1, 2)
    assert Counter.early.captured() == {"self.count": 1}


def test_members_of_the_class_are_constants(target: str) -> None:
    @ti.data_oriented
    class Sums:
        weights = [1, 10, 100]
        names = {"first": 0}

        @ti.kernel
        def run(self, n: ti.i32) -> ti.i32:
            total = 0
            for k, weight in ti.static(enumerate(self.weights)):
                total += weight * (n + k)
            return total + self.weights[self.names["first"]]

    assert Sums().run(1) == 322


def test_a_class_without_the_mark_is_refused() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    class Plain:
        @ti.kernel
        def run(self) -> ti.i32:
            return 1

    with pytest.raises(ti.TaichiSyntaxError, match="Please decorate class Plain with @ti.data_oriented"):
        Plain().run()


def test_methods_take_templates_arrays_and_functions(target: str) -> None:
    @ti.data_oriented
    class Tools:
        def __init__(self) -> None:
            self.factor = 3

        @ti.func
        def scaled(self, x):
            return self.factor * x

        @ti.func
        def twice(self, function: ti.template(), x):
            return function(function(x))

        @ti.kernel
        def apply(self, function: ti.template(), x: ti.template(), a: ti.types.ndarray()):
            for i in x:
                x[i] = self.twice(function, i) + self.twice(self.scaled, a[i])

    tools, x = Tools(), ti.field(ti.i32, 3)
    tools.apply(tools.scaled, x, np.array([1, 1, 2], np.int32))
    assert x.to_numpy().tolist() == [9, 18, 36]


def test_ndarrays_are_members_too(target: str) -> None:
    @ti.data_oriented
    class Buffer:
        def __init__(self, n: int) -> None:
            self.data = ti.ndarray(ti.f32, n)

        @ti.kernel
        def fill(self, x: ti.f32):
            for i in self.data:
                self.data[i] = x * i

    short, long = Buffer(2), Buffer(4)
    short.fill(1.5)
    long.fill(2)
    assert short.data.to_numpy().tolist() == [0, 1.5] and long.data.to_numpy().tolist() == [0, 2, 4, 6]


def test_objects_hold_objects(target: str) -> None:
    @ti.data_oriented
    class Outer:
        @ti.data_oriented
        class Inner:
            def __init__(self, value: int) -> None:
                self.value = value
                self.field = ti.field(ti.i32, 2)

            @ti.func
            def get(self, i):
                return self.field[i] + self.value

        def __init__(self) -> None:
            self.parts = [Outer.Inner(10), Outer.Inner(20)]
            self.named = {"last": self.parts[-1]}

        @ti.kernel
        def run(self) -> ti.i32:
            total = 0
            for part in ti.static(self.parts):
                part.field[0] = part.value
                total += part.get(0)
            return total * 100 + self.named["last"].get(0)

    assert Outer().run() == 6040


def test_kernels_of_objects_call_functions_of_others(target: str) -> None:
    @ti.data_oriented
    class Solver:
        def __init__(self, grid: Calculator) -> None:
            self.grid = grid

        @ti.kernel
        def run(self, other: ti.template()) -> ti.i32:
            return self.grid.weight(1, 1) * 100 + other.weight(1, 1)

    assert Solver(Calculator(2, 4)).run(Doubled(3)) == 500 + 11


def test_an_object_is_called(target: str) -> None:
    @ti.data_oriented
    class Line:
        def __init__(self, slope: float) -> None:
            self.slope = slope

        @ti.func
        def __call__(self, x):
            return self.slope * x

    @ti.kernel
    def use(line: ti.template(), x: ti.f32) -> ti.f32:
        return line(x) + line(1)

    assert use(Line(2.0), 3.0) == 8.0 and use(Line(0.5), 3.0) == 2.0


def test_pyfuncs_are_methods(target: str) -> None:
    @ti.data_oriented
    class Box:
        def __init__(self, width: int) -> None:
            self.width = width

        @ti.pyfunc
        def area(self, height):
            return self.width * height

        @ti.kernel
        def use(self, height: ti.i32) -> ti.i32:
            return self.area(height)

    box = Box(3)
    assert box.area(4) == 12 and box.use(4) == 12


def test_kernels_and_functions_of_mixed_in_classes(target: str) -> None:
    class Scaling:
        @ti.func
        def scaled(self, x):
            return self.scale() * x

    @ti.data_oriented
    class Model(Scaling):
        @ti.func
        def scale(self):
            return 4

        @ti.kernel
        def run(self, x: ti.i32) -> ti.i32:
            return self.scaled(x)

    assert Model().run(5) == 20


def test_kernels_are_made_in_init(target: str) -> None:
    @ti.data_oriented
    class Model:
        def __init__(self, n: int) -> None:
            self.x = ti.field(ti.i32, n)

            @ti.kernel
            def fill():
                for i in self.x:
                    self.x[i] = i * n

            self.fill = fill

    two, three = Model(2), Model(3)
    two.fill()
    three.fill()
    assert two.x.to_numpy().tolist() == [0, 2] and three.x.to_numpy().tolist() == [0, 3, 6]


def test_private_members(target: str) -> None:
    @ti.data_oriented
    class _Base:
        def __init__(self) -> None:
            self.__n = 3
            self.__x = ti.field(ti.i32, ())

        @ti.func
        def __scaled(self, k):
            return self.__n * k

        @ti.kernel
        def run(self, k: ti.i32) -> ti.i32:
            self.__x[None] = self.__scaled(k)
            return self.__x[None] + self.__n

    class Derived(_Base):
        def __init__(self) -> None:
            super().__init__()
            self.__n = 100

        @ti.kernel
        def own(self) -> ti.i32:
            return self.__n

    assert _Base().run(2) == 9 and Derived().run(2) == 9 and Derived().own() == 100


class Color(enum.IntEnum):
    RED = 1
    GREEN = 2


class Mode(enum.Enum):
    FAST = "fast"
    EXACT = "exact"


def test_enumerations_are_constants(target: str) -> None:
    @ti.kernel
    def classify(n: ti.i32, mode: ti.template()) -> ti.i32:
        found = 0
        if n == Color.GREEN:
            found = 10 * Color.RED + Color.GREEN.value
        if ti.static(mode is Mode.FAST):
            found += 100
        elif ti.static(mode == Mode.EXACT):
            found += 200
        return found

    assert classify(2, Mode.FAST) == 112 and classify(1, Mode.EXACT) == 200


def test_named_tuples_are_members_of_constants(target: str) -> None:
    Point = namedtuple("Point", "x y")  # noqa: PYI024
    point = Point(3, 4)

    @ti.kernel
    def use(shift: ti.i32) -> ti.i32:
        x, y = point
        return point.x * 1000 + point[1] * 100 + x * 10 + y + shift

    assert use(1) == 3435


def test_methods_are_inspected_like_kernels() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    calculator = Calculator(2, 2)
    text = calculator.fill.source(1, arch=ti.vulkan)
    code = [line.partition("//")[0] for line in text.splitlines()]
    assert any("total(i, j) =" in line for line in code) and not any("self" in line for line in code)
    assert "for" in calculator.fill.ir("frontend", 1)
