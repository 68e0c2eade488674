#pragma once

#include "core/results/color_vision.h"

#include <QObject>

class QWidget;

namespace headwise::ui {

/// The colour vision that pictures simulate in all windows, so that an author can check a figure. Exports are not
/// affected.
class ShownVision : public QObject {
    Q_OBJECT

public:
    static ShownVision& instance(); ///< GUI thread only.

    ColorVision vision() const { return m_vision; }
    void set(ColorVision vision);

signals:
    void changed(headwise::ColorVision vision);

private:
    ColorVision m_vision = ColorVision::Normal;
};

/// Makes `picture` follow ShownVision from now on.
void followShownVision(QWidget* picture);

} // namespace headwise::ui
