#pragma once

#include <QWidget>

class QLabel;

namespace headwise::app {

/// The line above a page: a sentence on what it shows and how to read it, and a "?" with the whole explanation.
class PageSentence : public QWidget {
    Q_OBJECT

public:
    explicit PageSentence(QWidget* parent = nullptr);

    void showPage(const QString& name); ///< Nothing for a page without a sentence.

private:
    QLabel* m_sentence;
    QString m_page;
};

} // namespace headwise::app
