"""Words that this project once used in place of the field's terms do not return.

Four kinds of source are read: identifiers of the code, prose of the code (docstrings, comments, messages: every string
with a blank), emitted source with the templates it comes from, and the pages of docs/. Code between backquotes is an
identifier somewhere else, and left out of prose.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from layers import nodes_of

ROOT = Path(__file__).resolve().parents[2]
CODE = [path for folder in ("transpiler", "runtime") for path in sorted((ROOT / folder).rglob("*.py"))]
EMITTED = [
    path
    for folder in ("templates", "tests/golden/expected")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.is_file() and path.suffix not in {".pyc", ".json"}
]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


class Rule(NamedTuple):
    """What may not be written.

    parts: parts of identifiers, in lower case, separated by blanks. `has_turns` has the parts `has` and `turns`.
    phrases: a regular expression of prose.
    instead: the field's term.
    wrong, right: examples, which the rule refuses and accepts.
    allowed: a regular expression of prose that is right although `phrases` occurs in it.
    names: identifiers that are right although they have one of the parts.
    reason: why there are exceptions.
    """

    parts: str
    phrases: str
    instead: str
    wrong: str
    right: str
    allowed: str = ""
    names: str = ""
    reason: str = ""


RULES = (
    Rule(
        parts="turn turns",
        phrases=r"turns?",
        instead="iteration, work item or trip count; alternately",
        wrong="the first turn of the loop",
        right="turns a list of statements into a block; turned off",
        allowed=r"\bturn(s|ed|ing)?\b( [^.;:]+?)?\b(into|on|off)\b|turns: \[",
        names="serial_turns",
        reason="the verb is English; `turns` is a key of recordings, `serial_turns` a key of archives",
    ),
    Rule(
        parts="kept unkept",
        phrases=r"un-?kept|kept (kernels?|texts?|sources?|entry|entries|on (a |the )?disk|between (runs|processes))|not kept:",
        instead="cached, cacheable, stored",
        wrong="kernels kept on disk",
        right="the argument is kept alive",
    ),
    Rule(
        parts="beside",
        phrases=r"beside",
        instead="next to (paths), auxiliary or companion (arrays), in addition to",
        wrong="a number beside each cell",
        right="an auxiliary array; besides, it is short",
    ),
    Rule(
        parts="waist",
        phrases=r"waist",
        instead="backend module",
        wrong="pure until the waist",
        right="pure until the backend module",
    ),
    Rule(
        parts="told",
        phrases=r"told|tell whether|is asked(?! for)|are asked(?! for)|asking",
        instead="has, returns whether, queries, reports",
        wrong="Tell whether the driver is asked",
        right="Return whether the driver is queried; the linker option tells gcc so",
    ),
    Rule(
        parts="asks ask asked asking",
        phrases=r"asks (the|a|its|what|whether|who)",
        instead="query, require, probe",
        wrong="asks the device for its limits",
        right="queries the device for its limits",
    ),
    Rule(parts="kin", phrases=r"kin", instead="subclasses, related", wrong="errors and their kin", right="kinds"),
    Rule(
        parts="meet meets cooperate cooperates",
        phrases=r"meets?|cooperat(e|es|ing)",
        instead="has_barrier, synchronizes",
        wrong="threads of a task that meets",
        right="threads that wait at a barrier; a cooperative launch; it does not meet `--require`",
        allowed=r"\bmeets? (``|--require)",
        reason="a variant meets a requirement",
    ),
    Rule(
        parts="knob knobs",
        phrases=r"knobs?",
        instead="tuning parameter",
        wrong="the values of knobs",
        right="the values of tuning parameters",
        allowed=r"\bknobs:",
        names="knobs",
        reason="`kernel.last_launch.knobs` is a public name",
    ),
    Rule(
        parts="lies",
        phrases=r"(lie|lies) (apart|beside|behind|in|at|there|evenly|otherwise|together|within|over|below|above|before|on|next|where|packed|as)",
        instead="is at, is in, is stored; split (SoA)",
        wrong="its parts lie apart, and it lies in memory",
        right="its parts are split, and it is in memory; the file may lie",
    ),
    Rule(
        parts="complaint complaints",
        phrases=r"complaints?",
        instead="compiler diagnostic",
        wrong="the compiler's complaints",
        right="the compiler's diagnostics",
    ),
    Rule(
        parts="",
        phrases=r"bare (text|source)s?",
        instead="comment-stripped source",
        wrong="the digest of the bare text",
        right="the digest of the comment-stripped source",
    ),
    Rule(
        parts="ours theirs",
        phrases=r"theirs",
        instead="generated, the user's, reserved",
        wrong="merge ours with theirs",
        right="merge the generated source with the user's",
    ),
    Rule(
        parts="stand stands standing",
        phrases=r"stand|stands|stood",
        instead="is, is at, is in",
        wrong="the task stands behind the loop",
        right="a name stands for a number; a stand-alone program",
        allowed=r"\bstands? for\b|\bstand-?(ins?|alone)\b",
        names="StandIn",
        reason="`to stand for` and `stand-in` are English",
    ),
    Rule(
        parts="room rooms house",
        phrases=r"rooms?|house",
        instead="layer, package; section, space, memory",
        wrong="the room ends at this word",
        right="the pool has room for 13 cells",
        allowed=r"\b(has|have|is|be|makes?|no|enough|with|leaves?) room for\b",
        reason="`room for` is English",
    ),
    Rule(
        parts="spell spells spelled spelling spellings",
        phrases=r"spell|spells|spelled|spelt|spellings?",
        instead="syntax, format, name",
        wrong="how C spells a cast",
        right="check the spelling of `x`",
        allowed=r"\bcheck the spelling\b|\bspelling (mistakes?|hints?)\b|\bmisspelled\b",
        names="_spelling_hint spelling_hints spelling_hint",
        reason="names that a user mistyped are spelling mistakes",
    ),
    Rule(
        parts="enemy hostile",
        phrases=r"enemy|enemies|hostile",
        instead="untrusted input",
        wrong="read as if from an enemy",
        right="read as untrusted input",
    ),
    Rule(
        parts="",
        phrases=r"(emitted|generated|edited|printed|compiled|tuned) texts?",
        instead="source",
        wrong="the emitted text",
        right="the emitted source; the text form of the IR",
    ),
    Rule(
        parts="said",
        phrases=r"where nothing is said|it is said",
        instead="message, reported",
        wrong="it is said in the report",
        right="it is reported",
    ),
    Rule(
        parts="retire renew settle",
        phrases=r"retires?|renews?",
        instead="invalidate, recompile, flush",
        wrong="the kernel renews its launcher",
        right="the kernel recompiles its launcher",
    ),
    Rule(
        parts="digit",
        phrases=r"digits? of an index",
        instead="index component",
        wrong="the digits of an index",
        right="the components of an index; 16 hexadecimal digits",
    ),
    Rule(
        parts="",
        phrases=r"bears? (the|a|its|their|those|no)|(which|that) is not there|nothing but",
        instead="has; missing; only",
        wrong="a file that is not there",
        right="a missing file",
    ),
)
IDS = [(rule.parts or rule.instead).split()[0].strip(",;") for rule in RULES]


@cache
def parts_of(name: str) -> tuple[str, ...]:
    """Return the parts of an identifier, split at underscores and capitals, in lower case."""
    return tuple(part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name))


def refused_name(rule: Rule, name: str) -> bool:
    return name not in rule.names.split() and not set(rule.parts.split()).isdisjoint(parts_of(name))


def refused_phrase(rule: Rule, prose: str) -> str:
    """Return what the rule refuses in a piece of prose, with its surroundings; "" if nothing."""
    prose = re.sub(r"``.*?``|`[^`]*`", "``", " ".join(prose.split()))
    if rule.allowed:
        prose = re.sub(rule.allowed, "", prose, flags=re.IGNORECASE)
    match = re.search(rf"\b({rule.phrases})(?!\w)", prose, re.IGNORECASE)
    return prose[max(0, match.start() - 40) : match.end() + 30] if match else ""


def names_in(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the identifiers of nodes of syntax trees, also those in f-strings, which `tokenize` does not see in Python 3.11."""
    for node in nodes:
        for member in ("id", "attr", "arg", "name", "asname"):
            if member in node._fields and isinstance(name := getattr(node, member), str):
                yield getattr(node, "lineno", 0), name


def prose_in(source: str, nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield strings of Python that have a blank, docstrings and messages; and comments, if one may have such a word."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, node.value
    if not any(SUSPECT.search(" ".join(line.partition("#")[2].split())) for line in source.split("\n") if "#" in line):
        return  # no comment has such a word; to tokenize all files would take as long as all else
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def read_code() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return all identifiers and all prose of the code, each with its location."""
    names: dict[tuple[str, str], None] = {}
    prose = []
    for path in CODE:
        source = path.read_text(encoding="utf-8")
        nodes = nodes_of(path)
        where = path.relative_to(ROOT).as_posix()
        names.update(((f"{where}:{line}", name), None) for line, name in names_in(nodes))
        prose += [(f"{where}:{line}", text) for line, text in prose_in(source, nodes)]
    return list(names), prose


def read_lines(emitted: bool) -> list[tuple[str, str]]:
    """Return the lines of emitted source and templates, or the paragraphs of the pages, each with its location."""
    found = []
    for path in EMITTED if emitted else PAGES:
        where, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        line = 1
        for piece in text.split("\n" if emitted else "\n\n"):
            found.append((f"{where}:{line}", piece))
            line += piece.count("\n") + (1 if emitted else 2)
    return found


SUSPECT = re.compile("|".join(rf"\b({rule.phrases})(?!\w)" for rule in RULES), re.IGNORECASE)
"""What some rule refuses, before what it allows is taken out: a quick look."""
PARTS = frozenset(part for rule in RULES for part in rule.parts.split())


def refused_names(names: Iterable[tuple[str, str]]) -> list[str]:
    """Return the names that a rule refuses, with their locations and the field's term."""
    suspects = [(where, name) for where, name in names if not PARTS.isdisjoint(parts_of(name))]
    return [
        f"{where}: {name}: {rule.instead}" for where, name in suspects for rule in RULES if refused_name(rule, name)
    ]


def refused_prose(pieces: Iterable[tuple[str, str]]) -> list[str]:
    """Return what rules refuse in pieces of prose, with their locations and the field's term."""
    suspects = [(where, piece) for where, piece in pieces if SUSPECT.search(" ".join(piece.split()))]
    found = [(where, refused_phrase(rule, piece), rule) for where, piece in suspects for rule in RULES]
    return [f"{where}: {phrase}: {rule.instead}" for where, phrase, rule in found if phrase]


def test_no_identifier_docstring_comment_or_message_has_such_a_word() -> None:
    names, prose = read_code()
    assert refused_names(names) == []
    assert refused_prose(prose) == []


def test_docstrings_of_passes_begin_with_their_noun_and_say_before_and_after() -> None:
    """Not "Of the elements of a matrix", nor "took 101 ms, 9.4 so"."""
    wrong = re.compile(r'"""(?:Of|The same)\b|\d so(?=[.,;:)]|\s\()')
    found = []
    for path in sorted((ROOT / "transpiler" / "passes").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        found += [f"{path.name}: {source[m.start() : m.end() + 40]!r}" for m in wrong.finditer(source)]
    assert found == []


def test_no_emitted_source_has_such_a_word() -> None:
    lines = read_lines(emitted=True)
    assert refused_prose(lines) == []
    found = []
    for where, line in lines:
        suspects = [name for name in re.findall(r"[A-Za-z_]\w*", line) if not PARTS.isdisjoint(parts_of(name))]
        for rule in RULES if suspects else ():
            names = [name for name in suspects if refused_name(rule, name)]
            if names and not re.search(rule.allowed or "(?!)", line, re.IGNORECASE):
                found.append(f"{where}: {names}: {rule.instead}")
    assert found == []


def test_no_page_has_such_a_word() -> None:
    assert refused_prose(read_lines(emitted=False)) == []


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_a_rule_refuses_what_is_wrong_and_accepts_what_is_right(rule: Rule) -> None:
    assert refused_phrase(rule, rule.wrong)
    assert not refused_phrase(rule, rule.right)
    assert all(refused_name(rule, f"has_{part}") and refused_name(rule, part.title()) for part in rule.parts.split())
    assert not any(refused_name(rule, name) for name in rule.names.split())
    assert bool(rule.reason) == bool(rule.allowed or rule.names)
