"""PyChrono behind the interface of `simjudge.sim.engines.contract`. docs/chrono.md says what is used of it, and how."""
