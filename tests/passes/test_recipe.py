"""The pass of docs/contributing/add-a-pass.md works as it is printed there, and so does its test."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from sketch import Sketch

import shadesmith as ti

PAGE = Path(ti.__file__).parent / "docs" / "contributing" / "add-a-pass.md"
PASS, TEST = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.fixture
def recipe(monkeypatch):
    """The test module of the page, which imports the pass of the page."""
    package = f"{ti.__name__}.transpiler.passes.arithmetic"
    step = ModuleType(f"{package}.negate")
    step.__package__ = package
    exec(PASS, step.__dict__)
    monkeypatch.setitem(sys.modules, step.__name__, step)
    test = ModuleType("test_negate")
    exec(TEST, test.__dict__)
    return test


def test_the_pass_does_what_its_test_says(recipe):
    for name, function in vars(recipe).items():
        if name.startswith("test_"):
            marks = {mark.args[0]: mark.args[1] for mark in getattr(function, "pytestmark", [])}
            for first in marks.get("is_first", [None]):
                for given in marks.get(("name", "type"), [()]):
                    known = {"is_first": first, **dict(zip(("name", "type"), given))} if given else {}
                    function(Sketch(), **known)
