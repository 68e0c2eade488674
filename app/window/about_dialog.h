#pragma once

#include <QDialog>

namespace headwise::app {

/// Dialog with the versions of the program and its libraries, in a form that can be copied into a report.
class AboutDialog : public QDialog {
    Q_OBJECT

public:
    explicit AboutDialog(QWidget* parent = nullptr);
};

/// Returns one fact per line: versions, build, system, screens. Contains no open file, no path and no user name.
QString diagnostics();

} // namespace headwise::app
