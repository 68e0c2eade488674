#pragma once

#include <QObject>
#include <QSocketNotifier>

namespace headwise::app {

/// Turns the first SIGTERM or SIGHUP into a signal on the GUI thread. The second one ends the program at once.
class Termination : public QObject {
    Q_OBJECT

public:
    explicit Termination(QObject* parent = nullptr); ///< Only one per program.
    ~Termination() override;

signals:
    void asked(int signal);

private:
    int m_pipe[2] = {-1, -1};
    QSocketNotifier m_notifier;
};

} // namespace headwise::app
