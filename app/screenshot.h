#pragma once

#include <QObject>
#include <QString>
#include <QTimer>

namespace headwise::app {

class MainWindow;

/// Writes a picture of the window once nothing is computed any more, and ends the program: 0, or as the command line does.
class Screenshot : public QObject {
    Q_OBJECT

public:
    Screenshot(MainWindow* window, const QString& file);

private:
    void look();

    MainWindow* m_window;
    QString m_file;
    QTimer m_timer;
    int m_looks = 0, m_quiet = 0; // how often we looked, how often in a row nothing ran
};

} // namespace headwise::app
