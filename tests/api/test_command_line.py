"""`python -m shadesmith diagnose`: what it says where all is there, and where tools are missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HIDDEN = ("SHADESMITH_ARCH", "TI_ARCH", "CC", "SHADESMITH_DUMP_DIR")


def diagnose(folder: Path, **environment: str) -> tuple[int, str]:
    kept = {key: value for key, value in os.environ.items() if key not in HIDDEN}
    done = subprocess.run(
        [sys.executable, "-m", "shadesmith", "diagnose"],
        cwd=folder, env={**kept, **environment}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout


def section(text: str, name: str) -> str:
    return next(part for part in text.split("\n\n") if part.startswith(name + ":"))


def test_says_what_is_there(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    code, text = diagnose(tmp_path)
    assert code == 0
    assert text.startswith("shadesmith ") and "\nPython 3." in text and "numpy " in text
    names = {"cpu": "ti.cpu", "vulkan": "ti.vulkan", "cuda": "ti.cuda"}
    for target in set(names) & set(pytestconfig.getoption("--targets").split(",")):
        assert "works (a kernel was compiled and run in" in section(text, names[target])
    assert not list(tmp_path.iterdir())


def test_without_tools_names_the_packages_to_install(tmp_path: Path) -> None:
    code, text = diagnose(tmp_path, PATH=str(tmp_path))
    host, vulkan = section(text, "ti.cpu"), section(text, "ti.vulkan")
    assert "MISSING" in host and "apt-get install gcc" in host
    assert "MISSING" in vulkan and "apt-get install glslang-tools" in vulkan
    works = "works" in section(text, "ti.cuda")
    assert code == (0 if works else 1)


def test_a_compiler_that_fails_does_not_count(tmp_path: Path) -> None:
    broken = tmp_path / "gcc"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    code, text = diagnose(tmp_path, PATH=str(tmp_path))
    assert "MISSING" in section(text, "ti.cpu") and str(broken) in section(text, "ti.cpu")
    assert code == (0 if "works" in section(text, "ti.cuda") else 1)


def test_without_a_vulkan_driver_says_which_package_has_one(tmp_path: Path) -> None:
    code, text = diagnose(tmp_path, VK_DRIVER_FILES=str(tmp_path / "none.json"), VK_ICD_FILENAMES="")
    assert "MISSING" in section(text, "ti.vulkan") and "mesa-vulkan-drivers" in section(text, "ti.vulkan")
    assert code == (0 if "works" in section(text, "ti.cpu") + section(text, "ti.cuda") else 1)


def test_tries_each_target_whatever_the_environment_names(tmp_path: Path) -> None:
    _, text = diagnose(tmp_path, TI_ARCH="python")
    assert "TI_ARCH is set" in text
    assert "works" in section(text, "ti.cpu")


def test_an_unknown_command_lists_the_known_ones() -> None:
    command = [sys.executable, "-m", "shadesmith", "diagnoze"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2 and "diagnose" in done.stderr
