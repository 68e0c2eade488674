#!/usr/bin/env bash
# Builds everything with Clang and the standard library's assertions, and runs core's quick tests and those of ui/. .ci/run does this
# only for the fuzzers and sanitizers. On Debian 12: Clang 14, libstdc++ 12, Qt 6.4. Half an hour on two cores.
# usage: tests/check_clang.sh [arguments of ctest]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. app/packages.sh

installMissing "${buildPackages[@]}" "${windowPackages[@]}" "${testPackages[@]}" "${fuzzPackages[@]}"
configure clang
build clang
clang++ --version | head -n 1
if [ "$#" = 0 ]; then
    set -- -L 'quick|ui'
fi
ctest --preset clang -j 2 "$@"
