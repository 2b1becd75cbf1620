"""Three packages of PyPI that import Taichi, installed as they are, run by `shadesmith run` with the numbers of Taichi.

pip install --no-deps --target FOLDER taichi-meta==0.1.1 taichi-big-float==0.1.3 anco==1.1.0 mpmath
SHADESMITH_TAICHI_PACKAGES=FOLDER pytest tests/examples/test_packages.py
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = os.environ.get("SHADESMITH_TAICHI_PACKAGES", "")
PROGRAMS = Path(__file__).parent / "packages"
PRINTED = {
    "meta.py": "Result: [ 5.  6.  7.  8.  9. 10. 11. 12. 13. 14.]\nResult: [10. 11. 12. 13. 14. 15. 16. 17. 18. 19.]\n",
    "big_float.py": "[[493838522, 1967832735, 1501399475, 4192101508, 3037000499, 0, 2147483457]]\n"
    "[1374389536, 3951369912, 2233382993, 515396075, 3092376453, 3521873182, 1, 2147483456]\n",
    "ants.py": "mean place 32.0 64.0\nmean distance 5.5\nchemicals 463\n",
}
"""What Taichi 1.7.4 prints."""


@pytest.mark.exhaustive
@pytest.mark.skipif(not FOLDER, reason="SHADESMITH_TAICHI_PACKAGES names no folder with the packages")
@pytest.mark.parametrize("program", PRINTED)
def test_a_package_runs_unchanged(program: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((os.environ.get("PYTHONPATH", ""), FOLDER))}
    words = [sys.executable, "-m", "shadesmith", "run", str(PROGRAMS / program)]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    if program != "ants.py":
        assert done.stdout == PRINTED[program]
        return
    found, expected = (list(map(float, re.findall(r"[\d.]+", text))) for text in (done.stdout, PRINTED[program]))
    assert found == pytest.approx(expected, rel=0.02)  # its random numbers are not Taichi's
