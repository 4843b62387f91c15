#!/usr/bin/env bash
# Builds msgs/ (simjudge_msgs, and tf2_msgs, of which there is no wheel) as wheels and installs them into .venv.
# A wheel is built once: it is kept in ~/.cache/simjudge (SIMJUDGE_CACHE) under a key of msgs/, rclpy and Python.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

python=.venv/bin/python
key=$({ find msgs -type f -not -path '*/__pycache__/*' | LC_ALL=C sort | xargs sha256sum
        "$python" -c 'import platform, sys; from importlib.metadata import version
print(version("ros-rclpy"), version("ros-std-msgs"), sys.version_info[:2], platform.machine())'; } | sha256sum | cut -c1-16)
cache=${SIMJUDGE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/simjudge}/msgs/$key

if [ "${1:-}" = --key ]; then echo "$key"; exit; fi

need_compiler() {
    command -v c++ >/dev/null || apt_install "a C++ compiler, to build the message types" g++ || exit 1
    "$python" -c 'import os, sysconfig; raise SystemExit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' && return
    local version
    version=$(version_of "$python")
    apt_install "Python's C headers, to build the message types" "python${version%.*}-dev" || exit 1
}

if ! ls "$cache"/simjudge_msgs-*.whl "$cache"/tf2_msgs-*.whl >/dev/null 2>&1; then
    need_compiler
    say "building the message types of msgs/ (a minute or two, once; kept in $cache)"
    building=$cache.$$
    trap 'rm -rf "$building"' EXIT
    mkdir -p "$building"
    for folder in msgs msgs/wheel/tf2_msgs; do
        follow ".venv/build-${folder//\//_}.log" 60 "" "building $folder" "$python" -m pip wheel --progress-bar off --no-color \
            --disable-pip-version-check --retries 10 --timeout 60 --no-deps --wheel-dir "$building" "./$folder" || exit 1
    done
    rm -rf "$cache"
    mv "$building" "$cache"
fi
"$python" -m pip install --quiet --quiet --disable-pip-version-check --no-deps --no-index --force-reinstall "$cache"/*.whl
