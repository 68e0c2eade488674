#pragma once

#include <QDate>
#include <QHash>
#include <QStringList>
#include <QWidget>

class QVBoxLayout;
class QLabel;

namespace headwise::ui {

/// Description of a recent file when it was last opened.
struct RecentCard {
    int layers = 0;
    int heads = 0;
    int dModel = 0;
    QString kind; ///< The architecture, "gpt2"
    QDate opened;

    bool operator==(const RecentCard&) const = default;
};

/// Content of an empty window: a place to drop a model, the demo, the recent files.
class StartPage : public QWidget {
    Q_OBJECT

public:
    explicit StartPage(QWidget* parent = nullptr);

    /// \param cards  by path; a file without a card shows only its name. No file is read.
    void setRecentFiles(const QStringList& files, const QHash<QString, RecentCard>& cards = {});
    /// Shows an error about a file that could not be opened; empty hides it.
    void setError(const QString& message);
    void setDemoAvailable(bool available);
    void setDropHovered(bool hovered); ///< Whether a file that can be dropped is over the window.

signals:
    void openFolderRequested();
    void openFileRequested();
    void openDemoRequested();
    void openRecentRequested(const QString& path);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void createDropZone();
    void createError();
    QVBoxLayout* m_recent;
    QLabel* m_recentHeading;
    QLabel* m_error;
    QWidget* m_errorBox;
    QWidget* m_dropZone;
    QWidget* m_demoButton;
    bool m_isDropHovered = false;
};

} // namespace headwise::ui
