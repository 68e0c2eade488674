#pragma once

#include <QPlainTextEdit>

namespace headwise::ui {

/// The last thousand lines of the program's log; lines may come from any thread.
class LogView : public QPlainTextEdit {
    Q_OBJECT

public:
    explicit LogView(QWidget* parent = nullptr);
};

} // namespace headwise::ui
