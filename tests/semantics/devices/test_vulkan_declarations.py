"""The declarations of the package `vulkan` are read without the package; errors are those of an import."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from shadesmith.runtime.devices.vulkan import declarations

from .test_vulkan_device import vulkan_is_here

pytestmark = pytest.mark.skipif(not vulkan_is_here(), reason="no Vulkan device or no glslangValidator")


def test_constants_that_are_used_are_those_of_the_package() -> None:
    import vulkan

    found = declarations.load_declarations()
    sources = "".join(path.read_text() for path in Path(declarations.__file__).parent.glob("*.py"))
    names = set(re.findall(r"(?:constants|vk)\.(VK_[A-Z0-9_]+)", sources))
    assert len(names) > 30
    assert not [name for name in names if getattr(found, name) != getattr(vulkan, name)]


def test_constants_are_those_of_the_header() -> None:
    """The package has 39 of 4,842 wrong (1.3.275), this one without its sign."""
    assert declarations.load_declarations().VK_ERROR_FRAGMENTATION == -1000161000


def test_an_older_name_is_looked_up_in_the_package() -> None:
    import vulkan

    found = declarations.load_declarations()
    name = next(name for name in dir(vulkan) if name.startswith("VK_") and not hasattr(found.lib, name))
    assert getattr(found, name) == getattr(vulkan, name)
    with pytest.raises(AttributeError, match="VK_NO_SUCH_NAME"):
        _ = found.VK_NO_SUCH_NAME


def test_another_version_of_the_package_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    import vulkan

    monkeypatch.setattr(declarations, "DECLARATIONS", "_no_such_file.py")
    found = declarations.load_declarations()
    assert (found.ffi, found.lib) == (vulkan.ffi, vulkan._vulkan.lib)


def test_a_missing_package_is_an_import_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declarations.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="vulkan"):
        declarations.load_declarations()


def test_a_session_and_a_kernel_do_not_import_the_package(tmp_path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, threading\n"
        "import shadesmith as ti\n"
        "ti.init(arch=ti.vulkan, log_level='error', enable_fallback=False, offline_cache=False)\n"
        "x = ti.field(ti.i32, 5)\n"
        "@ti.kernel\n"
        "def count() -> ti.i32:\n"
        "    s = 0\n"
        "    for i in x:\n"
        "        s += i\n"
        "    return s\n"
        "print(count(), 'vulkan' in sys.modules, any('Vulkan' in t.name for t in threading.enumerate()))\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["10", "False", "False"]
