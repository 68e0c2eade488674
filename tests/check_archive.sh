#!/usr/bin/env bash
# Unpacks the archive of resources/make_archive.sh into a root with only the libraries of C and C++, fontconfig and a font, and checks that
# the command line and the window work there.
# usage: tests/check_archive.sh     after tests/run or app/run; as root, or where a user may have a namespace
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    printf '%s\n' "$*"
    exit 1
}

archive=$(XZ_OPT=-1 resources/make_archive.sh "$scratch/made") || fail "the archive could not be made"
printf '%s: %s MB\n' "$(basename "$archive")" "$(($(stat -c %s "$archive") / 1000000))"
base=$scratch/root
mkdir -p "$base"/{tmp,proc,dev,home,opt,etc,usr/share/fonts}
tar -C "$base/opt" -xf "$archive" || fail "the archive cannot be unpacked"
tree=$(ls -d "$base"/opt/headwise-*)

# The oldest system it is for is Ubuntu 22.04, with version 2.35 of the C library.
newest=$(find "$tree" -type f \( -name '*.so*' -o -path '*/bin/*' \) -exec objdump -T {} + 2>/dev/null |
    grep -oE 'GLIBC_2\.[0-9]+' | sort -uV | tail -n 1)
printf 'needs %s\n' "$newest"
[ "$(printf '%s\nGLIBC_2.35\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.35 ] ||
    fail "a file of the archive needs $newest, which Ubuntu 22.04 does not have: $(
        find "$tree" -type f -name '*.so*' -exec sh -c 'objdump -T "$1" 2>/dev/null | grep -q "$2" && basename "$1"' _ {} "$newest" \;)"

# The C library and what make_archive.sh leaves to the system, from this one.
ldd "$tree/bin/headwise" "$tree"/plugins/platforms/*.so 2>/dev/null | grep -oE '/[^ ]+' | grep -v "^$base" | tr -d : | sort -u |
    while read -r file; do
        [ ! -f "$file" ] || install -D "$file" "$base$file"
    done
cp -r /etc/fonts "$base/etc/" && cp -rL /usr/share/fontconfig "$base/usr/share/" 2>/dev/null
find /usr/share/fonts -name 'NotoSans-Regular.ttf' -exec cp {} "$base/usr/share/fonts/" \; -quit

# inside COMMAND...: in that root, with a process list of its own and no network.
inside() {
    unshare --mount --pid --fork --net $([ "$(id -u)" = 0 ] || echo --map-root-user) sh -c '
        mount -t proc proc "$1/proc"; shift
        exec env -i PATH=/usr/sbin:/usr/bin HOME=/home LC_ALL=C.UTF-8 QT_QPA_PLATFORM=offscreen chroot "$@"' sh "$base" "$base" "$@"
}
program=/opt/$(basename "$tree")/headwise
demo=/opt/$(basename "$tree")/share/headwise/demo
: >"$base/dev/null"
inside "$program" info "$demo" >"$scratch/info" 2>&1 || fail "headwise info: $(cat "$scratch/info")"
grep -q 'demo-attn-2l' "$scratch/info" || fail "headwise info does not read the demo: $(cat "$scratch/info")"
inside "$program" analyze "$demo" -o /tmp/demo.h5 2>"$scratch/log" || fail "headwise analyze: $(cat "$scratch/log")"
inside "$program" --screenshot /tmp/window.png "$demo" 2>"$scratch/log" || fail "the window did not start: $(cat "$scratch/log")"
[ "$(head -c 8 "$base/tmp/window.png" | od -A n -t x1 | tr -d ' ')" = 89504e470d0a1a0a ] || fail "there is no picture of the window"
