# Shell functions that the set-up scripts share.

say() { printf 'simjudge: %s\n' "$*" >&2; }

# The version of an interpreter, empty where it does not run (a version manager's shim may exist and yet fail).
version_of() { "$1" -c 'import platform; print(platform.python_version())' 2>/dev/null || true; }

suits() { case $(version_of "$1") in 3.10.* | 3.11.* | 3.12.* | 3.13.*) ;; *) return 1 ;; esac; }

has_venv() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }

# Install Debian packages, as root or through sudo: apt_install WHY PACKAGE... Fails where that is not possible.
apt_install() {
    local why=$1 sudo=()
    shift
    command -v apt-get >/dev/null || { say "no apt-get here to install $* with ($why)"; return 1; }
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || { say "not root and no sudo to install $* with ($why)"; return 1; }
        sudo=(sudo)
        [ -t 0 ] || sudo=(sudo -n)
    fi
    say "installing with apt: $* ($why)"
    local options=(-q -y --no-install-recommends -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3)
    "${sudo[@]}" apt-get update -q >&2 || say "apt-get update failed; going on with the package lists that are here"
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install "${options[@]}" "$@" >&2
}

# Print the interpreter to use: $PYTHON, else the first of the usual names that runs, suits and can make a venv.
find_python() {
    local candidate without_venv=
    local candidates=(python3 python3.12 python3.11 python3.13 python3.10 /usr/bin/python3)
    if [ -n "${PYTHON:-}" ]; then
        suits "$PYTHON" || { say "PYTHON=$PYTHON is not a working Python 3.10, 3.11, 3.12 or 3.13"; return 1; }
        candidates=("$PYTHON")
    fi
    for candidate in "${candidates[@]}"; do
        suits "$candidate" || continue
        if has_venv "$candidate"; then echo "$candidate"; return; fi
        without_venv=${without_venv:-$candidate}
    done
    if [ -n "$without_venv" ]; then
        local version
        version=$(version_of "$without_venv")
        apt_install "Python's venv module, which Debian packs apart" "python${version%.*}-venv" && has_venv "$without_venv" \
            && { echo "$without_venv"; return; }
        say "$without_venv lacks the venv module; install your system's python3-venv, then run this again"
        return 1
    fi
    apt_install "no Python 3.10-3.13 was found" python3 python3-venv && suits /usr/bin/python3 && { echo /usr/bin/python3; return; }
    say "no Python 3.10, 3.11, 3.12 or 3.13 found; install one, or name it: make setup PYTHON=/path/to/python3"
    return 1
}
