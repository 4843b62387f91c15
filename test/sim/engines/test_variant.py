"""What lights the world where: the choice among variants, and libraries that must not end the process."""

import logging
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from simjudge.core.errors import SimjudgeError, UsageError
from simjudge.sim.engines.default import variant

ROOT = Path(__file__).parents[3]


REAL_HAS_CUDA = variant.has_cuda


@pytest.fixture(autouse=True)
def anew(monkeypatch):
    """Choices are made anew, for a machine without a GPU, and undone."""
    monkeypatch.delenv(variant.CHOICE, raising=False)
    monkeypatch.setenv(variant.LIBRARY, "")
    monkeypatch.setattr(variant, "has_cuda", lambda: False)
    variant.choose_variant.cache_clear()
    yield
    variant.choose_variant.cache_clear()


@pytest.fixture
def libraries(tmp_path, monkeypatch):
    """A folder of libraries that is the only one where they are looked for."""
    monkeypatch.setattr(variant, "_FOLDERS", (str(tmp_path),))
    monkeypatch.setattr(variant.sys, "prefix", str(tmp_path / "nowhere"))
    monkeypatch.setattr(variant, "is_fit", lambda path: variant.llvm_version(path) == 19)

    def make(*names):
        for name in names:
            (tmp_path / name).write_bytes(b"")
        return tmp_path

    monkeypatch.setattr(variant, "find_llvm", lambda find=variant.find_llvm: find([str(tmp_path)]))
    return make


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("libLLVM.so.19.1", 19),
        ("libLLVM-15.so.1", 15),
        ("libLLVM-14.so", 14),
        ("libLLVM.so.20.1-rc2", 20),
        ("libLLVM.so", 0),
        ("libLLVM.dylib", 0),
        ("libLLVM-18.1.so", 18),
    ],
)
def test_versions_are_read_from_names(tmp_path, name, version):
    (tmp_path / name).write_bytes(b"")
    assert variant.llvm_version(tmp_path / name) == version


def test_links_are_followed_to_the_name_that_tells(tmp_path):
    (tmp_path / "libLLVM.so.19.1").write_bytes(b"")
    (tmp_path / "libLLVM.so").symlink_to("libLLVM.so.19.1")
    assert variant.llvm_version(tmp_path / "libLLVM.so") == 19


def test_the_fit_library_is_taken_and_named_to_mitsuba(libraries):
    folder = libraries("libLLVM-15.so.1", "libLLVM.so.19.1", "libLLVM-14.so.1")
    assert variant.choose_variant() == "llvm_ad_rgb"
    assert os.environ[variant.LIBRARY] == str(folder / "libLLVM.so.19.1")


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ((), "no libLLVM was found"),
        (("libLLVM-14.so.1", "libLLVM-15.so.1"), "no libLLVM is fit"),
    ],
)
def test_without_a_fit_library_one_loud_line_names_the_remedy(libraries, caplog, names, says):
    libraries(*names)
    with caplog.at_level(logging.WARNING):
        assert variant.choose_variant() == "numpy"
        assert variant.choose_variant() == "numpy"
    (record,) = caplog.records
    assert "RENDERING WILL BE SLOW" in record.message
    assert says in record.message
    assert "apt-get install libllvm19" in record.message


def test_a_choice_is_kept_or_refused(libraries, monkeypatch, caplog):
    monkeypatch.setenv(variant.CHOICE, "numpy")
    libraries("libLLVM.so.19.1")
    assert variant.choose_variant() == "numpy"
    assert not caplog.records
    for asked, error, says in (
        ("fastest", UsageError, "one of cuda_ad_rgb, llvm_ad_rgb, numpy"),
        ("cuda_ad_rgb", SimjudgeError, "no NVIDIA driver"),
    ):
        variant.choose_variant.cache_clear()
        monkeypatch.setenv(variant.CHOICE, asked)
        with pytest.raises(error, match=says):
            variant.choose_variant()


def test_llvm_asked_for_where_it_is_not_is_an_error(libraries, monkeypatch):
    libraries("libLLVM-15.so.1")
    monkeypatch.setenv(variant.CHOICE, "llvm_ad_rgb")
    with pytest.raises(SimjudgeError, match="apt-get install libllvm19"):
        variant.choose_variant()


def test_a_gpu_comes_first(libraries, monkeypatch):
    libraries("libLLVM.so.19.1")
    monkeypatch.setattr(variant, "has_cuda", lambda: True)
    assert variant.choose_variant() == "cuda_ad_rgb"


@pytest.mark.parametrize(
    ("there", "passes", "usable"), [({"libcuda.so.1"}, True, False), (None, False, False), (None, True, True)]
)
def test_a_gpu_counts_where_driver_and_optix_are_and_a_trial_passes(monkeypatch, there, passes, usable):
    monkeypatch.setattr(variant, "_loads", lambda library: there is None or library in there)
    monkeypatch.setattr(variant, "_passes", lambda name, _: name == "cuda_ad_rgb" and passes)
    assert REAL_HAS_CUDA() is usable


def test_a_library_that_is_given_and_no_file_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv(variant.LIBRARY, str(tmp_path / "libLLVM.so.19.1"))
    found, why = variant.find_llvm()
    assert found is None
    assert "is no file" in why


def test_without_mitsuba_one_line_says_how_to_get_it(libraries, monkeypatch):
    libraries("libLLVM.so.19.1")
    monkeypatch.setitem(sys.modules, "mitsuba", None)
    with pytest.raises(SimjudgeError, match=r"pip install 'simjudge\[sim\]'"):
        variant.load_mitsuba()


def test_a_library_that_is_none_is_not_fit(tmp_path):
    """Its name does not tell a version, so it is tried, in a process of its own."""
    pytest.importorskip("mitsuba")
    (tmp_path / "libLLVM.so").write_bytes(b"no library")
    assert not variant.is_fit(tmp_path / "libLLVM.so")


@pytest.mark.parametrize("version", [14, 15, 16, 19])
def test_the_trial_tells_fit_libraries_from_those_that_abort(tmp_path, version):
    """The same answer whether the version is known by the name or, under a name that does not tell, found out."""
    pytest.importorskip("mitsuba")
    folder = Path(f"/usr/lib/{platform.machine()}-linux-gnu")
    found = [*folder.glob(f"libLLVM.so.{version}*"), *folder.glob(f"libLLVM-{version}.so*")]
    if not found:
        pytest.skip(f"no libLLVM {version} here")
    nameless = tmp_path / "libLLVM.so"
    try:
        os.link(found[0].resolve(), nameless)
    except OSError:
        shutil.copy(found[0], nameless)
    assert variant.llvm_version(nameless) == 0
    assert variant.is_fit(nameless) == variant.is_fit(found[0]) == (version == 19)


def test_the_script_that_installs_the_library_is_content_where_it_is():
    if variant.find_llvm()[0] is None:
        pytest.skip("no fit libLLVM here")
    environment = {name: value for name, value in os.environ.items() if name != variant.LIBRARY}
    done = subprocess.run(
        ["scripts/llvm.sh", sys.executable], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_script_fails_nobody_where_nothing_can_be_installed(tmp_path):
    """No root, no sudo, and a Python that never finds the library."""
    for name, body in {"python": "exit 1", "id": "echo 1000", "apt-get": "exit 1", "apt-cache": "exit 1"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "dirname").symlink_to(shutil.which("dirname"))
    done = subprocess.run(
        ["/bin/bash", "scripts/llvm.sh", str(tmp_path / "python")],
        cwd=ROOT,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "not root and no sudo" in done.stderr
    assert "going on without" in done.stderr
