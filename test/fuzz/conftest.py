"""The targets take examples from other folders of tests."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "detectors"))
