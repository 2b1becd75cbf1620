"""`shadesmith inspect`: a kernel in every form, for any target, with no GPU and nothing launched."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...transpiler.errors import TaichiRuntimeError
from ..devices.target_tools import tools_of
from ..launch.inspection import Inspection
from ..workbench.inspect.inspection_tools import forms_of, listings
from ..workbench.inspect.resources import COLUMNS, Resources
from .programs import add_program_arguments, arch_of, find_call
from .screen import CommandError, Screen

MAP, RESOURCES, PYTHON = "map", "resources", "python"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_program_arguments(parser)
    parser.add_argument(
        "--stage",
        action="append",
        metavar="NAME",
        help="a form to show; may be given several times: python, frontend, lowered, tasks, final, source, spirv, ptx,"
        " sass, map, resources, or `all`; without it the source and the forms below it",
    )
    parser.add_argument("--gpu", metavar="SM", help="the GPU of PTX and SASS: sm_90, sm_120, ...")
    parser.add_argument("--variant", metavar="NAME", help="an edit in place of the generated source: `edit`, or a name")
    parser.add_argument("-o", "--output", metavar="FOLDER", type=Path, help="write each form and map.json to files")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Show the requested forms."""
    call = find_call(options, launches=False)
    inspection = call.kernel.inspect(*call.arguments, arch=arch_of(options))
    if options.gpu is not None:
        inspection = replace(inspection, gpu=gpu_of(options.gpu))
    if options.variant is not None:
        inspection = inspection.edited(options.variant)
    names, is_explicit = _stages(inspection, options.stage)
    forms: dict[str, Any] = {}
    missing: dict[str, str] = {}
    with screen.progress("compiling", len(names)) as step:
        for name in names:
            step(name)
            try:
                forms[name] = _form(inspection, name)
            except TaichiRuntimeError as error:  # a tool is missing
                if is_explicit:
                    raise
                missing[name] = str(error)
    if options.output is not None:
        _write(options.output, inspection, forms, screen)
    else:
        _show(inspection, forms, missing, screen)
    for name, reason in missing.items():
        screen.note(f"shadesmith: no {name}: {reason}")
    return 0


def gpu_of(name: str) -> str:
    """Return the architecture that `--gpu` names. Raises: CommandError for any other name."""
    if not re.fullmatch(r"sm_\d+[a-z]?", name):
        raise CommandError(
            f"`--gpu {name}` is not an architecture of NVIDIA", "write `sm_90` for compute capability 9.0"
        )
    return name


def _stages(inspection: Inspection, wanted: list[str] | None) -> tuple[list[str], bool]:
    """Return the forms to show, and whether the command line names them."""
    below = forms_of(inspection.module.target)
    there = [*inspection.names(), RESOURCES, MAP]
    if not wanted:
        return ["source", *below, RESOURCES], False
    if "all" in wanted:
        return there, False
    for name in wanted:
        if name not in there:
            raise CommandError(
                f"There is no form `{name}` on this target",
                f"there are {', '.join(there)}; `--arch` names another target",
            )
    return wanted, True


def _form(inspection: Inspection, name: str) -> Any:
    if name == MAP:
        return inspection.map
    if name == RESOURCES:
        return inspection.resources
    if name in forms_of(inspection.module.target):
        return listings(inspection.module, name, inspection.gpu)
    return inspection.ir(name)


def _show(inspection: Inspection, forms: dict[str, Any], missing: dict[str, str], screen: Screen) -> None:
    module, below = inspection.module, forms_of(inspection.module.target)
    texts: dict[str, Any] = {
        name: inspection.ir(name) if isinstance(form, list) else form for name, form in forms.items()
    }
    data: dict[str, Any] = {"kernel": module.kernel, "target": module.target}
    data |= {"missing": missing} if missing else {}
    data |= {
        name: texts[name].data() if name == RESOURCES else texts[name] for name in (RESOURCES, MAP) if name in texts
    }
    screen.show_data({**data, "forms": {name: text for name, text in texts.items() if name not in (RESOURCES, MAP)}})
    lexers = {PYTHON: PYTHON, "source": tools_of(module.target).lexer or "ir", **{form: form for form in below}}
    for name, text in texts.items():
        if len(texts) > 1:
            screen.show_title(name)
        if isinstance(text, Resources):
            _show_resources(text, screen)
        elif name == MAP:
            screen.show_code(json.dumps(text, indent=1), "json")
        else:
            screen.show_code(text, lexers.get(name, "ir"))


def _show_resources(found: Resources, screen: Screen) -> None:
    if not found.tasks:
        screen.show(f"{found.device}: {found.reason}")
        return
    screen.show_table(COLUMNS, found.rows(), title=f"{found.device}, sizes in bytes")
    for task in found.tasks:
        if task.statistics:
            screen.show_table(("statistic", "value"), list(task.statistics.items()), title=task.task)


def _write(folder: Path, inspection: Inspection, forms: dict[str, Any], screen: Screen) -> None:
    """Write the forms, files of the module by their own names, and `map.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, str] = {"map.json": json.dumps(inspection.map, indent=1) + "\n"}
    for name, form in forms.items():
        if name == "source":
            files.update((file.name, file.text) for file in inspection.module.files)
        elif isinstance(form, Resources):
            files["resources.json"] = json.dumps(form.data(), indent=1) + "\n"
        elif isinstance(form, list):
            suffix = forms_of(inspection.module.target)[name].suffix
            files.update((Path(listing.file).stem + suffix, listing.text) for listing in form)
        elif name != MAP:
            suffix = ".py" if name == PYTHON else f".{name.replace(':', '.')}.ir"
            files[inspection.module.kernel + suffix] = form
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    screen.show_data({"folder": str(folder), "files": sorted(files)})
    for name in files:
        screen.show(str(folder / name))
