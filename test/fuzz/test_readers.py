"""Every reader survives bad versions of what it reads: it succeeds, or it says what is wrong in one line.

The same targets run for hours by `make fuzz`.
"""

import logging
import os
from contextlib import suppress

import pytest
from fuzz_attack import Attack, bounded
from fuzz_targets import TARGETS
from hostile_input import mutate
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from simjudge.core.errors import SimjudgeError

# Pillow warns of what it leaves out of a damaged file.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:PIL")


@pytest.fixture(scope="module", params=TARGETS)
def attack(request):
    target = TARGETS[request.param]
    if target.needs:
        pytest.importorskip(target.needs)
    logging.disable(logging.WARNING)
    made = Attack(target)
    yield made
    made.close()
    logging.disable(logging.NOTSET)


def test_the_example_can_be_read(attack):
    assert attack(attack.valid)


def test_a_pipe_in_the_place_of_the_file_is_refused_or_passed_over(attack):
    """Opened, a pipe that nobody writes into had been waited for without an end."""
    attack.file.unlink()
    os.mkfifo(attack.file)
    with bounded(), suppress(SimjudgeError):
        attack.target.read(attack.path)
    attack.file.unlink()


def test_bad_versions_are_read_or_refused(attack):
    target = attack.target

    @settings(
        max_examples=target.examples,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
        deadline=None,
    )
    @given(st.randoms(use_true_random=False))
    def read_one(random):
        with bounded():
            attack(mutate(attack.valid, target.form, random))

    read_one()
