"""`explain`: why B predicts A badly: which causes close the gap, and by how much."""
