"""What is said on /diagnostics, as a test sees it."""


class States(dict):
    """The latest state of each task, by name; an empty one for a task that has said nothing yet."""

    def __init__(self, node):
        from diagnostic_msgs.msg import DiagnosticArray  # noqa: PLC0415 - may be absent

        super().__init__()
        node.create_subscription(DiagnosticArray, "/diagnostics", self.take, 100)

    def __missing__(self, name):
        from diagnostic_msgs.msg import DiagnosticStatus  # noqa: PLC0415 - may be absent

        return DiagnosticStatus(name=name)

    def take(self, message):
        self.update({status.name: status for status in message.status})

    def value(self, name, key):
        """One of a task's values, empty where it has not said it."""
        return {entry.key: entry.value for entry in self[name].values}.get(key, "")
