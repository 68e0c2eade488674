#!/usr/bin/env bash
# Checks the protections of loader and compiler in build/release/app/headwise, by reading the program itself.
# usage: tests/check_binary.sh [PROGRAM...]     after tests/run or app/run; default: every program and library of build/release
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
programs=("$@")
if [ "${#programs[@]}" = 0 ]; then
    mapfile -t programs < <(find build/release/app build/release/tests -maxdepth 2 -type f -perm -u+x 2>/dev/null)
fi
[ "${#programs[@]}" -gt 0 ] || { echo "nothing is built in build/release"; exit 1; }
failed=0

fault() {
    printf '%s: %s\n' "$1" "$2"
    failed=1
}

for program in "${programs[@]}"; do
    dynamic=$(readelf -dW "$program" 2>/dev/null) || continue
    # With an empty or relative element in its run path, the loader takes libraries from the current folder.
    while IFS= read -r path; do
        case ":$path:" in
            *::* | *:.* ) fault "$program" "its run path has an element that depends on the current folder: [$path]" ;;
        esac
        [[ ":$path" =~ :[^/\$] ]] && fault "$program" "its run path has a relative element: [$path]"
    done < <(sed -nE 's/.*\((RPATH|RUNPATH)\).*\[(.*)\].*/\2/p' <<<"$dynamic")
    readelf -hW "$program" | grep -q 'Type: *DYN' || fault "$program" "it is not position independent (PIE)"
    grep -q 'FLAGS_1.*NOW\|BIND_NOW' <<<"$dynamic" || fault "$program" "its relocations are not read-only (full RELRO)"
    readelf -lW "$program" | grep -q 'GNU_RELRO' || fault "$program" "its relocations are not read-only (full RELRO)"
    readelf -lW "$program" | grep 'GNU_STACK' | grep -q 'RWE' && fault "$program" "its stack is executable"
done

program=build/release/app/headwise
symbols=$(readelf --dyn-syms -W "$program")
grep -q '__stack_chk_fail' <<<"$symbols" || fault "$program" "it has no stack protector"
grep -q '_chk@GLIBC' <<<"$symbols" || fault "$program" "it was built without _FORTIFY_SOURCE"
if [ "$(uname -m)" = x86_64 ]; then
    readelf -nW "$program" | grep -q 'IBT' || echo "note: $program is not marked for control-flow enforcement; a library of the system is not"
fi
exit "$failed"
