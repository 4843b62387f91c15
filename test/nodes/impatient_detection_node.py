"""A detection node that misses images after 0.4 s, so that a test of slow images need not take a minute."""

from simjudge.nodes import detection_node, image_input

image_input.PATIENCE = 0.4
detection_node.main()
