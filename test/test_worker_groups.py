"""Tests of one group run on one worker: they hand files on, and do not train two networks at once on two cores."""

import os

import pytest


@pytest.mark.xdist_group("alone")
@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="the tests run in one process")
def test_the_group_is_in_the_name_that_the_scheduler_sees(request):
    """With pytest 9.2, pytest-xdist 3.8 loses it, and says nothing."""
    assert request.node.nodeid.endswith("@alone")
