#include "ui/figures/figure_export_title.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/figures/math_text.h"

#include <QApplication>
#include <QFontMetricsF>
#include <QPainter>
#include <QTextLayout>

#include <algorithm>

namespace headwise::ui {

namespace {

constexpr double gap = 4; // points
constexpr qsizetype mostLines = 3;

} // namespace

QStringList wrappedLines(const QString& words, const QFont& font, double width, const QPaintDevice* device)
{
    QTextLayout layout(words, font, device);
    QTextOption option;
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    layout.setTextOption(option);
    QStringList lines;
    layout.beginLayout();
    for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
        line.setLineWidth(width);
        lines << words.mid(line.textStart(), line.textLength()).trimmed();
    }
    layout.endLayout();
    return lines;
}

double smallestType(double wanted)
{
    constexpr double smallestShare = 0.7;
    return std::min(wanted, std::max(leastType, smallestShare * wanted));
}

FittedTitle::FittedTitle(const QString& title, const QFont& wanted, double room, const QPaintDevice* device)
    : font(wanted)
{
    constexpr double step = 0.5; // points: sizes are rounded, so they are tried
    const double smallest = smallestType(wanted.pointSizeF());
    for (const QString& words : {title, title.section(QStringLiteral(", "), 0, 0)}) {
        text = words;
        font.setPointSizeF(wanted.pointSizeF());
        while (font.pointSizeF() > smallest && mathWidth(text, font, device) > room)
            font.setPointSizeF(std::max(smallest, font.pointSizeF() - step));
        width = mathWidth(text, font, device);
        if (width <= room)
            return;
    }
    text = QFontMetricsF(font, device).elidedText(text, Qt::ElideRight, room);
    width = mathWidth(text, font, device);
}

double FittedTitle::first(double middle, double from, double to) const
{
    return std::clamp(middle - width / 2, from, std::max(from, to - width));
}

QFont figureFont(const FigureStyle& style)
{
    QFont font = QApplication::font();
    if (!style.fontFamily.empty())
        font.setFamily(text(style.fontFamily));
    font.setPointSizeF(std::max(1.0, style.fontSize));
    font.setHintingPreference(QFont::PreferNoHinting);
    return font;
}

QFont figureTokenFont(const FigureStyle& style)
{
    QFont font = tokenFont();
    font.setPointSizeF(std::max(1.0, style.fontSize));
    font.setHintingPreference(QFont::PreferNoHinting);
    return font;
}

double paintFigureTitle(QPainter& painter, const FigureSource& source, double width, const FigureStyle& style)
{
    const QString title = figureTitleOf(source, style);
    if (!style.title || title.isEmpty())
        return 0;
    QFont font = figureFont(style);
    font.setWeight(QFont::DemiBold);
    const double smallest = smallestType(font.pointSizeF());
    QStringList lines = wrappedLines(title, font, width, painter.device());
    while (lines.size() > mostLines && font.pointSizeF() > smallest) {
        font.setPointSizeF(std::max(smallest, 0.92 * font.pointSizeF()));
        lines = wrappedLines(title, font, width, painter.device());
    }
    const QFontMetricsF metrics(font, painter.device());
    painter.setFont(font);
    painter.setPen(lightColors().text);
    double y = metrics.ascent();
    for (const QString& line : std::as_const(lines)) {
        drawMath(painter, QPointF(0, y), line);
        y += metrics.height();
    }
    return y - metrics.ascent() + gap;
}

double paintFigureNote(QPainter& painter, const QString& note, const QSizeF& size, const FigureStyle& style)
{
    if (note.isEmpty())
        return 0;
    const QFont font = figureFont(style);
    const QFontMetricsF metrics(font, painter.device());
    const bool isWhole = mathWidth(note, font, painter.device()) <= size.width();
    const QStringList lines =
        isWhole ? QStringList{note} : wrappedLines(note, font, size.width(), painter.device());
    painter.setFont(font);
    painter.setPen(lightColors().muted);
    const double height = metrics.height() * static_cast<double>(lines.size());
    double y = size.height() - height + metrics.ascent();
    for (const QString& line : lines) {
        drawMath(painter, QPointF(0, y), line);
        y += metrics.height();
    }
    return height + gap;
}

QString figureTitleOf(const FigureSource& source, const FigureStyle& style)
{
    return style.edits.title.empty() ? source.figureTitle() : text(style.edits.title);
}

} // namespace headwise::ui
