"""What moves and renders a scene, each behind the interface of `simjudge.engines.contract`."""
