"""Nodes with a life cycle (https://design.ros2.org/articles/node_lifecycle.html), which a manager may lead.

By itself such a node configures and activates itself as soon as it is up, and ends like every other node. With
`autostart` false it stays unconfigured until somebody asks for a transition: `ros2 lifecycle set`, Nav2's
lifecycle_manager, the events of launch_ros.

| transition | what it does |
| --- | --- |
| configure | reads and loads what the parameters name, offers the topics that are published, and the services |
| activate | subscribes, and begins to work |
| deactivate | takes what has arrived, subscribes to nothing more, and works off what has come |
| cleanup | ends the work, writes what is to be written, and gives topics, services and memory back |
| shutdown | as Ctrl-C: works off what has come, writes what is to be written, and ends the program |
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from rclpy.lifecycle.node import LifecycleNodeMixin

from simjudge.core.errors import SimjudgeError

from .runtime import SimjudgeNode

UNDER_WAY = 0.3  # Seconds that a message may be under way when a node is deactivated
_WAKE = 0.02  # Seconds between looks whether work is done


class ManagedNode(LifecycleNodeMixin, SimjudgeNode):
    """A node with a life cycle. A subclass says what `configure`, `activate`, `deactivate` and `cleanup` do.

    It has the parameter `autostart`. Topics, services, timers and diagnostics that `configure` and `activate` made are
    taken away after `cleanup`.

    Attributes:
        active: whether the node works on what comes.
    """

    def __init__(self) -> None:
        """Declare the parameters; all else is made by `configure`."""
        SimjudgeNode.__init__(self)
        LifecycleNodeMixin.__init__(self)
        self.active = False
        self._cleaning = False
        self._problem: Exception | None = None
        self._lasting = {id(entity) for entity in self._entities()}

    def configure(self) -> None:
        """Read and load what the parameters name, and create publishers and services."""

    def activate(self) -> None:
        """Subscribe, and begin to work."""

    def deactivate(self) -> None:
        """Take what has arrived, subscribe to nothing more, and work off what has come."""

    def cleanup(self) -> None:
        """End the work and write what is to be written, as `close` does, and be as before `configure`."""

    @property
    def leaving(self) -> bool:
        """Whether work is to stop: the node ends, or a manager cleans it up."""
        return self.ended or self._cleaning

    @property
    def unconfigured(self) -> bool:
        """Whether the node waits to be configured."""
        return str(self._state_machine.current_state[1]) == "unconfigured"

    def start(self) -> None:
        """Configure and activate, unless a manager is to do it."""
        if not self.settings["autostart"]:
            self.get_logger().info("unconfigured: a lifecycle manager is waited for (autostart is false)")
            return
        for trigger in (self.trigger_configure, self.trigger_activate):
            if trigger() != TransitionCallbackReturn.SUCCESS:
                raise self._problem or SimjudgeError("cannot be started")

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """The manager's transition, as all of these."""
        done = self._transition(self.configure, state)
        if done != TransitionCallbackReturn.SUCCESS:
            self._take_away()
        return done

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See `activate`."""
        done = self._transition(self.activate, state)
        self.active = done == TransitionCallbackReturn.SUCCESS
        return done

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See `deactivate`."""
        done = self._transition(self.deactivate, state)
        self.active = False
        return done

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """See `cleanup`."""
        self._cleaning = True
        try:
            return self._transition(self.cleanup, state)
        finally:
            self._take_away()
            self._cleaning = False

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Work off what has come; `close` writes what is to be written, and the program ends."""
        done = self._transition(self.deactivate if self.active else lambda: None, state)
        self.active = False
        self.wait_until(lambda: not self.pending)
        self.finish()
        return done

    def wait_until(self, done: Callable[[], bool], seconds: float = float("inf")) -> bool:
        """Wait in a transition, unless the program is told to end."""
        end = time.monotonic() + seconds
        while not done():
            if self.ended or self.signals.asked or time.monotonic() > end:
                return False
            time.sleep(_WAKE)
        return True

    def _transition(self, work: Callable[[], None], state: LifecycleState) -> TransitionCallbackReturn:
        self._problem = None
        try:
            work()
        except Exception as error:  # noqa: BLE001 - the state machine must go on; it is said, or raised by `start`
            self._problem = error
            if not self.settings["autostart"]:
                self.get_logger().error(f"stays {state.label}: {error}")
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def _entities(self) -> Iterator[Any]:
        yield from (*self.publishers, *self.subscriptions, *self.services, *self.timers)

    def _take_away(self) -> None:
        """Destroy what was made since the node is up."""
        self.diagnostics.clear()
        kinds: tuple[tuple[Iterable[Any], Callable[[Any], bool]], ...] = (
            (self.timers, self.destroy_timer),
            (self.subscriptions, self.destroy_subscription),
            (self.services, self.destroy_service),
            (self.publishers, self.destroy_publisher),
        )
        for made, destroy in kinds:
            for entity in [entity for entity in made if id(entity) not in self._lasting]:
                destroy(entity)


def take_waiting(subscriptions: Sequence[Any]) -> None:
    """Take the messages that have arrived at subscriptions or are under way, before these are destroyed."""
    end = time.monotonic() + UNDER_WAY
    while True:
        idle = True
        for subscription in subscriptions:
            with subscription.handle:
                taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
            if taken is not None:
                subscription.callback(taken[0])
                idle = False
        if idle and time.monotonic() > end:
            return
        if idle:
            time.sleep(_WAKE)
