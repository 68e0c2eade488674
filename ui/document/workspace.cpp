#include "ui/document/workspace.h"

#include "core/base/log.h"
#include "ui/base/text.h"
#include "ui/document/compared_model.h"
#include "ui/document/imported_attention.h"

namespace headwise::ui {

Workspace::Workspace(QObject* parent)
    : QObject(parent)
    , m_model(std::make_unique<OpenModel>())
    , m_selection(std::make_unique<Selection>(m_model.get()))
    , m_notebook(std::make_unique<Notebook>(m_selection.get()))
    , m_filteredTokens(std::make_unique<FilteredTokens>(this))
    , m_runs(std::make_unique<Runs>(this))
    , m_session(std::make_unique<SessionFile>(this))
    , m_opener(std::make_unique<Opener>(this))
    , m_firstNorms(std::make_unique<FirstNorms>())
{
    connectModel();
    connect(filteredTokens(), &FilteredTokens::unusedChanged, runs(), &Runs::queueOtherwiseFiltered);
    connect(filteredTokens(), &FilteredTokens::updated, runs(), &Runs::runNext);
    connect(runs(), &Runs::countsChanged, filteredTokens(), &FilteredTokens::updateCounts);
    connect(model(), &OpenModel::failed, this, &Workspace::failed);
    connect(filteredTokens(), &FilteredTokens::failed, this, &Workspace::failed);
    connect(runs(), &Runs::failed, this, &Workspace::failed);
    connect(session(), &SessionFile::failed, this, &Workspace::failed);
    connect(opener(), &Opener::failed, this, &Workspace::failed);
    auto* imported = ImportedAttention::of(this); // there when the first session brings some
    connect(imported, &ImportedAttention::kept, this, [this] { m_model->revision().change(); });
}

Workspace::~Workspace()
{
    // Slots that hear of a job's end may read any part, so all work ends while all parts are there.
    qDeleteAll(findChildren<QObject*>(Qt::FindDirectChildrenOnly));
    m_firstNorms->stop();
    for (Job* job : {m_opener->job(), m_session->job(), m_runs->job(), m_filteredTokens->job(),
                     m_model->processJob(), m_model->tokenReader()->job()})
        job->cancel();
}

void Workspace::connectModel()
{
    connect(model()->steps(), &ModelSteps::computingStopped, runs(), &Runs::stop);
    connect(model()->steps(), &ModelSteps::computingStopped, firstNorms(), &FirstNorms::stop);
    connect(model()->steps(), &ModelSteps::circuitsReplaced, filteredTokens(), &FilteredTokens::update);
    connect(model()->steps(), &ModelSteps::tokenizerReplaced, selection(), &Selection::announceToken);
    connect(model()->steps(), &ModelSteps::resultsDropped, runs(), &Runs::forgetAnswers);
    connect(model()->steps(), &ModelSteps::computingStarts, runs(), &Runs::clearWaiting);
    connect(model()->steps(), &ModelSteps::computingStarted, this, &Workspace::startAnalyses);
    connect(model()->tokenReader(), &TokenReader::productsReady, runs(), &Runs::runNext);
    connect(model(), &OpenModel::resultsChanged, this, [this] {
        if (!m_model->results()->arrays.empty())
            m_firstNorms->stop();
    });
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed})
        connect(model(), signal, notebook()->history(), &QUndoStack::clear);
}

void Workspace::startAnalyses()
{
    if (m_model->results()->arrays.empty() && m_runs->inputs().metric == ResidualMetric::Identity)
        m_firstNorms->start(m_model->circuits());
    m_runs->queueDefaults();
}

std::unique_ptr<Workspace> Workspace::snapshot(HeadId head) const
{
    auto copy = std::make_unique<Workspace>();
    copy->m_model->copyFrom(*m_model);
    copy->m_selection->copyFrom(*m_selection, head);
    copy->m_notebook->copyFrom(*m_notebook);
    copy->m_filteredTokens->copyFrom(*m_filteredTokens);
    copy->m_runs->copyFrom(*m_runs);
    copy->m_session->copyFrom(*m_session);
    const auto* imported = findChild<ImportedAttention*>(QString(), Qt::FindDirectChildrenOnly);
    ImportedAttention::of(copy.get())->keep(imported->array());
    if (const auto* compared = findChild<ComparedModel*>(QString(), Qt::FindDirectChildrenOnly))
        ComparedModel::of(copy.get())->share(*compared);
    return copy;
}

Provenance Workspace::provenance() const
{
    if (!m_model->isOpen())
        return {};
    return {{QStringLiteral("model"), text(m_model->card().name)},
            {QStringLiteral("sha256"), text(m_model->card().sha256)},
            {QStringLiteral("head"), text(m_selection->head())},
            {QStringLiteral("processing"), processingText(m_model->processing())},
            {QStringLiteral("embedding"), text(embeddingName(m_model->embedding()))},
            {QStringLiteral("software"), QStringLiteral("headwise ") + text(versionText())}};
}

} // namespace headwise::ui
