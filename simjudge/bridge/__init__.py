"""A user's own simulation, judged: its program keeps its loop, and hands its system over to be seen and recorded."""
