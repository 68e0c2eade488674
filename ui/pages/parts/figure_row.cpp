#include "ui/pages/parts/figure_row.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/figures/figure_export_title.h"
#include "ui/figures/figure_recording.h"
#include "ui/pictures/picture_card.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <array>
#include <string_view>

namespace headwise::ui {

namespace {

constexpr double between = 8;     // points between panels
constexpr QSizeF least(150, 110); // points, smallest readable chart

} // namespace

FigureRow::FigureRow(std::vector<Panel> panels, QObject* parent)
    : QObject(parent)
    , m_panels(std::move(panels))
{
}

void FigureRow::paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const
{
    const double top = paintFigureTitle(painter, *this, size.width(), style);
    const QFont font = figureFont(style);
    const double line = QFontMetricsF(font, painter.device()).height();
    const QSizeF room(size.width(), size.height() - top);
    const int columns = columnsIn(room, line);
    const QSizeF each = panelSize(room, columns);
    if (each.width() <= 0 || each.height() <= line)
        return;
    FigureStyle inner = style;
    inner.title = false;
    for (std::size_t i = 0; i < m_panels.size(); ++i) {
        const auto at = static_cast<int>(i);
        painter.save();
        painter.translate(at % columns * (each.width() + between),
                          top + at / columns * (each.height() + between));
        painter.setFont(font);
        painter.setPen(lightColors().text);
        const QString words = QStringLiteral("%1  %2").arg(QChar(u'a' + at)).arg(m_panels[i].title);
        painter.drawText(
            QPointF(0, 0.8 * line),
            QFontMetricsF(font, painter.device()).elidedText(words, Qt::ElideRight, each.width()));
        painter.translate(0, line);
        if (m_panels[i].chart)
            m_panels[i].chart->paintFigure(painter, {each.width(), each.height() - line}, inner);
        painter.restore();
    }
}

QSizeF FigureRow::panelSize(const QSizeF& room, int columns) const
{
    const int rows = (static_cast<int>(m_panels.size()) + columns - 1) / columns;
    return {(room.width() - (columns - 1) * between) / columns,
            (room.height() - (rows - 1) * between) / rows};
}

int FigureRow::columnsIn(const QSizeF& room, double line) const
{
    int best = 1;
    double largest = 0;
    for (int columns = static_cast<int>(m_panels.size()); columns >= 1; --columns) {
        const QSizeF panel = panelSize(room, columns);
        const double share =
            std::min({1.0, panel.width() / least.width(), (panel.height() - line) / least.height()});
        if (share > largest) {
            largest = share;
            best = columns;
        }
    }
    return best;
}

double FigureRow::leastHeight(double width, const FigureStyle& style) const
{
    const auto panels = static_cast<int>(m_panels.size());
    const int abreast =
        std::clamp(static_cast<int>((width + between) / (least.width() + between)), 1, std::max(1, panels));
    const int rows = (panels + abreast - 1) / abreast;
    PaintRecording page({width, least.height()}, std::nullopt);
    QPainter painter(&page);
    const double line = QFontMetricsF(figureFont(style), &page).height();
    return paintFigureTitle(painter, *this, width, style) + rows * (least.height() + line)
        + (rows - 1) * between;
}

void FigureRow::forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const
{
    writeRow({QStringLiteral("panel"), QStringLiteral("curve"), QStringLiteral("x"), QStringLiteral("y")});
    for (const Panel& panel : m_panels)
        if (panel.chart)
            for (const ChartSeries& series : panel.chart->series())
                for (const QPointF& point : series.isSelection ? QVector<QPointF>() : series.points)
                    writeRow({panel.title, series.name, exactNumber(point.x()), exactNumber(point.y())});
}

FigureRow* positionFigure(const std::vector<PictureCard*>& cards, QObject* parent)
{
    const std::array<std::pair<std::string_view, QString>, 3> wanted{
        {{"/p_by_position", FigureRow::tr("T^p")},
         {"/pp_by_position", FigureRow::tr("T^pp, three queries")},
         {"/position_pattern", FigureRow::tr("softmax((T^pp + T^p)/√r)")}}};
    std::vector<FigureRow::Panel> panels;
    for (const auto& [array, title] : wanted)
        for (PictureCard* card : cards)
            if (card->picture().arrays.front().ends_with(array))
                for (const auto& [view, what] : card->figures())
                    panels.push_back({qobject_cast<const LineChart*>(view), title});
    return panels.size() == wanted.size() ? new FigureRow(std::move(panels), parent) : nullptr;
}

} // namespace headwise::ui
