"""`// @tune` in a text: what is read, what is refused and where, and the text with other values."""

import pytest

from shadesmith.runtime.workbench.edits.tuning_parameters import apply, evaluate, find_tuning_parameters, without_values
from shadesmith.transpiler.errors import TaichiCompilationError

TEXT = """\
// saxpy
// @tune BLOCK = 64 | 128 | 256
// @tune where BLOCK * ITEMS <= 512 && BLOCK != 64
#define BLOCK 128
#define ITEMS 4 // @tune ITEMS = 1|2 | 4
#define x(i) args.x_data[i]
#define WIDE  (float4)   // a type
int main() { return 0; }
"""


def test_parameters_of_a_source() -> None:
    found = find_tuning_parameters(TEXT, "saxpy.cu")
    block, items = found.parameters
    assert (block.name, block.values, block.value, block.line) == ("BLOCK", ("64", "128", "256"), "128", 4)
    assert (items.name, items.values, items.value, items.line) == ("ITEMS", ("1", "2", "4"), "4", 5)
    assert found.count == 9
    assert [tuple(c.values()) for c in found.combinations()] == [
        ("128", "1"), ("128", "2"), ("128", "4"), ("256", "1"), ("256", "2"),
    ]  # fmt: skip


def test_values_are_replaced_line_by_line() -> None:
    text = apply(TEXT, {"BLOCK": "256", "ITEMS": "4", "WIDE": "(double2)"}, "1.2 x on H200")
    lines = text.splitlines()
    assert lines[3] == "#define BLOCK 256  // tuned: 128 -> 256, 1.2 x on H200"
    assert lines[4] == TEXT.splitlines()[4], "what stays as it was is left alone"
    assert lines[6] == "#define WIDE  (double2)  // tuned: (float4) -> (double2), 1.2 x on H200  // a type"
    assert len(lines) == len(TEXT.splitlines()) and text.endswith("}\n")
    assert find_tuning_parameters(text, "saxpy.cu").parameters[0].value == "256"


def test_ends_of_lines_are_kept() -> None:
    assert apply("#define A 1\r\nx\r\n", {"A": "2"}) == "#define A 2  // tuned: 1 -> 2\r\nx\r\n"


def test_settings_of_one_text_are_known_as_such() -> None:
    names = ["BLOCK", "ITEMS"]
    assert without_values(TEXT, names) == without_values(TEXT.replace("BLOCK 128", "BLOCK 32"), names)
    assert without_values(TEXT, names) != without_values(TEXT.replace("return 0", "return 1"), names)


def test_a_source_without_parameters() -> None:
    found = find_tuning_parameters("#define BLOCK 128\n", "a.cu")
    assert found.parameters == () and list(found.combinations()) == [{}]


def test_python_names_the_block() -> None:
    found = find_tuning_parameters("#define BLOCK 128\n", "a.cu", {"block_dim": [64, 256]}, "block_dim > 64")
    assert found.parameters[0].values == ("64", "256") and list(found.combinations()) == [{"BLOCK": "256"}]
    two = find_tuning_parameters("#define BLOCK_64 64\n#define BLOCK_128 128\n", "a.cu", {"block_dim": [64, 256]})
    assert [parameter.name for parameter in two.parameters] == ["BLOCK_64", "BLOCK_128"]
    assert find_tuning_parameters("#define BLOCK 1\n", "serial.comp", {"block_dim": [64, 256]}).parameters == ()
    text = find_tuning_parameters("// @tune BLOCK = 32 | 64\n#define BLOCK 32\n", "a.cu", {"block_dim": [256]})
    assert text.parameters[0].values == ("32", "64"), "who edits the text is right"


MISTAKES = {
    "// @tune": "expected `// @tune NAME = value | value` or `// @tune where condition`, found `nothing`",
    "// @tune BLOCK 64 | 128": "expected `// @tune NAME = value | value` or `// @tune where condition`, found `BLOCK 64",
    "// @tune BLOCK = 64 | | 128": "a value of `BLOCK` is missing",
    "// @tune BLOCK =": "a value of `BLOCK` is missing",
    "// @tune BLOCKS = 64 | 128": "there is no `#define BLOCKS ...` in this source to tune",
    "// @tune TWICE = 64 | 128": "`TWICE` is defined more than once, in lines 2, 3",
    "// @tune where BLOCK < 64": "`BLOCK` is not a tuning parameter",
    "// @tune where": "a condition is missing",
    "// @tune where ITEMS +": "`ITEMS +` is not a condition",
    "// @tune where __import__('os')": "`__import__('os')` is not understood in a condition",
    "// @tune ITEMS = 2 | 4": "`ITEMS` is tuned twice",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_mistakes_are_shown_at_their_line(line: str) -> None:
    text = f"#define BLOCK 64\n#define TWICE 1\n#define TWICE 2\n#define ITEMS 1  // @tune ITEMS = 1 | 2\n{line}\n"
    with pytest.raises(TaichiCompilationError) as caught:
        find_tuning_parameters(text, "edits/k.comp")
    first, shown, caret = str(caught.value).splitlines()
    assert first.startswith("edits/k.comp:5: ") and MISTAKES[line] in first
    assert shown.strip() == line and caret.index("^") == shown.index("@tune")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("A * B <= 8", True), ("A == 2 or B > 100", True), ("!(A == 2)", False), ("A != 2", False), ("1 < A < B", True),
    ],
)  # fmt: skip
def test_conditions(text: str, value: bool) -> None:
    assert evaluate(text, {"A": "2", "B": "4u", "C": "float4", "H": "(0x10)"}) is value


def test_a_value_whose_condition_has_no_value_is_told() -> None:
    source = "#define A 1  // @tune A = 0 | 1 | 2 | wide\n// @tune where 8 % A == 0\n"
    space = find_tuning_parameters(source, "p.cu")
    assert [values["A"] for values in space.combinations()] == ["1", "2"]
    reasons = {values["A"]: reason for values, reason in space.undecided()}
    assert set(reasons) == {"0", "wide"} and all(
        "`8 % A == 0` cannot be evaluated" in text for text in reasons.values()
    )
    with pytest.raises(TaichiCompilationError, match=r"p.cu:2: `8 % A == 0` cannot be evaluated: .*zero"):
        find_tuning_parameters(source.replace("A 1", "A 0"), "p.cu")
