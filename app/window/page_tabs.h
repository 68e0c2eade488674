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

/// Tabs whose pages are made when they are first shown: a window is there before what nobody has asked for yet.
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

    /// What a session keeps of every page, by name; for a page not yet made, what it was last given.
    QJsonObject viewState() const;
    void setViewState(const QJsonObject& state);

signals:
    void pageMade(ui::Page* page);

protected:
    void resizeEvent(QResizeEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void showList(); ///< The button of all pages, where the bar has no room for them.

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
