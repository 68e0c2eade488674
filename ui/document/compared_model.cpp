#include "ui/document/compared_model.h"

#include "core/analysis/comparison/model_comparison.h"
#include "ui/base/text.h"
#include "ui/document/workspace_part.h"

#include <utility>

namespace headwise::ui {

namespace {

using Ready = ComparedModel::Ready;

/// Inputs of the job that prepares the newer model.
struct Question {
    std::shared_ptr<const Ready> known; // null: nothing is open yet
    ModelSource source;                 // of which to open it then
    ProcessingWish wish;
    std::optional<Embedding> embedding; // none: no token side
    std::shared_ptr<const Tokenizer> tokenizer;
    int dVocab = 0; // of the older model
};

Result<OpenedModel> modelFor(const Question& question, const Task& task)
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

Result<std::shared_ptr<const Ready>> prepared(const Question& question, const Task& task)
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

} // namespace

ComparedModel* ComparedModel::of(Workspace* workspace)
{
    return partOf<ComparedModel>(workspace);
}

ComparedModel::ComparedModel(Workspace* workspace)
    : QObject(workspace)
    , m_workspace(workspace)
    , m_open(workspace->weights())
    , m_isOpen(workspace->hasModel())
{
    connect(workspace, &Workspace::circuitsChanged, this, &ComparedModel::follow);
    connect(workspace, &Workspace::embeddingChanged, this, &ComparedModel::startAgain);
    connect(workspace, &Workspace::closed, this, &ComparedModel::forget);
    connect(workspace->selection(), &Selection::referenceChanged, this, [this] {
        if (m_workspace->selection()->reference())
            setReference(false); // Whoever marks a head wants to see that.
    });
}

QString ComparedModel::name() const
{
    return m_known ? text(m_known->model.weights->config().name) : m_workspace->comparedWith();
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
    if (isAsked || !from || !m_problem.isEmpty() || !m_workspace->hasModel())
        return;
    m_parts = parts;
    Question question{m_known,
                      *from,
                      m_workspace->processingWish(),
                      std::nullopt,
                      m_workspace->tokenizer(),
                      m_workspace->card().dVocab};
    if (parts == Parts::TokensToo)
        question.embedding = m_workspace->embedding();
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
    const auto open = m_workspace->weights();
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
    const auto& groups = m_workspace->results()->groupAttributes;
    const auto group = groups.find("comparison");
    if (group == groups.end())
        return std::nullopt;
    const auto path = group->second.find("model_b_source");
    const auto* words = path == group->second.end() ? nullptr : std::get_if<std::string>(&path->second);
    return words ? std::optional(ModelSource{*words, std::nullopt, {}}) : std::nullopt;
}

} // namespace headwise::ui
