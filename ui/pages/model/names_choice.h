#pragma once

#include "ui/pages/model/names_question.h"

#include <QWidget>

class QButtonGroup;
class QHBoxLayout;
class QLabel;

namespace headwise::ui {

/// Asks what names and shapes leave open, with a diagram for each answer. Keeps its place while there is nothing to ask.
class NamesChoice : public QWidget {
    Q_OBJECT

public:
    explicit NamesChoice(QWidget* parent = nullptr);

    /// \param current the answer in use; −1: none of them
    void ask(const QString& tensors, const NamesQuestion& question, int current);

signals:
    void answered(const headwise::ui::NamesAnswer& answer);

private:
    QLabel* m_words;
    QHBoxLayout* m_line;
    QWidget* m_answers;
};

} // namespace headwise::ui
