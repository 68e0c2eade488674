#pragma once

#include "ui/pages/page.h"

class QFormLayout;
class QLabel;

namespace headwise::ui {

/// The architecture card: what the model is, where it came from, what was done to its weights, every warning.
class CardPage : public Page {
    Q_OBJECT

public:
    explicit CardPage(Workspace* workspace, QWidget* parent = nullptr);

private:
    void refresh();
    void addRow(const QString& name, const QString& value);

    QLabel* m_title;
    QFormLayout* m_rows;
    QLabel* m_processing;
    QLabel* m_warnings;
};

} // namespace headwise::ui
