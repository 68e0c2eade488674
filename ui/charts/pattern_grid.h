#pragma once

#include "core/base/matrix.h"
#include "core/model/head_id.h"
#include "ui/base/theme.h"
#include "ui/charts/tile_grid.h"
#include "ui/figures/figure_export.h"

#include <QFont>
#include <QImage>
#include <QWidget>

#include <memory>
#include <optional>
#include <vector>

namespace headwise::ui {

/// Indexed [layer][head]: matrices [rows, columns], all of one size.
using Patterns = std::vector<std::vector<Eigen::MatrixXf>>;

/// Reduces patterns to at most `side` rows and columns; each entry is the strongest of those it covers.
/// \param skipped number of first positions left out, as queries and as keys; fewer than there are
/// Cost: one pass over the patterns.
Patterns smallPatterns(const Patterns& patterns, Eigen::Index side, Eigen::Index skipped = 0);

/// The attention patterns of every head on one prompt as small multiples, one row per layer, from white (0) to the accent
/// colour.
///
/// A click, the arrow keys or hjkl select a head, PgUp and PgDn one in the next layer, Shift+click the reference head.
class PatternGrid : public QWidget, public FigureSource {
    Q_OBJECT

public:
    explicit PatternGrid(QWidget* parent = nullptr);

    /// \param small drawn; from smallPatterns()  \param all exported as numbers; null, both: none
    void setPatterns(std::shared_ptr<const Patterns> small, std::shared_ptr<const Patterns> all);
    void setValueTitle(const QString& title) { m_valueTitle = title; } ///< Name and unit of the numbers.
    void setHighest(float attention); ///< Value with the full accent colour; default 1.
    void setCurrent(HeadId head);
    void setLit(std::optional<HeadId> head); ///< A thin ring around a head that is hovered elsewhere.
    HeadId current() const { return m_current; }
    QRectF tileRect(HeadId head) const; ///< In widget coordinates.

    int layers() const { return m_patterns ? static_cast<int>(m_patterns->size()) : 0; }
    int heads() const { return layers() > 0 ? static_cast<int>(m_patterns->front().size()) : 0; }
    struct Entry {
        int query = 0, key = 0;
        float value = 0;
    };
    Entry strongest(HeadId head) const; ///< In its full pattern.

    void paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const override;
    void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const override;

    QSize sizeHint() const override { return {320, 320}; }

signals:
    void headChosen(headwise::HeadId head);
    void headReferenced(headwise::HeadId head);
    void headHovered(headwise::HeadId head);
    void hoverLeft();

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    TileGrid tilesIn(const QRectF& all, const QFont& font, bool hasLabels, const QPaintDevice* device) const;
    std::optional<HeadId> headAt(const QPointF& position) const;
    QImage picture(HeadId head, bool dark) const;
    void paintLabels(QPainter& painter, const TileGrid& tiles, const QFont& font,
                     const ThemeColors& colors) const;

    std::shared_ptr<const Patterns> m_patterns, m_all;
    std::vector<QImage> m_images; // [layers · heads], one pixel per entry; empty when out of date
    HeadId m_current;
    std::optional<HeadId> m_lit;
    float m_highest = 1;
    QString m_valueTitle;
};

} // namespace headwise::ui
