"""What only lavapipe needs, the Vulkan driver of a processor: other SPIR-V, and errors in place of its silence."""
