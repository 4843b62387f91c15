"""Textures painted by code: patterns by name, each a function of parameters and a seed, tileable."""

from __future__ import annotations

from simjudge.sim.scene.textures.catalogue import make_texture, patterns

__all__ = ["make_texture", "patterns"]
