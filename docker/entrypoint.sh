#!/bin/bash
# Runs a command in the workspace of the image.
set -e
. /ws/install/setup.bash
exec "$@"
