#pragma once

#include <QDialog>
#include <QList>
#include <QString>

#include <functional>

class QLineEdit;
class QListView;
class QStandardItemModel;

namespace headwise::ui {

/// A command as a menu names it.
struct PaletteCommand {
    QString title;
    QString path; ///< Its menus, "Analyses › Composition › "; empty: none.
    QString key;  ///< Its shortcut, native text.
    std::function<void()> run;
};

/// Returns the commands that match the typed text, best first: every word must occur in the title or path. Titles that
/// begin with the text come first, then titles with a word that does, then the rest.
QList<PaletteCommand> matchingCommands(const QList<PaletteCommand>& commands, const QString& typed);

/// A line that finds any command by a few letters of its name. Up and Down choose, Enter runs, Esc closes.
class CommandPalette : public QDialog {
    Q_OBJECT

public:
    explicit CommandPalette(const QList<PaletteCommand>& commands, QWidget* parent);

    /// Adds entries for any text besides the commands, such as a search for it.
    void setFallback(std::function<QList<PaletteCommand>(const QString& typed)> fallback);

protected:
    void showEvent(QShowEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void showMatches();
    void run(int row);

    QList<PaletteCommand> m_commands;
    QList<PaletteCommand> m_shown;
    std::function<QList<PaletteCommand>(const QString&)> m_fallback;
    QLineEdit* m_line;
    QListView* m_list;
    QStandardItemModel* m_model;
};

} // namespace headwise::ui
