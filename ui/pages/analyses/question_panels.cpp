#include "ui/pages/analyses/question_panels.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/array_part.h"
#include "ui/document/questions.h"
#include "ui/pages/analyses/analysis_list.h"
#include "ui/pages/parts/compute_button.h"
#include "ui/pages/parts/figure_subject.h"

#include <QGridLayout>
#include <QLabel>
#include <QScrollArea>
#include <QScrollBar>
#include <QStyleOptionToolButton>
#include <QStylePainter>
#include <QTimer>
#include <QToolButton>

#include <algorithm>
#include <utility>

namespace headwise::ui {

namespace {

constexpr int panelsAbreast = 860; // px from which panels stand in pairs

/// The title of a panel: a flat button whose words wrap.
class PanelTitle : public QToolButton {
public:
    PanelTitle(const QString& title, QWidget* parent)
        : QToolButton(parent)
    {
        setText(title);
        setAutoRaise(true);
        setCursor(Qt::PointingHandCursor);
        QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Minimum);
        policy.setHeightForWidth(true);
        setSizePolicy(policy);
    }

    QSize sizeHint() const override
    {
        return QSize(fontMetrics().horizontalAdvance(text()) + 1, fontMetrics().height()).grownBy(padding);
    }
    QSize minimumSizeHint() const override { return sizeHint().boundedTo({leastWidth, QWIDGETSIZE_MAX}); }
    int heightForWidth(int width) const override
    {
        const QRect room = QRect(0, 0, width, QWIDGETSIZE_MAX).marginsRemoved(padding);
        return fontMetrics().boundingRect(room, Qt::TextWordWrap, text()).marginsAdded(padding).height();
    }

protected:
    void paintEvent(QPaintEvent* /*event*/) override
    {
        QStylePainter painter(this);
        QStyleOptionToolButton option;
        initStyleOption(&option);
        option.text.clear();
        painter.drawComplexControl(QStyle::CC_ToolButton, option);
        painter.setPen(palette().color(QPalette::WindowText));
        painter.drawText(rect().marginsRemoved(padding), Qt::AlignVCenter | Qt::TextWordWrap, text());
    }

private:
    static constexpr QMargins padding{4, 3, 4, 3};
    static constexpr int leastWidth = 160; // px, of a title that wraps
};

} // namespace

QuestionPanels::QuestionPanels(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_scroll(new QScrollArea(this))
    , m_content(new QWidget(m_scroll))
    , m_title(new QLabel(this))
    , m_fill(new FillButton(this))
    , m_grid(new QGridLayout(m_content))
{
    makeHeading(m_title);
    m_grid->setContentsMargins(0, 0, 8, 0);
    m_grid->setHorizontalSpacing(24);
    m_grid->setVerticalSpacing(4);
    m_scroll->setWidget(m_content);
    m_scroll->setWidgetResizable(true);
    m_scroll->setFrameShape(QFrame::NoFrame);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 0, 0, 0);
    column->setSpacing(8);
    auto* top = new QHBoxLayout;
    top->addWidget(m_title, 1);
    top->addWidget(m_fill);
    column->addLayout(top);
    column->addWidget(m_scroll, 1);
    connect(m_scroll->verticalScrollBar(), &QScrollBar::valueChanged, this, &QuestionPanels::drawVisible);
    connect(m_scroll->verticalScrollBar(), &QScrollBar::rangeChanged, this, &QuestionPanels::drawVisible);
    for (const auto signal : {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged,
                              &OpenModel::replaced, &OpenModel::resultsChanged})
        connect(workspace->model(), signal, this, [this] { follow(&PictureCard::markStale); });
    connect(workspace->selection(), &Selection::headChanged, this,
            [this] { follow(&PictureCard::changeHead); });
    connect(workspace->selection(), &Selection::referenceChanged, this,
            [this] { follow(&PictureCard::changeHead); });
}

void QuestionPanels::showQuestion(const QString& title)
{
    for (const auto& [question, analyses] : analysesByQuestion()) {
        if (question != title || question == m_question)
            continue;
        m_question = question;
        m_title->setText(question);
        for (const Panel& panel : std::exchange(m_panels, {})) {
            delete panel.top;
            delete panel.reason;
            delete panel.card;
        }
        for (const Analysis* analysis : analyses)
            m_panels.push_back(panelOf(*analysis));
        m_scroll->verticalScrollBar()->setValue(0);
    }
    refresh();
}

QuestionPanels::Panel QuestionPanels::panelOf(const Analysis& analysis)
{
    auto* top = new QWidget(m_content);
    Panel panel{&analysis, top, new QWidget(top), new QLabel(m_content)};
    auto* title = new PanelTitle(text(analysis.title), panel.top);
    title->setToolTip(tr("Opens this analysis with its inputs and all its pictures"));
    connect(title, &QToolButton::clicked, this, [this, of = &analysis] { emit analysisChosen(of); });
    auto* rows = new QVBoxLayout(panel.top); // beside a long title the button would widen the page
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(4);
    rows->addWidget(title, 0, Qt::AlignLeft);
    rows->addWidget(panel.compute, 0, Qt::AlignLeft);
    auto* place = new QHBoxLayout(panel.compute);
    place->setContentsMargins(0, 0, 0, 0);
    place->addWidget(new ComputeButton(workspace(), analysis.id, panel.compute));
    panel.reason->setWordWrap(true);
    panel.reason->setContentsMargins(4, 0, 0, 12);
    makeSecondary(panel.reason);
    return panel;
}

std::optional<Picture> QuestionPanels::pictureOf(const Analysis& analysis) const
{
    const ResultSet& results = *workspace()->model()->results();
    if (!workspace()->model()->isOpen() || !isComputed(analysis, results))
        return std::nullopt;
    const PictureContext context = pictureContext(*workspace());
    for (const Picture& picture : picturesOf(analysis, results, workspace()->model()->card()))
        if (canBeDrawn(picture, results) && !isOfMissingHead(picture, context))
            return picture;
    return std::nullopt;
}

QString QuestionPanels::reasonOf(const Analysis& analysis) const
{
    const OpenModel& model = *workspace()->model();
    if (model.isOpen() && isComputed(analysis, *model.results()))
        return tr("It has no result for %1.").arg(text(workspace()->selection()->head()));
    if (model.hasModel() && (analysis.needs.prompt || analysis.needs.direction))
        return tr("It needs inputs. Click its title to give them.");
    const QString why = whyNotNow(analysis, *workspace());
    return why.isEmpty() ? tr("Not computed yet.") : why;
}

void QuestionPanels::showPicture(Panel& panel, const std::optional<Picture>& picture)
{
    if (panel.card && picture && panel.card->picture() == *picture)
        return;
    delete std::exchange(panel.card, nullptr);
    panel.reason->setVisible(!picture);
    if (!picture)
        return;
    panel.card = new PictureCard(workspace(), *picture, m_content);
    connect(panel.card, &PictureCard::readOutChanged, this, &Page::readOutChanged);
    connect(panel.card, &PictureCard::viewMade, this, &QuestionPanels::viewMade);
    m_choices.give(panel.card);
    panel.card->show();
}

void QuestionPanels::recompute()
{
    m_fill->offer(FillButton::lackOf(*workspace()));
    for (Panel& panel : m_panels) {
        panel.compute->setVisible(
            workspace()->model()->hasModel()); // else one button offers the files for all
        panel.reason->setText(reasonOf(*panel.analysis));
        showPicture(panel, pictureOf(*panel.analysis));
    }
    place();
    QTimer::singleShot(0, this, &QuestionPanels::drawVisible); // once they have their places
}

void QuestionPanels::place()
{
    while (QLayoutItem* item = m_grid->takeAt(0))
        delete item;
    const bool isNarrow = m_scroll->viewport()->width() < panelsAbreast;
    int row = 0, column = 0;
    for (const Panel& panel : m_panels) {
        const bool isWide = isNarrow || (panel.card && panel.card->isWide());
        if (isWide && column == 1)
            row += 2;
        column = isWide ? 0 : column;
        m_grid->addWidget(panel.top, row, column, 1, isWide ? 2 : 1);
        m_grid->addWidget(panel.card ? static_cast<QWidget*>(panel.card) : panel.reason, row + 1, column, 1,
                          isWide ? 2 : 1, panel.card ? Qt::Alignment() : Qt::AlignTop);
        column = isWide ? 0 : 1 - column;
        row += column == 0 ? 2 : 0;
    }
    for (int i = 0; i < m_grid->rowCount(); ++i)
        m_grid->setRowStretch(i, 0);
    m_grid->setRowStretch(row + 2, 1);
    m_grid->setColumnStretch(0, 1);
    m_grid->setColumnStretch(1, isNarrow ? 0 : 1);
}

void QuestionPanels::drawVisible()
{
    if (!isVisible())
        return;
    const QRect seen(-m_content->pos(), m_scroll->viewport()->size());
    if (drawCardsIn(seen, cards())) // They have their final height now, and others may be visible.
        QTimer::singleShot(0, this, &QuestionPanels::drawVisible);
}

void QuestionPanels::follow(void (PictureCard::*change)())
{
    for (PictureCard* card : cards())
        (card->*change)();
    refresh();
}

std::vector<PictureCard*> QuestionPanels::cards() const
{
    std::vector<PictureCard*> all;
    for (const Panel& panel : m_panels)
        if (panel.card)
            all.push_back(panel.card);
    return all;
}

void QuestionPanels::resizeEvent(QResizeEvent* event)
{
    Page::resizeEvent(event);
    place();
    QTimer::singleShot(0, this, &QuestionPanels::drawVisible);
}

QList<FigureSource*> QuestionPanels::figures()
{
    QList<FigureSource*> all;
    for (const Panel& panel : m_panels) {
        if (!panel.card || !workspace()->model()->isOpen())
            continue;
        for (const auto& [view, what] : panel.card->figures()) {
            auto* source = dynamic_cast<FigureSource*>(view);
            describe(source, tr("%1, %2").arg(what, text(workspace()->model()->card().name)));
            setSubject(source, panel.card->headOf(view));
            setView(source, panel.card->viewNameOf(view), panel.card->choices());
            source->setProvenance(Provenance{{QStringLiteral("analysis"), text(panel.analysis->id)}}
                                  + source->provenance());
            all << source;
        }
    }
    return all;
}

} // namespace headwise::ui
