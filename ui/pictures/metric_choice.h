#pragma once

#include "ui/pictures/picture_body.h"

class QComboBox;
class QHBoxLayout;

namespace headwise::ui {

/// Boxes above a picture with a point per head: they choose the score on each axis, and the score that colours the points.
class MetricChoice : public QWidget {
    Q_OBJECT

public:
    /// \param kind HeadPlane: x, y and colour; HeadMap: colour alone
    MetricChoice(Picture::Kind kind, QWidget* parent);

    /// Returns the picture with the chosen scores in place of its own arrays. Arrays without a choice stay.
    PictureData applied(PictureData shown, const ModelCard& card);
    /// Paths of the chosen scores. They can be restored once a picture was applied.
    ViewFields choices();

signals:
    void changed();

private:
    QComboBox* add(QHBoxLayout* layout, const QString& name);
    void offer(QComboBox* box, const std::vector<const ResultArray*>& metrics, const QString& own);

    std::vector<QComboBox*> m_axes; // x, y; of a map none
    QComboBox* m_color = nullptr;
};

} // namespace headwise::ui
