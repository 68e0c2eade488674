#include "ui/pages/model/trial_run.h"

#include "core/files/file_write.h"
#include "core/model/forward.h"
#include "core/tokenizer/model_tokenizer.h"
#include "core/tokenizer/token_search.h"
#include "ui/base/text.h"

#include <QTemporaryDir>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headwise::ui {

namespace {

/// Loads the model by a map that lies nowhere yet. Errors: those of loadModel(), about "this description".
Result<std::shared_ptr<const ModelWeights>> loadDescribed(const TrialQuestion& question, const Task& task)
{
    const QTemporaryDir folder;
    if (!folder.isValid())
        return Error{ErrorCode::Io, "There is no folder for temporary files."};
    const std::string path = folder.filePath(QStringLiteral("description.json")).toStdString();
    if (const auto written = replaceFile(path, std::span<const char>(question.map)); !written)
        return written.error();
    ModelSource source = question.source;
    source.namesFile = path;
    auto weights = loadModel(source, task);
    if (weights)
        return weights;
    Error error = weights.error();
    const std::string name = tr("this description").toStdString();
    for (std::size_t at = error.message.find(path); at != std::string::npos; at = error.message.find(path))
        error.message.replace(at, path.size(), name);
    return error;
}

Result<std::vector<TrialToken>> likeliest(const RowVector<float>& logits, int count,
                                          const Tokenizer* tokenizer)
{
    if (!logits.allFinite())
        return Error{ErrorCode::Corrupt,
                     "The logits of the last token are NaN or infinite; check norms, axes and facts."};
    std::vector<int> ids(static_cast<std::size_t>(logits.size()));
    std::iota(ids.begin(), ids.end(), 0);
    const auto end = ids.begin() + std::min<std::ptrdiff_t>(count, std::ssize(ids));
    std::partial_sort(ids.begin(), end, ids.end(),
                      [&](int a, int b) { return logits(a) != logits(b) ? logits(a) > logits(b) : a < b; });
    const double top = ids.empty() ? 0 : logits(ids.front());
    double sum = 0;
    for (const float logit : logits)
        sum += std::exp(logit - top);
    std::vector<TrialToken> tokens;
    for (auto id = ids.begin(); id != end; ++id)
        tokens.push_back({text(shownToken(tokenizer, *id)), std::exp(logits(*id) - top) / sum});
    return tokens;
}

} // namespace

Result<std::vector<TrialToken>> runTrial(const TrialQuestion& question, int count, const Task& task)
{
    const auto model = loadDescribed(question, task);
    if (!model)
        return model.error();
    const auto opened = openModelTokenizer((*model)->file());
    if (!opened && opened.error().code != ErrorCode::NotFound)
        return opened.error();
    const Tokenizer* tokenizer = opened ? &*opened : nullptr;
    const auto tokens = promptTokens(question.prompt, tokenizer, (*model)->config().dVocab);
    if (!tokens)
        return tokens.error();
    const auto weights = process(*model, ProcessingPlan{}, task);
    if (!weights)
        return weights.error();
    const auto run = forward<float>(**weights, *tokens, task);
    if (!run)
        return run.error();
    return likeliest(run->logits.row(run->logits.rows() - 1), count, tokenizer);
}

} // namespace headwise::ui
