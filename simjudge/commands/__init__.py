"""The subcommands of `simjudge`, one a file. Each only wires: arguments in, library calls, tables and files out."""
