"""Contextualized performance: patches, similarity join, W1, Algorithm 1, and how sure one can be.

The method is that of Elmquist, Serban and Negrut, "A performance contextualization approach to validating camera
models for robot simulation" (arXiv 2208.01022); docs/concepts/method.md says what the words here mean. This room knows
no file and no ROS: arrays and `simjudge.core.frames` in, arrays out.
"""
