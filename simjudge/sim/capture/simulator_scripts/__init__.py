"""Files that move the camera of another simulator along recorded poses: Gazebo, CARLA, Chrono."""
