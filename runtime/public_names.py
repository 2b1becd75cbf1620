"""Names of the root package whose modules are loaded when they are first read; `compat.lazy` loads them."""

NAMES = {
    "BitpackedFields": "fields.quantized:BitpackedFields",
    "DeviceCapability": "aot.targets:DeviceCapability",
    "EditError": "workbench.check.edit_error:EditError",
    "GUI": "gui.gui:GUI",
    "ad": "ad",
    "algorithms": "algorithms",
    "aot": "aot",
    "Pass": "passes:own_pass",
    "Tape": "ad.tape:Tape",
    "cache": "cache",
    "device": "session.devices:device",
    "devices": "session.devices:devices",
    "graph": "graph",
    "hex_to_rgb": "gui.arguments:hex_to_rgb",
    "kernels": "workbench.inspect.kernel_list:kernels",
    "linalg": "linalg",
    "passes": "passes:passes",
    "profiler": "launch.profiler",
    "rgb_to_hex": "gui.arguments:rgb_to_hex",
    "tools": "tools",
    "trace": "launch.trace:trace",
    "ui": "gui.ui",
}
"""Names of the root package, each with a module in `runtime` or with `module:member`."""
