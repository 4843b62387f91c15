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

printf '\n'
say "the report: file://$PWD/$out/report.html"
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && command -v xdg-open >/dev/null; then
    xdg-open "$out/report.html" >/dev/null 2>&1 || true
fi
