"""What a file is that is no image which simjudge reads, by its first bytes: to say it by its name."""

from __future__ import annotations

_BRANDS = {
    b"avif": "AVIF", b"avis": "AVIF", b"heic": "HEIC", b"heix": "HEIC", b"mif1": "HEIF", b"msf1": "HEIF",
}  # fmt: skip
_SIGNATURES = (
    (b"\x00\x00\x00\x01", "video (H.264 or H.265)"),
    (b"\x00\x00\x01", "video (H.264, H.265 or MPEG)"),
    (b"\x00\x00\x00\x0cJXL ", "JPEG XL"),
    (b"\xff\x0a", "JPEG XL"),
    (b"\x1aE\xdf\xa3", "video (Matroska or WebM)"),
    (b"DKIF", "video (VP8, VP9 or AV1)"),
    (b"v/1\x01", "OpenEXR"),
    (b"#?RADIANCE", "Radiance HDR"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"%PDF", "PDF"),
    (b"<svg", "SVG"),
    (b"<!DOCTYPE html", "a web page"),
    (b"<html", "a web page"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"version https://git-lfs", "a pointer of Git LFS (git lfs pull fetches the file)"),
)
_DEPTH_HEAD = 12
"""Bytes that compressed_depth_image_transport puts before its PNG."""


def name_format(head: bytes) -> str:
    """Name the format of a file.

    Returns:
        The format, such as "AVIF"; "" where it is not known, or one that simjudge reads.
    """
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], "video (MP4)")
    if head[_DEPTH_HEAD : _DEPTH_HEAD + 4] == b"\x89PNG":
        return "depth (compressedDepth)"
    return next((name for signature, name in _SIGNATURES if head.startswith(signature)), "")
