#pragma once

#include "app/window/page_tabs.h"

#include "core/model/config.h"
#include "core/session/screen.h"
#include "ui/pages/parts/fill_button.h"

#include <QTimer>

#include <functional>
#include <string_view>
#include <vector>

namespace headwise::ui {
class FigureSource;
class HeadsPage;
class ResultPage;
class SavedScreen;
class Workspace;
} // namespace headwise::ui

namespace headwise::app {

/// The pages of this program and the links between them. Also manages the head grid beside them.
class Pages : public PageTabs {
    Q_OBJECT

public:
    Pages(ui::Workspace* workspace, ui::HeadsPage* heads, QWidget* parent);

    void showPage(const QString& name); ///< "overview", "tokens", …; ignores unknown names.
    /// Shows a page with some of its view state changed.
    void showOn(const QString& name, const QJsonObject& choice);
    /// Shows what a session or another window kept: selection, question and the choices of every page.
    void restore(const QJsonObject& state);
    void runAnalysis(std::string_view id);   ///< On its page, with the inputs of that page.
    void showAnalysis(const QString& id);    ///< The same, but runs it only where it has no results yet.
    void showQuestion(const QString& title); ///< All analyses of a question, as panels.

    /// The pictures of the current page and of the head grid; none while nothing is open.
    QList<ui::FigureSource*> figures();
    /// Whether other heads have the pictures of the current page, too.
    bool hasPicturesOfHead() const;
    /// Returns the digit that opens the page; empty for a page without one.
    QByteArray digitOf(int index) const;
    /// Returns the choices of the picture's page that differ from those of a new page.
    QJsonObject choicesOf(ui::FigureSource* figure);
    /// Makes further pages like the current one.
    std::function<ui::Page*(ui::Workspace*)> copier();

signals:
    void readOutChanged(const QString& text);
    void figureMenuRequested(QWidget* figure, const QPoint& position);
    void modelWanted();                     ///< The user wants to choose the newer model's folder…
    void modelFileWanted();                 ///< …or its only file.
    void stepWanted(const QString& path);   ///< The user wants to open a checkpoint of the series…
    void stepCompared(const QString& path); ///< …or to compare the model with it.
    void fillWanted(headwise::ui::FillButton::Lack lack); ///< The user wants what an empty page lacks.

protected:
    /// Keeps a right click on a table from selecting its row.
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct Row;
    static const std::vector<Row>& rows();
    template <typename PageKind>
    static Row row(const Row& words); ///< The row of a kind of page.
    template <typename PageKind>
    ui::Page* make(ui::Workspace* workspace); ///< Connects its requests, too.
    /// Adds the button that fills the page to one with nothing to show.
    void inviteToFill(ui::Page* page, const ui::Workspace* workspace, QString (*whyNot)(const ui::Workspace&),
                      bool needsTokenizer);
    /// Adds the button that asks for the config fields on which the page depends.
    void inviteToComplete(ui::Page* page, const ui::Workspace* workspace, std::vector<ConfigField> needed);
    void grey();         ///< The pages that have nothing to show of what is open.
    void connectSaved(); ///< The pictures that sessions keep for a time without the model.
    /// Takes down the pictures of the visited pages, the current one first; empty without the model.
    std::function<std::vector<ScreenPicture>()> screen();
    void prepare(ui::Page* page);
    void prepareView(QWidget* view); ///< A picture that can be exported, or another view with a menu.
    ui::ResultPage* showResults();

    ui::Workspace* m_workspace;
    ui::HeadsPage* m_heads;
    ui::SavedScreen* m_saved;
    QTimer m_later; // one look at the current page for all changes of an event
};

} // namespace headwise::app
