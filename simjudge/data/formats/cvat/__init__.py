"""CVAT's own XML, "CVAT for images 1.1": the document, and the shapes in it."""
