#!/usr/bin/env bash
# Checks the desktop entry, the metainfo, the file types and the icons, each with its own validator, and that they refer to one another.
set -uo pipefail
export LC_ALL=C.UTF-8 # for \x{200B} below
cd "$(dirname "${BASH_SOURCE[0]}")/.."
id=org.headwise.Headwise
entry=resources/$id.desktop metainfo=resources/$id.metainfo.xml types=resources/$id.mime.xml
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

fail() {
    printf '%s\n' "$*"
    failed=1
}

# holds FILE LINE: the file has exactly this line, whatever it is indented by.
holds() {
    grep -qxE "[[:space:]]*$(sed 's/[][\.*^$+?(){}|]/\\&/g' <<<"$2")" "$1" || fail "$1 lacks: $2"
}

desktop-file-validate "$entry" || failed=1
appstreamcli validate --no-net "$metainfo" || failed=1
cmake -DMETAINFO="$scratch/$id.metainfo.xml" -DHEADWISE_HOMEPAGE=https://example.org/headwise \
    -P resources/metainfo.cmake && appstreamcli validate --no-net "$scratch/$id.metainfo.xml" || failed=1
[ "$(grep -c '<image>' "$scratch/$id.metainfo.xml")" = 5 ] || fail "the metainfo with links lacks screenshots"

# The window is found in the task bar by the id, on X11 by StartupWMClass, on Wayland by the name of the entry.
holds "$entry" "Exec=headwise %F"
holds "$entry" "Icon=$id"
holds "$entry" "StartupWMClass=$id"
holds "$metainfo" "<id>$id</id>"
holds "$metainfo" "<launchable type=\"desktop-id\">$id.desktop</launchable>"
grep -q "\"$id\"" app/window/window.cpp || fail "app/window/window.cpp does not set the desktop file name $id"
version=$(sed -n 's/^project(headwise VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
grep -q "<release version=\"$version\"" "$metainfo" || fail "$metainfo has no release $version"

# Every type of the entry is declared and provided.
for type in $(sed -n 's/^MimeType=//p' "$entry" | tr ';' ' '); do
    holds "$types" "<mime-type type=\"$type\">"
    holds "$metainfo" "<mediatype>$type</mediatype>"
done
mkdir -p "$scratch/mime/packages" && cp "$types" "$scratch/mime/packages/"
update-mime-database "$scratch/mime" >"$scratch/log" 2>&1 || fail "update-mime-database: $(cat "$scratch/log")"
grep -qxF "80:application/x-headwise-session+hdf5:*.headwise.h5" "$scratch/mime/globs2" || fail "no glob for sessions"

# Invisible characters: a zero-width space before a line makes it another line.
if grep -nP '[\x{200B}-\x{200F}\x{FEFF}]' "$entry" "$metainfo" "$types"; then
    fail "invisible characters in the lines above"
fi

for size in 16 24 32 48 64 128 256 512; do
    icon=resources/hicolor/${size}x$size/apps/$id.png
    # The header of a PNG: signature, length, IHDR, width, height; both big-endian.
    measured=$(od -A n -t u1 -j 16 -N 8 "$icon" | tr -s ' ')
    [ "$measured" = " 0 0 $((size / 256)) $((size % 256)) 0 0 $((size / 256)) $((size % 256))" ] ||
        fail "$icon is not $size × $size"
done
for picture in "resources/$id.svg" "resources/hicolor/symbolic/apps/$id-symbolic.svg"; do
    grep -q '<svg xmlns="http://www.w3.org/2000/svg"' "$picture" || fail "$picture is not an SVG"
done
exit "$failed"
