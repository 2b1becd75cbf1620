from typing import Any, TypeAlias, TypeVar

from shadesmith.runtime.store.stats import Event as Event
from shadesmith.runtime.store.stats import Stats as Stats
def stats() -> Any:
    """Return the statistics of the cache in this process so far."""
