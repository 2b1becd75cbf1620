from typing import Any, TypeAlias, TypeVar

def grid(field_dict: Any, shape: Any) -> Any:
    """Return a struct field in a bitmasked node of `shape`, of 2 or 3 axes: a cell becomes active when it is stored to."""
def usage(x: Any) -> Any:
    """Return the fraction of active cells of a sparse grid, from 0 to 1, as an f32."""
