#include "ui/pages/overview/overview_page.h"

#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/pages/overview/composition_panel.h"
#include "ui/pages/overview/salient_panel.h"
#include "ui/pages/parts/eigenvalue_panel.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pages/parts/kernel_panel.h"
#include "ui/pages/parts/spectrum_panel.h"
#include "ui/pages/parts/tokens_panel.h"

#include <QApplication>
#include <QEvent>
#include <QFrame>
#include <QGridLayout>
#include <QLabel>
#include <QMouseEvent>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <numeric>

namespace headwise::ui {

namespace {
constexpr QLatin1StringView analysisPrefix("analyses/"); // in a card's "pageName"
constexpr int gridColumns = 6;                           // of the layout: two or three for each card
constexpr int overviewMargin = 12;                       // px
constexpr int overviewSpacing = 8;                       // px
constexpr int overviewLowest = 600;                      // px, for charts above their numbers
constexpr int lowestCard = 300;                          // px, if it has a row of its own
} // namespace

OverviewPage::OverviewPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_grid(new QGridLayout(this))
{
    m_grid->setContentsMargins(overviewMargin, overviewMargin, overviewMargin, overviewMargin);
    m_grid->setSpacing(overviewSpacing);
    auto* reads = new TokensPanel(workspace, CircuitKind::FullQk, this);
    auto* writes = new TokensPanel(workspace, CircuitKind::FullOv, this);
    setPictureName(reads, tr("Keys of the token"));
    setPictureName(writes, tr("Outputs of the token"));
    addPanel({0, 0, 2}, reads, {}, QStringLiteral("tokens"));
    addPanel({0, 2, 2}, writes, {}, QStringLiteral("tokens"));
    addPanel({0, 4, 2}, new SalientPanel(workspace, this), tr("Salient tokens"),
             analysisPrefix + QStringLiteral("salient_tokens"));
    addPanel({1, 0, 2, 2}, new SpectrumPanel(workspace, this), tr("Singular values"),
             QStringLiteral("spectrum"));
    addPanel({1, 2, 2, 2}, new EigenvaluePanel(workspace, this), tr("Eigenvalues of full OV"),
             QStringLiteral("spectrum"));
    addPanel({2, 4, 2}, new KernelPanel(workspace, this), tr("Position"), QStringLiteral("position"));
    addPanel({1, 4, 2}, new CompositionPanel(workspace, this), tr("Composition"),
             QStringLiteral("composition"));
    for (TokensPanel* panel : {reads, writes}) {
        panel->setCompact(true);
        connect(panel, &TokensPanel::tokenActivated, workspace->selection(), &Selection::setToken);
    }
    for (int i = 0; i < gridColumns; ++i)
        m_grid->setColumnStretch(i, 1);
    arrange(3);
}

void OverviewPage::arrange(int columns)
{
    if (std::exchange(m_columnCount, columns) == columns)
        return;
    for (int row = 0; row < m_grid->rowCount(); ++row)
        m_grid->setRowStretch(row, 0);
    for (const auto& [card, place] : m_cards)
        m_grid->removeWidget(card);
    if (columns == 3) {
        for (const auto& [card, place] : m_cards)
            m_grid->addWidget(card, place.row, place.column, place.rows, place.columns);
        for (const auto& [row, stretch] : {std::pair(0, 10), {1, 7}, {2, 9}})
            m_grid->setRowStretch(row, stretch);
        return setMinimumHeight(overviewLowest);
    }
    const int count = static_cast<int>(m_cards.size());
    const int rows = (count + columns - 1) / columns;
    for (int i = 0; i < count; ++i) {
        const bool isAlone = i == count - 1 && i % columns == 0;
        const int width = isAlone ? gridColumns : gridColumns / columns;
        m_grid->addWidget(m_cards[static_cast<std::size_t>(i)].first, i / columns, i % columns * width, 1,
                          width);
        m_grid->setRowStretch(i / columns, 1);
    }
    setMinimumHeight(rows * lowestCard);
}

void OverviewPage::resizeEvent(QResizeEvent* event)
{
    Page::resizeEvent(event);
    arrange(fittingColumns());
}

int OverviewPage::fittingColumns() const
{
    std::array<int, gridColumns> widest{}; // of the cards that begin in a column
    for (const auto& [card, place] : m_cards) {
        int& most = widest[static_cast<std::size_t>(place.column)];
        most = std::max(most, card->minimumSizeHint().width());
    }
    const int all = std::accumulate(widest.begin(), widest.end(), 0);
    if (width() >= all + 2 * overviewSpacing + 2 * overviewMargin)
        return 3;
    const int two = 2 * *std::max_element(widest.begin(), widest.end());
    return width() >= two + overviewSpacing + 2 * overviewMargin ? 2 : 1;
}

QSize OverviewPage::minimumSizeHint() const
{
    int widest = 0;
    for (const auto& [card, place] : m_cards)
        widest = std::max(widest, card->minimumSizeHint().width());
    return {widest + 2 * overviewMargin, minimumHeight()};
}

void OverviewPage::addPanel(const Place& place, Page* panel, const QString& title, const QString& pageName)
{
    auto* card = new QFrame(this);
    card->setProperty("card", true);
    makeLink(card, pageName);
    card->setToolTip(tr("Double-click to open this on its own page"));
    auto* layout = new QVBoxLayout(card);
    layout->setContentsMargins(12, 8, 12, 12);
    layout->setSpacing(4);
    if (!title.isEmpty()) {
        auto* heading = new QLabel(title, card);
        makeHeading(heading);
        layout->addWidget(heading);
    }
    card->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Ignored); // the rows' stretch decides the height
    panel->setParent(card);
    layout->addWidget(panel, 1);
    m_cards.emplace_back(card, place);
    for (auto* heading : card->findChildren<QLabel*>())
        if (heading->property("role") == QLatin1String("heading")) {
            makeLink(heading, pageName);
            heading->setCursor(Qt::PointingHandCursor);
            heading->setToolTip(tr("Click to open this on its own page"));
        }
    // A chart's own double click only shows everything, which it does here anyway; a table's selects the token.
    for (LineChart* chart : panel->findChildren<LineChart*>())
        for (QWidget* part : chart->findChildren<QWidget*>())
            makeLink(part, pageName);
    m_panels << panel;
    connect(panel, &Page::readOutChanged, this, &Page::readOutChanged);
}

void OverviewPage::makeLink(QWidget* part, const QString& pageName)
{
    part->setProperty("pageName", pageName);
    part->installEventFilter(this);
}

bool OverviewPage::eventFilter(QObject* watched, QEvent* event)
{
    const bool isDouble = event->type() == QEvent::MouseButtonDblClick;
    if (isDouble && m_clicked.isValid() && !m_clicked.hasExpired(QApplication::doubleClickInterval()))
        return true; // second click on a heading: the first was enough, and it must not reach the new page
    const QString page = watched->property("pageName").toString();
    if (page.isEmpty())
        return Page::eventFilter(watched, event);
    const bool isHeading = qobject_cast<QLabel*>(watched);
    if (isHeading && event->type() == QEvent::MouseButtonPress)
        return true; // the release decides
    const bool isClick = isHeading && event->type() == QEvent::MouseButtonRelease
        && static_cast<QMouseEvent*>(event)->button() == Qt::LeftButton;
    if (isClick) {
        m_clicked.start();
        qApp->installEventFilter(this);
        QTimer::singleShot(QApplication::doubleClickInterval(), this,
                           [this] { qApp->removeEventFilter(this); });
    }
    // A double click that a table or a chart handles itself does not get here.
    if (!isClick && !isDouble)
        return Page::eventFilter(watched, event);
    if (page.startsWith(analysisPrefix))
        emit analysisRequested(page.sliced(analysisPrefix.size()));
    else
        emit pageRequested(page);
    return true;
}

QList<FigureSource*> OverviewPage::figures()
{
    QList<FigureSource*> all;
    for (Page* panel : m_panels)
        all << panel->figures();
    return all;
}

} // namespace headwise::ui
