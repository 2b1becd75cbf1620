"""Seeds the random numbers of Python and NumPy in each process of an example: Taichi and shadesmith get the same."""

import random

import numpy as np

random.seed(1)
np.random.seed(1)
