# Packages that Headwise needs, and functions to install and build; sourced by app/run, tests/run and .ci/run.
#
# Tested on Debian 12. Ubuntu 24.04 has the same names except where two are given: of "new|old" the first that apt knows is installed.
# Python is the system's, for which h5py is packaged.

buildPackages=(
    g++ cmake ninja-build ccache pkg-config
    libeigen3-dev libopenblas-dev liblapacke-dev libhdf5-dev libtbb-dev
    libspdlog-dev libfmt-dev nlohmann-json3-dev libcli11-dev libpcre2-dev libutf8proc-dev libssl-dev zlib1g-dev
)
windowPackages=(
    qt6-base-dev "qt6-charts-dev|libqt6charts6-dev" "qt6-svg-dev|libqt6svg6-dev" "libqt6opengl6-dev|qt6-base-dev"
    "qt6-svg-plugins|libqt6svg6" qt6-wayland
    fonts-noto-core fonts-noto-cjk
)
testPackages=(libbenchmark-dev python3-h5py python3-numpy xvfb xauth)
fuzzPackages=(clang lld libclang-rt-dev)
mpiPackages=(libopenmpi-dev openmpi-bin)
slurmPackages=(slurm-wlm munge)
checkPackages=(git patchelf binutils clang-format clang-tidy appstream desktop-file-utils shared-mime-info)

# Compilers' messages and file names in UTF-8 on machines without a locale; one cache for every copy of the source.
case "${LC_ALL:-${LC_CTYPE:-${LANG:-}}}" in
    *[Uu][Tt][Ff]8 | *[Uu][Tt][Ff]-8) ;;
    *) export LC_ALL=C.UTF-8 ;;
esac
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}" CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-pch_defines,time_macros}" # Without it nothing with a precompiled header is kept.
export CCACHE_DEPEND="${CCACHE_DEPEND:-1}" # Hashes what the compiler says it read, instead of preprocessing every file once more.

say() { printf '%s\n' "headwise: $*" >&2; }

isInstalled() {
    [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# "a|b|c": prints the first that apt knows, or the last. (No grep -q: it would end apt-cache by SIGPIPE, and pipefail make
# of that a package that is not there.)
firstAvailable() {
    local name
    for name in ${1//|/ }; do
        if apt-cache policy "$name" 2>/dev/null | grep 'Candidate: [^(]' >/dev/null; then
            break
        fi
    done
    printf '%s\n' "$name"
}

# "a|b|c": true when the one of them that this system has is installed. qt6-base-dev alone is not enough where
# libqt6opengl6-dev is a package of its own.
isSatisfied() {
    case $1 in
        *"|"*) isInstalled "$(firstAvailable "$1")" ;;
        *) isInstalled "$1" ;;
    esac
}

asRoot() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# Installs the missing ones of the given packages, and names them. Needs the network only when something is missing.
installMissing() {
    local entry names=() missing=()
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        say "this is not a Debian or Ubuntu system; install these yourself if the build asks for them: $*"
        return 0
    fi
    for entry in "$@"; do
        isSatisfied "$entry" || missing+=("$entry")
    done
    [ "${#missing[@]}" -gt 0 ] || return 0
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        say "these packages are missing: ${missing[*]}"
        say "there is no sudo here; as root run: apt-get update && apt-get install ${missing[*]%%|*}"
        return 1
    fi
    say "updating the package lists"
    asRoot apt-get update -qq >&2 || say "apt-get update failed; trying with the lists that are there"
    for entry in "${missing[@]}"; do
        names+=("$(firstAvailable "$entry")")
    done
    say "installing ${names[*]}"
    if ! asRoot env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
        -o DPkg::Lock::Timeout=300 "${names[@]}" >&2; then
        say "the packages could not be installed (see above). Check the network and the package sources, or install them"
        say "by hand and start again: apt-get update && apt-get install ${names[*]}"
        return 1
    fi
}

# build DIRECTORY-PRESET [arguments of cmake --build]: progress on a terminal, only what goes wrong otherwise.
build() {
    local preset=$1 quiet=()
    shift
    [ -t 2 ] || quiet=(-- --quiet)
    say "building (preset $preset)"
    cmake --build --preset "$preset" "$@" "${quiet[@]}" >&2
}

# configure PRESET [definitions]
configure() {
    local preset=$1 log
    shift
    log=$(cmake --preset "$preset" "$@" 2>&1) || {
        printf '%s\n' "$log" >&2
        say "cmake could not configure the preset $preset (see above)"
        return 1
    }
}
