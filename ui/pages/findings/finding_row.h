#pragma once

#include "core/findings/findings.h"

#include <QFrame>

class QLabel;
class QPushButton;
class QToolButton;

namespace headwise::ui {

struct Subject;

/// One finding: its sentence, the numbers behind it, and buttons that lead to its picture and its rule.
///
/// Enter and a double click open the picture, Ctrl+C copies the sentence, Up and Down go to the next row.
class FindingRow : public QFrame {
    Q_OBJECT

public:
    explicit FindingRow(QWidget* parent = nullptr);

    /// \param canVerify whether the model's files are here, so that a candidate can be run on random tokens
    void setFinding(const Finding& finding, bool canVerify);
    const Finding& finding() const { return m_finding; }

signals:
    void opened();          ///< The picture is wanted.
    void verifyRequested(); ///< The model is to run on random tokens.
    void hovered(bool isOver);
    void stepped(int rows); ///< Another row is to get the focus: −1 or 1.

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void enterEvent(QEnterEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    void layOut();
    void createActions();
    void showRule();
    Subject subject() const; ///< Its heads, for the menu.

    Finding m_finding;
    QLabel* m_sentence;
    QLabel* m_evidence;
    QPushButton* m_show;
    QPushButton* m_verify;
    QToolButton* m_rule;
};

} // namespace headwise::ui
