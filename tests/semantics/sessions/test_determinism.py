"""Must 12: the same program under other hash seeds and from another folder emits the same bytes, and the same keys."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

KERNELS = Path(__file__).parents[2] / "support" / "kernels"
SEARCHED = [path for path in (os.environ.get("PYTHONPATH"),) if path]
SCRIPT = """
import sys
import shadesmith as ti
import corpus
ti.init(arch=ti.python, log_level=ti.ERROR)
for maker in corpus.MAKERS:
    kernel, arguments = maker()
    for language, arch in (("vulkan", ti.vulkan), ("cuda", ti.cuda), ("c", ti.cpu)):
        if language in corpus.LANGUAGES.get(maker.__name__, (language,)):
            print(kernel.key(*arguments, arch=arch))
            print(kernel.source(*arguments, arch=arch))
    print(kernel.ir("final", *arguments))
"""


def output(folder: Path, seed: str) -> bytes:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([str(folder), *SEARCHED])}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("one")
    for name in ("corpus.py", "corpus_sparse.py"):
        shutil.copy(KERNELS / name, folder)
    return output(folder, "0")


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", ["1", "2", "3", "random"])
def test_text_does_not_depend_on_the_hash_seed(seed: str, reference: bytes, tmp_path: Path) -> None:
    folder = tmp_path / f"folder of seed {seed}"
    folder.mkdir()
    for name in ("corpus.py", "corpus_sparse.py"):
        shutil.copy(KERNELS / name, folder)
    found = output(folder, seed)
    assert len(reference) > 50_000
    different = [pair for pair in zip(reference.split(b"\n"), found.split(b"\n")) if pair[0] != pair[1]]
    assert hashlib.sha256(found).digest() == hashlib.sha256(reference).digest(), different[:5]
