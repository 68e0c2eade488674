#pragma once

#include "core/results/color_scale.h"

#include <QList>
#include <QObject>

class QWidget;

namespace headwise::ui {

class HeatmapView;

/// One scale for several heatmaps: its limits fit the values of all of them, and what is changed in one changes in all.
///
/// A view belongs to at most one shared scale; it leaves the old one when it joins another or is destroyed.
class SharedScale : public QObject {
    Q_OBJECT

public:
    explicit SharedScale(QObject* parent = nullptr);
    ~SharedScale() override;

    void add(HeatmapView* view); ///< The first one's scale becomes the scale of all.
    void remove(HeatmapView* view);
    bool contains(const HeatmapView* view) const;
    qsizetype count() const { return m_views.size(); }

    void setScale(const ColorScale& scale); ///< Fits it to all views unless it is fixed, and shows it in all.

private:
    QList<HeatmapView*> m_views;
};

/// The scale that heatmaps of one window share if the reader wishes; made when first asked for. \param widget any of the window
SharedScale* scaleOfWindow(const QWidget* widget);

/// Two heatmaps side by side are looked at as one from now on: the same zoom, place and current cell, and one scale.
/// `second` takes over how `first` is seen. They are apart again when one is destroyed.
void linkHeatmaps(HeatmapView* first, HeatmapView* second);

} // namespace headwise::ui
