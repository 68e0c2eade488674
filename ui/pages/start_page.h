#pragma once

#include <QStringList>
#include <QWidget>

class QVBoxLayout;
class QLabel;

namespace headwise::ui {

/// What an empty window shows: a place to drop a model, the demo, the recent files.
class StartPage : public QWidget {
    Q_OBJECT

public:
    explicit StartPage(QWidget* parent = nullptr);

    void setRecentFiles(const QStringList& files);
    /// The sentence of what could not be opened, shown where the user looks; empty hides it.
    void setError(const QString& message);
    void setDemoAvailable(bool available);

signals:
    void openFolderRequested();
    void openFileRequested();
    void openDemoRequested();
    void openRecentRequested(const QString& path);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QVBoxLayout* m_recent;
    QLabel* m_recentHeading;
    QLabel* m_error;
    QWidget* m_errorBox;
    QWidget* m_dropZone;
    QWidget* m_demoButton;
};

} // namespace headwise::ui
