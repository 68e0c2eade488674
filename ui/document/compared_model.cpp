#include "ui/document/compared_model.h"

#include "core/analysis/comparison/head_match.h"
#include "core/analysis/comparison/model_comparison.h"
#include "core/analysis/comparison/newer_model.h"
#include "core/model/adapters/adapter.h"
#include "ui/base/text.h"
#include "ui/document/about_model.h"
#include "ui/document/estimate.h"
#include "ui/document/workspace_part.h"

#include <utility>

namespace headwise::ui {

namespace {

using Ready = ComparedModel::Ready;

/// Inputs of the job that prepares the newer model.
struct Comparison {
    std::shared_ptr<const Ready> known; // null: nothing is open yet
    ModelSource source;                 // of which to open it then
    ProcessingWish wish;
    std::optional<Embedding> embedding; // none: no token side
    std::shared_ptr<const Tokenizer> tokenizer;
    int dVocab = 0; // of the older model
};

Result<OpenedModel> modelFor(const Comparison& question, const Task& task)
{
    if (!question.known)
        return readModel(question.source, question.wish, task);
    OpenedModel model = question.known->model;
    if (question.known->wish == question.wish)
        return model;
    auto processed = processedAs(question.wish, model.weights, task);
    if (!processed)
        return processed.error();
    model.processed = *processed;
    return model;
}

Result<std::shared_ptr<const Ready>> prepared(const Comparison& question, const Task& task)
{
    auto model = modelFor(question, task);
    if (!model)
        return model.error();
    auto ready = std::make_shared<Ready>();
    ready->model = std::move(model).value();
    ready->wish = question.wish;
    ready->circuits = std::make_shared<const Circuits>(ready->model.processed);
    const int dVocab = ready->circuits->config().dVocab;
    ready->hasSameVocabulary = dVocab == question.dVocab
        && haveSameVocabulary(question.tokenizer.get(), ready->model.tokenizer.get(), dVocab);
    if (question.embedding) {
        const auto tokens =
            tokenSide(*ready->circuits, *question.embedding, task, Precision::F32, TokenParts::MatricesAlone);
        if (!tokens)
            return tokens.error();
        ready->tokens = *tokens;
    }
    return std::shared_ptr<const Ready>(std::move(ready));
}

/// Answer of a comparison. The newer model can be looked at even where the two cannot be compared head by head.
struct Compared {
    OpenedModel newer;
    Result<ResultSet> results;
};

/// Compares head by head if the two are of one kind and size; else matches heads that write the same tokens.
/// \param words  tokenizer of the older model; may be null
Result<ResultSet> changes(const Circuits& older, const Tokenizer* words, const OpenedModel& newer,
                          const ComparisonOptions& options, const Task& task)
{
    const Circuits circuits(newer.processed);
    const bool hasSameShape = whyNotCompare(older.config(), circuits.config()).empty();
    auto found = hasSameShape ? compareModels(older, circuits, options, task)
                              : matchHeads({older, words, options.unusedTokens},
                                           {circuits, newer.tokenizer.get(), newer.unused}, options, task);
    if (!found)
        return found;
    ResultSet results = std::move(found).value();
    results.groupAttributes["comparison"] = attributesOfNewer(*newer.weights, newer.source);
    return results;
}

} // namespace

QString comparedWith(const ResultSet& results)
{
    const auto group = results.groupAttributes.find("comparison");
    if (group == results.groupAttributes.end())
        return {};
    const auto found = group->second.find("model_b_name");
    const auto* name = found == group->second.end() ? nullptr : std::get_if<std::string>(&found->second);
    return name ? text(*name) : QString();
}

ComparedModel* ComparedModel::of(Workspace* workspace)
{
    return partOf<ComparedModel>(workspace);
}

ComparedModel::ComparedModel(Workspace* workspace)
    : QObject(workspace)
    , m_workspace(workspace)
    , m_open(workspace->model()->weights())
    , m_isOpen(workspace->model()->hasModel())
{
    OpenModel* model = workspace->model();
    connect(model->steps(), &ModelSteps::computingStopped, &m_comparison, &Job::cancel);
    connect(model, &OpenModel::circuitsChanged, this, &ComparedModel::follow);
    connect(model, &OpenModel::embeddingChanged, this, &ComparedModel::startAgain);
    connect(model, &OpenModel::closed, this, &ComparedModel::forget);
    connect(this, &ComparedModel::failed, workspace, &Workspace::failed);
    connect(workspace->selection(), &Selection::referenceChanged, this, [this] {
        if (m_workspace->selection()->reference())
            setReference(false); // Whoever marks a head wants to see that.
    });
}

QString ComparedModel::name() const
{
    return m_known ? text(m_known->model.weights->config().name)
                   : comparedWith(*m_workspace->model()->results());
}

std::shared_ptr<const Ready> ComparedModel::ready() const
{
    return m_known && m_known->circuits ? m_known : nullptr;
}

void ComparedModel::setReference(bool on)
{
    if (on == m_isReference)
        return;
    m_isReference = on;
    emit changed();
}

std::optional<double> ComparedModel::adapterStrength() const
{
    const auto from = source();
    return from && isAdapter(from->path) ? std::optional(from->adapterStrength) : std::nullopt;
}

void ComparedModel::setAdapterStrength(double strength)
{
    auto from = source();
    if (!from)
        return;
    from->adapterStrength = strength;
    compare(*from);
}

ModelSource ComparedModel::onOpenBase(const ModelSource& newer) const
{
    const ModelSource& open = m_workspace->model()->files().source;
    if (!newer.base.empty() || !isAdapter(newer.path))
        return newer;
    ModelSource adapted = open; // with its config and its answers
    adapted.base = isAdapter(open.path) ? open.base : open.path;
    adapted.path = newer.path;
    adapted.adapterStrength = newer.adapterStrength;
    return adapted;
}

void ComparedModel::compare(const ModelSource& asked)
{
    using Answer = std::shared_ptr<const Compared>;
    const OpenModel* model = m_workspace->model();
    const auto circuits = model->circuits();
    if (!circuits)
        return;
    const ModelSource newer = onOpenBase(asked);
    m_comparison.start(
        withEstimate(tr("Comparing with %1").arg(text(newer.path.filename().string())),
                     comparisonCost(circuits->config())),
        aboutModel(circuits,
                   [older = circuits, tokenizer = model->tokenizer(), unused = model->files().unused,
                    wish = model->processingWish(), newer](const Task& task) -> Result<Answer> {
                       auto opened = readModel(newer, wish, task);
                       if (!opened)
                           return opened.error();
                       ComparisonOptions options;
                       options.unusedTokens = unused;
                       options.sameVocabulary = haveSameVocabulary(tokenizer.get(), opened->tokenizer.get(),
                                                                   older->config().dVocab);
                       auto results = changes(*older, tokenizer.get(), *opened, options, task);
                       if (!results && results.error().code == ErrorCode::Cancelled)
                           return results.error();
                       return std::make_shared<const Compared>(
                           Compared{std::move(opened).value(), std::move(results)});
                   }),
        [this, wish = model->processingWish()](const Result<Answer>& compared) {
            if (!compared)
                return emit failed(text(compared.error()));
            const auto& [opened, found] = **compared;
            if (found)
                addChanges(*found);
            keep(opened, wish);
            if (!found)
                emit failed(text(found.error()));
        });
}

void ComparedModel::addChanges(const ResultSet& found)
{
    OpenModel* model = m_workspace->model();
    ResultSet all = *model->results();
    std::erase_if(all.arrays, [](const ResultArray& array) { return array.path.starts_with("comparison/"); });
    all.groupAttributes.erase("comparison/match");
    all.merge(found);
    model->revision().change();
    model->setResults(std::move(all));
}

void ComparedModel::keep(const OpenedModel& model, const ProcessingWish& wish)
{
    m_known = std::make_shared<const Ready>(Ready{model, wish, nullptr, nullptr, false});
    if (!m_workspace->selection()->reference())
        m_isReference = true;
    startAgain();
}

void ComparedModel::share(const ComparedModel& other)
{
    m_known = other.m_known;
    m_problem = other.m_problem;
    m_isReference = other.m_isReference;
}

void ComparedModel::prepare(Parts parts)
{
    const bool isAsked = m_job.isRunning() && (m_parts == Parts::TokensToo || m_parts == parts);
    const auto from = source();
    if (isAsked || !from || !m_problem.isEmpty() || !m_workspace->model()->hasModel())
        return;
    m_parts = parts;
    Comparison question{m_known,
                        *from,
                        m_workspace->model()->processingWish(),
                        std::nullopt,
                        m_workspace->model()->tokenizer(),
                        m_workspace->model()->card().dVocab};
    if (parts == Parts::TokensToo)
        question.embedding = m_workspace->model()->embedding();
    m_job.start(
        tr("Opening %1").arg(name()),
        [question = std::move(question)](const Task& task) { return prepared(question, task); },
        [this](const Result<std::shared_ptr<const Ready>>& ready) {
            if (ready)
                m_known = *ready;
            else
                m_problem = text(ready.error());
            emit changed();
        });
}

void ComparedModel::follow()
{
    const auto open = m_workspace->model()->weights();
    const bool isAnother = m_isOpen && m_open.lock() != open;
    m_isOpen = open != nullptr;
    m_open = open;
    if (isAnother)
        forget();
    else
        startAgain();
}

void ComparedModel::startAgain()
{
    m_job.cancel();
    m_problem.clear();
    if (m_known)
        m_known =
            std::make_shared<const Ready>(Ready{m_known->model, m_known->wish, nullptr, nullptr, false});
    emit changed();
}

void ComparedModel::forget()
{
    m_job.cancel();
    m_known.reset();
    m_problem.clear();
    m_isReference = false;
    emit changed();
}

std::optional<ModelSource> ComparedModel::source() const
{
    if (m_known)
        return m_known->model.source;
    return sourceOfNewer(*m_workspace->model()->results());
}

} // namespace headwise::ui
