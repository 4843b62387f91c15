#!/usr/bin/env bash
# Sets up .venv from the pins in requirements/: scripts/setup.sh core [train] [test] [ros] [watch] [sim] [lidar] [study] [gym] [fit] [video] [docs]
# PYTHON=python3.12 chooses the interpreter (any of 3.10-3.14; by default the first suitable one found).
# Quick when nothing changed: each group leaves a stamp in .venv that names its pins and the Python they are for.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

venv=.venv
groups=("$@")

# The key of a group: its pins (for ros also the message types), how the package installs, and where the checkout lies (the installation points to it).
key() {
    {
        cat "requirements/$1.txt" setup.py
        sed -n '/^\[build-system/,/^\[tool\./p' pyproject.toml
        pwd
        "$venv/bin/python" -V
        if [ "$1" = ros ]; then find msgs scripts/msgs.sh -type f -not -path '*/__pycache__/*' -exec sha256sum {} + | LC_ALL=C sort; fi
    } | sha256sum | cut -d' ' -f1
}

is_current() {
    suits "$venv/bin/python" || return 1
    if [ -n "${PYTHON:-}" ]; then [ "$(version_of "$PYTHON")" = "$(version_of "$venv/bin/python")" ] || return 1; fi
    local group
    for group in "${groups[@]}"; do
        [ "$(cat "$venv/.stamp-$group" 2>/dev/null)" = "$(key "$group")" ] || return 1
    done
}

# Keep a .venv that works, unless PYTHON asks for another version.
make_venv() {
    local python
    if suits "$venv/bin/python" && [ -z "${PYTHON:-}" ]; then return; fi
    python=$(find_python)
    if [ "$(version_of "$venv/bin/python")" = "$(version_of "$python")" ]; then return; fi
    say "creating $venv with $python ($("$python" -V))"
    "$python" -m venv --clear "$venv"
}

# A registry that times out is asked again: pip itself retries each request, and the whole command gets three tries.
# Nothing is built from source but empy, pure Python that has no wheel: where there is none, three tries would not help.
# pip names a package when it looks at it, and takes about a third as long again to unpack them all.
pip_install() {
    local group=$1 try count=0 missing
    shift
    if [ "$1" = -r ]; then count=$(grep -c '^[A-Za-z]' "$2"); fi
    for try in 1 2 3; do
        if follow "$venv/setup-$group.log" $((count * 4 / 3)) '^(Collecting|Requirement already satisfied)' "installing $group" \
            "$venv/bin/python" -m pip install --only-binary :all: --no-binary empy --progress-bar off --no-color --disable-pip-version-check --retries 10 --timeout 60 "$@"; then
            return
        fi
        missing=$(sed -n 's/^ERROR: No matching distribution found for //p' "$venv/setup-$group.log")
        # A registry that does not answer has no packages either.
        if [ -n "$missing" ] && ! grep -q 'Retrying (' "$venv/setup-$group.log"; then
            say "there is no wheel of $missing for Python $(version_of "$venv/bin/python") on $(uname -m)"
            return 1
        fi
        say "pip failed (try $try of 3)"
        sleep $((try * 5))
    done
    say "the packages could not be installed; see pip's message above, then run the same command again"
    exit 1
}

is_current && exit 0
make_venv
for group in "${groups[@]}"; do
    [ "$(cat "$venv/.stamp-$group" 2>/dev/null)" = "$(key "$group")" ] && continue
    case $group in
        core) why="what simjudge itself needs" ;;
        train) why="torch and ultralytics, to train detectors and to run .pt files; large" ;;
        ros) why="ROS 2 (rclpy and its messages), for the nodes" ;;
        watch) why="rerun, the screen of simjudge ros watch; large" ;;
        sim) why="MuJoCo and Mitsuba, the default engine of the simulator" ;;
        lidar) why="Patchwork++, ground in point clouds" ;;
        study) why="Dask, for the steps of studies" ;;
        gym) why="Gymnasium, for those who train drivers" ;;
        fit) why="CMA-ES, to fit a camera" ;;
        test) why="the test runner, the linters and the type checker" ;;
        docs) why="mkdocs, to build the documentation" ;;
    esac
    say "installing $group into $venv: $why"
    if ! pip_install "$group" -r "requirements/$group.txt"; then [ "$group" = lidar ] || exit 1; fi
    if [ "$group" = lidar ] && ! grep -q '^Successfully installed\|^Requirement already' "$venv/setup-lidar.log"; then
        say "left out: Patchwork++ (pypatchworkpp), which has no wheel for this Python; simjudge fits the ground itself"
    fi
    if [ "$group" = core ]; then pip_install core --no-deps --no-build-isolation -e .; fi
    if [ "$group" = ros ]; then scripts/msgs.sh; fi
    if [ "$group" = sim ]; then scripts/llvm.sh; fi
    key "$group" > "$venv/.stamp-$group"
done
say "ready: $venv/bin/simjudge"
