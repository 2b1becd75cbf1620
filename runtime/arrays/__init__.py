"""Arrays and textures: memory on a device, and what Python and other libraries see of it."""
