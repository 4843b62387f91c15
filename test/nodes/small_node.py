"""A node to try `simjudge.nodes.runtime` with."""

from rclpy.qos import ReliabilityPolicy
from std_msgs.msg import String

from simjudge.core.errors import SimjudgeError
from simjudge.nodes.diagnostics import OK, TaskState, ThroughputCounter
from simjudge.nodes.parameters import Parameter
from simjudge.nodes.qos import reliable_qos, sensor_data_qos, subscription_events
from simjudge.nodes.runtime import SimjudgeNode, run_node


class SmallNode(SimjudgeNode):
    """Says back what it hears."""

    NAME = "small_node"
    PARAMETERS = (
        Parameter("rate", 1.0, "how fast, Hz", low=0.5, high=10, changeable=True),
        Parameter("count", 3, "how many", low=1),
        Parameter("mode", "kind", "how", choices=("kind", "rude"), changeable=True),
        Parameter("names", [], "of whom"),
        Parameter("weights", [0.5, 0.5], "how much"),
        Parameter("loud", default=False, description="whether to shout"),
        Parameter("reliability", "reliable", "of what it hears", choices=("reliable", "best_effort")),
    )

    def __init__(self):
        super().__init__()
        self.flow = ThroughputCounter()
        self.diagnostics.add_task("hearing", lambda: TaskState(OK, "listening", self.flow.diagnostic_values()))
        profile = reliable_qos() if ReliabilityPolicy[self.settings["reliability"].upper()] == 1 else sensor_data_qos()
        events = subscription_events(self.diagnostics, "/heard", "reliability")
        self.create_subscription(String, "/heard", self.hear, profile, event_callbacks=events)
        self.said = self.create_publisher(String, "/said", 10)
        print({row.name: self.settings[row.name] for row in self.PARAMETERS}, flush=True)

    def on_parameter_change(self, name, value):
        if name == "mode" and value == "rude":
            raise SimjudgeError("never rude")

    def hear(self, message):
        if message.data == "fail":
            raise SimjudgeError("heard: fail; say something else")
        if message.data == "finish":
            self.finish()
        if message.data == "lose":
            self.losses.add("words", "lose")
        if message.data == "now":
            message.data = str(self.get_clock().now().nanoseconds)
        self.flow.received += 1
        self.flow.add(0.001)
        self.said.publish(String(data=f"{message.data} {self.settings['rate']}"))

    def close(self):
        print("closed", flush=True)


run_node(SmallNode)
