#include "app/window/pages.h"

#include "ui/document/array_part.h"
#include "ui/document/questions.h"
#include "ui/document/training_series.h"
#include "ui/document/whats_this.h"
#include "ui/document/workspace_state.h"
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
#include "ui/pages/parts/complete_button.h"
#include "ui/pages/parts/compute_button.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pages/parts/fill_button.h"
#include "ui/pages/parts/linked_hover.h"
#include "ui/pages/parts/saved_screen.h"
#include "ui/pages/parts/screen_capture.h"
#include "ui/pages/position/position_page.h"
#include "ui/pages/prompt/prompt_page.h"
#include "ui/pages/relations/relations_page.h"
#include "ui/pages/scores/scores_page.h"
#include "ui/pages/spectrum/spectrum_page.h"
#include "ui/pages/spectrum/vectors_page.h"
#include "ui/pages/tokens/tokens_page.h"
#include "ui/pages/training/training_page.h"
#include "ui/widgets/table_figure.h"

#include <QAbstractItemView>
#include <QBoxLayout>
#include <QMouseEvent>
#include <QPlainTextEdit>
#include <QTableView>

namespace headwise::app {

using namespace headwise::ui;

struct Pages::Row {
    enum class Pictures { OfHead, Other };

    const char* name;
    QString title;
    Question question;
    const char*
        digit; ///< Opens the page, also with Alt. It stays the page's own wherever the page is listed.
    Pictures pictures;
    Page* (Pages::*make)(Workspace*) = nullptr;
    QString (*whyNot)(const Workspace&) = nullptr; ///< Null: the page always has something to show.
};

template <typename PageKind>
Pages::Row Pages::row(const Row& words)
{
    Row made = words;
    made.make = &Pages::make<PageKind>;
    if constexpr (requires { &PageKind::whyNot; })
        made.whyNot = &PageKind::whyNot;
    return made;
}

const std::vector<Pages::Row>& Pages::rows()
{
    using enum Row::Pictures;
    using enum Question;
    static const std::vector<Row> all{
        row<FindingsPage>({"findings", tr("Findings"), Question::Findings, "", Other}),
        row<OverviewPage>({"overview", tr("Overview"), ReadsAndWrites, "1", OfHead}),
        row<TokensPage>({"tokens", tr("Tokens"), ReadsAndWrites, "2", OfHead}),
        row<HeatmapPage>({"matrix", tr("Matrix"), ReadsAndWrites, "3", OfHead}),
        row<SpectrumPage>({"spectrum", tr("Spectrum"), ReadsAndWrites, "4", OfHead}),
        row<VectorsPage>({"vectors", tr("Vectors"), ReadsAndWrites, "5", OfHead}),
        row<PositionPage>({"position", tr("Position"), WhereItLooks, "6", OfHead}),
        row<ScoresPage>({"scores", tr("Scores"), WhereItLooks, "7", OfHead}),
        row<CompositionPage>({"composition", tr("Composition"), WhoTalksToWhom, "8", OfHead}),
        row<ComparePage>({"compare", tr("Two heads"), Comparison, "9", OfHead}),
        row<PromptPage>({"prompt", tr("Prompt"), WhereItLooks, "", OfHead}),
        row<AllHeadsPage>({"all_heads", tr("All heads"), Comparison, "", Other}),
        row<RelationsPage>({"relations", tr("Relations"), ReadsAndWrites, "", OfHead}),
        row<ModelsPage>({"models", tr("Two models"), Comparison, "", Other}),
        row<TrainingPage>({"training", tr("Training"), Comparison, "", Other}),
        row<TensorsPage>({"tensors", tr("Tensors"), TheModel, "", Other}),
        row<FoldingPage>({"folding", tr("Folding"), TheModel, "", OfHead}),
        row<CardPage>({"model", tr("Model"), TheModel, "", Other}),
        row<ResultPage>({"analyses", tr("Analyses"), TheModel, "0", OfHead}),
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
    if constexpr (requires { &PageKind::whyNot; })
        inviteToFill(
            page, workspace, &PageKind::whyNot, requires { PageKind::needsTokenizer; });
    if constexpr (requires { &PageKind::neededFields; })
        inviteToComplete(page, workspace, PageKind::neededFields());
    if constexpr (requires { &PageKind::modelWanted; })
        connect(page, &PageKind::modelWanted, this, &Pages::modelWanted);
    if constexpr (requires { &PageKind::modelFileWanted; })
        connect(page, &PageKind::modelFileWanted, this, &Pages::modelFileWanted);
    if constexpr (requires { &PageKind::stepWanted; }) {
        connect(page, &PageKind::stepWanted, this, &Pages::stepWanted);
        connect(page, &PageKind::stepCompared, this, &Pages::stepCompared);
    }
    if constexpr (requires { &PageKind::directionWanted; })
        connect(page, &PageKind::directionWanted, this,
                [this](const QString& name) { showResults()->lookAtDirection(name); });
    if constexpr (requires { &PageKind::scoreWanted; })
        connect(page, &PageKind::scoreWanted, this, [this](const QString& prompt, int query, int key) {
            showResults()->lookAtScore(prompt, query, key);
        });
    return page;
}

void Pages::inviteToFill(Page* page, const Workspace* workspace, QString (*whyNot)(const Workspace&),
                         bool needsTokenizer)
{
    auto* layout = qobject_cast<QBoxLayout*>(page->layout());
    if (!layout || page->findChild<ComputeButton*>()) // which offers the files, too
        return;
    auto* button = new FillButton(page);
    layout->addWidget(button, 0, Qt::AlignHCenter);
    const auto follow = [button, workspace, whyNot, needsTokenizer] {
        button->offer(whyNot(*workspace).isEmpty() ? FillButton::Lack::Nothing
                                                   : FillButton::lackOf(*workspace, needsTokenizer));
    };
    for (const auto signal :
         {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged, &OpenModel::resultsChanged})
        connect(workspace->model(), signal, button, follow);
    follow();
}

void Pages::inviteToComplete(Page* page, const Workspace* workspace, std::vector<ConfigField> needed)
{
    if (auto* layout = qobject_cast<QBoxLayout*>(page->layout()))
        layout->addWidget(new CompleteButton(workspace, std::move(needed), page), 0, Qt::AlignHCenter);
}

Pages::Pages(Workspace* workspace, HeadsPage* heads, QWidget* parent)
    : PageTabs(parent)
    , m_workspace(workspace)
    , m_heads(heads)
    , m_saved(new SavedScreen(workspace, this))
{
    connect(this, &PageTabs::pageMade, this, &Pages::prepare);
    connect(this, &PageTabs::headingChosen, this, &Pages::showQuestion);
    for (const Row& row : rows()) {
        const QString name = QLatin1String(row.name);
        add(name, row.title, questionTitle(row.question), [this, name, make = row.make] {
            Page* page = (this->*make)(m_workspace);
            page->setWhatsThis(explanationOfPage(name));
            setPageName(page, name);
            return page;
        });
    }
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged,
                              &OpenModel::tokensChanged, &OpenModel::resultsChanged})
        connect(workspace->model(), signal, this, &Pages::grey);
    connect(TrainingSeries::of(workspace), &TrainingSeries::changed, this, &Pages::grey);
    setPageName(heads, QStringLiteral("heads"));
    heads->setWhatsThis(explanationOfPage(QStringLiteral("heads")));
    prepare(heads);
    connect(heads, &HeadsPage::pageRequested, this, &Pages::showPage);
    connect(heads, &HeadsPage::relationsAsked, this, [this] { showPage(QStringLiteral("relations")); });
    connectSaved();
}

void Pages::connectSaved()
{
    placeBelow(m_saved);
    m_later.setSingleShot(true);
    m_later.setInterval(0);
    connect(&m_later, &QTimer::timeout, this, [this] {
        if (Page* shown = madePage(currentIndex()))
            m_saved->showFor(currentName(), shown);
    });
    const auto later = [this] { m_later.start(); };
    for (const auto signal :
         {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged, &OpenModel::resultsChanged})
        connect(m_workspace->model(), signal, this, later);
    connect(m_workspace->selection(), &Selection::headChanged, this, later);
    connect(m_workspace->selection(), &Selection::tokenChanged, this, later);
    connect(this, &PageTabs::currentChanged, this, later);
    connect(this, &PageTabs::pageMade, this, later);
    connect(m_saved, &SavedScreen::viewMade, this, &Pages::prepareView);
    m_workspace->session()->setScreen([this] { return screen(); });
}

std::function<std::vector<ScreenPicture>()> Pages::screen()
{
    if (!m_workspace->model()->hasModel())
        return {};
    const std::string head = dottedHead(m_workspace->selection()->head());
    ScreenCapture capture;
    const auto add = [&](int index) {
        Page* shown = madePage(index);
        const bool isOfHead = rows().at(static_cast<std::size_t>(index)).pictures == Row::Pictures::OfHead;
        if (shown && !shown->isOutdated())
            capture.add(pageName(index), shown->figures(), isOfHead ? head : std::string());
    };
    add(currentIndex());
    for (int index = 0; index < count(); ++index)
        if (index != currentIndex())
            add(index);
    return capture.taken();
}

void Pages::grey()
{
    const auto& all = rows();
    for (int i = 0; i < count(); ++i)
        if (const auto whyNot = all[static_cast<std::size_t>(i)].whyNot)
            setReason(i, m_saved->has(pageName(i)) ? QString() : whyNot(*m_workspace));
}

void Pages::prepare(Page* page)
{
    connect(page, &Page::readOutChanged, this, &Pages::readOutChanged);
    for (auto* button : page->findChildren<FillButton*>())
        connect(button, &FillButton::wanted, this, &Pages::fillWanted);
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
    if (view->property("hasFigureMenu").toBool())
        return; // A page that draws when it is made announces its views before it is searched for them.
    view->setProperty("hasFigureMenu", true);
    if (auto* list = qobject_cast<QAbstractItemView*>(view))
        list->viewport()->installEventFilter(this);
    for (auto* list : view->findChildren<QAbstractItemView*>())
        list->viewport()->installEventFilter(this);
    if (auto* table = qobject_cast<TableFigure*>(view))
        linkHover(table, m_workspace->selection());
    view->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(view, &QWidget::customContextMenuRequested, this,
            [this, view](const QPoint& position) { emit figureMenuRequested(view, position); });
}

bool Pages::eventFilter(QObject* watched, QEvent* event)
{
    // A table would select the row, and with it a head or a token. The menu has an event of its own.
    const bool isPress =
        event->type() == QEvent::MouseButtonPress || event->type() == QEvent::MouseButtonDblClick;
    if (isPress && static_cast<QMouseEvent*>(event)->button() == Qt::RightButton)
        return true;
    return PageTabs::eventFilter(watched, event);
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

void Pages::restore(const QJsonObject& state)
{
    const QJsonObject pages = state[QStringLiteral("pages")].toObject();
    setViewState(pages);
    m_heads->setViewState(pages[QStringLiteral("heads")].toObject());
    if (const auto head = parseHeadId(state[QStringLiteral("head")].toString().toStdString()))
        m_workspace->selection()->askForHead(*head);
    m_workspace->selection()->setToken(state[QStringLiteral("token")].toInt());
    restoreQuestion(*m_workspace, state[QStringLiteral("question")].toObject());
    m_workspace->selection()->setReference(
        parseHeadId(state[QStringLiteral("reference")].toString().toStdString()));
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

void Pages::showQuestion(const QString& title)
{
    showResults()->showQuestion(title);
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
    return m_workspace->model()->isOpen() ? currentPage()->figures() + m_saved->figures() + m_heads->figures()
                                          : QList<FigureSource*>();
}

bool Pages::hasPicturesOfHead() const
{
    return rows().at(static_cast<std::size_t>(currentIndex())).pictures == Row::Pictures::OfHead;
}

QByteArray Pages::digitOf(int index) const
{
    return rows().at(static_cast<std::size_t>(index)).digit;
}

QJsonObject Pages::choicesOf(FigureSource* figure)
{
    const bool isOfHeads = m_heads->figures().contains(figure);
    const auto blank = m_workspace->snapshot(m_workspace->selection()->head());
    const auto make = rows().at(static_cast<std::size_t>(currentIndex())).make;
    const std::unique_ptr<Page> fresh(isOfHeads ? new HeadsPage(blank.get()) : (this->*make)(blank.get()));
    QJsonObject choices = (isOfHeads ? m_heads : currentPage())->viewState();
    const QJsonObject usual = fresh->viewState();
    for (const QString& name : usual.keys())
        if (choices[name] == usual[name])
            choices.remove(name);
    return choices;
}

std::function<Page*(Workspace*)> Pages::copier()
{
    const Row& row = rows().at(static_cast<std::size_t>(currentIndex()));
    return [this, make = row.make, name = currentName(), state = currentPage()->viewState(),
            size = currentPage()->size()](Workspace* workspace) {
        Page* copy = (this->*make)(workspace);
        setPageName(copy, name);
        copy->resize(size);
        copy->setViewState(state);
        return copy;
    };
}

} // namespace headwise::app
