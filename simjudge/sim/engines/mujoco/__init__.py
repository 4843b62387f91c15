"""Engine `mujoco`: scenes through MuJoCo's own renderer."""
