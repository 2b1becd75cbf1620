"""GLSL 460 for Vulkan, with buffer references and scalar block layout."""
