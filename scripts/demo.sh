#!/usr/bin/env bash
# The demo: does a simulation predict what a detector sees in reality? Two simulations are asked, a bad and a good one.
# Every command is printed before it runs, to be typed again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

out=demo_out
model=models/lab_pico.onnx
same="--poses random -n 120 --seed 1"
rm -rf "$out"
mkdir "$out"
export PATH="$PWD/.venv/bin:$PATH"

run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

# What a command prints goes into a log; the screen keeps how long it has been running, of about how many seconds.
quietly() {
    local log=$1 seconds=$2 what=$3
    shift 3
    printf '\n$ %s\n' "$*"
    follow "$log" "$seconds" "" "$what" "$@"
}

# ROS 2 is set up while the pictures are rendered: the live part needs it.
setsid scripts/setup.sh core ros > "$out/setup_ros.log" 2>&1 &
setting_up=$! setting_up_since=$SECONDS
trap 'kill -- "-$setting_up" 2>/dev/null || true' EXIT

say "1. reality: 120 pictures of a lab with cones. No real camera is here, so a rendered one STANDS IN FOR IT,"
say "   noisy, soft and dark (examples/demo/real_stand_in.yaml); on your robot these are real pictures"
run simjudge sim render lab --camera examples/demo/real_stand_in.yaml $same --out "$out/reality.mcap"
say "2. a simulation with a perfect camera, and one with a camera model that was measured, at the same 120 places"
run simjudge sim render lab --camera plain_half $same --out "$out/perfect.mcap"
run simjudge sim render lab --camera examples/demo/camera_model.yaml $same --out "$out/measured.mcap"
say "3. the same detector on all three"
for set in reality perfect measured; do
    run simjudge detect "$out/$set.mcap" --model "$model" --out "$out/${set}_seen.mcap"
done
say "4. does what it does in each simulation predict what it does in reality?"
for set in perfect measured; do
    run simjudge compare "$out/reality_seen.mcap" "$out/${set}_seen.mcap" --paired --out "$out/$set"
done
run simjudge report "$out/perfect" "$out/measured" --out "$out/report.html" \
    --title "Which simulation predicts what the detector sees?" \
    --label "a=reality (stand-in)" --label "perfect=perfect camera" --label "measured=measured camera" > "$out/verdicts.txt"

# The same on a ROS 2 graph. The nodes need rclpy and simjudge's message types.
live() {
    printf '\n'
    say "5. now live: one node plays the pictures of the perfect camera, one detects, one judges while they run"
    export ROS_DOMAIN_ID="${ROS_DOMAIN_ID:-77}" ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST
    # The packages of a ROS installation do not go together with those of .venv.
    if [ -n "${ROS_DISTRO:-}" ]; then unset PYTHONPATH AMENT_PREFIX_PATH LD_LIBRARY_PATH ROS_DISTRO; fi
    quietly "$out/live.log" 30 "playing and judging" \
        simjudge ros run live bag:="$out/perfect.mcap" a:="$out/reality_seen.mcap" model:="$model" \
        out:="$out/live" rviz:=false
    run simjudge report "$out/live" --out "$out/live.html" > /dev/null
}
if kill -0 "$setting_up" 2>/dev/null; then
    packages=$(grep -c '^[A-Za-z]' requirements/ros.txt)
    start_progress .venv/setup-ros.log $((packages * 4 / 3)) '^(Collecting|Requirement already satisfied)' \
        "setting up ROS 2" "$setting_up_since"
fi
if wait "$setting_up"; then
    stop_progress
    live
    also="live       file://$PWD/$out/live.html"
else
    stop_progress
    say "the live part is LEFT OUT: ROS 2 could not be set up here; $out/setup_ros.log says why; make setup-ros tries again"
    also="live       left out: $out/setup_ros.log says why"
fi

cat <<SCREEN

────────────────────────────────────────────────────────────────────────────────────────────────────
does a detector see in each simulation what it sees in reality (a stand-in for it)?

$(sed -nE \
    -e 's/^(.*): all classes: ([^:(]*: [^:]*\([^)]* in A, [^)]*\)): .* by itself: ([a-z ]+[0-9.]*[0-9a-z])\. .*(The gap is [^)]*\)).*/  \1: \2; performance of objects: \3. \4/p; t' \
    -e 's/^(.*): all classes: ([^:]*): .*(The gap is [^)]*\)).*/  \1: \2. \3/p; t' \
    -e 's/^(.*): all classes: ([^:]*): .*/  \1: \2/p' "$out/verdicts.txt")

report     file://$PWD/$out/report.html
$also

try next   export PATH="$PWD/.venv/bin:\$PATH"
           change examples/demo/camera_model.yaml (noise, exposure, colours), then render, detect and compare again
           simjudge sim drive lab                                   a car follows the course by itself
           simjudge doctor --brief YOUR_SET                               what simjudge makes of your own pictures
           simjudge compare REAL SIM --model DETECTOR --out result && simjudge report result
────────────────────────────────────────────────────────────────────────────────────────────────────
SCREEN
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && command -v xdg-open >/dev/null; then
    xdg-open "$out/report.html" >/dev/null 2>&1 || true
fi
