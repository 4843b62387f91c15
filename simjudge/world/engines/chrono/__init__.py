"""PyChrono behind the interface of `simjudge.world.engine`. docs/chrono.md says what of Chrono is used, and how."""
