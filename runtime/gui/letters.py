"""Letters for `GUI.text`.

In: a text, a position and a height. Out: the cells it covers. Pillow draws the letters if it is installed; else they
are five rows of three blocks each, and only capitals.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .raster import Array, Coverage, Size

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
"""Rows from the top, one octal digit each; 4 is the left block."""
UNKNOWN = "75557"

ASCENT, EM = 0.817, 0.865
"""Height of the line above the letters' foot, and size of the letters, as parts of the font size.

Source: measured on Taichi 1.7.4, whose font size is the height of a line of Go Regular.
"""


def cover_text(content: str, x: float, y: float, font_size: float, size: Size) -> Coverage:
    """Return the coverage of a text whose upper left corner is at (x, y) [cells], in a picture of `size`."""
    cells, alphas = [], []
    for number, line in enumerate(content.split("\n")):
        left, above, letters = _letters(line, font_size)  # rows from the top, columns
        rows, columns = np.nonzero(letters)
        foot = int(y) - round(ASCENT * font_size) - round(number * font_size)
        column, row = int(x) + left + columns, foot + above - 1 - rows
        seen = (column >= 0) & (column < size[0]) & (row >= 0) & (row < size[1])
        cells.append(column[seen] * size[1] + row[seen])
        alphas.append(letters[rows[seen], columns[seen]])
    found = np.concatenate(cells)
    return Coverage(found, np.repeat(np.arange(len(cells)), [len(part) for part in cells]), np.concatenate(alphas))


def _letters(line: str, font_size: float) -> tuple[int, int, Array]:
    """Return the first column, the rows above the foot, and the parts covered (rows, columns) of one line."""
    font = _font(font_size)
    if font is None:
        return _blocks(line, font_size)
    left, top, right, bottom = font.getbbox(line, anchor="ls")
    if right <= left or bottom <= top:
        return 0, 0, np.zeros((0, 0), np.float32)
    mask, _ = font.getmask2(line, "L", anchor="ls")
    letters = np.asarray(mask, np.uint8).reshape(mask.size[::-1])
    return left, -top, letters / np.float32(255)


def _blocks(line: str, font_size: float) -> tuple[int, int, Array]:
    glyphs = [GLYPHS.get(letter, UNKNOWN) for letter in line.upper()]
    rows = [[int(glyph[row]) >> shift & 1 for glyph in glyphs for shift in (2, 1, 0, 3)] for row in range(5)]
    size = max(1, round(font_size / 7))
    return 0, 5 * size, np.kron(np.array(rows, np.float32).reshape(5, -1), np.ones((size, size), np.float32))


@lru_cache(maxsize=8)
def _font(font_size: float) -> Any:
    """Return Pillow's own font; None if Pillow, or FreeType in it, is missing."""
    try:
        import PIL.ImageFont

        return PIL.ImageFont.load_default(font_size * EM)
    except (ImportError, TypeError, OSError):  # TypeError: Pillow before 10.1, whose font has one size
        return None
