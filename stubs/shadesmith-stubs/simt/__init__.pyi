from typing import Any, TypeAlias, TypeVar

from shadesmith.simt import block as block
from shadesmith.simt import grid as grid
from shadesmith.simt import subgroup as subgroup
from shadesmith.simt import warp as warp
