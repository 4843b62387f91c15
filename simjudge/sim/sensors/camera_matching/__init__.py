"""What two sets of pictures tell of the difference between their cameras, and the filters that undo it."""
