#include "core/analysis/provenance.h"

#include <cctype>
#include <string_view>

namespace headwise {

namespace {

bool isWordByte(char c)
{
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Returns whether a formula contains E, the matrix on the token sides, as a separate word or within W_E.
bool namesTokenSide(std::string_view formula)
{
    if (formula.find("E W_") != std::string_view::npos)
        return true;
    for (std::size_t at = formula.find('E'); at != std::string_view::npos; at = formula.find('E', at + 1)) {
        const bool startsWord = at == 0 || !isWordByte(formula[at - 1]);
        if (startsWord && (at + 1 == formula.size() || !isWordByte(formula[at + 1])))
            return true;
    }
    return false;
}

} // namespace

void markProvenance(ResultSet& results, const Analysis& analysis, const AnalysisOptions& options)
{
    const AnalysisInputs& inputs = options.inputs;
    for (ResultArray& array : results.arrays) {
        array.attributes["seed"] = static_cast<double>(inputs.seed);
        if (namesTokenSide(array.definition))
            array.attributes["embedding"] = std::string(embeddingName(options.embedding));
        if (analysis.needs.token && inputs.token)
            array.attributes["token"] = static_cast<double>(*inputs.token);
        if (analysis.needs.direction && !inputs.directionName.empty())
            array.attributes["direction"] = inputs.directionName;
    }
}

} // namespace headwise
