"""Inspection of kernels in GLSL."""

from __future__ import annotations

from ...workbench.inspect.inspection_tools import Form, InspectionTools
from ...workbench.inspect.spirv_listings import spirv
from ...workbench.inspect.vulkan_resources import vulkan_resources

TOOLS = InspectionTools(forms=(Form("spirv", "SPIR-V", ";", ".spvasm", spirv),), resources=vulkan_resources)
