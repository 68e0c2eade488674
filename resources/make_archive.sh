#!/usr/bin/env bash
# Makes an archive of build/release that runs without installation: the program, its libraries, Qt's plugins and the demo.
# usage: resources/make_archive.sh FOLDER     after app/run; writes FOLDER/headwise-VERSION-linux-MACHINE.tar.xz
#
# The libraries of C and C++, the graphics driver's libraries and the fonts are the system's own, as every desktop has them.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
version=$("$root/build/release/app/headwise" --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1)
name=headwise-$version-linux-$(uname -m)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tree=$scratch/$name

cmake --install "$root/build/release" --prefix "$tree" --strip >/dev/null
mkdir -p "$tree/lib" "$tree/plugins"
plugins=$(dirname "$(find /usr/lib -path '*qt6/plugins/platforms' -type d | head -n 1)")
for folder in platforms imageformats iconengines xcbglintegrations platforminputcontexts wayland-shell-integration \
    wayland-graphics-integration-client wayland-decoration-client tls; do
    [ ! -d "$plugins/$folder" ] || cp -r "$plugins/$folder" "$tree/plugins/"
done
rm -f "$tree"/plugins/platforms/libq{eglfs,linuxfb,vnc,minimalegl,vkkhrdisplay}.so "$tree"/plugins/imageformats/libqpdf.so
printf '[Paths]\nPrefix = ..\nPlugins = plugins\n' >"$tree/bin/qt.conf"

# Libraries that the system provides: those of C and C++, and those for its kernel, display or graphics driver.
ofSystem='^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|nsl|stdc\+\+|gcc_s|expat)|libGL|libGLX|libGLdispatch|libEGL|libOpenGL|libdrm|libgbm|libfontconfig|libfreetype)\.so'
find "$tree/bin" "$tree/plugins" -type f \( -name '*.so*' -o -perm -u+x \) -print0 |
    xargs -0 -n 1 ldd 2>/dev/null | sed -nE 's/^\t(\S+) => (\/\S+) .*/\1 \2/p' | sort -u |
    while read -r library file; do
        [[ $library =~ $ofSystem ]] || install -m 644 "$file" "$tree/lib/$library"
    done
for program in "$tree"/bin/headwise*; do
    patchelf --set-rpath '$ORIGIN/../lib' "$program"
done
find "$tree/lib" -name '*.so*' -exec patchelf --set-rpath '$ORIGIN' {} +
find "$tree/plugins" -name '*.so' -exec patchelf --set-rpath '$ORIGIN/../../lib' {} +
ln -s bin/headwise "$tree/headwise"

# XZ with one thread's block size: the same bytes for the same files.
tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner -cJf "$out/$name.tar.xz" "$name"
printf '%s\n' "$out/$name.tar.xz"
