#include "ui/pages/analyses/result_page.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/array_part.h"
#include "ui/pages/analyses/analysis_form.h"
#include "ui/pages/analyses/analysis_head.h"
#include "ui/pages/analyses/analysis_list.h"
#include "ui/pages/analyses/numbers_table.h"
#include "ui/pages/analyses/question_panels.h"
#include "ui/pages/parts/figure_row.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/widgets/table_figure.h"

#include <QGridLayout>
#include <QLabel>
#include <QScrollArea>
#include <QScrollBar>
#include <QSplitter>
#include <QStackedWidget>
#include <QTimer>

#include <algorithm>
#include <iterator>
#include <utility>

namespace headwise::ui {

namespace {

constexpr double cheap = 2e10;  // flops that a change of the token may cost without being asked
constexpr int twoAbreast = 860; // px from which small pictures stand in pairs

} // namespace

ResultPage::ResultPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_analysis(&catalogue().front())
    , m_list(new AnalysisList(workspace, this))
    , m_head(new AnalysisHead(workspace, this))
    , m_form(new AnalysisForm(workspace, this))
    , m_right(new QStackedWidget(this))
    , m_panels(new QuestionPanels(workspace, this))
    , m_scroll(new QScrollArea(this))
    , m_pictures(new QWidget(m_scroll))
    , m_grid(new QGridLayout(m_pictures))
    , m_empty(new QLabel(m_pictures))
    , m_numbers(new NumbersTable(m_pictures))
{
    auto* right = new QWidget(this);
    auto* column = new QVBoxLayout(right);
    column->setContentsMargins(8, 0, 0, 0);
    column->setSpacing(8);
    column->addWidget(m_head); // in sight whatever is scrolled to
    createPictures();
    column->addWidget(m_scroll, 1);
    auto* splitter = new QSplitter(this);
    splitter->addWidget(m_list);
    m_right->addWidget(m_panels);
    m_right->addWidget(right); // shown first
    m_right->setCurrentWidget(right);
    splitter->addWidget(m_right);
    splitter->setStretchFactor(1, 1);
    splitter->setSizes({260, 800});
    splitter->setChildrenCollapsible(false);
    right->setMinimumSize(360, 240); // px; everything but the head scrolls
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->addWidget(splitter);
    connectSignals();
    m_list->select(*m_analysis);
    m_form->setNeeds(*m_analysis);
}

void ResultPage::createPictures()
{
    m_grid->setContentsMargins(0, 0, 0, 0);
    m_grid->setHorizontalSpacing(24);
    m_grid->setVerticalSpacing(8);
    m_empty->setWordWrap(true);
    m_empty->setAlignment(Qt::AlignCenter);
    makeSecondary(m_empty);
    auto* content = new QWidget(m_scroll);
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(0, 0, 8, 0);
    column->setSpacing(8);
    column->addWidget(m_head->details());
    column->addWidget(m_form);
    column->addWidget(m_pictures, 1);
    m_scroll->setWidget(content);
    m_scroll->setWidgetResizable(true);
    m_scroll->setFrameShape(QFrame::NoFrame);
}

void ResultPage::connectSignals()
{
    connect(m_list, &AnalysisList::chosen, this, &ResultPage::choose);
    connect(m_list, &AnalysisList::questionChosen, this, &ResultPage::showQuestion);
    connect(m_panels, &QuestionPanels::analysisChosen, this, &ResultPage::choose);
    connect(m_panels, &QuestionPanels::viewMade, this, &ResultPage::viewMade);
    connect(m_panels, &Page::readOutChanged, this, &Page::readOutChanged);
    connect(m_head, &AnalysisHead::runWanted, this, [this] { run(); });
    connect(m_form, &AnalysisForm::directionRead, this, [this] {
        if (std::exchange(m_runsWhenRead, false))
            run();
    });
    connect(m_scroll->verticalScrollBar(), &QScrollBar::valueChanged, this, &ResultPage::drawVisible);
    connect(m_scroll->verticalScrollBar(), &QScrollBar::rangeChanged, this, &ResultPage::drawVisible);
    connect(workspace()->model(), &OpenModel::opened, this, &ResultPage::refresh);
    connect(workspace()->model(), &OpenModel::closed, this, &ResultPage::refresh);
    connect(workspace()->model(), &OpenModel::circuitsChanged, this, &ResultPage::refresh);
    connect(workspace()->model(), &OpenModel::replaced, this, [this] {
        for (PictureCard* card : m_cards)
            card->markStale(); // A session may have results of the same names.
    });
    connect(workspace()->runs(), &Runs::inputsChanged, this, &ResultPage::refresh);
    connect(workspace()->filteredTokens(), &FilteredTokens::changed, this, &ResultPage::refresh);
    connect(workspace()->selection(), &Selection::tokenChanged, this, [this] {
        // A session does not say which token its numbers are about: they are asked for again.
        m_tokenMoved = true;
        refresh();
    });
    connect(workspace()->model(), &OpenModel::resultsChanged, this, [this] {
        for (PictureCard* card : m_cards)
            card->markStale();
        refresh();
    });
    connect(workspace()->selection(), &Selection::headChanged, this, &ResultPage::followSelection);
    connect(workspace()->selection(), &Selection::referenceChanged, this, &ResultPage::followSelection);
    connect(workspace()->runs()->job(), &Job::started, this, &ResultPage::showHead);
    connect(workspace()->runs()->job(), &Job::finished, this, &ResultPage::showHead);
}

void ResultPage::choose(const Analysis* analysis)
{
    m_list->select(*analysis);
    m_right->setCurrentIndex(1);
    if (analysis == m_analysis)
        return;
    m_analysis = analysis;
    m_form->setNeeds(*analysis);
    m_scroll->verticalScrollBar()->setValue(0);
    refresh();
}

void ResultPage::showAnalysis(std::string_view id)
{
    if (const Analysis* analysis = findAnalysis(id))
        choose(analysis);
}

void ResultPage::showQuestion(const QString& title)
{
    m_panels->showQuestion(title);
    m_list->selectQuestion(title);
    m_right->setCurrentWidget(m_panels);
}

bool ResultPage::showsQuestion() const
{
    return m_right->currentWidget() == m_panels;
}

void ResultPage::lookAtDirection(const QString& name)
{
    showAnalysis("direction_card");
    m_runsWhenRead = true;
    m_form->setDirection(name);
    if (!workspace()->runs()->inputs().direction.empty() && std::exchange(m_runsWhenRead, false))
        run(); // It had been read.
}

void ResultPage::lookAtScore(const QString& prompt, int query, int key)
{
    showAnalysis("score_sources");
    m_form->setPrompt(prompt);
    m_form->setPositions(query, key);
    run(Runs::Asker::Page);
}

void ResultPage::run(Runs::Asker asker)
{
    if (m_form->apply() && whyNotNow(*m_analysis, *workspace()).isEmpty())
        workspace()->runs()->runAnalysis(m_analysis->id, asker);
    showHead();
}

void ResultPage::recompute()
{
    m_list->updateMarks();
    makeCards();
    showHead();
    showNumbers();
    QTimer::singleShot(0, this, &ResultPage::drawVisible); // once they have their places
    // An analysis of one token follows the selected token if it is quick enough not to be noticed.
    if (!m_analysis->usesToken() || !workspace()->model()->hasModel()
        || !isComputed(*m_analysis, *workspace()->model()->results())
        || m_analysis
                ->cost(workspace()->model()->circuits()->config(),
                       workspace()->runs()->analysisOptions(*m_analysis))
                .flops
            > cheap)
        return;
    const auto with = workspace()->runs()->inputsOf(m_analysis->id);
    const bool moved = with ? with->token != workspace()->runs()->inputs().token : m_tokenMoved;
    m_tokenMoved = false;
    if (moved)
        run(Runs::Asker::Page);
}

void ResultPage::showHead()
{
    m_head->show(*m_analysis, m_lacksHead);
    m_form->setVisible(workspace()->model()->hasModel());
    m_empty->setText(m_head->emptyText());
}

void ResultPage::makeCards()
{
    const ResultSet& results = *workspace()->model()->results();
    std::vector<Picture> pictures;
    m_lacksHead = false;
    if (workspace()->model()->isOpen() && isComputed(*m_analysis, results)) {
        pictures = picturesOf(*m_analysis, results, workspace()->model()->card());
        std::erase_if(pictures, [&](const Picture& picture) { return !canBeDrawn(picture, results); });
    }
    const bool same = std::equal(
        pictures.begin(), pictures.end(), m_cards.begin(), m_cards.end(),
        [](const Picture& picture, const PictureCard* card) { return picture == card->picture(); });
    if (!same) {
        delete std::exchange(m_paperFigure, nullptr);
        // The others stay, with their scrolling and selected rows.
        std::vector<PictureCard*> before = std::exchange(m_cards, {});
        for (const Picture& picture : pictures) {
            const auto kept = std::ranges::find_if(
                before, [&](const PictureCard* card) { return card->picture() == picture; });
            if (kept != before.end()) {
                m_cards.push_back(*kept);
                before.erase(kept);
                continue;
            }
            auto* card = new PictureCard(workspace(), picture, m_pictures);
            connect(card, &PictureCard::readOutChanged, this, &Page::readOutChanged);
            connect(card, &PictureCard::viewMade, this, &ResultPage::viewMade);
            m_choices.give(card);
            m_cards.push_back(card);
        }
        for (PictureCard* card : before)
            delete card;
        m_abreast = 0;
    }
    placeCards();
    // Hidden, not deleted: whoever selects a head in one of them goes on in it.
    const PictureContext context = pictureContext(*workspace());
    for (PictureCard* card : m_cards) {
        const bool isMissing = isOfMissingHead(card->picture(), context);
        card->setVisible(!isMissing);
        m_lacksHead = m_lacksHead || isMissing;
    }
    m_empty->setVisible(shownCards().empty());
}

std::vector<PictureCard*> ResultPage::shownCards() const
{
    std::vector<PictureCard*> shown;
    std::copy_if(m_cards.begin(), m_cards.end(), std::back_inserter(shown),
                 [](const PictureCard* card) { return !card->isHidden(); });
    return shown;
}

void ResultPage::placeCards()
{
    const int abreast = m_scroll->viewport()->width() >= twoAbreast ? 2 : 1;
    if (abreast == m_abreast)
        return;
    m_abreast = abreast;
    while (QLayoutItem* item = m_grid->takeAt(0))
        delete item;
    int row = 0;
    int column = 0;
    for (PictureCard* card : m_cards) {
        const bool wide = abreast == 1 || card->isWide();
        if (wide && column == 1) {
            column = 0;
            ++row;
        }
        m_grid->addWidget(card, row, column, 1, wide ? 2 : 1);
        column = wide ? 0 : 1 - column;
        row += column == 0 ? 1 : 0;
    }
    m_grid->addWidget(m_empty, ++row, 0, 1, 2);
    m_grid->addWidget(m_numbers, ++row, 0, 1, 2);
    m_grid->setRowStretch(++row, 1);
    m_grid->setColumnStretch(0, 1);
    m_grid->setColumnStretch(1, abreast == 2 ? 1 : 0);
}

void ResultPage::drawVisible()
{
    if (!isVisible())
        return;
    const QRect seen(m_pictures->mapFrom(m_scroll->viewport(), QPoint()), m_scroll->viewport()->size());
    if (drawCardsIn(seen, shownCards())) // They have their final height now, and others may be visible.
        QTimer::singleShot(0, this, &ResultPage::drawVisible);
    if (m_wantedScroll >= 0 && !m_cards.empty())
        QTimer::singleShot(
            0, this, [this] { m_scroll->verticalScrollBar()->setValue(std::exchange(m_wantedScroll, -1)); });
}

void ResultPage::followSelection()
{
    for (PictureCard* card : m_cards)
        card->changeHead();
    refresh();
}

void ResultPage::resizeEvent(QResizeEvent* event)
{
    Page::resizeEvent(event);
    placeCards();
    QTimer::singleShot(0, this, &ResultPage::drawVisible);
}

void ResultPage::showNumbers()
{
    std::vector<const ResultArray*> others;
    if (workspace()->model()->isOpen() && isComputed(*m_analysis, *workspace()->model()->results())) {
        const PictureContext context = pictureContext(*workspace());
        for (const ResultArray& array : context.results->arrays) {
            const bool shown = std::any_of(m_cards.begin(), m_cards.end(), [&](const PictureCard* card) {
                const std::vector<std::string>& paths = card->picture().arrays;
                return std::find(paths.begin(), paths.end(), array.path) != paths.end();
            });
            Picture alone;
            alone.kind = Picture::Kind::Table;
            alone.arrays = {array.path};
            const bool isMissing = m_lacksHead && isOfMissingHead(alone, context);
            if (!shown && !isMissing && belongsTo(array, *m_analysis))
                others.push_back(&array);
        }
    }
    m_numbers->show(others, *workspace());
}

ViewFields ResultPage::viewFields()
{
    return ViewFields()
        .add(
            "prompt", [this] { return m_form->prompt(); },
            [this](const QJsonValue& prompt) {
                if (prompt.isString())
                    m_form->setPrompt(prompt.toString());
            })
        .add(
            "seed", [this] { return m_form->seed(); },
            [this](const QJsonValue& seed) {
                if (seed.isDouble())
                    m_form->setSeed(seed.toInt());
            })
        .add(
            "analysis", [this] { return text(m_analysis->id); },
            [this](const QJsonValue& analysis) {
                if (analysis.isString())
                    showAnalysis(analysis.toString().toStdString());
            })
        .append(m_choices.viewFields())
        .add(
            "scroll", [this] { return m_scroll->verticalScrollBar()->value(); },
            [this](const QJsonValue& scroll) { m_wantedScroll = scroll.toInt(-1); })
        .add(
            "question", [this] { return showsQuestion() ? m_panels->question() : QString(); },
            [this](const QJsonValue& question) {
                if (!question.toString().isEmpty())
                    showQuestion(question.toString());
            })
        .addPart("panels", m_panels);
}

QList<FigureSource*> ResultPage::figures()
{
    QList<FigureSource*> all;
    if (!workspace()->model()->isOpen())
        return all;
    if (showsQuestion())
        return m_panels->figures();
    for (PictureCard* card : shownCards()) {
        for (const auto& [view, what] : card->figures()) {
            auto* source = dynamic_cast<FigureSource*>(view);
            describe(source, tr("%1, %2").arg(what, text(workspace()->model()->card().name)));
            setSubject(source, card->headOf(view));
            setView(source, card->viewNameOf(view), card->choices());
            all << source;
        }
    }
    if (!m_numbers->isEmpty()) {
        describe(m_numbers->table(),
                 tr("%1, %2").arg(text(m_analysis->title), text(workspace()->model()->card().name)));
        all << m_numbers->table();
    }
    if (!m_paperFigure)
        m_paperFigure = positionFigure(m_cards, this);
    if (FigureSource* figure = m_paperFigure) {
        describe(figure,
                 tr("%1 figure 3 of Kamoda et al. 2025, %2")
                     .arg(text(workspace()->selection()->head()), text(workspace()->model()->card().name)));
        all.prepend(figure);
    }
    for (FigureSource* source : all)
        source->setProvenance(Provenance{{QStringLiteral("analysis"), text(m_analysis->id)}}
                              + source->provenance());
    return all;
}

} // namespace headwise::ui
