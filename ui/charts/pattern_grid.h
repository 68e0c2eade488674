#pragma once

#include "core/model/head_id.h"
#include "ui/base/theme.h"
#include "ui/charts/tile_grid.h"
#include "ui/figures/figure_export.h"

#include <Eigen/Core>

#include <QFont>
#include <QImage>
#include <QWidget>

#include <memory>
#include <optional>
#include <vector>

namespace headwise::ui {

/// [layer][head]: [rows, columns], all of one size.
using Patterns = std::vector<std::vector<Eigen::MatrixXf>>;

/// The same with at most `side` rows and columns, each entry the strongest of those it stands for.
/// \param skipped positions at the beginning that are left out, of queries and of keys; fewer than there are
/// Cost: one pass over the patterns.
Patterns smallPatterns(const Patterns& patterns, Eigen::Index side, Eigen::Index skipped = 0);

/// The attention of every head on one prompt as small multiples, a row per layer: from white, 0, to the accent, 1 or less.
///
/// A click, the arrow keys or hjkl choose a head, PgUp and PgDn one of the next layer, a right click or Shift+click the one to compare with.
class PatternGrid : public QWidget, public FigureSource {
    Q_OBJECT

public:
    explicit PatternGrid(QWidget* parent = nullptr);

    /// \param small what is drawn, as smallPatterns() makes it  \param all what is exported as numbers; null, both: none
    void setPatterns(std::shared_ptr<const Patterns> small, std::shared_ptr<const Patterns> all);
    void setHighest(float attention); ///< What gets the whole accent; 1 unless set.
    void setCurrent(HeadId head);
    HeadId current() const { return m_current; }
    QRectF tileRect(HeadId head) const; ///< In widget coordinates.

    int layers() const { return m_patterns ? static_cast<int>(m_patterns->size()) : 0; }
    int heads() const { return layers() > 0 ? static_cast<int>(m_patterns->front().size()) : 0; }
    struct Entry {
        int query = 0, key = 0;
        float value = 0;
    };
    Entry strongest(HeadId head) const; ///< Of its whole pattern.

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
    std::vector<QImage> m_images; // [layers · heads], a pixel an entry; empty when out of date
    HeadId m_current;
    float m_highest = 1;
};

} // namespace headwise::ui
