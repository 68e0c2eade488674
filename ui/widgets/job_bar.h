#pragma once

#include <QElapsedTimer>
#include <QWidget>

class QHBoxLayout;
class QLabel;
class QProgressBar;
class QToolButton;

namespace headwise::ui {

class Job;

/// The title, progress, time left and cancel button of one job; hidden while no work runs. Its line keeps its height, so
/// that a job does not move the page.
class JobBar : public QWidget {
    Q_OBJECT

public:
    explicit JobBar(Job* job, QWidget* parent = nullptr);

    QSize sizeHint() const override { return inLine(QWidget::sizeHint()); }
    QSize minimumSizeHint() const override { return inLine(QWidget::minimumSizeHint()); }

private:
    QSize inLine(const QSize& shown) const; ///< As high as with a job, and without width while hidden.
    void setShown(bool shown);
    void begin(const QString& title);
    void show(int permille, const QString& step);

    QLabel* m_title;
    QProgressBar* m_progress;
    QLabel* m_step;
    QToolButton* m_cancel;
    QElapsedTimer m_clock;
};

/// Returns a row of two lines for `words`, which give way to the bar of `job` while it runs.
QHBoxLayout* textAndJob(QLabel* words, Job* job);

} // namespace headwise::ui
