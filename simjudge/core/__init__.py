"""What everything stands on: frames, pictures, masks, boxes, errors, files."""
