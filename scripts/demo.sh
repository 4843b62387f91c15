#!/usr/bin/env bash
# The demo: two sample recordings, judged by a detector. Every command is printed before it runs, to be typed again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

out=demo_out
model=config/detectors/cones_red_green.yaml
rm -rf "$out"
mkdir "$out"
export PATH="$PWD/.venv/bin:$PATH"

run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

say "two recordings of one drive past red and green cones: a stand-in for a real one, and a simulated one"
say "both are painted, see bags/README.md; the commands below work the same on your own bags and data sets"
run simjudge info bags/real_stand_in.mcap
run simjudge detect bags/real_stand_in.mcap --model "$model" --out "$out/real.mcap"
run simjudge detect bags/sim.mcap --model "$model" --out "$out/sim.mcap"
run simjudge compare "$out/real.mcap" "$out/sim.mcap" --patch 60x60 --theta 0.7 --out "$out/result"
run simjudge sweep "$out/real.mcap" "$out/sim.mcap" --patch 60x60 --theta 0.7 --patches 40,60,80,100,120 --out "$out/result"
run simjudge report "$out/result" --out "$out/report.html"

# The same on a ROS 2 graph. The nodes need rclpy and simjudge's message types, which make setup-ros installs.
live() {
    printf '\n'
    say "now live: one node plays the simulated recording, one detects, one compares with the real one while they run"
    export ROS_DOMAIN_ID="${ROS_DOMAIN_ID:-77}" ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST
    # The packages of a ROS installation do not go together with those of .venv.
    if [ -n "${ROS_DISTRO:-}" ]; then unset PYTHONPATH AMENT_PREFIX_PATH LD_LIBRARY_PATH ROS_DISTRO; fi
    run simjudge run live bag:=bags/sim.mcap a:="$out/real.mcap" model:="$model" patch:=60x60 theta:=0.7 rate:=2 \
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
