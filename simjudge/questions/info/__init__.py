"""`info`: what something is and what it holds."""
