# Sourced with the workspace: puts simjudge's commands on the PATH, and finds the Python packages that
# scripts/ros_overlay.sh installed beside those of the distribution.
_simjudge_programs="$COLCON_CURRENT_PREFIX/lib/simjudge"
case ":$PATH:" in
  *":$_simjudge_programs:"*) ;;
  *) export PATH="$_simjudge_programs:$PATH" ;;
esac
# install/simjudge, or install where packages are merged.
for _simjudge_workspace in "$COLCON_CURRENT_PREFIX/../.." "$COLCON_CURRENT_PREFIX/.."; do
  if [ -d "$_simjudge_workspace/simjudge_overlay/site" ]; then
    _simjudge_site="$(cd "$_simjudge_workspace/simjudge_overlay/site" && pwd)"
    case ":$PYTHONPATH:" in
      *":$_simjudge_site:"*) ;;
      *) export PYTHONPATH="$_simjudge_site${PYTHONPATH:+:$PYTHONPATH}" ;;
    esac
  fi
done
unset _simjudge_programs _simjudge_workspace _simjudge_site
