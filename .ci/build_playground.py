"""Write the playground into build/site/playground: a static page in which Pyodide runs the compiler.

In: .ci/playground, the package, Jinja2, MarkupSafe and platformdirs as installed here, Pyodide from npm. Out: files
that any server can serve; the page asks for nothing else. usage: python .ci/build_playground.py
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES, SITE = ROOT / ".ci" / "playground", ROOT / "build" / "site" / "playground"
PYODIDE = ROOT / "build" / "playground" / "node_modules" / "pyodide"
VERSION = "314.0.7"
FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
FOLDERS = ("transpiler", "templates", "runtime")
LEFT_OUT = ("c_api", "distribution", "__pycache__")
LIBRARIES = ("jinja2", "markupsafe", "platformdirs")
"""All pure Python: MarkupSafe has an extension module, and does without."""


def package_files() -> Iterator[Path]:
    """Yield the files of the package that compiling needs."""
    yield ROOT / "__init__.py"
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and not set(path.relative_to(ROOT).parts) & set(LEFT_OUT):
                yield path


def write_archive(target: Path) -> None:
    """Write what the worker unpacks: the package, its libraries, the stand-in of NumPy, and `compiler`."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in package_files():
            archive.write(path, Path("shadesmith") / path.relative_to(ROOT))
        for name in LIBRARIES:
            spec = importlib.util.find_spec(name)
            assert spec is not None and spec.origin is not None
            folder = Path(spec.origin).parent
            for path in sorted(folder.rglob("*.py")):
                archive.write(path, Path(name) / path.relative_to(folder))
        for path in sorted(PAGES.rglob("*.py")):
            archive.write(path, path.relative_to(PAGES))


def main() -> int:
    """Build it; without npm the site has no playground."""
    if not PYODIDE.exists() and not shutil.which("npm"):
        print("no playground: npm is not installed")
        return 0
    if not PYODIDE.exists():
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(PYODIDE.parents[1])]
        if subprocess.run([*command, f"pyodide@{VERSION}"], check=False).returncode != 0:
            print("no playground: npm could not install pyodide")
            return 0
    shutil.rmtree(SITE, ignore_errors=True)
    (SITE / "pyodide").mkdir(parents=True)
    for path in PAGES.iterdir():
        if path.suffix in (".html", ".css", ".mjs"):
            shutil.copy(path, SITE)
    for name in FILES:
        shutil.copy(PYODIDE / name, SITE / "pyodide")
    write_archive(SITE / "compiler.zip")
    return 0


if __name__ == "__main__":
    sys.exit(main())
