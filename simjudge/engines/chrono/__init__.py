"""PyChrono behind the interface of `simjudge.engines.engine`. docs/chrono.md says what of Chrono is used, and how."""
