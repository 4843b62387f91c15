"""The ROS 2 nodes: thin. Parameters, topics and QoS in; calls into the library; messages out.

Installed as `simjudge.nodes`. Nothing in the library imports them, and only they import rclpy.
"""
