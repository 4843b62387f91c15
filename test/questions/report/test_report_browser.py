"""The page in headless Chromium: it draws, loads nothing, complains of nothing and fits its window."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from drive_recordings import write_drive
from made_results import KINDS, made_contexts, made_set, write_result, write_sweep
from PIL import Image
from random_frames import made

import simjudge as sj
from simjudge.questions.compare.page import write_report
from simjudge.questions.report.report import report
from simjudge.results.context_table import ContextTable
from simjudge.results.gallery import save_gallery
from simjudge.results.saved_result import load_results

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--virtual-time-budget=3000",
)
MEASURE = """<script>
const wide = [...document.querySelectorAll("main *")].filter((e) => !e.closest(".scroll, svg")
  && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName + "." + e.className);
document.documentElement.dataset.measured = `${innerWidth} ${document.documentElement.scrollWidth} ${wide.slice(0, 3)}`;
</script>"""

pytestmark = pytest.mark.xdist_group("chromium")


@pytest.fixture(scope="module")
def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("chromium is not installed")
    return found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    a, b = made_set("hall", 1, 20), made_set("chrono", 2, 20, shift=0.12)
    contexts = made_contexts(a, b)
    losses = ["3 boxes with zero area: labels/" + "x" * 200]
    first = write_result(folder / "cones", contexts, losses=losses, names={"1": "red", "2": "y" * 120})
    save_gallery(first, a, b, ContextTable(contexts), (120, 120))
    write_sweep(first, contexts)
    second = write_result(folder / "noise", contexts, verdict="cannot_tell")
    out = {name: folder / f"{name}.html" for name in ("one", "several", "recording")}
    report(write_drive(folder / "drive.mcap"), out["recording"])
    write_report([first], out["one"])
    write_report([first, second, write_sweep(folder / "sweep", contexts)], out["several"])
    return out


def _run(chromium: str, tmp_path: Path, page: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [chromium, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", *more, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


@pytest.mark.long
@pytest.mark.parametrize(
    ("which", "width", "scheme"),
    [("one", 1280, 1), ("one", 500, 0), ("several", 1280, 1), ("several", 500, 0), ("recording", 1280, 1)],
)
def test_it_draws_and_complains_of_nothing(
    chromium: str, tmp_path: Path, pages: dict[str, Path], which: str, width: int, scheme: int
) -> None:
    shot = tmp_path / "shot.png"
    flags = (f"--screenshot={shot}", f"--window-size={width},2500", f"--blink-settings=preferredColorScheme={scheme}")
    done = _run(chromium, tmp_path, pages[which], *flags)
    assert "CONSOLE" not in done.stderr
    pixels = np.asarray(Image.open(shot).convert("RGB"))
    assert pixels.shape[:2] == (2500, width)
    colours, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_counts=True)
    assert len(colours) > 100
    assert counts.max() < 0.9 * counts.sum()
    # every fifth of the page has something on it
    assert all(len(np.unique(part.reshape(-1, 3), axis=0)) > 10 for part in np.array_split(pixels[:1500], 5))
    dark = colours[counts.argmax()].mean() < 128
    assert dark == (scheme == 0)


@pytest.mark.parametrize(
    ("which", "width"), [("one", 1280), ("one", 500), ("several", 1280), ("several", 500), ("recording", 500)]
)
def test_nothing_reaches_over_the_window(
    chromium: str, tmp_path: Path, pages: dict[str, Path], which: str, width: int
) -> None:
    measured = tmp_path / "measured.html"
    # The page of a recording lets no script run, this one neither.
    html = re.sub(r"<meta http-equiv[^>]*>", "", pages[which].read_text(encoding="utf-8"))
    measured.write_text(html.replace("</body>", MEASURE + "</body>"), encoding="utf-8")
    done = _run(chromium, tmp_path, measured, "--dump-dom", f"--window-size={width},1000")
    found = re.search(r'data-measured="(\d+) (\d+) ([^"]*)"', done.stdout)
    assert found is not None
    assert found.group(3) == ""
    assert int(found.group(2)) <= int(found.group(1))


ORDER = """<script>
const table = document.querySelector("table.rows"), heads = [...table.querySelectorAll("thead th")];
const column = heads.findIndex((head) => head.textContent === "B minus A");
const rows = () => [...table.tBodies[0].rows].filter((row) => row.offsetParent);
const shown = () => rows().map((row) => row.cells[column].dataset.value);
const said = [shown().join()];
heads[column].firstChild.click(); said.push(shown().join());
heads[column].firstChild.click(); said.push(shown().join());
const field = table.closest(".scroll").previousElementSibling.querySelector("input");
field.value = "PX left"; field.dispatchEvent(new Event("input")); said.push(shown().join());
document.documentElement.dataset.said = said.join("|");
</script>"""


def test_rows_are_ordered_by_a_click_and_chosen_by_words(chromium: str, tmp_path: Path, pages: dict[str, Path]) -> None:
    asked = tmp_path / "asked.html"
    html = pages["one"].read_text(encoding="utf-8")
    asked.write_text(html.replace("</body>", ORDER + "</body>"), encoding="utf-8")
    found = re.search(r'data-said="([^"]*)"', _run(chromium, tmp_path, asked, "--dump-dom").stdout)
    assert found is not None
    as_it_was, down, up, chosen = ([float(v) for v in part.split(",")] for part in found[1].split("|"))
    assert len(as_it_was) == len(KINDS["kinds"]) + 1
    assert down == sorted(as_it_was, reverse=True)
    assert up == sorted(as_it_was)
    assert chosen == as_it_was[:1]


@pytest.mark.long
def test_verdicts_of_many_classes_are_ordered(chromium: str, tmp_path: Path) -> None:
    a, b = (made_set(name, seed, 40, classes=tuple(range(30)), pictures=False) for seed, name in enumerate("ab"))
    folder = write_result(tmp_path / "many", made_contexts(a, b), names={str(k): f"kind {k}" for k in range(30)})
    write_report([folder], tmp_path / "many.html")
    script = """<script>
const choice = document.querySelector(".tools select");
choice.value = "w1"; choice.dispatchEvent(new Event("change"));
const rows = [...document.querySelectorAll(".verdicts .verdict:not(.axis)")].filter((row) => row.offsetParent);
document.documentElement.dataset.said = rows.map((row) => row.dataset.w1).join();
</script>"""
    page = tmp_path / "many.html"
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", script + "</body>"), encoding="utf-8")
    found = re.search(r'data-said="([^"]*)"', _run(chromium, tmp_path, page, "--dump-dom").stdout)
    assert found is not None
    shown = [float(value) for value in found[1].split(",") if value]
    entries = load_results([folder])[0].entries
    assert shown == sorted((w1 for e in entries if (w1 := e.numbers.mean_w1) is not None), reverse=True)


def test_the_browser_refuses_what_a_page_would_load(chromium: str, tmp_path: Path, pages: dict[str, Path]) -> None:
    """The test above would notice: with a foreign picture put in, the console does complain."""
    spoilt = tmp_path / "spoilt.html"
    html = pages["one"].read_text(encoding="utf-8")
    spoilt.write_text(html.replace("</main>", '<img src="https://127.0.0.1:9/x.png"></main>'), encoding="utf-8")
    assert "CONSOLE" in _run(chromium, tmp_path, spoilt, "--dump-dom").stderr


HEADS = """<script>
const place = document.querySelector(".matrix").closest(".scroll"), row = place.querySelector("tbody tr");
const left = () => Math.round(row.cells[0].getBoundingClientRect().left - place.getBoundingClientRect().left);
place.scrollLeft = 1e6;
document.documentElement.dataset.said = [place.scrollLeft > 100, left(), row.cells.length].join();
</script>"""


def test_row_heads_of_a_wide_matrix_stay_where_it_is_scrolled(chromium: str, tmp_path: Path) -> None:
    real, *simulated = (replace(made(n, 8), name=f"set {n} {'x' * 60}") for n in range(4))
    page = tmp_path / "rank.html"
    sj.rank(real, simulated, patch=40, draws=20).report(page)
    scripted = tmp_path / "scripted.html"
    html = re.sub(r"<meta http-equiv[^>]*>", "", page.read_text(encoding="utf-8"))
    scripted.write_text(html.replace("</body>", HEADS + "</body>"), encoding="utf-8")
    done = _run(chromium, tmp_path, scripted, "--dump-dom", "--window-size=1280,1000")
    assert 'data-said="true,0,4"' in done.stdout
