#include "ui/pages/model/answer_button.h"

#include "ui/base/theme.h"

#include <QPainter>

#include <algorithm>
#include <array>

namespace headwise::ui {

namespace {

constexpr double labelSide = 16;  // height of a line of words in a diagram
constexpr QSizeF boxSize(62, 20); // a part or norm
constexpr int buttonMargin = 8, pictureHeight = 92;

/// Gives Q, K, V and the MLP's matrices a colour each; heads, which are numbered, have none.
QColor bandColor(const QString& band, const ThemeColors& colors)
{
    constexpr std::array<QLatin1String, 5> parts{QLatin1String("Q"), QLatin1String("K"), QLatin1String("V"),
                                                 QLatin1String("gate"), QLatin1String("in")};
    const auto found = std::find(parts.begin(), parts.end(), band);
    QColor color =
        found == parts.end() ? colors.muted : colors.categorical[std::size_t(found - parts.begin())];
    color.setAlphaF(found == parts.end() ? 0.15F : 0.4F);
    return color;
}

/// Draws one diagram.
class AnswerPainter {
public:
    AnswerPainter(QPainter& painter, const ThemeColors& colors)
        : m_painter(painter)
        , m_colors(colors)
    {
    }

    void matrix(const QRectF& area, const AnswerPicture& picture)
    {
        const QRectF cells = area.adjusted(labelSide, labelSide, 0, 0);
        m_painter.setPen(m_colors.border);
        m_painter.fillRect(cells, m_colors.base);
        const auto count = static_cast<double>(picture.bands.size());
        for (int at = 0; at < picture.bands.size(); ++at) {
            const QRectF band = picture.bandsAreColumns
                ? QRectF(cells.left() + at * cells.width() / count, cells.top(), cells.width() / count,
                         cells.height())
                : QRectF(cells.left(), cells.top() + at * cells.height() / count, cells.width(),
                         cells.height() / count);
            m_painter.fillRect(band.adjusted(0.5, 0.5, -0.5, -0.5), bandColor(picture.bands[at], m_colors));
            if (band.height() >= labelSide - 4 || !picture.bandsAreColumns)
                words(band, picture.bands[at], m_colors.text);
        }
        outline(cells);
        labels(cells, picture);
    }

    void sheets(const QRectF& area, const AnswerPicture& picture)
    {
        constexpr int shown = 3, step = 7;
        const QRectF front = area.adjusted(labelSide, labelSide + (shown - 1) * step, -(shown - 1) * step, 0);
        for (int sheet = shown - 1; sheet >= 0; --sheet) {
            const QRectF cells = front.translated(sheet * step, -sheet * step);
            m_painter.fillRect(cells, m_colors.base);
            m_painter.fillRect(cells, bandColor({}, m_colors));
            outline(cells);
        }
        words(front, QStringLiteral("head 1"), m_colors.text);
        labels(front, picture);
    }

    /// The residual stream runs along the bottom; the part leaves it and is added again.
    void norm(const QRectF& area, const AnswerPicture& picture)
    {
        using enum AnswerPicture::Kind;
        const double stream = area.bottom() - boxSize.height() / 2 - 2,
                     branch = area.top() + boxSize.height();
        const bool isAfter = picture.kind == NormAfter;
        const double leave = area.left() + 10, add = area.right() - (isAfter ? boxSize.width() + 22 : 14);
        m_painter.setPen(QPen(m_colors.muted, 1.5));
        m_painter.drawLine(QPointF(area.left(), stream), QPointF(area.right(), stream));
        const std::array<QPointF, 4> way{QPointF(leave, stream), QPointF(leave, branch), QPointF(add, branch),
                                         QPointF(add, stream)};
        m_painter.drawPolyline(way.data(), static_cast<int>(way.size()));
        const double middle = (leave + add) / 2, apart = boxSize.width() / 2 + 4;
        if (isAfter) {
            box({middle, branch}, picture.rows, false);
            box({area.right() - boxSize.width() / 2 - 6, stream}, tr("norm"), true);
        } else {
            const bool isFirst = picture.kind == NormBefore;
            box({middle - apart, branch}, isFirst ? tr("norm") : picture.rows, isFirst);
            box({middle + apart, branch}, isFirst ? picture.rows : tr("norm"), !isFirst);
        }
        m_painter.setPen(QPen(m_colors.muted, 1.5));
        m_painter.setBrush(m_colors.base);
        m_painter.drawEllipse(QPointF(add, stream), 7, 7);
        words(QRectF(add - 7, stream - 8, 14, 15), QStringLiteral("+"), m_colors.text);
    }

private:
    static QString tr(const char* words) { return AnswerButton::tr(words); }

    void words(const QRectF& area, const QString& text, const QColor& color)
    {
        m_painter.setPen(color);
        m_painter.drawText(area, Qt::AlignCenter, text);
    }

    void outline(const QRectF& cells)
    {
        m_painter.setPen(m_colors.muted);
        m_painter.setBrush(Qt::NoBrush);
        m_painter.drawRect(cells);
    }

    /// The name of the columns above the matrix and that of the rows beside it.
    void labels(const QRectF& cells, const AnswerPicture& picture)
    {
        const double above = picture.kind == AnswerPicture::Kind::Sheets ? cells.bottom() - labelSide
                                                                         : cells.top() - labelSide;
        words({cells.left(), above, cells.width(), labelSide}, picture.columns, m_colors.muted);
        m_painter.save();
        m_painter.translate(cells.left() - labelSide / 2, cells.center().y());
        m_painter.rotate(-90);
        words({-cells.height() / 2 - labelSide, -labelSide / 2, cells.height() + 2 * labelSide, labelSide},
              picture.rows, m_colors.muted);
        m_painter.restore();
    }

    void box(const QPointF& center, const QString& text, bool isNorm)
    {
        QRectF area(QPointF(), boxSize);
        area.moveCenter(center);
        m_painter.setPen(m_colors.muted);
        m_painter.setBrush(isNorm ? m_colors.accent : m_colors.base);
        m_painter.drawRoundedRect(area, 4, 4);
        words(area, text, isNorm ? m_colors.onAccent : m_colors.text);
    }

    QPainter& m_painter;
    const ThemeColors& m_colors;
};

} // namespace

void paintAnswer(QPainter& painter, const QRectF& area, const AnswerPicture& picture,
                 const ThemeColors& colors)
{
    AnswerPainter drawing(painter, colors);
    switch (picture.kind) {
    case AnswerPicture::Kind::Matrix: return drawing.matrix(area, picture);
    case AnswerPicture::Kind::Sheets: return drawing.sheets(area, picture);
    default: return drawing.norm(area, picture);
    }
}

AnswerButton::AnswerButton(const NamesAnswer& answer, QWidget* parent)
    : QAbstractButton(parent)
    , m_picture(answer.picture)
{
    setText(answer.words);
    setAccessibleName(answer.words);
    setCheckable(true);
    setAttribute(Qt::WA_Hover);
    setFont(secondaryFont());
    setFocusPolicy(Qt::StrongFocus);
}

QSize AnswerButton::sizeHint() const
{
    const int words = fontMetrics().horizontalAdvance(text());
    return {std::max(168, words + 2 * buttonMargin),
            pictureHeight + fontMetrics().lineSpacing() + 3 * buttonMargin};
}

void AnswerButton::paintEvent(QPaintEvent*)
{
    const ThemeColors& colors = themeColors(palette());
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF frame = QRectF(rect()).adjusted(1, 1, -1, -1);
    painter.setPen(QPen(isChecked() || hasFocus() ? colors.accent : colors.border, isChecked() ? 2 : 1,
                        hasFocus() && !isChecked() ? Qt::DashLine : Qt::SolidLine));
    painter.setBrush(underMouse() || isChecked() ? colors.alternate : colors.window);
    painter.drawRoundedRect(frame, 4, 4);
    const QRectF inside = frame.adjusted(buttonMargin, buttonMargin, -buttonMargin, -buttonMargin);
    painter.setFont(font());
    const double line = fontMetrics().lineSpacing();
    paintAnswer(painter, inside.adjusted(0, 0, 0, -line - buttonMargin / 2.0), m_picture, colors);
    painter.setPen(colors.text);
    painter.drawText(QRectF(inside.left(), inside.bottom() - line, inside.width(), line), Qt::AlignCenter,
                     text());
}

} // namespace headwise::ui
