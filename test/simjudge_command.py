"""How tests run the command: by the interpreter that runs them, for colcon installs the script elsewhere."""

import sys

SIMJUDGE = (sys.executable, "-m", "simjudge")
