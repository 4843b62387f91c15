#!/usr/bin/env bash
# The demo: a car drives a course, the poses are replayed with another camera, a detector judges the difference.
# Every command is printed before it runs, to be typed again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

out=demo_out
model=models/lab_pico.onnx
rm -rf "$out"
mkdir "$out"
export PATH="$PWD/.venv/bin:$PATH"

run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

say "1. a car drives between cones in the lab, by what a detector sees through camera R (config/cameras/reference.yaml):"
say "   R STANDS IN FOR A REAL CAMERA, so that this runs anywhere; on your robot this recording is a real one"
run simjudge drive lab --camera reference --detector "$model" --rate 5 --out "$out/reference.mcap"
say "2. the recorded poses once more, through a plain camera, as a simulator has it: frame by frame a pair"
run simjudge replay "$out/reference.mcap" --scene lab --camera plain --out "$out/plain.mcap"
say "3. the same detector on both"
run simjudge detect "$out/reference.mcap" --model "$model" --out "$out/reference_seen.mcap"
run simjudge detect "$out/plain.mcap" --model "$model" --out "$out/plain_seen.mcap"
say "4. does what it does in the plain pictures predict what it does in R's?"
run simjudge compare "$out/reference_seen.mcap" "$out/plain_seen.mcap" --paired --theta 0.7 --out "$out/result"
run simjudge report "$out/result" --out "$out/report.html"

# The same on a ROS 2 graph. The nodes need rclpy and simjudge's message types, which make setup-ros installs.
live() {
    printf '\n'
    say "5. now live: one node plays the plain recording, one detects, one compares with R's while they run"
    export ROS_DOMAIN_ID="${ROS_DOMAIN_ID:-77}" ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST
    # The packages of a ROS installation do not go together with those of .venv.
    if [ -n "${ROS_DISTRO:-}" ]; then unset PYTHONPATH AMENT_PREFIX_PATH LD_LIBRARY_PATH ROS_DISTRO; fi
    run simjudge run live bag:="$out/plain.mcap" a:="$out/reference_seen.mcap" model:="$model" theta:=0.7 \
        out:="$out/live" rviz:=false
    run simjudge report "$out/live" --out "$out/live.html"
}
if scripts/setup.sh core ros; then
    live
    also=", and of the live run: file://$PWD/$out/live.html"
else
    say "the live part is LEFT OUT: rclpy or the message types could not be installed here (see above); the rest is done"
    also=
fi

printf '\n'
say "the report: file://$PWD/$out/report.html$also"
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && command -v xdg-open >/dev/null; then
    xdg-open "$out/report.html" >/dev/null 2>&1 || true
fi
