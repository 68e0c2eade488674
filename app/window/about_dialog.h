#pragma once

#include <QDialog>

namespace headwise::app {

/// Which program this is, down to the libraries, in a form that can be copied into a report.
class AboutDialog : public QDialog {
    Q_OBJECT

public:
    explicit AboutDialog(QWidget* parent = nullptr);
};

/// One fact a line: versions, build, system, screens. Nothing of what is open, no path, no name of a user.
QString diagnostics();

} // namespace headwise::app
