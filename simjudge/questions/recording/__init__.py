"""The page of a recording: clouds, pictures, course, sensors."""
