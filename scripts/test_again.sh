#!/usr/bin/env bash
# All tests: scripts/test_again.sh PYTHON. What fails is run once more, alone and one after the other: a busy machine
# makes tests of processes fail that are right. What fails twice fails the run; what passes then is named as flaky.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=$1
"$python" -m pytest
code=$?
# 1: tests failed. Anything else (interrupted, internal error, nothing collected) is no matter of chance.
if [ "$code" != 1 ]; then exit "$code"; fi
failed=$("$python" -c "import json; print('\n'.join(sorted(json.load(open('.pytest_cache/v/cache/lastfailed')))))")
printf 'once more, alone:\n%s\n' "$failed"
"$python" -m pytest -n 0 --last-failed --last-failed-no-failures none
code=$?
if [ "$code" = 0 ]; then printf 'flaky, passed when run alone:\n%s\n' "$failed"; fi
exit "$code"
