"""Put the pip that comes with Python into this virtual environment: unpacked, in half a second.

`python -m venv` runs that pip to install itself and setuptools, which compiles all their modules first: six seconds.
usage: ENVIRONMENT/bin/python .ci/unpack_pip.py; the status says whether it was found.
"""

from __future__ import annotations

import ensurepip
import sys
import sysconfig
import zipfile
from pathlib import Path

BUNDLED = Path(ensurepip.__file__).with_name("_bundled")
FOLDERS = (sysconfig.get_config_var("WHEEL_PKG_DIR"), BUNDLED, "/usr/share/python-wheels")
"""Where it is kept: by Fedora, by Python itself, by Debian."""

PROGRAM = """#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/python" -m pip "$@"
"""


def main() -> int:
    """Unpack it, and write the program `pip`."""
    found = [path for folder in FOLDERS if folder for path in sorted(Path(folder).glob("pip-*.whl"))]
    if not found or sys.prefix == sys.base_prefix:
        return 1
    with zipfile.ZipFile(found[0]) as wheel:
        wheel.extractall(sysconfig.get_path("purelib"))
    program = Path(sysconfig.get_path("scripts"), "pip")
    program.write_text(PROGRAM, encoding="utf-8")
    program.chmod(0o755)
    return 0


if __name__ == "__main__":
    sys.exit(main())
