"""`shadesmith cache`: list, check and remove the entries of the cache on disk."""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from typing import Any

from ..config import read_config
from ..store.cleaning import EntryFile, clean, damage_of, entry_files, is_of_another_version, orphans, remove, sweep
from ..store.entries import Damaged, read_summary
from ..store.folders import Limits, check_folder, folder_of
from ..store.store import Store
from .screen import CommandError, Screen

HERE, OTHER, ANY = "this", "another", "any"
"""The version of shadesmith of an entry; binaries are of any, since they come from compilers."""

ACTIONS = {
    "ls": "list the entries",
    "info": "show where they are, how many and how large",
    "clean": "remove all of them, or those that an option selects",
    "verify": "read all of them, and list which are damaged",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    purposes = "; ".join(f"{name}: {purpose}" for name, purpose in ACTIONS.items())
    parser.add_argument("action", choices=tuple(ACTIONS), help=purposes)
    parser.add_argument(
        "--folder", metavar="FOLDER", default="", help="the folder of the cache; without it the one that programs use"
    )
    parser.add_argument("--old", action="store_true", help="clean: only entries of other versions of shadesmith")
    parser.add_argument(
        "--max-size", metavar="BYTES", type=int, help="clean: the least recently used, until this size is left"
    )
    parser.add_argument("--remove", action="store_true", help="verify: remove damaged entries")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Do one of `ACTIONS`; return 1 if `verify` found damage and did not remove it."""
    config = read_config({})[0]
    folder = folder_of(options.folder or config.offline_cache_file_path)
    if options.folder and not os.path.isdir(folder):
        raise CommandError(f"there is no folder {folder}", "leave out `--folder` for the one that programs use")
    _refuse_strangers(folder)
    actions = {"ls": _list, "info": _tell, "clean": _clean, "verify": _verify}
    return actions[options.action](folder, options, screen)


def _refuse_strangers(folder: str) -> None:
    try:
        check_folder(folder)
    except OSError as error:
        hint = "programs do not use it either; make it private (chmod 700), or name another one"
        raise CommandError(f"{folder}: {error.strerror}", hint) from None


def _list(folder: str, options: argparse.Namespace, screen: Screen) -> int:
    version = Store(folder).version if os.path.isdir(folder) else ""
    rows = [_row(entry, version) for entry in sorted(entry_files(folder), key=lambda entry: entry.written)]
    screen.show_data({"folder": folder, "entries": rows})
    if not rows:
        screen.note(f"shadesmith: the cache in {folder} is empty")
        return 0
    columns = ("stage", "of", "bytes", "written", "used", "version", "key")
    screen.show_table(columns, [(*(row[name] for name in columns[:-1]), row["key"][:12]) for row in rows])
    return 0


def _row(entry: EntryFile, version: str) -> dict[str, Any]:
    try:
        summary = read_summary(entry.path)
        what = summary.what
        whose = ANY if not summary.version else HERE if summary.version == version else OTHER
    except (OSError, Damaged) as error:
        what, whose = f"damaged: {error}", ""
    return {
        "stage": entry.stage,
        "of": what,
        "bytes": entry.size_bytes,
        "written": _moment(entry.written),
        "used": _moment(entry.used),
        "version": whose,
        "key": entry.key,
    }


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def _tell(folder: str, options: argparse.Namespace, screen: Screen) -> int:
    config = read_config({})[0]
    entries = entry_files(folder)
    counts = Counter(entry.stage for entry in entries)
    sizes: Counter[str] = Counter()
    for entry in entries:
        sizes[entry.stage] += entry.size_bytes
    data = {
        "folder": folder,
        "used": config.offline_cache,
        "entries": dict(counts),
        "bytes": dict(sizes),
        "unfinished": len(orphans(folder)),
        "policy": config.offline_cache_cleaning_policy,
        "max_bytes": config.offline_cache_max_size_of_files,
        "factor": config.offline_cache_cleaning_factor,
        "version": Store(folder).version if os.path.isdir(folder) else "",
    }
    screen.show_data(data)
    screen.show(f"folder: {folder}{'' if config.offline_cache else ' (not used: offline_cache is 0)'}")
    for stage in sorted(counts):
        screen.show(f"{stage}: {counts[stage]} entries, {sizes[stage]:,} bytes")
    screen.show(
        f"all: {len(entries)} entries, {sum(sizes.values()):,} of {config.offline_cache_max_size_of_files:,} bytes; "
        f"policy {config.offline_cache_cleaning_policy}, factor {config.offline_cache_cleaning_factor:g}"
    )
    if data["unfinished"]:
        screen.show(f"unfinished: {data['unfinished']} files; those older than an hour are swept away")
    return 0


def _clean(folder: str, options: argparse.Namespace, screen: Screen) -> int:
    before = entry_files(folder)
    swept = sweep(folder, older_than_seconds=3600.0 if options.old or options.max_size is not None else 0.0)
    if options.max_size is not None:
        clean(folder, Limits("lru", options.max_size, 0.0), str)
    elif options.old:
        version = Store(folder).version if os.path.isdir(folder) else ""
        for entry in before:
            if is_of_another_version(entry, version):
                remove(entry)
    else:
        for entry in before:
            remove(entry)
    left = {entry.path for entry in entry_files(folder)}
    gone = [entry for entry in before if entry.path not in left]
    size = sum(entry.size_bytes for entry in gone)
    screen.show_data({"folder": folder, "removed": len(gone), "bytes": size, "unfinished": swept})
    screen.show(f"{folder}: {len(gone)} of {len(before)} entries removed, {size:,} bytes")
    return 0


def _verify(folder: str, options: argparse.Namespace, screen: Screen) -> int:
    entries = entry_files(folder)
    with screen.progress("reading", len(entries)) as advance:
        damaged: list[tuple[EntryFile, str]] = []
        for entry in entries:
            reason = damage_of(entry)
            if reason:
                damaged.append((entry, reason))
            advance("")
    if options.remove:
        for entry, _ in damaged:
            remove(entry)
    rows = [
        {"path": entry.path, "reason": reason, "removed": not os.path.lexists(entry.path)} for entry, reason in damaged
    ]
    screen.show_data({"folder": folder, "entries": len(entries), "damaged": rows})
    for row in rows:
        screen.show(f"{row['path']}: {row['reason']}{' (removed)' if row['removed'] else ''}")
    screen.show(f"{folder}: {len(entries)} entries, {len(rows)} damaged")
    return 0 if all(row["removed"] for row in rows) else 1
