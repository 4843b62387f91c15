"""What every command does the same way: options from settings, tables, progress, Ctrl-C."""
