"""COCO: annotations (ground truth), results (predictions), and the regions that both hold."""
