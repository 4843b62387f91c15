"""A screen for live work where RViz cannot be had: pictures with boxes, W1 and overlap over time, through rerun.

Knows no ROS: `nodes/watch_node.py` feeds it.
"""
