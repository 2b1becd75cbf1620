"""Examples of engines that run kernels on several processes and devices."""
