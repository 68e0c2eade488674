#include "core/analysis/composition/induction_parts.h"

#include "core/analysis/analyses.h"
#include "core/analysis/composition/induction_meeting.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <utility>

namespace headwise {

namespace {

constexpr double blockBytes = 256.0 * 1024 * 1024; // of earlier heads held at once

bool isCorrupt(const Error& error)
{
    return error.code == ErrorCode::Corrupt;
}

/// Sets the pairs' own three numbers, earlier heads in blocks of layers.
template <typename Scalar>
class PairMeasures {
public:
    PairMeasures(const AnalysisContext& context, const Task& task, InductionParts& parts)
        : m_context(context)
        , m_config(context.circuits.config())
        , m_task(task)
        , m_heads(selectedHeads(m_config, context.options))
        , m_parts(parts)
    {
    }

    Result<Done> run()
    {
        const double perLayer = 2.0 * sizeof(Scalar) * m_config.nHeads * m_config.dModel * m_config.dHead;
        const int layers = std::max(1, static_cast<int>(blockBytes / perLayer));
        for (int first = 0; first + 1 < m_config.nLayers; first += layers) {
            const int last = std::min(first + layers, m_config.nLayers - 1);
            if (const auto done = runBlock(first, last); !done)
                return done;
        }
        return Done{};
    }

private:
    Result<Done> runBlock(int first, int last)
    {
        std::vector<HeadId> earlier;
        for (const HeadId head : m_heads) {
            if (head.layer >= first && head.layer < last)
                earlier.push_back(head);
        }
        std::vector<Writer<Scalar>> writers(earlier.size());
        const auto read = parallelFor(
            static_cast<int>(earlier.size()), withoutProgress(m_task), "", [&](int i) -> Result<Done> {
                const auto index = static_cast<std::size_t>(i);
                const auto writer = writerOf<Scalar>(
                    m_context.circuits.weights().head<double>(earlier[index]), m_context.tokens->EtE);
                if (writer)
                    writers[index] = *writer;
                else if (!isCorrupt(writer.error()))
                    return writer.error();
                return Done{};
            });
        if (!read)
            return read;
        return parallelFor(static_cast<int>(m_heads.size()), m_task, "pairs of heads", [&](int i) {
            const HeadId later = m_heads[static_cast<std::size_t>(i)];
            return later.layer > first ? runLater(later, earlier, writers) : Result<Done>(Done{});
        });
    }

    Result<Done> runLater(HeadId later, const std::vector<HeadId>& earlier,
                          const std::vector<Writer<Scalar>>& writers)
    {
        const TokenSide& tokens = *m_context.tokens;
        const auto reader = readerOf<Scalar>(m_context.circuits.weights().head<double>(later),
                                             tokens.embeddingGramOf(later.layer));
        if (!reader)
            return isCorrupt(reader.error()) ? Result<Done>(Done{}) : reader.error();
        for (std::size_t i = 0; i < earlier.size(); ++i) {
            if (m_task.cancelled())
                return stopped();
            const Writer<Scalar>& writer = writers[i];
            if (earlier[i].layer >= later.layer || writer.V.size() == 0)
                continue;
            const auto numbers = meet(writer, *reader, tokens.embeddingOf(later.layer));
            if (!numbers)
                return numbers.error();
            m_parts.composition.set(earlier[i], later, numbers->composition);
            m_parts.matching.set(earlier[i], later, numbers->matching);
            m_parts.sameToken.set(earlier[i], later, numbers->sameToken);
        }
        return Done{};
    }

    const AnalysisContext& m_context;
    const ModelConfig& m_config;
    const Task& m_task;
    std::vector<HeadId> m_heads;
    InductionParts& m_parts;
};

/// The one array of another row of the catalogue, in double.
Result<RealNumbers> inductionPartsScoresOf(const Analysis& analysis, const AnalysisContext& context,
                                           const Task& task, std::vector<std::string>& warnings)
{
    AnalysisContext inDouble = context;
    inDouble.options.precision = Precision::F64;
    auto results = analysis.run(inDouble, withoutProgress(task));
    if (!results)
        return results.error();
    warnings.insert(warnings.end(), results->warnings.begin(), results->warnings.end());
    RealNumbers scores = RealNumbers::perHead(context.circuits.config());
    scores.values() = std::get<std::vector<double>>(results->arrays.front().values);
    return scores;
}

} // namespace

Result<InductionParts> inductionParts(const AnalysisContext& context, const Task& task)
{
    std::vector<std::string> warnings;
    auto previousToken = inductionPartsScoresOf(previousTokenAnalysis(), context, task, warnings);
    if (!previousToken)
        return previousToken.error();
    auto copying = inductionPartsScoresOf(copyingAnalysis(), context, task, warnings);
    if (!copying)
        return copying.error();
    const ModelConfig& config = context.circuits.config();
    const RealNumbers unset = RealNumbers::perPair(config);
    InductionParts parts{*std::move(previousToken), *std::move(copying), unset, unset, unset,
                         std::move(warnings)};
    const auto done = context.options.precision == Precision::F64
        ? PairMeasures<double>(context, task, parts).run()
        : PairMeasures<float>(context, task, parts).run();
    if (!done)
        return done.error();
    return parts;
}

} // namespace headwise
