"""The part of YAML that recordings are written in: read back equal, and refused with the line where it is not so."""

from __future__ import annotations

import random
import string
from typing import Any

import pytest

from shadesmith.runtime.recording.yaml_subset import dump_yaml, load_yaml

EXAMPLES: list[dict[str, Any]] = [
    {"a": 1},
    {"a": None, "b": True, "c": False, "d": 1.5, "e": -3, "f": 1e300, "g": 2**70},
    {
        "word": "plain",
        "path": "/tmp/x.py",
        "quoted": "two words",
        "deny": "no",
        "agree": "True",
        "keys": {"no": 1, "on": "x" * 130},
        "empty": "",
    },
    {"list": [], "dict": {}, "numbers": [1, 2, 3], "nested": [[1, 2], [3]], "texts": ["a", "b c", "yes"]},
    {"rows": [{"name": "x", "deep": [{"y": [1]}, {"y": []}]}, {"name": "z"}]},
    {"long": list(range(200)), "wide": ["x" * 200]},
    {"lists": [[list(range(100)), [1]], []]},
    {"other keys": 1} and {"outer": {"two words": {"0": 1}}},
    {"text": "line\nline\ttab \x00 \x7f \x85 \u2028 \ufeff \ud800 é 🙂 \\ \" '"},
    {"dashes": ["-", "- a", "a: b", "#", "# c", ":", "&a", "*a", "!t", "%", "@", "`", "|", ">", "?"]},
]


@pytest.mark.parametrize("data", EXAMPLES, ids=range(len(EXAMPLES)))
def test_what_is_written_is_read_back(data: dict[str, Any]) -> None:
    text = dump_yaml(data)
    assert load_yaml(text) == data
    assert text.isprintable() or "\n" in text


def test_other_readers_agree() -> None:
    yaml = pytest.importorskip("yaml")
    for data in EXAMPLES[:-2] + EXAMPLES[-1:]:
        assert yaml.safe_load(dump_yaml(data)) == data


def test_random_data_is_read_back() -> None:
    generator = random.Random(8)

    def value(depth: int) -> Any:
        kind = generator.randrange(8 if depth else 6)
        if kind == 6:
            return [value(depth - 1) for _ in range(generator.randrange(5))]
        if kind == 7:
            return {name(): value(depth - 1) for _ in range(generator.randrange(5))}
        letters = string.printable + "é\u2028\x85"
        text = "".join(generator.choice(letters) for _ in range(generator.randrange(12)))
        return [None, True, generator.randrange(-99, 99), generator.random(), text, name()][kind]

    def name() -> str:
        return "".join(generator.choice("abc_") for _ in range(generator.randrange(1, 5)))

    for _ in range(300):
        data = {"k": value(4)}
        assert load_yaml(dump_yaml(data)) == data


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1"),
        ("# only\n", "line 1"),
        ("a", "line 1: expected `key: value`"),
        ("- a", "line 1: expected `key: value`"),
        ("a: 1\na: 2", "line 2: duplicate key `a`"),
        ("a:\n   b: 1", "line 2: expected 2 leading spaces, found 3"),
        ("a:\n\tb: 1", "line 2: tabs"),
        ("a: 1\n  b: 2", "line 2: expected 0 leading spaces, found 2"),
        ("a: [1, 2", "line 1: `\\[1, 2` is not"),
        ("a: [NaN]", "line 1: `NaN`"),
        ("a: &x 1", "line 1: `&x 1`"),
        ("a: !!python/object:os.system", "line 1"),
        ("a: |\n  b", "line 1"),
        ("a:", "line 1: unexpected end"),
        ("a: two words", "line 1: `two words`"),
        ("a: 1 # note", "line 1"),
        ("a:\n  - 1\n  b: 2", "line 3: expected `- `"),
        ("a b: 1", "line 1: expected `key: value`"),
        ("a:1", "line 1: expected `key: value`"),
        ("a: " + "[" * 100_000, "line 1"),
        ("".join("  " * n + "a:\n" for n in range(100)), "line 34: nested too deep"),
    ],
)
def test_what_is_not_in_this_form_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_yaml(text)


@pytest.mark.parametrize("data", [[], {}, 1, {"a b": 1}, {1: 2}, {"no": 1}, {"a": float("nan")}, {"a": {1, 2}}])
def test_what_has_no_form_is_not_written(data: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        dump_yaml(data)
