"""Inspection of kernels in CUDA C."""

from __future__ import annotations

from ...workbench.inspect.cuda_listings import ptx, sass
from ...workbench.inspect.cuda_resources import cuda_resources
from ...workbench.inspect.inspection_tools import Form, InspectionTools

TOOLS = InspectionTools(
    forms=(Form("ptx", "PTX", "//", ".ptx", ptx), Form("sass", "SASS", "//", ".sass", sass)), resources=cuda_resources
)
