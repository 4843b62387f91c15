"""PyChrono behind the interface of `simjudge.engines.contract`. docs/chrono.md says what of Chrono is used, and how."""
