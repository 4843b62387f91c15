"""What point clouds of a spinning lidar are like: each check says pass, fail, or why it cannot tell."""
