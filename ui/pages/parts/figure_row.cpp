#include "ui/pages/parts/figure_row.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/figures/figure_export_title.h"
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
    const auto count = static_cast<double>(m_panels.size());
    const QSizeF room(size.width(), size.height() - top);
    const QSizeF abreast((room.width() - (count - 1) * between) / count, room.height());
    const QSizeF stacked(room.width(), (room.height() - (count - 1) * between) / count);
    // Charts smaller than that are drawn larger and scaled down.
    const auto shrunk = [line](const QSizeF& panel) {
        return std::min({1.0, panel.width() / least.width(), (panel.height() - line) / least.height()});
    };
    const bool isRow = shrunk(abreast) >= shrunk(stacked);
    const QSizeF each = isRow ? abreast : stacked;
    const double factor = shrunk(each);
    if (each.width() <= 0 || each.height() <= line || factor <= 0)
        return;
    FigureStyle inner = style;
    inner.title = false;
    for (std::size_t i = 0; i < m_panels.size(); ++i) {
        const auto at = static_cast<double>(i);
        painter.save();
        painter.translate(isRow ? QPointF(at * (each.width() + between), top)
                                : QPointF(0, top + at * (each.height() + between)));
        painter.scale(factor, factor);
        painter.setFont(font);
        painter.setPen(lightColors().text);
        const QString words =
            QStringLiteral("%1  %2").arg(QChar(u'a' + static_cast<int>(i))).arg(m_panels[i].title);
        painter.drawText(QPointF(0, 0.8 * line), words);
        painter.translate(0, line);
        if (m_panels[i].chart)
            m_panels[i].chart->paintFigure(painter, {each.width() / factor, each.height() / factor - line},
                                           inner);
        painter.restore();
    }
}

void FigureRow::forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const
{
    writeRow({QStringLiteral("panel"), QStringLiteral("curve"), QStringLiteral("x"), QStringLiteral("y")});
    for (const Panel& panel : m_panels)
        if (panel.chart)
            for (const ChartSeries& series : panel.chart->series())
                for (const QPointF& point : series.points)
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
