#!/usr/bin/env bash
# Checks the includes with grep: core <- ui <- app, and the order of the rooms inside core and ui. Also refuses paths of one machine and
# names of package registries in committed files.
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
refuse "a command includes Qt or ui" '#[[:space:]]*include[[:space:]]*([<"]Q|"ui/)' app/commands ':!app/commands/export/export_figure.*' \
    ':!app/commands/export/export_page.cpp'

# order TOP ROOM...: a room of TOP includes only itself and those before it.
order() {
    local top=$1 i above
    shift
    local rooms=("$@")
    for room in "$top"/*/; do
        room=$(basename "$room")
        [[ " ${rooms[*]} " == *" $room "* ]] || { printf '%s/%s has no place in the order of rooms\n' "$top" "$room"; failed=1; }
    done
    for ((i = 0; i + 1 < ${#rooms[@]}; ++i)); do
        above=$(IFS='|'; printf '%s' "${rooms[*]:i + 1}")
        refuse "$top/${rooms[i]} includes a room above it" "#[[:space:]]*include[[:space:]]*[<\"]$top/($above)/" "$top/${rooms[i]}"
    done
}
order core base files checkpoint tokenizer model circuits results analysis findings runs session series
order ui base figures document models widgets heatmaps charts pictures pages

# apart FOLDER SHARED: none of FOLDER's folders includes another, except SHARED.
apart() {
    local folder=$1 shared=$2 one others
    for one in "$folder"/*/; do
        one=$(basename "$one")
        others=$(ls -d "$folder"/*/ | xargs -n 1 basename | grep -vxE "$one|$shared" | paste -sd '|')
        refuse "$folder/$one includes another of $folder" "#[[:space:]]*include[[:space:]]*[<\"]$folder/($others)/" "$folder/$one"
    done
}
apart core/analysis 'inputs|shared'
apart ui/pages parts

refuse "code asks an analysis by its id; its row in the catalogue has such knowledge" '(\.|->)id *(==|!=) *"' core ui app
refuse "an axis is compared by its name" '[aA]x[ei]s[A-Za-z]*(\[[^]]*\])?(\.name\(\))? *(==|!=) *"' core ui app
refuse "code asks for a model family; core/model/families has its table" \
    '(architecture|family|model_?[tT]ype)[A-Za-z]*(\(\))? *(==|!=) *"' core ui app ':!core/model/families'

# No folder holds more than 30 units; a header with its source is one.
while read -r count folder; do
    [ "$count" -le 30 ] || { printf '%s holds %s units, more than 30\n' "$folder" "$count"; failed=1; }
done < <(git ls-files 'core/*.h' 'core/*.cpp' 'ui/*.h' 'ui/*.cpp' 'app/*.h' 'app/*.cpp' | sed 's/\.[a-z]*$//' | sort -u | xargs -n 1 dirname | sort | uniq -c)

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
