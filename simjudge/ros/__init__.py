"""Which nodes run together, with which parameters, remappings and arguments: one description, two ways to run it.

Launch files make launch_ros actions of it, `simjudge ros run` its own processes. It is data: nothing here imports rclpy
or launch.
"""
