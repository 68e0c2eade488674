#pragma once

#include <QFrame>
#include <QString>

#include <functional>
#include <utility>
#include <vector>

class QHBoxLayout;
class QLabel;

namespace headwise::ui {

/// A strip above the pages that reports an event and offers what to do about it, without blocking the window.
///
/// Several notices queue up. Escape, ✕ and every button of a notice end it.
class NoticeBar : public QFrame {
    Q_OBJECT

public:
    struct Choice {
        QString text;
        std::function<void()> chosen;
    };
    struct Notice {
        QString id; ///< A new notice replaces one with the same id.
        QString text;
        std::vector<Choice> choices;
        std::function<void()> dismissed = {}; ///< Called for ✕ and Escape.
        bool isPassing = false;               ///< Gives way to any other notice.
    };

    explicit NoticeBar(QWidget* parent = nullptr);

    void post(Notice notice);
    void withdraw(const QString& id);

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    void showFirst();
    void end(const std::function<void()>& then);

    std::vector<Notice> m_notices; // the first one is shown
    QLabel* m_text;
    QHBoxLayout* m_buttons;
};

} // namespace headwise::ui
