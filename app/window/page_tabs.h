#pragma once

#include <QJsonObject>
#include <QTabWidget>

#include <functional>
#include <vector>

class QToolButton;

namespace headwise::ui {
class Page;
}

namespace headwise::app {

/// Tabs that create each page when it is first shown, so that the window appears early.
class PageTabs : public QTabWidget {
    Q_OBJECT

public:
    explicit PageTabs(QWidget* parent = nullptr);

    void add(const QString& name, const QString& title, std::function<ui::Page*()> make);

    QString pageName(int index) const; ///< As a session and --goto call it; empty for no tab.
    QString currentName() const { return pageName(currentIndex()); }
    int indexOfName(const QString& name) const; ///< -1: there is none.
    QStringList pageNames() const;
    ui::Page* page(int index); ///< Made now if it was not yet.
    ui::Page* currentPage() { return page(currentIndex()); }

    /// Returns the view state of every page, by name. A page not yet created returns the state it was last given.
    QJsonObject viewState() const;
    void setViewState(const QJsonObject& state);
    void forgetStates(); ///< Drops those given to pages that are not made yet.

signals:
    void pageMade(ui::Page* page);

protected:
    void resizeEvent(QResizeEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void showList(); ///< Shows the list button if the bar has no room for all tabs.

    struct Tab {
        QString name;
        std::function<ui::Page*()> make;
        ui::Page* page = nullptr;
        QJsonObject state; // until it is made
    };
    std::vector<Tab> m_tabs;
    QToolButton* m_list;
};

} // namespace headwise::app
