#pragma once

#include <QTimer>
#include <QWidget>

class QLabel;
class QSlider;

namespace headwise::ui {

class ComparedModel;
class Workspace;

/// A slider from 0, the base, to 1, the adapted model. Visible while the newer of two models is an adapter of the older one.
class AdapterStrength : public QWidget {
    Q_OBJECT

public:
    explicit AdapterStrength(Workspace* workspace, QWidget* parent = nullptr);

private:
    void follow(); ///< Shows the strength that the results have.
    void showValue();

    ComparedModel* m_newer; // owned by the workspace
    QSlider* m_slider;
    QLabel* m_value;
    QTimer m_pause; // until the slider rests
};

} // namespace headwise::ui
