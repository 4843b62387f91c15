"""Which topics of a recording hold the images, the labels and the detections: by type, then by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.interfaces import (
    CAMERA_INFO,
    COMPRESSED_IMAGE,
    DETECTIONS,
    FRAME_INFO,
    IMAGE,
    LABELS,
    VISION_BOXES,
    YOLO_BOXES,
    describe_unread,
)

_DRAWN = "overlay|debug|dbg_image|annotated|result"
_DRAWN_UPON = re.compile(_DRAWN, re.IGNORECASE)
"""Pictures of a camera with boxes drawn upon them: beside the boxes, and no camera of their own."""
_NO_PHOTOGRAPH = re.compile(f"semantic|instance|segment|depth|mask|disparity|{_DRAWN}", re.IGNORECASE)
_LABEL_NAME = re.compile(r"ground_?truth|label|annotation|(^|[/_])gt([/_]|$)", re.IGNORECASE)


class TopicRole(NamedTuple):
    """What a topic is wanted for: what to call it, the option that names it, and its message types, best first."""

    what: str
    option: str
    types: tuple[str, ...]


_IMAGE = TopicRole("image", "image topic", (IMAGE, COMPRESSED_IMAGE))
_EITHER = (VISION_BOXES, *YOLO_BOXES)
"""Types of which the name of the topic says whether they are labels or detections."""
_LABEL = TopicRole("label", "label topic", (LABELS, *_EITHER))
_DETECTION = TopicRole("detection", "detection topic", (DETECTIONS, *_EITHER))


@dataclass(frozen=True)
class FrameTopics:
    """The topics to read; empty where there is none.

    Attributes:
        images: one camera's topics (raw, compressed, or both).
        labels, detections, frame_info, camera_info: a topic each, "" where there is none.
    """

    images: tuple[str, ...]
    labels: str
    detections: str
    frame_info: str
    camera_info: str

    def all(self) -> set[str]:
        """Every chosen topic."""
        names = (*self.images, self.labels, self.detections, self.frame_info, self.camera_info)
        return {name for name in names if name}


def choose_topics(
    where: str,
    types: Mapping[str, str],
    image: str | None,
    label: str | None,
    detection: str | None,
    *,
    counts: Mapping[str, int] | None = None,
) -> FrameTopics:
    """Choose from a recording's topics.

    Args:
        image, label, detection: topics that the user names, None where simjudge is to find out. The images may be named
            by their camera too: front for /front/image_raw.
        counts: messages by topic, where they are known: of a camera's topics the one with most comes first.
    """
    images = _images(where, types, image, counts or {})
    near = images[0] if images else ""
    types = _without_other_cameras(types, near, {"/" + name.lstrip("/") for name in (label, detection) if name})
    is_label = {t: bool(_LABEL_NAME.search(t)) for t in types}
    free = {t: kind for t, kind in types.items() if kind not in _EITHER or (is_label[t] and t != detection)}
    labels = _one(where, types, _LABEL, label, free, near)
    free = {t: kind for t, kind in types.items() if t != labels and (kind not in _EITHER or not is_label[t])}
    detections = _one(where, types, _DETECTION, detection, free, near)
    if not (images or labels or detections or FRAME_INFO in types.values()):
        held = ", ".join(f"{t} ({kind})" for t, kind in sorted(types.items())) or "no topic at all"
        unread = "".join(f"; {line}" for line in describe_unread(types.items()))
        raise SimjudgeError(f"{where}: has no image, label or detection topic; it holds {held}{unread}")
    near = near or labels or detections
    return FrameTopics(
        images, labels, detections, _nearest(types, FRAME_INFO, near), _nearest(types, CAMERA_INFO, near)
    )


def camera_topics(types: Mapping[str, str], counts: Mapping[str, int] | None = None) -> dict[str, str]:
    """The cameras of a recording: those that take photographs, if there are any.

    Returns:
        A topic for each camera, by the name that its topics share: the one with most messages, of equals the raw one.
    """
    # The best come last here, and replace their twins.
    found = _best_first((t for t, kind in types.items() if kind in _IMAGE.types), types, counts or {})[::-1]
    photographs = [t for t in found if not _NO_PHOTOGRAPH.search(t)]
    return dict(sorted((_camera(t), t) for t in photographs or found))


def _best_first(topics: Iterable[str], types: Mapping[str, str], counts: Mapping[str, int]) -> list[str]:
    """Image topics with the most messages first; of equals the raw ones: the compressed one is a copy with losses."""
    return sorted(topics, key=lambda t: (-counts.get(t, 0), types[t] != IMAGE, t))


def _images(where: str, types: Mapping[str, str], named: str | None, counts: Mapping[str, int]) -> tuple[str, ...]:
    found = [t for t, kind in types.items() if kind in _IMAGE.types]
    if named is not None:
        of_camera = [t for t in found if t.startswith(f"/{named.strip('/')}/") and not _NO_PHOTOGRAPH.search(t)]
        if len({_camera(t) for t in of_camera}) != 1 or named in types:
            return (_checked(where, types, _IMAGE, named),)
        return tuple(_best_first(of_camera, types, counts))
    cameras = camera_topics(types)
    if len(cameras) > 1:
        raise SimjudgeError(_ambiguous(where, _IMAGE, found))
    return tuple(_best_first((t for t in found if _camera(t) in cameras), types, counts))


def _without_other_cameras(types: Mapping[str, str], near: str, named: set[str]) -> Mapping[str, str]:
    """The topics without those that belong to another camera than the chosen one: its boxes are of other images."""
    others = [t for t, kind in types.items()
              if kind in _IMAGE.types and _camera(t) != _camera(near) and not _DRAWN_UPON.search(t)]  # fmt: skip

    def is_foreign(topic: str) -> bool:
        return any(_kinship(topic, other) > _kinship(topic, near) for other in others)

    return {
        t: kind for t, kind in types.items()
        if not near or t in named or kind not in (*_LABEL.types, *_DETECTION.types, CAMERA_INFO, FRAME_INFO)
        or not is_foreign(t)
    }  # fmt: skip


def _camera(topic: str) -> str:
    """What image_transport's topics of one camera have in common."""
    return topic.removesuffix("/compressed")


def _one(
    where: str, types: Mapping[str, str], role: TopicRole, named: str | None, free: Mapping[str, str], near: str
) -> str:
    if named is not None:
        return _checked(where, types, role, named)
    for wanted in role.types:
        found = [t for t, kind in free.items() if kind == wanted]
        if not found:
            continue
        best = max(_kinship(t, near) for t in found)
        closest = [t for t in found if _kinship(t, near) == best]
        if len(closest) > 1:
            raise SimjudgeError(_ambiguous(where, role, found))
        return closest[0]
    return ""


def _checked(where: str, types: Mapping[str, str], role: TopicRole, named: str) -> str:
    topic = named if named in types else "/" + named.lstrip("/")
    fitting = sorted(t for t, kind in types.items() if kind in role.types) or ["none"]
    if topic not in types:
        article = "an" if role.option[0] in "aeiou" else "a"
        could = f"that could be {article} {role.option}: {', '.join(fitting)}"
        raise SimjudgeError(f"{where}: has no topic {named}; {could}")
    if types[topic] not in role.types:
        raise SimjudgeError(
            f"{where}: {topic} is a {types[topic]}, not a {role.option}; those that could be one: {', '.join(fitting)}"
        )
    return topic


def _nearest(types: Mapping[str, str], kind: str, near: str) -> str:
    """The topic of a type that shares most of its namespace with another."""
    found = sorted(t for t, its_kind in types.items() if its_kind == kind)
    return max(found, key=lambda t: _kinship(t, near), default="")


def _kinship(topic: str, near: str) -> int:
    """How many leading parts two names share."""
    shared = 0
    for one, other in zip(topic.split("/"), near.split("/"), strict=False):
        if one != other:
            break
        shared += 1
    return shared


def _ambiguous(where: str, role: TopicRole, found: list[str]) -> str:
    flag = role.option.replace(" ", "-")
    here = "--image-topic (compare: --a-image-topic, --b-image-topic), or take it out with " if role is _IMAGE else ""
    choose = f"choose one with {here}'simjudge convert IN OUT --{flag} TOPIC'"
    return f"{where}: several {role.what} topics; {choose}: {', '.join(sorted(found))}"
