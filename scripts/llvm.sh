#!/usr/bin/env bash
# libLLVM, with which Mitsuba compiles its kernels. Optional: without a fit one the simulator's light is traced slowly.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

python=${1:-.venv/bin/python}

# The simulator looks for the library itself, so that this script and it agree on what is fit.
is_there() { "$python" -c 'import sys; from simjudge.sim.engines.default.variant import find_llvm; sys.exit(not find_llvm()[0])'; }

if is_there; then exit 0; fi
why="Mitsuba, the simulator's ray tracer, compiles with it; optional"
for package in libllvm19 libllvm20; do
    if [ "$package" != libllvm19 ] && ! apt-cache show "$package" >/dev/null 2>&1; then continue; fi
    if apt_install "$why" "$package" && is_there; then exit 0; fi
done
say "no fit libLLVM could be installed; going on without: pictures of the simulator take about 20 times as long. Have libllvm19 installed"
exit 0
