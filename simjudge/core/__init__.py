"""What everything stands on: frames, images, masks, boxes, errors, files."""
