#pragma once

#include "core/results/color_vision.h"

#include <QObject>

class QWidget;

namespace headwise::ui {

/// With whose eyes pictures are shown, in all windows: for an author to check a figure. Never in what is exported.
class ShownVision : public QObject {
    Q_OBJECT

public:
    static ShownVision& instance(); ///< Of the GUI thread.

    ColorVision vision() const { return m_vision; }
    void set(ColorVision vision);

signals:
    void changed(headwise::ColorVision vision);

private:
    ColorVision m_vision = ColorVision::Normal;
};

/// Shows `picture` as ShownVision says, from now on.
void followShownVision(QWidget* picture);

} // namespace headwise::ui
