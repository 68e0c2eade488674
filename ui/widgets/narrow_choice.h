#pragma once

#include <QComboBox>

namespace headwise::ui {

/// A combo box whose entries may be wider than the box. The current entry then ends in an ellipsis; the tooltip and the
/// list, which is as wide as the longest entry, show it whole.
class NarrowChoice : public QComboBox {
    Q_OBJECT

public:
    /// \param characters of the current entry that always fit
    explicit NarrowChoice(int characters, QWidget* parent = nullptr);

    void showPopup() override;

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    QString fitting() const; ///< The current entry, cut to the available width.
};

} // namespace headwise::ui
