"""`doctor`: what something is usable for, and what to mend."""
