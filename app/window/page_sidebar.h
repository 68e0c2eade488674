#pragma once

#include <QTreeWidget>

#include <vector>

namespace headwise::app {

/// The list of pages beside them, under the question that each answers. A page that cannot apply is greyed with the reason as
/// its tooltip.
class PageSidebar : public QTreeWidget {
    Q_OBJECT

public:
    explicit PageSidebar(QWidget* parent = nullptr);

    /// Adds a page below the heading, which is made if there is none yet. Without a heading it stands by itself.
    void add(const QString& title, const QString& heading);

    void setCurrent(int page); ///< Emits no signal.
    /// Greys a page that has nothing to show; an empty reason enables it again.
    void setReason(int page, const QString& whyNot);
    QString reason(int page) const;
    /// Returns the nearest page that can be opened before (-1) or after (1) `page` in the order shown; -1 if there is none.
    int neighbour(int page, int step) const;

    void keyboardSearch(const QString& /*letters*/) override {
    } ///< Does nothing: letters belong to the window.

signals:
    void chosen(int page);
    void headingChosen(const QString& heading);

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override; ///< A drag chooses nothing.
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void fitWidth();                ///< Makes the list as wide as its longest title.
    void fitRows();                 ///< Makes rows low enough for all of them, as far as the text allows.
    void enable(int page);          ///< Enables the page if it can be opened or is.
    std::vector<int> shown() const; ///< Pages in the order shown.

    std::vector<QTreeWidgetItem*> m_pages;
    QTreeWidgetItem* m_current = nullptr;
};

} // namespace headwise::app
