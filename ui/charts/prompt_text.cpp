#include "ui/charts/prompt_text.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/figures/figure_export_title.h"
#include "ui/heatmaps/cell_colors.h"
#include "ui/widgets/picture_accessible.h"

#include <QFontMetricsF>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace headwise::ui {

namespace {
constexpr double inside = 3;        // px from a token's edge to its text
constexpr double promptTextGap = 2; // between tokens
} // namespace

PromptText::PromptText(QWidget* parent)
    : QWidget(parent)
{
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Preferred);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    installPictureAccessibility();
}

void PromptText::setPattern(const QStringList& tokens, std::shared_ptr<const Eigen::MatrixXf> pattern)
{
    const bool isOther = tokens != m_tokens;
    m_tokens = pattern && pattern->rows() == tokens.size() ? tokens : QStringList();
    m_pattern = std::move(pattern);
    if (isOther) {
        m_hovered = -1;
        m_query = static_cast<int>(m_tokens.size()) - 1;
        updateGeometry();
    }
    update();
}

void PromptText::setScale(const ColorScale& scale)
{
    m_scale = scale;
    update();
}

void PromptText::setQuery(int query)
{
    m_query = query >= 0 && query < m_tokens.size() ? query : static_cast<int>(m_tokens.size()) - 1;
    update();
    announceCurrentCell(this);
}

int PromptText::query() const
{
    return m_hovered >= 0 ? m_hovered : m_query;
}

float PromptText::attention(int key) const
{
    const bool isThere = query() >= 0 && key >= 0 && key < m_tokens.size();
    return isThere ? (*m_pattern)(query(), key) : std::nanf("");
}

std::vector<QRectF> PromptText::placed(double width, const QFont& font, const QPaintDevice* device) const
{
    const QFontMetricsF metrics(font, device);
    const double height = metrics.height() + 2 * inside;
    std::vector<QRectF> places;
    QPointF at(promptTextGap, promptTextGap);
    for (const QString& token : m_tokens) {
        const double length = metrics.horizontalAdvance(token) + 2 * inside;
        if (at.x() > promptTextGap && at.x() + length > width - promptTextGap)
            at = {promptTextGap, at.y() + height + promptTextGap};
        places.emplace_back(at, QSizeF(length, height));
        at.rx() += length + promptTextGap;
    }
    return places;
}

QRectF PromptText::tokenRect(int token) const
{
    const std::vector<QRectF> places = placed(width(), tokenFont(), this);
    return token >= 0 && token < std::ssize(places) ? places[static_cast<std::size_t>(token)] : QRectF();
}

int PromptText::heightForWidth(int width) const
{
    const std::vector<QRectF> places = placed(width, tokenFont(), this);
    return places.empty() ? 0 : static_cast<int>(std::ceil(places.back().bottom() + promptTextGap));
}

int PromptText::tokenAt(const QPointF& position) const
{
    const std::vector<QRectF> places = placed(width(), tokenFont(), this);
    const auto found =
        std::ranges::find_if(places, [&](const QRectF& place) { return place.contains(position); });
    return found == places.end() ? -1 : static_cast<int>(found - places.begin());
}

void PromptText::paint(QPainter& painter, const std::vector<QRectF>& places, const ThemeColors& colors) const
{
    ColorScale scale = m_scale;
    if (colors.dark)
        scale.map = darkTwin(scale.map);
    const Colorizer color(scale);
    const QFontMetricsF metrics(painter.font(), painter.device());
    for (std::size_t i = 0; i < places.size(); ++i) {
        const Rgb ground = color(attention(static_cast<int>(i)));
        painter.fillRect(places[i], QColor::fromRgb(ground));
        painter.setPen(inkOn(ground));
        painter.drawText(QPointF(places[i].left() + inside, places[i].top() + inside + metrics.ascent()),
                         m_tokens[static_cast<qsizetype>(i)]);
    }
    if (const int query = this->query(); query >= 0)
        paintCellRing(painter, places[static_cast<std::size_t>(query)], colors, Qt::SolidLine);
}

void PromptText::paintEvent(QPaintEvent* /*event*/)
{
    if (m_tokens.isEmpty())
        return;
    QPainter painter(this);
    painter.setFont(tokenFont());
    paint(painter, placed(width(), tokenFont(), this), themeColors(palette()));
    if (hasFocus()) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(themeColors(palette()).accent);
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

void PromptText::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    updateGeometry();
}

void PromptText::choose(int query)
{
    if (query < 0 || query >= m_tokens.size())
        return;
    m_hovered = -1;
    setQuery(query);
    emit queryChosen(query);
}

void PromptText::keyPressEvent(QKeyEvent* event)
{
    switch (event->key()) {
    case Qt::Key_Left: return choose(m_query - 1);
    case Qt::Key_Right: return choose(m_query + 1);
    case Qt::Key_Home: return choose(0);
    case Qt::Key_End: return choose(static_cast<int>(m_tokens.size()) - 1);
    default: QWidget::keyPressEvent(event);
    }
}

void PromptText::hover(int token)
{
    if (token == m_hovered)
        return;
    m_hovered = token;
    update();
    if (token >= 0)
        emit tokenHovered(token);
    else
        emit hoverLeft();
}

void PromptText::mouseMoveEvent(QMouseEvent* event)
{
    hover(tokenAt(event->position()));
}

void PromptText::mousePressEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton)
        choose(tokenAt(event->position()));
}

void PromptText::leaveEvent(QEvent* /*event*/)
{
    hover(-1);
}

void PromptText::paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const
{
    if (m_tokens.isEmpty())
        return;
    painter.translate(0, paintFigureTitle(painter, *this, size.width(), style));
    const QFont font = figureTokenFont(style);
    painter.setFont(font);
    paint(painter, placed(size.width(), font, painter.device()), lightColors());
}

void PromptText::forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const
{
    writeRow({QStringLiteral("query"), QStringLiteral("key"), QStringLiteral("token"),
              QStringLiteral("attention")});
    for (int key = 0; key < m_tokens.size(); ++key)
        writeRow(
            {QString::number(query()), QString::number(key), m_tokens[key], exactNumber(attention(key))});
}

} // namespace headwise::ui
