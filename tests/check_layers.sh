#!/usr/bin/env bash
# The arrows of the house, seen by grep: core <- ui <- app, and inside core base < io < model < circuits < analysis < session.
# Also what no committed file may hold: paths of one machine and names of package registries.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
failed=0

# refuse SENTENCE PATTERN PATHSPEC...: no tracked file of the pathspecs may have a line that matches.
refuse() {
    local sentence=$1 pattern=$2 lines
    shift 2
    lines=$(git grep -nIE "$pattern" -- "$@" || true)
    [ -n "$lines" ] || return 0
    printf '%s:\n%s\n' "$sentence" "$lines"
    failed=1
}

refuse "core includes Qt" '#[[:space:]]*include[[:space:]]*[<"]Q' core
refuse "core links Qt" 'Qt6::|find_package\(Qt' core
refuse "core includes ui or app" '#[[:space:]]*include[[:space:]]*[<"](ui|app|tests)/' core
refuse "ui includes app" '#[[:space:]]*include[[:space:]]*[<"](app|tests)/' ui
refuse "app includes tests" '#[[:space:]]*include[[:space:]]*[<"]tests/' app
# The commands are built without Qt too; only the figures need it.
refuse "a command includes Qt or ui" '#[[:space:]]*include[[:space:]]*([<"]Q|"ui/)' app/commands ':!app/commands/export_figure.*'

layers=(base io model circuits analysis session)
for ((i = 0; i < ${#layers[@]}; ++i)); do
    above=$(IFS='|'; printf '%s' "${layers[*]:i + 1}")
    [ -n "$above" ] || continue
    refuse "core/${layers[i]} includes a layer above it" "#[[:space:]]*include[[:space:]]*[<\"]core/($above)/" "core/${layers[i]}"
done

everything=(. ':!tests/check_layers.sh' ':!*.safetensors' ':!*/tokenizer.json' ':!*/merges.txt' ':!*/vocab.json')
refuse "a path of one machine" '(^|[^A-Za-z0-9_.~/-])/(work|root|home/[a-z]+|Users/[A-Za-z]+)/[A-Za-z]' "${everything[@]}" ':!tests/data'
refuse "the name of a package registry" \
    '(registry\.npmjs|npmjs\.(com|org)|pypi\.(org|io)|files\.pythonhosted|crates\.io|proxy\.golang|(deb|archive)\.(debian|ubuntu)\.)' \
    "${everything[@]}"

top=$(git ls-files | cut -d/ -f1 | sort -u |
    grep -vxE 'app|core|ui|resources|tests|CMakeLists\.txt|CMakePresets\.json|README\.md|CHANGELOG\.md|CONTRIBUTING\.md|SECURITY\.md|LICENSE|\..*' || true)
if [ -n "$top" ]; then
    printf 'the top level holds more than the design names: %s\n' "$top"
    failed=1
fi
exit "$failed"
