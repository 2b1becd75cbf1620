"""What a pass changed, told without the noise of renumbered values."""

from __future__ import annotations

from shadesmith.runtime.workbench.inspect.ir_changes import Change, changes, hunks


def shown(change: Change) -> str:
    return "\n".join(line.sign + line.text for line in change.lines)


def test_renumbered_lines_are_kept() -> None:
    change = changes("$0 = const 1\n$1 = const 2\n$2 = neg $1", "$0 = const 2\n$1 = neg $0")
    assert shown(change) == "-$0' = const 1\n $0 = const 2\n $1 = neg $0"
    assert change.numbers == {1: 0, 2: 1}


def test_another_operand_is_a_change_though_the_text_looks_alike() -> None:
    before = "$0 = const 1\n$1 = const 2\n$2 = neg $1"
    change = changes(before, before.replace("neg $1", "neg $0"))
    assert shown(change).split("\n")[2:] == ["-$2 = neg $1", "+$2 = neg $0"]


def test_lines_that_moved_into_a_block_are_kept() -> None:
    change = changes("store $0", "task a {\n  store $0\n}")
    assert [line.sign for line in change.lines] == ["+", "-", "+", "+"]  # `$0` is defined nowhere: another value
    change = changes("$0 = const 1\nstore $0", "task a {\n  $0 = const 1\n  store $0\n}")
    assert [(line.sign, line.moved) for line in change.lines] == [("+", 0), (" ", 2), (" ", 2), ("+", 0)]


def test_equal_forms_are_no_change() -> None:
    assert changes("a\nb", "a\nb").is_empty
    assert changes("", "").is_empty
    assert not changes("a", "").is_empty


def test_far_lines_are_counted_only() -> None:
    kept = "\n".join(f"line {number}" for number in range(20))
    change = changes(kept, f"{kept}\nnew")
    found = hunks(change, lambda line: line.text == "line 5")
    assert [line.sign + line.text for line in found] == [
        "@5 lines as before", " line 5", "@11 lines as before", " line 17", " line 18", " line 19", "+new",
    ]  # fmt: skip
