from __future__ import annotations

import os
import subprocess
import sys


def test_a_fresh_cache_is_known_as_one(tmp_path):
    code = "from simjudge.method.compiled import is_compiled; print(is_compiled())"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
