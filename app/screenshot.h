#pragma once

#include <QObject>
#include <QString>
#include <QTimer>

namespace headwise::app {

class MainWindow;

/// Writes a picture of the window once no computation is running, and exits with 0 or the command line's error code.
class Screenshot : public QObject {
    Q_OBJECT

public:
    Screenshot(MainWindow* window, const QString& file);

private:
    void look();

    MainWindow* m_window;
    QString m_file;
    QTimer m_timer;
    int m_looks = 0, m_quiet = 0; // number of checks; of consecutive checks without running jobs
};

} // namespace headwise::app
