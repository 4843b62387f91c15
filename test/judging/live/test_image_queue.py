"""The queue between receiving and working: the newest only, or all within memory."""

import threading
from types import SimpleNamespace

from simjudge.judging.live.frame_builder import ImageQueue, QueuedImage


def image(number, size=100):
    return QueuedImage(SimpleNamespace(number=number, data=bytes(size)), 0.0)


def numbers(queue):
    queue.close()
    out = []
    while (item := queue.take()) is not None:
        out.append(item.message.number)
    return out


def test_only_the_newest_is_kept():
    queue = ImageQueue(None)
    assert [queue.put(image(i)) for i in range(4)] == [0, 1, 1, 1]
    assert queue.has_room()
    assert len(queue) == 1
    assert queue.take().message.number == 3
    assert queue.put(image(9)) == 0
    assert numbers(queue) == [9]


def test_all_are_kept_in_order_until_the_memory_is_used_up():
    queue = ImageQueue(250)
    for i in range(3):
        assert queue.has_room()
        assert queue.put(image(i)) == 0
    assert not queue.has_room()
    assert queue.megabytes == 300 / 1e6
    assert queue.take().message.number == 0
    assert queue.has_room()
    assert numbers(queue) == [1, 2]
    assert queue.megabytes == 0


def test_an_image_larger_than_the_memory_still_passes():
    queue = ImageQueue(10)
    assert queue.has_room()
    queue.put(image(1, size=1000))
    assert not queue.has_room()
    assert numbers(queue) == [1]


def test_whoever_waits_is_woken_by_an_image_and_by_the_end():
    queue, got = ImageQueue(1000), []

    def work():
        while (item := queue.take()) is not None:
            got.append(item.message.number)

    worker = threading.Thread(target=work)
    worker.start()
    for i in range(50):
        queue.put(image(i, size=1))
    queue.close()
    worker.join(10)
    assert not worker.is_alive()
    assert got == list(range(50))


def test_what_is_cleared_is_told():
    queue = ImageQueue(1000)
    queue.put(image(1))
    queue.put(image(2))
    assert [item.message.number for item in queue.clear()] == [1, 2]
    assert numbers(queue) == []
