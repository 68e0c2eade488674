#include "ui/pages/parts/token_ends_paper.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/figures/figure_export_title.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/parts/token_ends_tables.h"
#include "ui/widgets/cell_heat.h"
#include "ui/widgets/number_columns.h"

#include <QPainter>

#include <algorithm>

namespace headwise::ui {

namespace {

struct TableFonts {
    QFont text, tokens;
};

/// Height of a row in the font of the text.
double rowHeight(const QFont& font, const QPaintDevice* device)
{
    return QFontMetricsF(font, device).height() * 1.25;
}

void paintRows(QPainter& painter, const QRectF& area, const TokenTableModel& table, const TableFonts& fonts,
               const QString& title)
{
    const ThemeColors& colors = lightColors();
    const double step = rowHeight(fonts.text, painter.device());
    painter.setFont(fonts.text);
    painter.setPen(colors.muted);
    painter.drawText(QRectF(area.left(), area.top(), area.width(), step), Qt::AlignLeft | Qt::AlignVCenter,
                     title);
    double y = area.top() + step;
    const QFontMetricsF ruler(fonts.text, painter.device());
    const auto tailOf = [&ruler](const QString& value) {
        return ruler.horizontalAdvance(value.sliced(decimalPoint(value)));
    };
    double longestTail = 0; // for aligned decimal points
    for (const TokenRow& row : *table.rows())
        longestTail = std::max(longestTail, tailOf(signedNumber(row.value)));
    for (const TokenRow& row : *table.rows()) {
        if (y + step > area.bottom())
            break;
        const QRectF line(area.left(), y, area.width(), step);
        QFont tokenLook = fonts.tokens;
        tokenLook.setBold(row.isSource);
        painter.setFont(tokenLook);
        painter.setPen(colors.text);
        const double valueRoom = area.width() * 0.35;
        const QFontMetricsF metrics(tokenLook, painter.device());
        painter.drawText(line.adjusted(0, 0, -valueRoom, 0), Qt::AlignLeft | Qt::AlignVCenter,
                         metrics.elidedText(row.shown, Qt::ElideRight, area.width() - valueRoom));
        painter.setFont(fonts.text);
        const QString value = signedNumber(row.value);
        const double behind = longestTail - tailOf(value);
        const double width = ruler.horizontalAdvance(value) + behind;
        if (table.largest() > 0)
            painter.fillRect(line.adjusted(line.width() - width - 4, 0, 0, 0),
                             heatColor(row.value / table.largest(), colors));
        painter.drawText(line.adjusted(0, 0, -2 - behind, 0), Qt::AlignRight | Qt::AlignVCenter, value);
        y += step;
    }
}

} // namespace

void paintTokenEnds(QPainter& painter, const QRectF& area, const TokenTableModel& top,
                    const TokenTableModel& bottom, const FigureStyle& style)
{
    const TableFonts fonts{figureFont(style), figureTokenFont(style)};
    const double half = (area.width() - style.fontSize * 2) / 2;
    if (top.rows())
        paintRows(painter, {area.left(), area.top(), half, area.height()}, top, fonts,
                  TokenEndsTables::tr("largest"));
    if (bottom.rows())
        paintRows(painter, {area.right() - half, area.top(), half, area.height()}, bottom, fonts,
                  TokenEndsTables::tr("smallest"));
}

int tokenRowsOn(double height, const FigureStyle& style, const QPaintDevice* device)
{
    return std::max(0, static_cast<int>(height / rowHeight(figureFont(style), device)) - 1);
}

void writeTokenEnds(const TokenTableModel& top, const TokenTableModel& bottom,
                    const std::function<void(const QStringList&)>& writeRow)
{
    writeRow({QStringLiteral("end"), QStringLiteral("rank"), QStringLiteral("id"), QStringLiteral("token"),
              QStringLiteral("value"), QStringLiteral("z"), QStringLiteral("share"),
              QStringLiteral("with_biases")});
    const auto write = [&writeRow](const TokenTableModel& model, const QString& end) {
        if (!model.rows())
            return;
        const auto known = [](std::optional<double> value) {
            return value ? exactNumber(*value) : QString();
        };
        int rank = 0;
        for (const TokenRow& row : *model.rows())
            writeRow({end, QString::number(++rank), QString::number(row.token), row.shown,
                      exactNumber(row.value), known(row.zScore), known(row.share), known(row.biased)});
    };
    write(top, QStringLiteral("top"));
    write(bottom, QStringLiteral("bottom"));
}

} // namespace headwise::ui
