import sys

sys.argv = ["x"]
import numpy as np, shadesmith as ti

ti.init(arch=ti.python, log_level=ti.ERROR)
src = open("/tmp/cut/p770010.py").read()
import importlib.util

spec = importlib.util.spec_from_file_location("p770010", "/tmp/cut/p770010.py")
m = importlib.util.module_from_spec(spec)
try:
    spec.loader.exec_module(m)
except Exception as ex:
    print("EX", ex)
s = m.k1.source(np.zeros(4, np.uint8), np.zeros((2, 2, 4), np.uint16), np.zeros(5, np.int32), 3, 1.0, arch=ti.cuda)
open("/tmp/cut/k1.cu", "w").write(s)
for n, l in enumerate(s.split("\n"), 1):
    if 105 <= n <= 140:
        print(n, l)
