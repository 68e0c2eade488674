#pragma once

#include <QComboBox>

namespace headwise::ui {

/// A choice among names that may be longer than its room: the chosen one then ends in an ellipsis, and is whole in the tool
/// tip and in the list, which is as wide as its longest name.
class NarrowChoice : public QComboBox {
    Q_OBJECT

public:
    /// \param characters of the current name that have room at least
    explicit NarrowChoice(int characters, QWidget* parent = nullptr);

    void showPopup() override;

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    QString fitting() const; ///< As much of the current name as there is room for.
};

} // namespace headwise::ui
