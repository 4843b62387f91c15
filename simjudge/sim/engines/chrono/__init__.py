"""PyChrono behind the interface of `simjudge.sim.engines.contract`. docs/guides/chrono.md says what is used of it."""
