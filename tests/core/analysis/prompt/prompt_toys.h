#pragma once

#include "tests/support/analysed.h"
#include "tests/support/family_model.h"
#include "tests/support/toy_classes.h"

#include <functional>
#include <string>
#include <vector>

namespace headwise::test {

using Rows = std::vector<std::vector<double>>;

inline const std::vector<int> toyPrompt{3, 1, 4, 1, 5, 0, 2, 6, 5};

inline AnalysisOptions askedInDouble()
{
    AnalysisOptions options;
    options.precision = Precision::F64;
    options.inputs.prompt = toyPrompt;
    return options;
}

/// A model on disk and the reference's run of the prompt.
struct PromptToy {
    std::string name;
    std::filesystem::path path;
    ReferenceRun reference;

    const std::vector<std::vector<double>>& step(int layer, const char* what) const
    {
        return reference.steps.at(std::to_string(layer) + "." + what);
    }
};

/// Every class of toy, and the checkpoint of every family that takes a prompt.
inline void forEachPromptToy(const std::function<void(const PromptToy&)>& body)
{
    for (const auto& [name, options] : toyClasses()) {
        const QTemporaryDir temporary;
        const auto path = std::filesystem::path(temporary.path().toStdString()) / "toy";
        writeToyModel(path, options);
        body({name, path, referenceForward(path, toyPrompt)});
    }
    for (const std::string& name : familyNames()) {
        const QTemporaryDir temporary;
        const auto path =
            writeFamily(std::filesystem::path(temporary.path().toStdString()) / "family", familyModel(name));
        const ModelConfig config = circuitsOf(path, noProcessing()).config();
        if (!whyNoVocabulary(config).empty() || !whyNoForward(config).empty())
            continue; // Images, and decoders that read an encoder, take no prompt; families_test checks that they say so.
        body({name, path, referenceForward(path, toyPrompt)});
    }
}

inline double dot(const std::vector<double>& a, const std::vector<double>& b)
{
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        sum += a[i] * b[i];
    return sum;
}

/// x · M of row vectors, M [in, out].
inline std::vector<double> times(const std::vector<double>& x, const Rows& M)
{
    std::vector<double> out(M.front().size(), 0.0);
    for (std::size_t i = 0; i < x.size(); ++i)
        for (std::size_t j = 0; j < out.size(); ++j)
            out[j] += x[i] * M[i][j];
    return out;
}

/// Columns [first, first + count) of a row.
inline std::vector<double> part(const std::vector<double>& row, std::size_t first, std::size_t count)
{
    return {row.begin() + static_cast<std::ptrdiff_t>(first),
            row.begin() + static_cast<std::ptrdiff_t>(first + count)};
}

} // namespace headwise::test
