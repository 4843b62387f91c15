#!/usr/bin/env bash
# Chromium, for the test that looks at the report in a browser. Optional: without it that test is left out by name.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then exit 0; fi
done
given_up=.venv/.stamp-no-browser
if [ -e "$given_up" ]; then
    say "no Chromium here: the report is not looked at in a browser (remove $given_up to try apt again)"
    exit 0
fi
if ! apt_install "the tests look at the report in a real browser; optional" chromium fonts-dejavu-core; then
    say "Chromium could not be installed; going on without: the report is not looked at in a browser"
    touch "$given_up"
fi
