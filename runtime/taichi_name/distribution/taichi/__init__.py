"""`import taichi` means shadesmith here: this module replaces itself by it."""

import shadesmith

shadesmith.as_taichi(children=False)
