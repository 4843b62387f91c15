"""What every question that compares performance stands on: from frame sets to a comparison and its numbers."""
