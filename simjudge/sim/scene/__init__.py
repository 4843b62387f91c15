"""Scenes: what stands where, made of what, under which lights; read from YAML."""
