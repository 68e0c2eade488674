#pragma once

#include "core/results/color_scale.h"

#include <QList>
#include <QObject>

class QWidget;

namespace headwise::ui {

class HeatmapView;

/// One scale for several heatmaps: its limits fit all their values, and a change in one applies to all.
///
/// A view has at most one shared scale; it leaves the old one when it joins another or is destroyed.
class SharedScale : public QObject {
    Q_OBJECT

public:
    explicit SharedScale(QObject* parent = nullptr);
    ~SharedScale() override;

    void add(HeatmapView* view); ///< The first one's scale becomes the scale of all.
    void remove(HeatmapView* view);
    bool contains(const HeatmapView* view) const;
    qsizetype count() const { return m_views.size(); }

    /// Fits the scale to all views unless it is fixed, and shows it in all.
    void setScale(const ColorScale& scale);

private:
    QList<HeatmapView*> m_views;
};

/// Returns the scale that a window's heatmaps can share, made on first request. \param widget any widget of the window
SharedScale* scaleOfWindow(const QWidget* widget);

} // namespace headwise::ui
