"""The contract that an engine of somebody else's must keep, as checks: for a program, for pytest, for the command line.

With pytest, one test a check::

    @pytest.mark.parametrize("check", ENGINE_CHECKS, ids=str)
    def test_my_engine(check):
        check(MyEngine)

`simjudge engines check package:Class` does the same and prints a table.
"""

from simjudge.sim.testing.checks import CannotBeChecked, CheckResult, ContractBrokenError, EngineBuilder, EngineCheck
from simjudge.sim.testing.engine_checks import ENGINE_CHECKS, check_engine, scene_checks

__all__ = [
    "ENGINE_CHECKS", "CannotBeChecked", "CheckResult", "ContractBrokenError", "EngineBuilder", "EngineCheck",
    "check_engine", "scene_checks",
]  # fmt: skip
