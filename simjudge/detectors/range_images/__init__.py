"""A lidar's turn as a picture, rings x columns, with what is labelled in it: what the judge of pictures takes."""
