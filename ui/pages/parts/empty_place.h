#pragma once

#include "ui/pages/parts/fill_button.h"

#include <QWidget>

class QHBoxLayout;
class QLabel;

namespace headwise::ui {

/// The middle of a page with nothing to show: the reason, and below it the buttons that fill the page.
class EmptyPlace : public QWidget {
public:
    explicit EmptyPlace(QWidget* parent);

    void explain(const QString& reason, std::initializer_list<FillButton::Lack> lacks);

private:
    QLabel* m_reason;
    QHBoxLayout* m_buttons;
};

} // namespace headwise::ui
