"""Letters for `GUI.text`: five rows of three pixels each, small letters as capitals.

In: a text. Out: the pixels that are set, x to the right, y down, one unit a pixel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

GLYPHS = {
    "A": "25755", "B": "65656", "C": "34443", "D": "65556", "E": "74647", "F": "74644", "G": "34553", "H": "55755",
    "I": "72227", "J": "11152", "K": "55655", "L": "44447", "M": "57755", "N": "65555", "O": "25552", "P": "65644",
    "Q": "25563", "R": "65655", "S": "34216", "T": "72222", "U": "55557", "V": "55552", "W": "55775", "X": "55255",
    "Y": "55222", "Z": "71247", "0": "75557", "1": "26227", "2": "71747", "3": "71317", "4": "55711", "5": "74717",
    "6": "74757", "7": "71122", "8": "75757", "9": "75717", " ": "00000", ".": "00002", ",": "00024", ":": "02020",
    ";": "02024", "-": "00700", "+": "02720", "=": "07070", "*": "05250", "/": "11244", "\\": "44211", "%": "51245",
    "(": "24442", ")": "21112", "[": "64446", "]": "31113", "<": "12421", ">": "42124", "!": "22202", "?": "71202",
    "_": "00007", "'": "22000", '"': "55000", "#": "57575", "|": "22222", "&": "25256", "@": "25743", "^": "25000",
    "~": "01740",
}  # fmt: skip
"""Rows from the top, one octal digit each; 4 is the left pixel."""

WIDTH, HEIGHT = 4, 6
"""Of a letter with the gap after it."""


def text_pixels(content: str) -> np.ndarray[Any, Any]:
    """Return the set pixels (x, y) of a text; unknown letters are boxes, lines start anew at x = 0."""
    found = [
        (column * WIDTH + x, line * HEIGHT + y)
        for line, letters in enumerate(content.upper().split("\n"))
        for column, letter in enumerate(letters)
        for y, row in enumerate(GLYPHS.get(letter, "75557"))
        for x in range(3)
        if int(row) & 4 >> x
    ]
    return np.array(found, int).reshape(-1, 2)
