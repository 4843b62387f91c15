"""CVAT's own XML, "CVAT for images 1.1": boxes, polygons and masks, classes by name.

The format: https://docs.cvat.ai/docs/manual/advanced/xml_format/.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ElementTree, SubElement

import numpy as np

from simjudge.core.arrays import IntArray
from simjudge.core.errors import Losses, SimjudgeError
from simjudge.core.files import atomic_folder
from simjudge.core.frames import FrameSet
from simjudge.core.names import class_names_from, composed, name_to_stamp
from simjudge.core.object_tables import NO_INSTANCE, BoolImage, Objects, Predictions, row_offsets
from simjudge.core.text import load_xml, one_line, parse_integer, parse_number
from simjudge.data.format_support.annotated_frames import find_images
from simjudge.data.format_support.image_files import Format, Source, file_stems, image_stem, images_below, write_images
from simjudge.data.format_support.mask_codec import (
    DECIMALS,
    NO_MASK,
    MaskCrop,
    MaskList,
    check_mask_area,
    crop_mask,
    mask_from_polygons,
    outline_box,
)
from simjudge.data.format_support.raw_rows import (
    OPTIONAL_COLUMNS,
    RawRows,
    build_objects,
    build_predictions,
    mend_foreign_labels,
    used_class_ids,
)
from simjudge.data.format_support.sidecar import Sidecar, apply_sidecar, load_sidecar, write_sidecar

Shape = tuple[list[float], MaskCrop]
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}")  # Text that is a whole number, and fits an int64
_CORNERS = ("xtl", "ytl", "xbr", "ybr")


def read_shapes(
    images: Sequence[Element],
    frame: dict[str, int],
    size: IntArray,
    ids: dict[str, int],
    file: Path,
    losses: Losses,
    *,
    scored: bool,
) -> RawRows:
    """The shapes of all images as rows, not yet checked (size: int64 (F, 2); losses: counts shapes of other kinds)."""
    frames: list[int] = []
    row_names: list[str] = []
    columns: list[tuple[float, list[float], float, int, str | None, str | None]] = []
    masks = MaskList()
    for image in images:
        name = image.attrib["name"]
        of = frame.get(name)
        if of is None:
            continue
        width, height = (int(v) for v in size[of])
        for index, element in enumerate(image):
            where = f"{file}: image {name} {element.tag} {index}"
            shape = _shape(element, width, height, where, losses)
            score = parse_number(element.get("score")) if scored else 1.0
            label = element.get("label")
            if shape is None:
                continue
            if score is None or label is None or label not in ids:
                kind = "malformed rows" if score is None else "class ids without a name"
                losses.add(kind, f"{where} (label {one_line(label)}, score {one_line(element.get('score'))})")
                continue
            frames.append(of)
            row_names.append(where)
            columns.append((float(ids[label]), shape[0], score, *_attributes(element)))
            masks.append(shape[1])
    classes, boxes, scores, instances, distance, visible = zip(*columns, strict=True) if columns else ((),) * 6
    return RawRows(
        np.array(frames, np.int64),
        np.array(classes, np.float64),
        np.array(boxes, np.float64).reshape(-1, 4),
        row_names.__getitem__,
        np.array(scores, np.float64) if scored else None,
        np.array(instances, np.int64),
        masks.masks(),
        distance,
        visible,
    )


def add_shapes(
    root: Element,
    entries: Sequence[tuple[str, int, int]],
    chosen: IntArray,
    table: Objects | Predictions,
    labels: dict[int, str],
) -> None:
    """Add an image element for each of the `chosen` frames with its objects or predictions (chosen: int64)."""
    start = row_offsets(table.frame, len(entries)).tolist()
    box = table.box.tolist()
    class_id = table.class_id.tolist()
    for i in chosen.tolist():
        name, width, height = entries[i]
        image = SubElement(root, "image", id=str(i), name=name, width=str(width), height=str(height))
        for row in range(start[i], start[i + 1]):
            attributes = {"label": labels[class_id[row]], "source": "simjudge", "occluded": "0"}
            if table.masks is not None and table.masks.has(row):
                attributes |= _mask_attributes(table.masks.crop(row), table.masks.origin[row].tolist())
                element = SubElement(image, "mask", attributes)
            else:
                corners = zip(_CORNERS, box[row], strict=True)
                element = SubElement(image, "box", attributes | {key: repr(value) for key, value in corners})
            if isinstance(table, Predictions):
                element.set("score", repr(float(table.score[row])))
                continue
            if table.instance[row] != NO_INSTANCE:
                SubElement(element, "attribute", name="instance").text = str(int(table.instance[row]))
            for attribute in OPTIONAL_COLUMNS:
                value = float(getattr(table, attribute)[row])
                if not math.isnan(value):
                    SubElement(element, "attribute", name=attribute).text = repr(value)


def _attributes(element: Element) -> tuple[int, str | None, str | None]:
    """Instance, distance and visible share; a text that is no number belongs to somebody else's attribute."""
    texts = {attribute.get("name"): str(attribute.text).strip() for attribute in element.iterfind("attribute")}
    instance = texts.get("instance", "")
    distance, visible = (text if parse_number(text) is not None else None for text in map(texts.get, OPTIONAL_COLUMNS))
    return int(instance) if _WHOLE_NUMBER.fullmatch(instance) else NO_INSTANCE, distance, visible


def _shape(element: Element, width: int, height: int, where: str, losses: Losses) -> Shape | None:
    try:
        if element.tag == "box":
            if parse_number(element.get("rotation", "0")) != 0:
                losses.add("rotated boxes", where)
                return None
            return [round(float(element.attrib[key]), DECIMALS) for key in _CORNERS], NO_MASK
        if element.tag == "polygon":
            return _polygon(element, width, height)
        if element.tag == "mask":
            return _mask(element, width, height)
    except (KeyError, ValueError, OverflowError) as error:
        losses.add("malformed rows", f"{where} ({type(error).__name__}: {one_line(error)})")
        return None
    if element.tag != "tag":
        losses.add("shapes that are neither box, polygon nor mask", where)
    return None


def _polygon(element: Element, width: int, height: int) -> Shape:
    points = np.array([p.split(",") for p in element.attrib["points"].split(";")], np.float64)
    if len(points) < 3 or points.shape[1] != 2 or not np.isfinite(points).all():
        raise ValueError("not three or more points")
    points = np.round(points, DECIMALS)
    return outline_box(points, width, height), mask_from_polygons([points], width, height)


def _mask(element: Element, width: int, height: int) -> Shape:
    left, top, wide, high = (int(float(element.attrib[key])) for key in ("left", "top", "width", "height"))
    counts = np.array(element.attrib["rle"].split(","), np.int64)
    check_mask_area(width, height)
    check_mask_area(wide, high)
    if wide < 1 or high < 1 or not 0 <= counts.min() <= counts.max() <= wide * high or counts.sum() != wide * high:
        raise ValueError("run lengths that do not fill the mask")
    values = np.arange(len(counts)) % 2 == 1
    whole = np.repeat(values, counts).reshape(high, wide)
    inside = whole[max(0, -top) : max(0, height - top), max(0, -left) : max(0, width - left)]
    if inside.size == 0 or not inside.any():
        return [float(left), float(top), float(left + wide), float(top + high)], NO_MASK
    crop, (x, y) = crop_mask(inside, (max(left, 0), max(top, 0)))
    shape = inside.shape if crop is None else crop.shape
    return [float(x), float(y), float(x + shape[1]), float(y + shape[0])], (crop, (x, y))


def _mask_attributes(crop: BoolImage, origin: Sequence[int]) -> dict[str, str]:
    """Run lengths row by row, the first of pixels that are not set, as CVAT writes them."""
    flat = np.concatenate([[False], crop.ravel()])
    edges = np.flatnonzero(np.diff(flat))
    counts = np.diff(np.concatenate([[0], edges, [crop.size]]))
    height, width = crop.shape
    where = {"left": origin[0], "top": origin[1], "width": width, "height": height}
    return {"rle": ", ".join(map(str, counts.tolist()))} | {key: str(value) for key, value in where.items()}


ANNOTATIONS = "annotations.xml"
PREDICTIONS = "predictions.xml"
ImageEntry = tuple[str, int, int]  # File name, width and height of an image; 0 where the file does not say


def sniff_cvat(path: Path) -> bool:
    """Tell whether a path is CVAT's."""
    if not path.is_file():
        # Whatever is wrong with it, reading says so better than "no data set" would.
        return (path / ANNOTATIONS).is_file()
    with path.open("rb") as stream:
        return b"<annotations" in stream.read(4096)


def read_cvat(path: str | Path) -> FrameSet:
    """Read CVAT XML, and the predictions in `predictions.xml` beside it where there is one.

    Class ids are the label's `class_id` where every label has one (as in files written here), else the label's index in
    the list, from 0. An image that the file names is labelled, an image in `images/` that it does not name is not.
    """
    path = Path(path)
    file = path / ANNOTATIONS if path.is_dir() else path
    sidecar = load_sidecar(file.parent) if file.name == ANNOTATIONS else Sidecar(file)
    return apply_sidecar(_read_plain(file, sidecar), sidecar)


def write_cvat(frames: FrameSet, path: str | Path) -> Losses:
    """Write a set as a folder: images/, annotations.xml, predictions.xml (where predicted) and the sidecar.

    Images that nobody labelled are left out of annotations.xml, so that an export from CVAT, which names all images of
    its task, can replace it. `path` of the folder, which must not exist or be empty.
    """
    path = Path(path)
    stems = file_stems(frames.frame_name)
    labels = _label_texts(frames)
    with atomic_folder(path) as folder:
        names = write_images(frames, folder / "images", stems)
        entries = [
            (name or f"{stem}.png", int(w), int(h))
            for name, stem, (w, h) in zip(names, stems, frames.size, strict=True)
        ]
        document = _document(labels)
        add_shapes(document, entries, np.flatnonzero(frames.labelled), frames.objects, labels)
        _write_xml(document, folder / ANNOTATIONS)
        if frames.predictions is not None:
            document = _document(labels)
            add_shapes(document, entries, np.flatnonzero(frames.predicted), frames.predictions, labels)
            _write_xml(document, folder / PREDICTIONS)
        write_sidecar(frames, folder, stems, lambda f: _read_plain(f / ANNOTATIONS, load_sidecar(f)))
    return Losses()


def _read_plain(file: Path, sidecar: Sidecar) -> FrameSet:
    losses = Losses()
    root = _annotations(file)
    other = file.parent / PREDICTIONS
    predicted_root = _annotations(other) if file.name == ANNOTATIONS and other.is_file() else None
    images = root.findall("image")
    predicted_images = [] if predicted_root is None else predicted_root.findall("image")
    _check_image_names(images, file)
    _check_image_names(predicted_images, other)
    entries = {e[0]: e for e in map(_entry, images)}
    labelled = set(entries)
    _call_alike(predicted_images, list(entries))
    entries |= {e[0]: e for e in map(_entry, predicted_images) if e[0] not in entries}
    if file.name == ANNOTATIONS:
        _add_unnamed(entries, file, sidecar, losses)
    stems = _stems(list(entries))
    found = find_images(list(entries.values()), stems, file.parent, sidecar, losses, str(file))
    if not found.names and not sidecar.frame:
        raise SimjudgeError(f"{file}: names no usable image; an empty set cannot be used{losses.reason}")
    names = list(entries)
    frame = {names[k]: i for i, k in enumerate(found.entry)}
    class_names = _class_names(root, file)
    ids = {name: i for i, name in class_names.items()}
    raw = read_shapes(images, frame, found.size, ids, file, losses, scored=False)
    raw = raw if sidecar.frame else mend_foreign_labels(raw, found.size, str(file), losses)
    predictions = None
    predicted = np.zeros(len(found.names), np.bool_)
    if predicted_root is not None:
        scored = read_shapes(predicted_images, frame, found.size, ids, other, losses, scored=True)
        predictions = build_predictions(scored, found.size, {}, losses)
        predicted[[frame[i.attrib["name"]] for i in predicted_images if i.attrib["name"] in frame]] = True
    return FrameSet.build(
        file.absolute().parent.name if file.name == ANNOTATIONS else file.stem,
        found.size,
        build_objects(raw, found.size, {}, losses),
        predictions,
        frame_name=found.names,
        stamp=[name_to_stamp(name) for name in found.names],
        labelled=[names[k] in labelled for k in found.entry],
        predicted=predicted,
        class_names=class_names,
        images=found.images(),
        losses=losses,
    )


def _annotations(file: Path) -> Element:
    root = load_xml(file)
    if root.tag != "annotations":
        raise SimjudgeError(f"{file}: not an export as 'CVAT for images 1.1' (its root is <{root.tag}>)")
    if root.find("track") is not None:
        raise SimjudgeError(f"{file}: an export as 'CVAT for video'; export it as 'CVAT for images 1.1'")
    return root


def _entry(image: Element) -> ImageEntry:
    # A size that is no whole number is no size that a picture could have.
    width, height = (_whole(image.get(key, "0"), -1) for key in ("width", "height"))
    return image.attrib["name"], width, height


def _whole(text: str, otherwise: int) -> int:
    number = parse_integer(text)
    return otherwise if number is None else number


def _check_image_names(images: Sequence[Element], file: Path) -> None:
    """Refuse an image without a name, and two of one name: their shapes would become those of one frame."""
    seen: dict[str, int] = {}
    for i, image in enumerate(images):
        name = image.get("name")
        if not name:
            raise SimjudgeError(f"{file}: image {i} (id {one_line(image.get('id'))}) has no name; export it again")
        if seen.setdefault(name, i) != i:
            raise SimjudgeError(f"{file}: images {seen[name]} and {i} are both called {one_line(name)}; keep one")


def _call_alike(images: Sequence[Element], names: Sequence[str]) -> None:
    """Give images the names of the annotations where they differ in folders only, as after an export from CVAT."""
    by_last = {name.rsplit("/", 1)[-1]: name for name in names}
    known = set(names)
    for image in images:
        name = image.attrib["name"]
        if name not in known:
            image.set("name", by_last.get(name.rsplit("/", 1)[-1], name))


def _add_unnamed(entries: dict[str, ImageEntry], file: Path, sidecar: Sidecar, losses: Losses) -> None:
    """Add the images in `images/` that the annotations do not name."""
    named, folder = {composed(name.rsplit("/", 1)[-1]) for name in entries}, file.parent / "images"
    for image in (image for images in images_below(folder).values() for image in images):
        if composed(image.name) not in named:
            name = image.relative_to(folder).as_posix()
            entries[name] = (name, 0, 0)
            if not sidecar.rules_out("labelled", image_stem(image)):
                losses.add("images without labels (the annotations do not name them)", str(image))


def _stems(names: Sequence[str]) -> list[str]:
    """Frame names: the file stems, or the paths with "/" made "_" where stems are not unique."""
    stems = [Path(name).stem for name in names]
    return stems if len(set(stems)) == len(stems) else [name.rpartition(".")[0].replace("/", "_") for name in names]


def _class_names(root: Element, file: Path) -> dict[int, str]:
    labels = root.findall("./meta//labels/label")
    names = [label.findtext("name", "") for label in labels]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise SimjudgeError(f"{file}: two labels are called {one_line(twice)}; shapes could mean either: rename one")
    ids = [label.findtext("class_id") for label in labels]
    if labels and all(i is not None for i in ids):
        return class_names_from(zip(ids, names, strict=True), f"{file}: labels")
    if not labels:
        # A file without its list of labels: they are numbered as they come.
        shapes = root.iterfind("./image/*")
        names = list(dict.fromkeys(str(shape.get("label")) for shape in shapes if shape.get("label")))
    return dict(enumerate(names))


def _label_texts(frames: FrameSet) -> dict[int, str]:
    """What each class is called in the XML: its name, made printable and different from the others'."""
    used = used_class_ids(frames.objects) | used_class_ids(frames.predictions) | set(frames.class_names)
    texts: dict[int, str] = {}
    for class_id in sorted(used):
        name = frames.class_name(class_id)
        text = "".join(c if c.isprintable() else "_" for c in name)
        while not text.strip() or text in texts.values():
            text = f"{text}#{class_id}"
        texts[class_id] = text
    return texts


def _document(labels: dict[int, str]) -> Element:
    root = Element("annotations")
    SubElement(root, "version").text = "1.1"
    listed = SubElement(SubElement(SubElement(root, "meta"), "task"), "labels")
    for class_id, text in labels.items():
        label = SubElement(listed, "label")
        for tag, content in (("name", text), ("type", "any"), ("class_id", str(class_id))):
            SubElement(label, tag).text = content
        attributes = SubElement(label, "attributes")
        for name in ("instance", *OPTIONAL_COLUMNS):
            attribute = SubElement(attributes, "attribute")
            parts = {"name": name, "mutable": "False", "input_type": "text", "default_value": "", "values": ""}
            for tag, content in parts.items():
                SubElement(attribute, tag).text = content
    return root


def _write_xml(root: Element, path: Path) -> None:
    tree: Any = ElementTree(root)
    tree.write(path, encoding="utf-8", xml_declaration=True)


__all__ = ["FORMATS", "read_cvat", "sniff_cvat", "write_cvat"]


def _sniff(source: Source) -> bool:
    return (source.is_folder or source.first_byte == b"<") and sniff_cvat(source.path)


FORMATS = (
    Format(
        "cvat",
        "CVAT",
        "a CVAT folder or .xml",
        _sniff,
        20,
        read=lambda source, _options: read_cvat(source.path),
        write=write_cvat,
    ),
)
