"""What moves and renders a scene, each behind the interface of `simjudge.sim.engines.contract`."""
