#pragma once

#include "ui/pages/parts/page.h"

#include <QTimer>

#include <optional>

class QHBoxLayout;
class QPushButton;
class QSlider;
class QSpinBox;

namespace headwise::ui {

class TokenEdit;

/// Chooses a query: its position by slider, number or button, and its token by slider or text.
class QueryChooser : public Page {
    Q_OBJECT

public:
    explicit QueryChooser(Workspace* workspace, QWidget* parent = nullptr);

    int position() const;
    int token() const;
    /// Offers `count` positions without a signal. \param wanted none: keeps the position, or takes the middle one if the
    /// count is new
    void setPositions(int count, std::optional<int> wanted);
    void followToken(); ///< Shows the selected token without a signal.

signals:
    void changed(); ///< With every step of a slider.

private:
    void createLayout();
    void addPresets(QHBoxLayout* layout);

    QSlider* m_position;
    QSpinBox* m_positionBox;
    QList<QPushButton*> m_presets;
    TokenEdit* m_tokenEdit;
    QSlider* m_token;
    QTimer m_rest; // waits until the token's slider rests
};

} // namespace headwise::ui
