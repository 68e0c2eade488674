#include "app/window/pages.h"

#include "ui/document/array_part.h"
#include "ui/document/whats_this.h"
#include "ui/pages/analyses/result_page.h"
#include "ui/pages/compare/compare_page.h"
#include "ui/pages/compare/models_page.h"
#include "ui/pages/composition/composition_page.h"
#include "ui/pages/findings/findings_page.h"
#include "ui/pages/heads/all_heads_page.h"
#include "ui/pages/heads/heads_page.h"
#include "ui/pages/matrix/heatmap_page.h"
#include "ui/pages/model/card_page.h"
#include "ui/pages/model/folding_page.h"
#include "ui/pages/model/tensors_page.h"
#include "ui/pages/overview/overview_page.h"
#include "ui/pages/position/position_page.h"
#include "ui/pages/prompt/prompt_page.h"
#include "ui/pages/relations/relations_page.h"
#include "ui/pages/scores/scores_page.h"
#include "ui/pages/spectrum/spectrum_page.h"
#include "ui/pages/spectrum/vectors_page.h"
#include "ui/pages/tokens/tokens_page.h"

#include <QAbstractItemView>
#include <QPlainTextEdit>
#include <QTabBar>
#include <QTableView>

namespace headwise::app {

using namespace headwise::ui;

struct Pages::Row {
    enum class Pictures { OfHead, Other };

    QString name;
    QString title;
    Pictures pictures;
    Page* (Pages::*make)(Workspace*);
};

const std::vector<Pages::Row>& Pages::rows()
{
    using enum Row::Pictures;
    static const std::vector<Row> all{
        {QStringLiteral("findings"), tr("Findings"), Other, &Pages::make<FindingsPage>},
        {QStringLiteral("overview"), tr("Overview"), OfHead, &Pages::make<OverviewPage>},
        {QStringLiteral("tokens"), tr("Tokens"), OfHead, &Pages::make<TokensPage>},
        {QStringLiteral("matrix"), tr("Matrix"), OfHead, &Pages::make<HeatmapPage>},
        {QStringLiteral("spectrum"), tr("Spectrum"), OfHead, &Pages::make<SpectrumPage>},
        {QStringLiteral("vectors"), tr("Vectors"), OfHead, &Pages::make<VectorsPage>},
        {QStringLiteral("position"), tr("Position"), OfHead, &Pages::make<PositionPage>},
        {QStringLiteral("scores"), tr("Scores"), OfHead, &Pages::make<ScoresPage>},
        {QStringLiteral("composition"), tr("Composition"), OfHead, &Pages::make<CompositionPage>},
        {QStringLiteral("compare"), tr("Compare"), OfHead, &Pages::make<ComparePage>},
        {QStringLiteral("prompt"), tr("Prompt"), OfHead, &Pages::make<PromptPage>},
        {QStringLiteral("all_heads"), tr("All heads"), Other, &Pages::make<AllHeadsPage>},
        {QStringLiteral("relations"), tr("Relations"), OfHead, &Pages::make<RelationsPage>},
        {QStringLiteral("models"), tr("Two models"), Other, &Pages::make<ModelsPage>},
        {QStringLiteral("tensors"), tr("Tensors"), Other, &Pages::make<TensorsPage>},
        {QStringLiteral("folding"), tr("Folding"), OfHead, &Pages::make<FoldingPage>},
        {QStringLiteral("model"), tr("Model"), Other, &Pages::make<CardPage>},
        {QStringLiteral("analyses"), tr("Analyses"), OfHead, &Pages::make<ResultPage>},
    };
    return all;
}

template <typename PageKind>
Page* Pages::make(Workspace* workspace)
{
    auto* page = new PageKind(workspace); // without a parent: it is polished once, when it has its place
    if constexpr (requires { &PageKind::pageRequested; })
        connect(page, &PageKind::pageRequested, this, &Pages::showPage);
    if constexpr (requires { &PageKind::analysisRequested; })
        connect(page, &PageKind::analysisRequested, this, &Pages::showAnalysis);
    if constexpr (requires { &PageKind::viewMade; })
        connect(page, &PageKind::viewMade, this, &Pages::prepareView);
    if constexpr (requires { &PageKind::modelWanted; })
        connect(page, &PageKind::modelWanted, this, &Pages::modelWanted);
    if constexpr (requires { &PageKind::modelFileWanted; })
        connect(page, &PageKind::modelFileWanted, this, &Pages::modelFileWanted);
    if constexpr (requires { &PageKind::directionWanted; })
        connect(page, &PageKind::directionWanted, this,
                [this](const QString& name) { showResults()->lookAtDirection(name); });
    if constexpr (requires { &PageKind::scoreWanted; })
        connect(page, &PageKind::scoreWanted, this, [this](const QString& prompt, int query, int key) {
            showResults()->lookAtScore(prompt, query, key);
        });
    return page;
}

Pages::Pages(Workspace* workspace, HeadsPage* heads, QWidget* parent)
    : PageTabs(parent)
    , m_workspace(workspace)
    , m_heads(heads)
{
    setDocumentMode(true);
    tabBar()->setDrawBase(false);
    connect(this, &PageTabs::pageMade, this, &Pages::prepare);
    for (const Row& row : rows())
        add(row.name, row.title, [this, &row] {
            Page* page = (this->*row.make)(m_workspace);
            page->setWhatsThis(explanationOfPage(row.name));
            return page;
        });
    heads->setWhatsThis(explanationOfPage(QStringLiteral("heads")));
    prepare(heads);
    connect(heads, &HeadsPage::pageRequested, this, &Pages::showPage);
    connect(heads, &HeadsPage::relationsAsked, this, [this] { showPage(QStringLiteral("relations")); });
}

void Pages::prepare(Page* page)
{
    connect(page, &Page::readOutChanged, this, &Pages::readOutChanged);
    for (QWidget* view : page->findChildren<QWidget*>())
        if (dynamic_cast<FigureSource*>(view))
            prepareView(view);
    for (auto* table : page->findChildren<QTableView*>())
        if (!dynamic_cast<FigureSource*>(table))
            explainHeader(table);
    for (auto* list : page->findChildren<QAbstractItemView*>())
        list->setTabKeyNavigation(false); // Tab goes on to what comes next
    for (auto* field : page->findChildren<QPlainTextEdit*>())
        field->setTabChangesFocus(true);
}

void Pages::prepareView(QWidget* view)
{
    if (auto* table = qobject_cast<QTableView*>(view))
        explainHeader(table);
    if (view->property("rightClickIsReference").toBool())
        return; // a grid of heads: its right button marks the head to compare with
    if (view->property("hasFigureMenu").toBool())
        return; // A page that draws when it is made announces its views before it is searched for them.
    view->setProperty("hasFigureMenu", true);
    view->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(view, &QWidget::customContextMenuRequested, this,
            [this, view](const QPoint& position) { emit figureMenuRequested(view, position); });
}

void Pages::showPage(const QString& name)
{
    if (const int index = indexOfName(name); index >= 0)
        setCurrentIndex(index);
}

void Pages::showOn(const QString& name, const QJsonObject& choice)
{
    Page* shown = page(indexOfName(name));
    QJsonObject state = shown->viewState();
    for (auto entry = choice.begin(); entry != choice.end(); ++entry)
        state[entry.key()] = entry.value();
    shown->setViewState(state);
    showPage(name);
}

ResultPage* Pages::showResults()
{
    showPage(QStringLiteral("analyses"));
    return static_cast<ResultPage*>(currentPage());
}

void Pages::runAnalysis(std::string_view id)
{
    ResultPage* results = showResults();
    results->showAnalysis(id);
    results->run();
}

void Pages::showAnalysis(const QString& id)
{
    ResultPage* results = showResults();
    results->showAnalysis(id.toStdString());
    if (!isComputed(results->analysis(), *m_workspace->model()->results()))
        results->run(Runs::Asker::Page);
}

QList<FigureSource*> Pages::figures()
{
    return m_workspace->model()->isOpen() ? currentPage()->figures() + m_heads->figures()
                                          : QList<FigureSource*>();
}

bool Pages::hasPicturesOfHead() const
{
    return rows().at(static_cast<std::size_t>(currentIndex())).pictures == Row::Pictures::OfHead;
}

std::function<Page*(Workspace*)> Pages::copier()
{
    const Row& row = rows().at(static_cast<std::size_t>(currentIndex()));
    return [this, make = row.make, state = currentPage()->viewState(),
            size = currentPage()->size()](Workspace* workspace) {
        Page* copy = (this->*make)(workspace);
        copy->resize(size);
        copy->setViewState(state);
        return copy;
    };
}

} // namespace headwise::app
