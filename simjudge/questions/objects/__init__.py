"""`objects`: what a real and a virtual sensor say of the same objects, over time."""
