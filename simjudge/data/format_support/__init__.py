"""What several data formats need: checked rows, image files, masks as text, and the sidecar."""
