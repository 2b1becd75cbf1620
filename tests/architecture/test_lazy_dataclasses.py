"""Our `dataclass` makes what the standard library's makes."""

import copy
import dataclasses
import inspect
import pickle
from dataclasses import field
from typing import Any, ClassVar

import pytest

from shadesmith.transpiler import lazy_dataclasses


def make(dataclass: Any, **options: bool) -> type:
    """Return a class with members of all kinds."""

    @dataclass(**options)
    class Point:
        """A point."""

        dimensions: ClassVar[int] = 2
        x: int
        y: float = 2.0
        names: list[str] = field(default_factory=list, compare=False)
        hidden: int = field(default=7, repr=False, init=False)
        parts: dict[str, int] = field(default_factory=dict, init=False, hash=False)

        def length(self) -> float:
            return self.x + self.y

    return Point


OPTIONS = [
    {}, {"slots": True}, {"eq": False, "slots": True}, {"frozen": True}, {"frozen": True, "slots": True},
    {"frozen": True, "slots": True, "kw_only": True}, {"frozen": True, "eq": False}, {"kw_only": True},
]  # fmt: skip


def outcome(function: Any) -> Any:
    """Return what a function returns, or the type and message of what it raises."""
    try:
        return function()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "plain")
def test_instances_are_those_of_the_standard_library(options: dict[str, bool]) -> None:
    ours, theirs = make(lazy_dataclasses.dataclass, **options), make(dataclasses.dataclass, **options)
    seen = []
    for kind in (ours, theirs):
        a, b, c = kind(x=1), kind(x=1, y=2.0, names=["a"]), kind(x=float("nan"))
        seen.append([
            repr(a), repr(b), a == b, a != b, a == c, a == 3, outcome(lambda: hash(a) == hash(b)) if a != b else "",
            outcome(lambda: kind()), outcome(lambda: kind(1, 2, 3, 4)), outcome(lambda: kind(z=1)),
            outcome(lambda: setattr(a, "x", 5)), outcome(lambda: delattr(a, "x")), outcome(lambda: repr(a)),
            [f.name for f in dataclasses.fields(kind)], repr(dataclasses.replace(b, y=9.0)), dataclasses.asdict(b),
            repr(copy.copy(b)), repr(copy.deepcopy(b)), kind.__match_args__, hasattr(a, "__dict__"), kind.dimensions,
            str(inspect.signature(kind.__init__)).count(","), b.length(), a.hidden, kind.__hash__ is None,
        ])  # fmt: skip
    assert seen[0] == seen[1]


@lazy_dataclasses.dataclass(frozen=True, slots=True)
class Base:
    """Has a subclass."""

    a: int


@lazy_dataclasses.dataclass(frozen=True, slots=True)
class Derived(Base):
    """Has a member more, and changes it when it is made."""

    b: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "b", self.b + 1)


def test_subclasses_and_pickles() -> None:
    made = Derived(1)
    assert repr(made) == "Derived(a=1, b=3)" and made == Derived(1, 2) != Base(1)
    assert pickle.loads(pickle.dumps(made)) == made and {made: 5}[Derived(1)] == 5


def test_methods_of_the_class_stay() -> None:
    @lazy_dataclasses.dataclass(frozen=True)
    class Named:
        """Has methods of its own."""

        a: int

        def __repr__(self) -> str:
            return "mine"

        def __hash__(self) -> int:
            return 4

    assert repr(Named(1)) == "mine" and hash(Named(2)) == 4 and Named(1) == Named(1)
