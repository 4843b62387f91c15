"""What gymnasium loads: importing this module registers simjudge's environments, and nothing else is imported.

Gymnasium 1.0 and later looks for no entry points of packages: a program imports this module, or names it before the
environment, as in `gymnasium.make("simjudge.sim.driving.gymnasium_plugin:simjudge/ConeCourse-v0")`.
"""

from __future__ import annotations

from gymnasium.envs.registration import register, registry

CONE_COURSE = "simjudge/ConeCourse-v0"  # The drive of a course between cones


def register_environments() -> None:
    """Register the environments that are not registered yet."""
    if CONE_COURSE not in registry:
        register(CONE_COURSE, entry_point="simjudge.sim.driving.driver_training:ConeCourseEnvironment")


register_environments()
