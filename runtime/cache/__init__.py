"""The disk cache of kernels: keys of entries, look-ups, and compilation on a miss.

Programs see its statistics as `ti.cache`.
"""

from ..store.stats import Event, Stats, stats

__all__ = ["Event", "Stats", "stats"]
