"""`engines`: the engines of the simulator, checked and compared."""
