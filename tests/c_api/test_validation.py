"""What the C runtime asks of Vulkan is what Vulkan allows: the tests of launches once more, under the validation layer."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import vulkan
from c_api import binding

HERE = Path(__file__).parent
LAYER = "VK_LAYER_KHRONOS_validation"
SAMPLES = "julia or push_constants or fields_keep or sparse or graph or mapping or slices or two_modules"


def layers():
    return [layer.layerName for layer in vulkan.vkEnumerateInstanceLayerProperties()]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "files, chosen",
    [
        (("test_textures.py",), "not formats_that or r32f or rg16u or bgra8 or rgba8srgb"),
        (("test_launch.py", "test_graphs.py", "test_errors.py", "test_staging.py"), SAMPLES),
    ],
)
def test_the_layer_has_nothing_to_say(files, chosen):
    if binding.compiler("gcc") is None or LAYER not in layers():
        pytest.skip(f"needs gcc and {LAYER}")
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-s", "-p", "no:cacheprovider", "--targets=vulkan"]
    command += [*(str(HERE / name) for name in files), "-k", chosen]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, env={**os.environ, "VK_INSTANCE_LAYERS": LAYER}
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-4000:]
    assert not re.findall(r"VUID-[\w-]+", said), said[-4000:]
