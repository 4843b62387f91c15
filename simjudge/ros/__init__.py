"""Which nodes run together, with which parameters, remappings and arguments: one description, two ways to run it.

The launch files make launch_ros actions of it, `simjudge run` its own processes. It is data: nothing here imports rclpy
or launch.
"""
