"""All languages. A language is registered by its line here and nowhere else."""

from __future__ import annotations

from .c.language import C
from .common.language import Language
from .cuda.language import CUDA
from .glsl.language import GLSL
from .hip.language import HIP

LANGUAGES: dict[str, Language] = {language.target: language for language in (GLSL, CUDA, C, HIP)}
"""By target."""
