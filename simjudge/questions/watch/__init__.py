"""`watch`: what runs now."""
