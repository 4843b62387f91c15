"""`plan`: how many frames a gap of some size needs."""
