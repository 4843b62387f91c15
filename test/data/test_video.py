"""Pictures of videos: in any order, each as a plain run through the file gives it."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from simjudge.core.errors import SimjudgeError
from simjudge.core.images import ImageError
from simjudge.data.sets import read_set
from simjudge.data.video import PacketDecoder, PacketOrder, VideoFileImages, codec_name, load_pyav, survey_video

av = pytest.importorskip("av")
SIZE = (160, 120)


def drawn(count: int = 40) -> list[np.ndarray]:
    """Pictures that differ from one another: a ball that moves, and its number."""
    back = cv2.GaussianBlur(
        (np.random.default_rng(0).random((SIZE[1], SIZE[0], 3)) * 80 + 60).astype(np.uint8), (9, 9), 0
    )
    pictures = []
    for number in range(count):
        picture = back.copy()
        cv2.circle(picture, (10 + 3 * number % 150, 60), 12, (255, 40, 40), -1)
        cv2.putText(picture, str(number), (40, 40), 0, 1, (255, 255, 255), 2)
        pictures.append(picture)
    return pictures


def packets(codec: str, options: dict[str, str], path: Path | None = None, count: int = 40) -> list[bytes]:
    """Encode the pictures; into a file, or as packets that stand alone (Annex B)."""
    if path is not None:
        with av.open(str(path), "w") as container:
            stream = container.add_stream(codec, rate=20)
            stream.width, stream.height = SIZE
            stream.pix_fmt, stream.options = "yuv420p", options
            for picture in drawn(count):
                for packet in stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")):
                    container.mux(packet)
            for packet in stream.encode(None):
                container.mux(packet)
        return []
    encoder = av.CodecContext.create(codec, "w")
    encoder.width, encoder.height = SIZE
    encoder.pix_fmt, encoder.options, encoder.framerate = "yuv420p", options, 20
    out = [
        packet
        for picture in drawn(count)
        for packet in encoder.encode(av.VideoFrame.from_ndarray(picture, format="rgb24"))
    ]
    return [bytes(packet) for packet in (*out, *encoder.encode(None))]


@pytest.mark.parametrize(
    ("name", "codec", "options"),
    [
        ("a.mp4", "libx264", {"bf": "3", "g": "12"}),  # pictures are stored in another order than shown
        ("a.mkv", "libx264", {"bf": "0"}),
        ("a.webm", "libvpx-vp9", {}),
        ("a.avi", "mpeg4", {}),
    ],
)
def test_every_picture_of_a_file_is_that_of_a_plain_run_in_any_order(tmp_path, name, codec, options):
    path = tmp_path / name
    packets(codec, options, path)
    found = survey_video(path)
    capture = cv2.VideoCapture(str(path))
    plain = [capture.read()[1][:, :, ::-1] for _ in range(40)]
    assert found.size == SIZE
    assert len(found.pts) == 40
    np.testing.assert_allclose(np.diff(found.stamp), 5e7, atol=1.1e6)  # 20 Hz, in units of at most 1 ms
    images = VideoFileImages(path, found.pts)
    for index in (*range(40), *np.random.default_rng(1).permutation(40).tolist()):
        np.testing.assert_array_equal(images.read(index), plain[index])


def test_a_video_is_a_set_of_frames_with_times(tmp_path):
    packets("libx264", {}, tmp_path / "clip.mp4")
    frames = read_set(tmp_path / "clip.mp4")
    assert len(frames) == 40
    assert list(frames.frame_name[:2]) == ["frame_000000", "frame_000001"]
    assert frames.stamp[:3].tolist() == [0, 50_000_000, 100_000_000]
    assert frames.size[0].tolist() == [160, 120]
    assert np.abs(frames.images.read(7).astype(int) - drawn()[7]).mean() < 4


def test_a_video_of_a_phone_held_upright_is_turned_as_players_turn_it(tmp_path):
    packets("libx264", {}, tmp_path / "flat.mp4", 3)
    with av.open(str(tmp_path / "flat.mp4")) as source, av.open(str(tmp_path / "phone.mp4"), "w") as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(source.streams.video[0]):
            if packet.size:
                packet.stream = stream
                target.mux(packet)
    data = bytearray((tmp_path / "phone.mp4").read_bytes())
    at = data.index(b"tkhd") + 4 + 40  # the display matrix of a track header (ISO/IEC 14496-12, 8.3.2)
    one = 65536
    for place, value in enumerate((0, one, 0, -one, 0, 0, 120 * one, 0, 1 << 30)):  # a quarter to the right
        data[at + 4 * place : at + 4 * place + 4] = (value & 0xFFFFFFFF).to_bytes(4, "big")
    (tmp_path / "phone.mp4").write_bytes(data)
    frames = read_set(tmp_path / "phone.mp4")
    flat = read_set(tmp_path / "flat.mp4").images.read(0)
    assert frames.size[0].tolist() == [120, 160]
    np.testing.assert_array_equal(frames.images.read(0), np.rot90(flat, -1))


def test_what_is_no_video_is_one_line(tmp_path):
    (tmp_path / "a.mp4").write_bytes(b"not a video at all" * 100)
    with pytest.raises(SimjudgeError, match=r"a\.mp4: is not a video that can be read \(Invalid data"):
        read_set(tmp_path / "a.mp4")


@pytest.mark.parametrize(
    "text",
    [
        "ffconcat version 1.0\nfile a.mp4\n",
        "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\na.mp4\n#EXT-X-ENDLIST\n",
        "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=-\nc=IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n",
    ],
)
def test_a_playlist_under_the_name_of_a_video_opens_no_other_file(tmp_path, text):
    packets("libx264", {}, tmp_path / "a.mp4")
    (tmp_path / "b.mp4").write_text(text)
    with pytest.raises(SimjudgeError, match=r"b\.mp4: is not a video that can be read"):
        survey_video(tmp_path / "b.mp4")


def test_without_pyav_the_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "av", None)
    with pytest.raises(
        SimjudgeError, match=r"clip\.mp4: is video, which PyAV decodes: pip install 'simjudge\[video\]'"
    ):
        load_pyav("clip.mp4")


def ordered(codec: str, sent: list[bytes]) -> PacketOrder:
    order = PacketOrder(codec)
    for data in sent:
        order.add(data)
    return order


@pytest.mark.parametrize(
    ("codec", "encoder", "options"),
    [
        ("h264", "libx264", {"g": "10", "bf": "2"}),
        ("h264", "libx264", {"g": "10", "tune": "zerolatency"}),
        ("hevc", "libx265", {"x265-params": "keyint=10:bframes=0:log-level=none"}),
        ("vp9", "libvpx-vp9", {"g": "10", "lag-in-frames": "0", "auto-alt-ref": "0"}),
        ("vp8", "libvpx", {"g": "10", "lag-in-frames": "0", "auto-alt-ref": "0"}),
        ("mjpeg", "mjpeg", {}),
    ],
)
def test_packets_give_the_pictures_of_a_decoder_that_got_them_all(codec, encoder, options):
    if encoder == "mjpeg":
        sent = [cv2.imencode(".jpg", picture[:, :, ::-1])[1].tobytes() for picture in drawn(30)]
    else:
        sent = packets(encoder, options, count=30)
    plain = av.CodecContext.create(codec, "r")
    frames = [frame for data in sent for frame in plain.decode(av.Packet(data))] + list(plain.decode(None))
    order = ordered(codec, sent)
    assert order.keys[0]
    assert codec == "mjpeg" or 2 <= sum(order.keys) <= 4
    assert not any(order.lacks)
    decoder = PacketDecoder(order, sent.__getitem__, lambda number: f"packet {number}")
    shown = [frame.to_ndarray(format="rgb24") for frame in frames]
    if options.get("bf") == "2":  # a packet's picture is one of those around it: none is given twice, none is lost
        given = [decoder.read(index) for index in range(30)]
        assert sorted(map(bytes, given)) == sorted(map(bytes, shown))
        return
    for index in (*range(30), *np.random.default_rng(2).permutation(30).tolist()):
        np.testing.assert_array_equal(decoder.read(index), shown[index])


@pytest.mark.parametrize(
    ("codec", "encoder", "options"),
    [
        ("h264", "libx264", {"g": "10", "tune": "zerolatency"}),
        ("h264", "libx264", {"g": "10", "tune": "zerolatency", "profile": "baseline"}),
        ("hevc", "libx265", {"x265-params": "keyint=10:bframes=0:log-level=none"}),
    ],
)
def test_a_lost_packet_is_said_and_the_next_key_frame_is_whole_again(codec, encoder, options):
    sent = packets(encoder, options, count=30)
    left = sent[:13] + sent[14:]
    decoder = PacketDecoder(ordered(codec, left), left.__getitem__, lambda number: f"packet {number}")
    whole = PacketDecoder(ordered(codec, sent), sent.__getitem__, str)
    for index in range(13):
        np.testing.assert_array_equal(decoder.read(index), whole.read(index))
    for index in range(13, 19):
        with pytest.raises(ImageError, match=f"packet {index}: "):
            decoder.read(index)
    for index in range(19, 29):
        np.testing.assert_array_equal(decoder.read(index), whole.read(index + 1))


def test_pictures_before_the_first_key_frame_are_refused():
    sent = packets("libx264", {"g": "10", "tune": "zerolatency"}, count=15)[3:]
    decoder = PacketDecoder(ordered("h264", sent), sent.__getitem__, lambda number: f"packet {number}")
    with pytest.raises(ImageError, match="packet 2: comes before the first key frame of the video"):
        decoder.read(2)
    assert decoder.read(8).shape == (120, 160, 3)


@pytest.mark.parametrize(
    ("said", "name"),
    [("h264", "h264"), ("libx264;yuv420p;bgr8;bgr8", "h264"), ("hevc_nvenc", "hevc"), ("H265", "hevc"), ("av1", "av1")],
)
def test_a_codec_is_known_by_the_names_that_encoders_give_it(said, name):
    assert codec_name(said, "topic") == name


def test_an_unknown_codec_is_named():
    with pytest.raises(SimjudgeError, match="topic: is video of codec 'theora'; those that are read: h264, hevc, av1"):
        codec_name("theora", "topic")
