"""Studies: one comparison, several, or many, from frame sets to saved results."""
