#!/usr/bin/env bash
# Unpacks the Debian package of build/release into an empty folder and checks that its command line and window work from there.
# usage: tests/check_package.sh     after tests/run or app/run
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    printf '%s\n' "$*"
    exit 1
}

(cd build/release && cpack -G DEB -B "$scratch/made") >"$scratch/log" 2>&1 || fail "cpack: $(cat "$scratch/log")"
package=$(ls "$scratch"/made/*.deb) || fail "cpack made no package"
for line in "Package: headwise" "Section: science" "Maintainer: The Headwise developers"; do
    dpkg-deb -f "$package" | grep -xF "$line" >/dev/null || fail "the package lacks the field '$line': $(dpkg-deb -f "$package")"
done
dpkg-deb -f "$package" Depends | grep 'libqt6widgets6' >/dev/null || fail "the package does not depend on Qt"

dpkg-deb -x "$package" "$scratch/root" || fail "the package cannot be unpacked"
prefix=$scratch/root/usr
headwise=$prefix/bin/headwise
for file in applications/org.headwise.Headwise.desktop metainfo/org.headwise.Headwise.metainfo.xml \
    mime/packages/org.headwise.Headwise.xml icons/hicolor/scalable/apps/org.headwise.Headwise.svg \
    icons/hicolor/512x512/apps/org.headwise.Headwise.png doc/headwise/copyright headwise/demo/config.json; do
    [ -s "$prefix/share/$file" ] || fail "the package lacks share/$file"
done
if grep -aqF "$PWD" "$headwise" || readelf -d "$headwise" | grep -E 'R(UN)?PATH'; then
    fail "the program remembers where it was built"
fi

# A new user without a display.
run() {
    env -u DISPLAY -u WAYLAND_DISPLAY -u XDG_RUNTIME_DIR HOME="$scratch/home" XDG_STATE_HOME="$scratch/state" \
        XDG_CONFIG_HOME="$scratch/config" QT_QPA_PLATFORM=offscreen "$headwise" "$@"
}
mkdir "$scratch/home"
run info "$prefix/share/headwise/demo" | grep "demo-attn-2l\|demo" >/dev/null || fail "headwise info does not read the demo"

# pictureOf NAME ARGUMENTS...: the window starts, shows the requested place and exits by itself.
pictureOf() {
    local picture=$scratch/$1.png
    shift
    run --screenshot "$picture" "$@" 2>"$scratch/log" || fail "the window did not start: $(cat "$scratch/log")"
    [ "$(head -c 8 "$picture" | od -A n -t x1 | tr -d ' ')" = 89504e470d0a1a0a ] || fail "$picture is not a picture"
}
pictureOf empty
pictureOf head --goto "$prefix/share/headwise/demo#L1H5/OV?row=%20king"
cmp -s "$scratch/empty.png" "$scratch/head.png" && fail "the window shows the same with and without the demo"
exit 0
