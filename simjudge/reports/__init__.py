"""Reports made from saved results alone: one self-contained HTML page, and a table for papers."""
