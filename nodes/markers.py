"""What RViz asks of markers: the one that takes all others away, and texts whose words stand as they are written."""

from __future__ import annotations

from std_msgs.msg import Header
from visualization_msgs.msg import Marker

_SPACE = 0.5
"""Width of a space over the height of a line."""


def erasing_marker(header: Header, namespace: str = "") -> Marker:
    """A marker that stands first in an array, and takes away what was shown before.

    RViz calls two markers of an array that have one namespace and number an error, this one included: its number, -1,
    is no other's.
    """
    return Marker(header=header, ns=namespace, id=-1, action=Marker.DELETEALL)


def set_text_height(text: Marker, height: float) -> None:
    """Set how large a text is shown.

    RViz takes the width of a space from `scale.x`; without it, from a line a metre high.

    Args:
        height: of a line, metres.
    """
    text.scale.x, text.scale.z = _SPACE * height, height
