"""What a comparison leaves, and how it is read again."""
