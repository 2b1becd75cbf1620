"""`shadesmith cppgen`: a C++ header with one typed function for each kernel of an archive."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from ...aot.archive import open_archive
from ...aot.cppgen.header import cpp_header
from ..screen import Screen

SUFFIX = ".hpp"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.add_argument("archive", type=Path, metavar="MODULE", help="an archive or a folder of `ti.aot.Module`")
    parser.add_argument("-n", "--namespace", metavar="NAME", help="without it the name of the archive")
    parser.add_argument("-o", "--output", type=Path, metavar="HEADER", help=f"without it the archive's name, {SUFFIX}")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Write the header and print its path."""
    archive = open_archive(options.archive)
    stem = options.archive.resolve().name.partition(".")[0]
    namespace = options.namespace or re.sub(r"\W", "_", f"m{stem}" if stem[:1].isdigit() else stem, flags=re.ASCII)
    text = cpp_header(archive, namespace)
    output = options.output or Path(f"{stem}{SUFFIX}")
    output.write_text(text, encoding="utf-8")
    names = [*archive.kernels, *archive.manifest.graphs]
    screen.show_data({"header": str(output), "namespace": namespace, "functions": names})
    screen.show(f"{output}: {namespace}::Module with {', '.join(names) or 'no function'}")
    return 0
