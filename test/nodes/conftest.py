"""A ROS graph and recordings for each test."""

from pathlib import Path

import pytest
from node_graph import Graph, write_images


@pytest.fixture
def graph(tmp_path, ros_domain):
    made = Graph(tmp_path, ros_domain)
    yield made
    made.close()


@pytest.fixture
def repository():
    return Path(__file__).parents[2]


@pytest.fixture
def images(tmp_path):
    return write_images(tmp_path / "images", 20)
