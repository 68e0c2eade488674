#!/usr/bin/env bash
# Refuses comments that open with a word that hides who does what: "Of", "What", "Who", "Which", "Those", "That".
# CONTRIBUTING.md has the rules of comments.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Folders whose comments are still to be rewritten. Take a folder off this list when it is clean; the aim is an empty list.
pending=()

opening='(Of|What|Who|Whose|Which|Those|That)'
pathspecs=('*.h' '*.cpp' '*.c' '*.sh' '*.py' '*.cmake' '*CMakeLists.txt' app/run tests/run 'tests/*/run' .ci/run)
for folder in "${pending[@]}"; do
    pathspecs+=(":!$folder")
done

lines=$(git grep -nIE "(///?<?|^[[:space:]]*#|\"\"\")[[:space:]]+$opening[[:space:]]|(^|[[:space:]])\"\"\"$opening[[:space:]]" -- \
    "${pathspecs[@]}" ':!tests/check_prose.sh' || true)
[ -n "$lines" ] || exit 0
printf 'a comment opens with a word that tests/check_prose.sh refuses:\n%s\n' "$lines"
exit 1
