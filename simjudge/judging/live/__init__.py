"""The comparison while data still arrives."""
