#pragma once

#include <QJsonObject>
#include <QWidget>

#include <functional>
#include <vector>

class QStackedWidget;
class QVBoxLayout;

namespace headwise::ui {
class Page;
}

namespace headwise::app {

class PageSentence;
class PageSidebar;

/// The pages, with a sidebar to choose one and a sentence above it. Each page is made when it is first shown, so that the
/// window appears early.
class PageTabs : public QWidget {
    Q_OBJECT

public:
    explicit PageTabs(QWidget* parent = nullptr);

    /// \param heading  the question under which the sidebar lists the page; empty: by itself
    void add(const QString& name, const QString& title, const QString& heading,
             std::function<ui::Page*()> make);

    int count() const;
    int currentIndex() const;
    void setCurrentIndex(int index);
    QWidget* widget(int index) const; ///< The scroll area of a page.
    QWidget* currentWidget() const { return widget(currentIndex()); }
    int indexOf(const QWidget* widget) const; ///< -1 if it is no scroll area of a page.
    QString tabText(int index) const;         ///< Title of a page in the sidebar.
    QString heading(int index) const; ///< The question that the page answers; empty for a page by itself.

    QString pageName(int index) const; ///< As a session and --goto call it; empty for no page.
    QString currentName() const { return pageName(currentIndex()); }
    int indexOfName(const QString& name) const; ///< -1: there is none.
    QStringList pageNames() const;
    ui::Page* page(int index);           ///< Made now if it was not yet.
    ui::Page* madePage(int index) const; ///< Null if it was not made yet.
    void placeBelow(QWidget* part); ///< Below every page, with two thirds of the height while it is visible.
    ui::Page* currentPage() { return page(currentIndex()); }

    /// Greys the page in the sidebar, with the reason; an empty one enables it. setCurrentIndex() still shows it.
    void setReason(int index, const QString& whyNot);
    /// Returns the width in px at which the sidebar and every page made so far fit without scrolling.
    int wantedWidth() const;
    int leastWidth() const; ///< The same where every page is as narrow as it can be, however uncomfortable.

    /// Returns the view state of every page, by name. A page not yet created returns the state it was last given.
    QJsonObject viewState() const;
    void setViewState(const QJsonObject& state);
    void forgetStates(); ///< Drops those given to pages that are not made yet.

signals:
    void pageMade(ui::Page* page);
    void currentChanged(int index);
    void headingChosen(const QString& heading); ///< Clicked in the sidebar.
    void wantedWidthChanged();                  ///< Perhaps: a page was made or laid out anew.

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override; ///< Ctrl+Tab and Ctrl+Page down go through the pages.

private:
    void goTo(int step); ///< To the next page or the one before, in a circle.

    struct Tab {
        QString name;
        QString title;
        QString heading;
        std::function<ui::Page*()> make;
        ui::Page* page = nullptr;
        QJsonObject state; // until it is made
    };
    std::vector<Tab> m_tabs;
    PageSidebar* m_sidebar;
    PageSentence* m_sentence;
    QStackedWidget* m_stack;
    QVBoxLayout* m_column;
};

} // namespace headwise::app
