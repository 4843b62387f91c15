#!/bin/bash
# Python packages for simjudge in a ROS 2 workspace, beside those of the distribution: in WORKSPACE/simjudge_overlay.
#
#   src/simjudge/scripts/ros_overlay.sh [EXTRA ...]        in the workspace's root, before `colcon build`
#
# Ubuntu's typer is too old for the command, some packages are not in Ubuntu at all, and the newest pyarrow wants
# another NumPy than ROS's own extension modules. So everything that simjudge needs and the distribution lacks goes
# into a virtual environment that sees the distribution's packages, with the distribution's NumPy kept. Sourcing
# install/setup.bash finds it; no activation is needed. EXTRA is an extra of pyproject.toml, such as sim.
set -euo pipefail
package="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
workspace="$PWD"
python="${PYTHON:-python3}"
overlay="$workspace/simjudge_overlay"
if [ ! -d src ]; then
  echo "error: there is no src/ here; run this in the root of the workspace" >&2
  exit 2
fi
case "$package/" in
  "$workspace"/*) ;;
  *) echo "error: $package is not below $workspace; clone simjudge into its src/" >&2; exit 2 ;;
esac

"$python" -m venv --system-site-packages "$overlay"
touch "$overlay/COLCON_IGNORE"
# Extension modules of ROS are built for the distribution's NumPy.
"$overlay/bin/python" - > "$overlay/constraints.txt" <<'PYTHON'
try:
    import numpy
except ModuleNotFoundError:
    pass
else:
    print(f"numpy=={numpy.__version__}")
    if numpy.__version__.startswith("1."):
        print("pyarrow<22")  # newer ones want NumPy 2, and do not say so to pip
PYTHON
extras="$(IFS=,; echo "$*")"
"$overlay/bin/python" "$package/scripts/requirements.py" $extras > "$overlay/requirements.txt"
"$overlay/bin/python" -m pip install --disable-pip-version-check --quiet \
  -r "$overlay/requirements.txt" -c "$overlay/constraints.txt"
ln -sfn "$(cd "$overlay" && "$overlay/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" "$overlay/site"
# What pip takes for good need not load.
for module in apsw cv2 lz4.frame mcap numba onnxruntime pandas pyarrow.parquet pycocotools.mask pydantic rosbags scipy \
  typer zstandard; do
  if ! why="$("$overlay/bin/python" -c "import $module" 2>&1)"; then
    echo "error: $module does not load beside the distribution's packages: $(tail -1 <<< "$why")" >&2
    exit 1
  fi
done

# colcon and rosdep do not look for packages inside packages: the messages are one inside simjudge.
messages="$(dirname "$package")/simjudge_msgs"
[ -e "$messages" ] || ln -s "$(basename "$package")/msgs" "$messages"
echo "simjudge_overlay: $("$overlay/bin/python" -m pip list --local --format=freeze | wc -l) packages; now: colcon build"
