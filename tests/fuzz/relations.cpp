#include "core/analysis/inputs/relation_file.h"
#include "tests/fuzz/text_input.h"

using namespace headwise;

/// Relations as CSV and as JSON.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    for (const auto read : {relationsFromCsv, relationsFromJson}) {
        const auto relations = read(fuzz::textOf(data, size), "relations");
        if (!fuzz::isAnswered(relations))
            continue;
        for (const Relation& relation : *relations) {
            fuzz::require(!relation.name.empty() && !relation.pairs.empty());
            for (const auto& [source, target] : relation.pairs)
                fuzz::require(!source.empty() && !target.empty());
        }
    }
    return 0;
}
