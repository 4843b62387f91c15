"""The second judge: what a real and a virtual sensor say of the same objects, and of the whole signal, over time."""
