"""Arrays and textures: memory on a device, and its access from Python and other libraries."""
