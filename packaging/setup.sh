#!/bin/sh
# Sets up everything that Anneal Studio needs, inside this checkout. Every make target starts here.
#
#   packaging/setup.sh         the app: Python packages, and the libraries that Qt opens
#   packaging/setup.sh test    the same, and the X server and tools that the tests drive a window with
#   packaging/setup.sh check   changes nothing; succeeds when the Python packages are as the files here ask
#
# ANNEAL_VENV names another folder for the virtual environment; ANNEAL_PYTHON another interpreter to build it from.
# pip's own configuration, proxies and certificates are inherited. A second run does nothing, needs no network and
# takes under a second; a run that was killed starts its virtual environment afresh.
set -eu

cd "$(dirname "$0")/.."
checkout=$(pwd)
level=${1:-app}
venv=${ANNEAL_VENV:-.venv}
case $venv in /*) ;; *) venv=$checkout/$venv ;; esac
stamp=$venv/.anneal-setup          # the inputs of the last set-up that finished
unfinished=$venv/.anneal-unfinished  # there while pip writes, so that a kill is noticed

torch_requirement='torch>=2.9,<2.14'
torch_cpu_index=https://download.pytorch.org/whl/cpu
cpu_fetch_mb=600  cpu_disk_mb=3000     # measured: 0.2 GB torch and 0.3 GB of the rest; 1.8 GB unpacked
cuda_fetch_mb=3500 cuda_disk_mb=10000  # measured: 5.5 GB unpacked, and the wheels lie beside that until they are
memory_mb=1000                         # pip holds one wheel's index and decompresses; torch is the largest

say() { printf 'setup: %s\n' "$*"; }
stop() {  # the first argument is the message, each further one a line to copy
    printf 'setup: %s\n' "$1" >&2
    shift
    [ $# = 0 ] || printf '%s\n' "$@" >&2
    exit 1
}

# ---------------------------------------------------------------- Python

fits() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1; }
makes_venvs() { "$1" -c 'import sys, venv, ensurepip' >/dev/null 2>&1; }

# Each name is tried in each folder of PATH: a version manager's shim may stand first and not work.
find_python() {
    bare=
    if [ -n "${ANNEAL_PYTHON:-}" ]; then
        fits "$ANNEAL_PYTHON" || stop "ANNEAL_PYTHON=$ANNEAL_PYTHON is no working Python 3.11, 3.12 or 3.13."
        makes_venvs "$ANNEAL_PYTHON" || stop "ANNEAL_PYTHON=$ANNEAL_PYTHON has no venv module."
        python=$ANNEAL_PYTHON
        return
    fi
    for name in python3.11 python3.12 python3.13 python3 python; do
        old_ifs=$IFS; IFS=:
        for folder in $PATH; do
            IFS=$old_ifs
            candidate=$folder/$name
            [ -x "$candidate" ] && fits "$candidate" || continue
            if makes_venvs "$candidate"; then python=$candidate; return; fi
            bare=${bare:-$candidate}
        done
        IFS=$old_ifs
    done
    [ -n "$bare" ] || stop "No Python 3.11, 3.12 or 3.13 was found. Install one and run this again:" \
        "  Debian, Ubuntu:  sudo apt-get install python3 python3-venv" \
        "  Fedora:          sudo dnf install python3.12" \
        "  Arch:            use a version manager, such as pyenv or uv" \
        "  macOS:           brew install python@3.12"
    version=$("$bare" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if command -v apt-get >/dev/null 2>&1; then
        say "$bare has no venv module"
        # shellcheck disable=SC2046  # asked for together, so that a person who must ask for them asks once
        install_by_apt "python$version-venv" $(missing_packages "$bare" 2>/dev/null)
        makes_venvs "$bare" || stop "$bare still has no venv module after installing python$version-venv."
        python=$bare
        return
    fi
    stop "$bare works, but has no venv module (venv and ensurepip). Install that, or another Python 3.11 to 3.13."
}

# ---------------------------------------------------------------- system packages

install_by_apt() {  # and a font: Qt draws boxes for the scripts that ours do not cover
    set -- "$@" fonts-dejavu-core
    line="apt-get install -y --no-install-recommends $*"
    if [ "$(id -u)" = 0 ]; then as_root=
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then as_root='sudo -n'
    else stop "System packages are missing, and this user may not install them. Run this line, or ask an administrator to:" \
        "  sudo $line"
    fi
    say "fetching system packages with apt, at most 100 MB, a minute or two: $*"
    apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300"
    $apt update -qq </dev/null || say "apt-get update failed; trying with the lists that are here"
    $apt install -y -qq --no-install-recommends "$@" </dev/null >/dev/null ||
        stop "apt could not install them, for the reason above. The line was:" "  ${as_root:+sudo }$line"
}

# library → Debian package. Trying to load each is the question that matters, whatever ldconfig's cache says.
qt_libraries='libEGL.so.1 libegl1 libGL.so.1 libgl1 libglib-2.0.so.0 libglib2.0-0 libfontconfig.so.1 libfontconfig1
 libfreetype.so.6 libfreetype6 libdbus-1.so.3 libdbus-1-3 libxkbcommon.so.0 libxkbcommon0 libX11.so.6 libx11-6
 libX11-xcb.so.1 libx11-xcb1 libxcb-icccm.so.4 libxcb-icccm4 libxcb-keysyms.so.1 libxcb-keysyms1
 libxcb-cursor.so.0 libxcb-cursor0 libxcb-image.so.0 libxcb-image0 libxcb-randr.so.0 libxcb-randr0
 libxcb-render-util.so.0 libxcb-render-util0 libxcb-shape.so.0 libxcb-shape0 libxcb-sync.so.1 libxcb-sync1
 libxcb-xfixes.so.0 libxcb-xfixes0 libxcb-xkb.so.1 libxcb-xkb1 libxkbcommon-x11.so.0 libxkbcommon-x11-0'
test_commands='Xvfb xvfb xauth xauth openbox openbox xdotool xdotool'

missing_packages() {
    # shellcheck disable=SC2086  # the lists are words on purpose
    "$1" - $qt_libraries <<'PYTHON'
import ctypes, sys
pairs = iter(sys.argv[1:])
for library, package in zip(pairs, pairs):
    try:
        ctypes.CDLL(library)
    except OSError:
        print(package)
PYTHON
    [ "$level" = test ] || return 0
    # shellcheck disable=SC2086
    set -- $test_commands
    while [ $# -gt 0 ]; do
        command -v "$1" >/dev/null 2>&1 || echo "$2"
        shift 2
    done
}

install_system_packages() {
    [ "$(uname -s)" = Linux ] || return 0  # Qt's wheels bring or find all that they need elsewhere
    missing=$(missing_packages "$1" | tr '\n' ' ')
    [ -n "${missing% }" ] || return 0
    if command -v apt-get >/dev/null 2>&1; then
        # shellcheck disable=SC2086
        install_by_apt $missing
        missing=$(missing_packages "$1" | tr '\n' ' ')
        [ -z "${missing% }" ] || stop "Still missing after installing: $missing"
        return 0
    fi
    stop "These are missing, by their Debian names: $missing" "Install what holds them here:" \
        "  Fedora:  mesa-libEGL mesa-libGL glib2 fontconfig freetype dbus-libs libxkbcommon libxkbcommon-x11 libX11 libX11-xcb" \
        "           xcb-util-wm xcb-util-keysyms xcb-util-cursor xcb-util-image xcb-util-renderutil libxcb" \
        "           (tests: xorg-x11-server-Xvfb xorg-x11-xauth openbox xdotool)" \
        "  Arch:    libglvnd glib2 fontconfig freetype2 dbus libxkbcommon libxkbcommon-x11 libx11 xcb-util-wm xcb-util-keysyms" \
        "           xcb-util-cursor xcb-util-image xcb-util-renderutil libxcb (tests: xorg-server-xvfb xorg-xauth openbox xdotool)"
}

# ---------------------------------------------------------------- what the machine has

driver_present() {
    [ -e /proc/driver/nvidia/version ] ||
        "$1" -c 'import ctypes; ctypes.CDLL("libcuda.so.1")' >/dev/null 2>&1
}

check_room() {  # $1 megabytes of disk
    "$python" - "$1" "$memory_mb" "$venv" <<'PYTHON' || exit 1
import pathlib, shutil, sys
disk_mb, memory_mb, venv = int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
there = next(folder for folder in (venv, *venv.parents) if folder.exists())
free_mb = shutil.disk_usage(there).free // 2**20
if free_mb < disk_mb:
    sys.exit(f"setup: {disk_mb} MB of disk are needed for {venv}, and {free_mb} MB are free. Free some and run this again.")
try:
    with open("/proc/meminfo") as lines:
        available_mb = next(int(line.split()[1]) // 1024 for line in lines if line.startswith("MemAvailable"))
except (OSError, StopIteration):
    sys.exit()
if available_mb < memory_mb:
    sys.exit(f"setup: {memory_mb} MB of memory are needed, and {available_mb} MB are free. Close something and run this again.")
PYTHON
}

cost() {  # $1 megabytes to fetch, $2 of disk; 50 Mbit/s are 375 MB a minute, and unpacking takes as long at most
    echo "about $1 MB to fetch, up to $2 MB of disk, $(($1 / 375 + 1)) to $(($1 / 188 + 2)) minutes at 50 Mbit/s"
}

inputs() {
    printf 'checkout %s\npython %s\ndriver %s\n' "$checkout" "$1" "$driver"
    cat packaging/setup.sh packaging/constraints.txt
    sed '/^\[tool\./,$d' pyproject.toml
}

set_up() {  # succeeds when nothing is left to do
    [ -f "$stamp" ] && [ ! -e "$unfinished" ] || return 1
    version=$("$venv/bin/python" -c 'import sys; print(sys.version)' 2>/dev/null | tr '\n' ' ') || return 1
    [ -n "$version" ] && inputs "$version" | cmp -s - "$stamp"
}

# ---------------------------------------------------------------- Python packages

pip() { "$venv/bin/python" -m pip "$@"; }
pip_install() {
    pip install --no-cache-dir -qq --disable-pip-version-check -c packaging/constraints.txt "$@" ||
        stop "pip could not install the packages, for the reason above. Once that is mended, run this again."
}

# Prints "cpu" when the torch that pip would take by itself has no CUDA libraries among what it requires.
offered_build() {
    pip install --dry-run --ignore-installed --no-deps --no-cache-dir -qq --disable-pip-version-check \
        --report "$venv/torch.json" "$torch_requirement" >&2 || return 1
    "$venv/bin/python" - "$venv/torch.json" <<'PYTHON'
import json, sys
metadata = json.load(open(sys.argv[1]))["install"][0]["metadata"]
cuda = [name for name in metadata.get("requires_dist", []) if name.startswith(("nvidia", "cuda", "triton"))]
print("cuda" if cuda else "cpu")
PYTHON
}

fitting_torch_installed() {
    pip install --isolated --dry-run --no-index --no-deps -qq "$torch_requirement" >/dev/null 2>&1
}

install_torch() {
    if fitting_torch_installed; then say "torch: the one that is installed fits"; return; fi
    if [ "$driver" = yes ] || [ "$(uname -s)" != Linux ]; then pip_install "$torch_requirement"; return; fi
    build=$(offered_build) || build=unknown
    if [ "$build" = cpu ]; then
        say "torch: the build that pip offers here is for the CPU"
        pip_install "$torch_requirement"
    elif say "torch: trying PyTorch's own CPU build" &&
        pip install --no-cache-dir -qq --disable-pip-version-check --no-deps --retries 1 \
            --index-url "$torch_cpu_index" "$torch_requirement" 2>/dev/null; then
        :  # what it requires comes with the rest, at the versions of the constraints
    else
        say "torch: $torch_cpu_index gave none. Taking the default build with CUDA instead, which runs on" \
            "the CPU as well: $(cost "$cuda_fetch_mb" "$cuda_disk_mb")"
        check_room "$cuda_disk_mb"
        pip_install "$torch_requirement"
    fi
}

make_venv() {
    if [ -e "$venv" ] && [ ! -f "$venv/pyvenv.cfg" ] && [ -n "$(ls -A "$venv")" ]; then
        stop "$venv is there and is no virtual environment. Move it away and run this again."
    fi
    if [ -e "$unfinished" ] || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        [ ! -e "$unfinished" ] || say "the last set-up did not finish; starting its virtual environment afresh"
        "$python" -m venv --clear "$venv"
    fi
}

install_python_packages() {
    if [ "$driver" = yes ]; then fetch=$cuda_fetch_mb disk=$cuda_disk_mb; else fetch=$cpu_fetch_mb disk=$cpu_disk_mb; fi
    check_room "$disk"
    say "fetching Python packages into $venv: $(cost "$fetch" "$disk")"
    make_venv
    : >"$unfinished"
    TMPDIR=$venv/tmp; export TMPDIR  # a wheel of torch does not fit every /tmp
    mkdir -p "$TMPDIR"
    pip_install --upgrade pip setuptools
    say "1 of 2: torch"
    install_torch
    say "2 of 2: everything else"
    pip_install --no-build-isolation -e '.[dev]'
    rm -rf "$TMPDIR" "$venv/torch.json"
    unset TMPDIR
    "$venv/bin/python" -c 'import torch, PySide6.QtCore' || stop "The packages are installed, but do not import: see above."
    inputs "$("$venv/bin/python" -c 'import sys; print(sys.version)' | tr '\n' ' ')" >"$stamp.part"
    mv "$stamp.part" "$stamp"
    rm "$unfinished"
    say "done: $("$venv/bin/python" -c 'import torch; print("torch", torch.__version__)') in $venv"
}

# ---------------------------------------------------------------- the order of things

if command -v flock >/dev/null 2>&1; then  # two targets at once: the second waits
    [ -e .setup.lock ] || : >.setup.lock
    exec 9<.setup.lock  # for reading, since root may have made it
    flock 9
fi
if [ -x "$venv/bin/python" ] && "$venv/bin/python" -c '' 2>/dev/null; then python=$venv/bin/python; else find_python; fi
if driver_present "$python"; then driver=yes; else driver=no; fi
if [ "$level" = check ]; then
    set_up || stop "The packages in $venv are not those that the files here ask for. Run this:" "  packaging/setup.sh"
    exit 0
fi
install_system_packages "$python"
set_up && exit 0
if [ "$python" = "$venv/bin/python" ]; then find_python; fi
install_python_packages
