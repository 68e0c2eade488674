#pragma once

#include <QFrame>
#include <QString>

#include <functional>
#include <utility>
#include <vector>

class QHBoxLayout;
class QLabel;

namespace headwise::ui {

/// A strip over the pages that says what happened and offers what to do about it; never in the way.
///
/// Several notices wait for one another. Escape, ✕ and every button of a notice end it.
class NoticeBar : public QFrame {
    Q_OBJECT

public:
    struct Choice {
        QString text;
        std::function<void()> chosen;
    };
    struct Notice {
        QString id; ///< A new notice takes the place of one with the same id.
        QString text;
        std::vector<Choice> choices;
        std::function<void()> dismissed = {}; ///< By ✕ or Escape.
    };

    explicit NoticeBar(QWidget* parent = nullptr);

    void post(Notice notice);
    void withdraw(const QString& id);

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    void showFirst();
    void end(const std::function<void()>& then);

    std::vector<Notice> m_notices; // the first is shown
    QLabel* m_text;
    QHBoxLayout* m_buttons;
};

} // namespace headwise::ui
