#pragma once

#include "core/results/color_scale.h"
#include "ui/figures/figure_export.h"

#include <QStringList>
#include <QWidget>

#include <memory>
#include <vector>

namespace headwise::ui {

struct ThemeColors;

/// The tokens of a prompt as running text, each coloured by how much the query token attends to it.
///
/// The token under the mouse is the query while the mouse is there. A click, ← → Home or End set the query permanently.
class PromptText : public QWidget, public FigureSource {
    Q_OBJECT

public:
    explicit PromptText(QWidget* parent = nullptr);

    /// \param pattern [n, n], rows queries, for as many tokens; null: nothing is shown
    void setPattern(const QStringList& tokens, std::shared_ptr<const Eigen::MatrixXf> pattern);
    void setScale(const ColorScale& scale);
    void setQuery(int query); ///< An index outside the prompt selects the last token.
    int query() const; ///< The displayed query: the one under the mouse if any; −1: nothing is shown.
    const QStringList& tokens() const { return m_tokens; }
    float attention(int key) const;             ///< From the query to `key`; NaN outside.
    QRectF tokenRect(int token) const;          ///< In widget coordinates.
    int tokenAt(const QPointF& position) const; ///< −1: none.

    void paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const override;
    void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const override;

    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    QSize sizeHint() const override { return {320, heightForWidth(320)}; }

signals:
    void queryChosen(int query);
    void tokenHovered(int token); ///< The token is the query now.
    void hoverLeft();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    std::vector<QRectF> placed(double width, const QFont& font, const QPaintDevice* device) const;
    void choose(int query);
    void hover(int token);
    void paint(QPainter& painter, const std::vector<QRectF>& places, const ThemeColors& colors) const;

    QStringList m_tokens;
    std::shared_ptr<const Eigen::MatrixXf> m_pattern;
    ColorScale m_scale{ColorMap::Attention, 0, 1, ColorFit::Fixed};
    int m_query = 0;
    int m_hovered = -1;
};

} // namespace headwise::ui
