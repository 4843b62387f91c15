"""Engine `baked`: the default engine, quicker in closed loops, with the light of what stands found once."""

from __future__ import annotations

from simjudge.sim.engines.default.default_engine import DefaultEngine
from simjudge.sim.engines.default.light import Light


class BakedEngine(DefaultEngine):
    """The default engine but for its light: see docs/concepts/light_model.md, "Baked light"."""

    name = "baked"

    @property
    def variant(self) -> str:
        """What it runs on, for people."""
        return f"{super().variant}, baked light"

    def _make_light(self) -> Light:
        from simjudge.sim.engines.default.baked_light import BakedLight  # noqa: PLC0415 - as in DefaultEngine

        return BakedLight(self.scene, self._car)
