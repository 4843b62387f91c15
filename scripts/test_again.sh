#!/usr/bin/env bash
# Tests: scripts/test_again.sh PYTHON [ARGUMENT of pytest]... What fails is run once more, alone and one after the
# other: a busy machine makes tests of processes fail that are right. What fails twice fails the run; what passes then is
# named as flaky.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=$1
shift
# Without files of bytecode every process compiles simjudge, and every worker rewrites all assertions, anew.
unset PYTHONDONTWRITEBYTECODE
"$python" scripts/compile_loops.py
rm -f .pytest_cache/v/cache/lastfailed
"$python" -m pytest "$@"
code=$?
# 1: tests failed. Anything else (interrupted, internal error, nothing collected) is no matter of chance.
if [ "$code" != 1 ]; then exit "$code"; fi
# pytest-xdist adds the group of a test to its id; a run by one process knows no groups.
mapfile -t failed < <("$python" -c "
import json, re
for name in sorted(json.load(open('.pytest_cache/v/cache/lastfailed'))):
    print(re.sub(r'@[A-Za-z_]+$', '', name))")
if [ ${#failed[@]} = 0 ]; then exit "$code"; fi
printf 'once more, alone:\n'
printf '  %s\n' "${failed[@]}"
"$python" -m pytest -n 0 "${failed[@]}"
code=$?
if [ "$code" = 0 ]; then
    printf 'flaky, passed when run alone:\n'
    printf '  %s\n' "${failed[@]}"
fi
exit "$code"
