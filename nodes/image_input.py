"""Images from a topic: raw or compressed, whichever is published, with whatever QoS they are offered."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.qos import ReliabilityPolicy
from rclpy.subscription import Subscription
from sensor_msgs.msg import CompressedImage, Image

from .diagnostics import OK, WARN
from .qos import MessageGaps, image_qos, subscription_events
from .runtime import SimjudgeNode, similar_topics
from .topic_ends import publishers_at

PATIENCE = 5.0  # Seconds without an image until the node says what it waits for; more where images come rarely
_LONGEST_PATIENCE = 60.0
_MISSED = 3  # Times the former wait for an image, after which images count as missing
_PERIOD = 0.1  # Seconds between looks at the publishers
_OVERLAP = 1.0  # Seconds that a former subscription stays beside a new one
_KINDS = {"raw": Image, "compressed": CompressedImage}


class ImageInput:
    """The images of one camera, raw or compressed.

    With transport "auto" both topics are listened to until one of them brings an image. With reliability "auto" it
    asks for best effort, which fits every publisher, and for reliable as soon as every publisher is known to offer it.

    Attributes:
        lost: images that publishers sent and that did not come: the gaps in the numbers that the middleware gives
            them. Before the first image nothing counts as lost.
        before: images that its publisher had sent before the first that came.
    """

    def __init__(
        self,
        node: SimjudgeNode,
        topic: str,
        take: Callable[[Any], None],
        *,
        depth: int,
        has_room: Callable[[], bool] = lambda: True,
        on_lost: Callable[[str, int], None] = lambda _topic, _count: None,
    ) -> None:
        """Subscribe (node: with the parameters `transport` and `reliability`)."""
        self.received = self.lost = self.before = 0
        self._node, self._take, self._depth, self._on_lost = node, take, depth, on_lost
        self._topics = {"raw": node.resolve_topic_name(topic), "compressed": _compressed_topic(node, topic)}
        transport = node.settings["transport"]
        self._wanted = ("raw", "compressed") if transport == "auto" else (transport,)
        self._automatic = node.settings["reliability"] == "auto"
        first = "best_effort" if self._automatic else node.settings["reliability"]
        self._reliability = dict.fromkeys(self._wanted, first)
        self._chosen: str | None = None
        self._group = _WhileRoom(has_room)
        self._subscriptions: dict[str, Subscription[Any]] = {}
        self._leaving: list[tuple[float, Subscription[Any]]] = []
        self._gaps = {kind: MessageGaps(partial(node.count_publishers, self._topics[kind])) for kind in self._wanted}
        self._last_time = time.monotonic()
        self._patience, self._known_source = PATIENCE, ""
        self._published_since: dict[str, float] = {}
        for kind in self._wanted:
            self._subscribe(kind)
        self._timer = node.create_timer(_PERIOD, self._look_after, clock=Clock(clock_type=ClockType.STEADY_TIME))

    @property
    def topic(self) -> str:
        """Where the images come from, or are waited for."""
        if self._chosen is not None:
            return self._topics[self._chosen]
        return " or ".join(self._topics[kind] for kind in self._wanted)

    def close(self) -> int:
        """Subscribe to nothing more."""
        self._node.destroy_timer(self._timer)
        for subscription in [*(leaving for _, leaving in self._leaving), *self._subscriptions.values()]:
            self._node.destroy_subscription(subscription)
        self._leaving.clear()
        self._subscriptions.clear()
        return self.lost

    def diagnostic_values(self) -> dict[str, object]:
        """What is to be said of it in diagnostics."""
        return {
            "topic": self.topic,
            "received": self.received,
            "lost before arrival": self.lost,
            "published before": self.before,
            "reliability": ", ".join(self._reliability[kind] for kind in self._subscriptions),
        }

    def take_arrived(self) -> None:
        """Take what has arrived, from a callback that keeps the executor busy for long, or after the last spin."""
        subscription: Any
        for subscription in [*(leaving for _, leaving in self._leaving), *self._subscriptions.values()]:
            while self._group.has_room():
                with subscription.handle:
                    taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
                if taken is None:
                    break
                subscription.callback(*taken)

    def _subscribe(self, kind: str) -> None:
        topic = self._topics[kind]
        # What is found out by itself needs no remedy.
        events = None if self._automatic else subscription_events(self._node.diagnostics, topic, "reliability")
        self._subscriptions[kind] = self._node.create_subscription(
            _KINDS[kind],
            topic,
            partial(self._receive, kind),
            image_qos(self._reliability[kind], self._depth),
            callback_group=self._group,
            event_callbacks=events,
        )

    def _receive(self, kind: str, message: Any, info: Any) -> None:
        if self._chosen is None:
            self._chosen = kind
            if self._known_source != self.topic:
                self._known_source = self.topic
                if not self.received:
                    self.before = (info.get("publication_sequence_number") or 1) - 1
                earlier = f"; {self.before} were published before this node listened" if self.before else ""
                self._node.get_logger().info(f"images come from {self.topic}{earlier}")
        if kind != self._chosen or not self._is_new(kind, info):
            return
        now = time.monotonic()
        if self.received:
            self._patience = min(max(PATIENCE, _MISSED * (now - self._last_time)), _LONGEST_PATIENCE)
        self.received += 1
        self._last_time = now
        self._take(message)

    def _is_new(self, kind: str, info: Any) -> bool:
        """Whether a message has not come before, by another subscription; counts what is missing before it."""
        missing = self._gaps[kind].missing_before(info)
        if missing > 0:
            self.lost += missing
            self._on_lost(self._topics[kind], missing)
        return missing >= 0

    def _follow_offers(self, kind: str) -> None:
        """Subscribe anew where the publishers offer better, or less, than what is asked for."""
        offers = publishers_at(self._node, self._topics[kind])
        if not offers:
            return
        good = all(offer.qos_profile.reliability == ReliabilityPolicy.RELIABLE for offer in offers)
        best = "reliable" if good else "best_effort"
        if best != self._reliability[kind]:
            self._reliability[kind] = best
            # The old one stays until the new one is surely served: nothing is lost between them.
            self._leaving.append((time.monotonic(), self._subscriptions.pop(kind)))
            self._subscribe(kind)

    def _look_after(self) -> None:
        if self._automatic:
            for kind in list(self._subscriptions):
                self._follow_offers(kind)
        while self._leaving and time.monotonic() - self._leaving[0][0] > _OVERLAP:
            self._node.destroy_subscription(self._leaving.pop(0)[1])
        silent = time.monotonic() - self._last_time >= self._patience
        if self._chosen is not None and not silent:
            for kind in set(self._subscriptions) - {self._chosen}:
                self._node.destroy_subscription(self._subscriptions.pop(kind))
            self._node.diagnostics.set_state("images", OK, f"images come from {self.topic}", self.diagnostic_values())
        elif silent and not (self._node.signals.asked or self._node.draining):
            # A run that ends loses its camera first: then nothing is missing.
            if not self._has_new_publisher():
                self._node.diagnostics.set_state("images", WARN, self._silence(), self.diagnostic_values())
            self._listen_again()

    def _has_new_publisher(self) -> bool:
        """Whether somebody has begun to publish so lately that its first image may be on the way."""
        now = time.monotonic()
        published = [kind for kind in self._wanted if self._node.count_publishers(self._topics[kind])]
        self._published_since = {kind: self._published_since.get(kind, now) for kind in published}
        return any(now - since < PATIENCE for since in self._published_since.values())

    def _listen_again(self) -> None:
        """Whoever published may have come back with the other transport."""
        self._chosen = None
        for kind in set(self._wanted) - set(self._subscriptions):
            self._subscribe(kind)

    def _silence(self) -> str:
        """What is waited for, and what else there is."""
        waited = "no image yet" if not self.received else f"no image for {self._patience:.0f} s"
        published = [kind for kind in self._wanted if self._node.count_publishers(self._topics[kind])]
        if set(published) - set(self._subscriptions):
            return f"{waited} from {self.topic}: trying the other transport"
        if published:
            names = " and ".join(self._topics[kind] for kind in published)
            return f"{waited}: {names} has a publisher, which sends nothing that arrives here"
        hint = self._others()
        names = " or ".join(self._topics[kind] for kind in self._wanted)
        return f"{waited}: waiting for {names}, which nobody publishes; {hint}"

    def _others(self) -> str:
        """Topics with images that somebody else publishes, the most similar names first."""
        target = self._topics[self._wanted[0]]
        names = [f"sensor_msgs/msg/{kind.__name__}" for kind in _KINDS.values()]
        found = similar_topics(self._node, names, target)
        if not found:
            return "nobody publishes images of a camera (another ROS_DOMAIN_ID, or the camera is off?)"
        # A compressed topic is found beside the raw one of the same name.
        source = found[0].removesuffix("/compressed")
        return f"images are published on {', '.join(found)}: remap with -r {target}:={source}"


class _WhileRoom(CallbackGroup):
    """Callbacks one after the other, and only while there is room for what they bring."""

    def __init__(self, has_room: Callable[[], bool]) -> None:
        super().__init__()
        self.has_room = has_room

    def can_execute(self, entity: Any) -> bool:
        """Events and timers always, messages while there is room."""
        return not isinstance(entity, Subscription) or self.has_room()

    def beginning_execution(self, entity: Any) -> bool:
        """Always: the message has been taken by then, and must not be lost."""
        del entity
        return True

    def ending_execution(self, entity: Any) -> None:
        """Nothing to free: the executor has one thread."""


def _compressed_topic(node: SimjudgeNode, topic: str) -> str:
    """The compressed topic: as remapped itself, else beside the raw one."""
    name = f"{topic}/compressed"
    own = str(node.resolve_topic_name(name))
    remapped = own != node.resolve_topic_name(name, only_expand=True)
    return own if remapped else f"{node.resolve_topic_name(topic)}/compressed"
