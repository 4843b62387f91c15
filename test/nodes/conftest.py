"""A ROS graph and recordings for each test."""

import os
from itertools import count
from pathlib import Path

import pytest
from node_graph import Graph, write_images

_number = count()


@pytest.fixture
def graph(tmp_path):
    # 1 to 101: above, ports may collide with those that Linux hands out. The process keeps parallel runs apart.
    made = Graph(tmp_path, (os.getpid() * 7 + next(_number)) % 101 + 1)
    yield made
    made.close()


@pytest.fixture
def repository():
    return Path(__file__).parents[2]


@pytest.fixture
def pictures(tmp_path):
    return write_images(tmp_path / "pictures", 20)
