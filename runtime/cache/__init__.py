"""Kernels kept on disk between processes: entries in one folder, what they are found by, how the folder is cleaned.

For programs it is `ti.cache`, with what its names say.
"""

from ..store.stats import Event, Stats, stats

__all__ = ["Event", "Stats", "stats"]
