# Shell functions that the set-up scripts share.

say() { printf 'simjudge: %s\n' "$*" >&2; }

# Runs a command with its output in a log, in sight of how far it is: follow LOG COUNT PATTERN WHAT COMMAND...
# COUNT lines of the log that match PATTERN are the whole work; with an empty PATTERN it takes about COUNT seconds, with
# a COUNT of 0 nobody knows. A command that fails leaves the end of its log on the screen, and the name of the log.
follow() {
    local log=$1 count=$2 pattern=$3 what=$4 code=0
    shift 4
    : > "$log"
    start_progress "$log" "$count" "$pattern" "$what" "$SECONDS"
    "$@" >> "$log" 2>&1 || code=$?
    stop_progress
    if [ "$code" != 0 ]; then
        tail -n 12 "$log" >&2
        say "$what failed; its whole output is in $log"
    fi
    return "$code"
}

ticker= # the process that keeps the line of start_progress

# Keeps a line on the screen, on a terminal only, that says how far the work behind a log is, until stop_progress:
# start_progress LOG COUNT PATTERN WHAT BEGIN, the work having begun when the shell's SECONDS were BEGIN.
start_progress() {
    ticker=
    if [ -t 2 ]; then
        show_progress "$@" &
        ticker=$!
    fi
}

stop_progress() {
    if [ -n "$ticker" ]; then
        kill "$ticker" 2>/dev/null || true
        wait "$ticker" 2>/dev/null || true
        printf '\r\033[K' >&2
    fi
}

# The line of start_progress, until it is killed or its shell is gone.
show_progress() {
    local log=$1 count=$2 pattern=$3 what=$4 begin=$5 took done_=0 left
    while kill -0 $$ 2>/dev/null; do
        took=$((SECONDS - begin))
        if [ -n "$pattern" ]; then done_=$(grep -s -c -E "$pattern" "$log" || true); else done_=$took; fi
        left=
        if [ "${done_:-0}" -gt 0 ] && [ "$count" -gt "$done_" ]; then left=", about $((took * (count - done_) / done_ + 1)) s left"; fi
        if [ -n "$pattern" ] && [ "$count" -gt 0 ]; then left=", $((done_ < count ? done_ : count)) of $count$left"; fi
        printf '\r\033[Ksimjudge: %s: %s s%s' "$what" "$took" "$left" >&2
        sleep 1
    done
}

# The version of an interpreter, empty where it does not run (a version manager's shim may exist and yet fail).
version_of() { "$1" -c 'import platform; print(platform.python_version())' 2>/dev/null || true; }

suits() { case $(version_of "$1") in 3.10.* | 3.11.* | 3.12.* | 3.13.* | 3.14.*) ;; *) return 1 ;; esac; }

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
    local log=${TMPDIR:-/tmp}/simjudge-apt.$$.log
    follow "$log" 0 "" "apt-get update" "${sudo[@]}" apt-get update -q || say "going on with the package lists that are here"
    follow "$log" 0 "" "apt-get install $*" "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install "${options[@]}" "$@"
}

# Print the interpreter to use: $PYTHON, else the first of the usual names that runs, suits and can make a venv.
find_python() {
    local candidate without_venv=
    local candidates=(python3 python3.12 python3.11 python3.13 python3.10 python3.14 /usr/bin/python3)
    if [ -n "${PYTHON:-}" ]; then
        suits "$PYTHON" || { say "PYTHON=$PYTHON is not a working Python 3.10 to 3.14"; return 1; }
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
    apt_install "no Python 3.10-3.14 was found" python3 python3-venv && suits /usr/bin/python3 && { echo /usr/bin/python3; return; }
    say "no Python 3.10 to 3.14 found; install one, or name it: make setup PYTHON=/path/to/python3"
    return 1
}
