"""YOLO data sets as ultralytics and Roboflow write them: folders (`layout`) of text files (`labels`)."""
