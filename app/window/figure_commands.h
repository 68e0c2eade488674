#pragma once

#include "app/window/window_part.h"

#include "core/model/head_id.h"

#include "ui/figures/figure_export.h"

#include <QHash>
#include <QList>
#include <QPointer>
#include <QString>
#include <QTimer>

#include <memory>
#include <vector>

class QMenu;
class QPoint;
class QWidget;

namespace headwise::ui {
class DragFolder;
class FigureBatch;
class FigureWriter;
class Job;
class NoticeBar;
class SubjectMenu;
} // namespace headwise::ui

namespace headwise::app {

class Pages;
class WindowSettings;

/// Exports and copies the pictures that are shown, and their numbers.
class FigureCommands : public WindowPart {
    Q_OBJECT

public:
    FigureCommands(QMainWindow* window, ui::Workspace* workspace, WindowSettings* settings, Pages* pages,
                   ui::NoticeBar* notices);

    void exportFigure(); ///< Asks for the picture if there are several.
    /// Exports the present picture with the last settings, under its own name or the next free one, without a dialog.
    void exportAgain();
    void exportHeads(); ///< The same picture of other heads, one file each.
    bool copyFocused(); ///< The picture that has the focus; false: none has.
    /// Offers what can be done with the head, pair or token at a position, and with the picture.
    void showMenu(QWidget* view, const QPoint& position);

protected:
    bool eventFilter(QObject* watched,
                     QEvent* event) override; ///< Remembers the picture clicked or focused last.

private:
    /// The picture of the page that was clicked or focused last, else its only one; null if there are several.
    ui::FigureSource* figureMeant() const;

    using Command = void (FigureCommands::*)(ui::FigureSource*);

    void choose(const QList<ui::FigureSource*>& sources, Command command);
    void exportFigureOf(ui::FigureSource* source);
    void exportHeadsOf(ui::FigureSource* source);
    void startBatch(ui::FigureSource* source, const std::vector<HeadId>& heads, const QString& folder);
    /// How this picture was exported last, as the session keeps it; else the last settings.
    FigureSettings settingsFor(const ui::FigureSource& source) const;
    /// Returns the file for the present picture: the name it was exported under, else its title, in the last folder.
    QString fileFor(const ui::FigureSource& source, FigureFormat format) const;
    /// Says where a figure is.
    void tellOfExport(const QString& file, const std::function<void()>& copy);
    /// Posts a notice that offers to open the folder and, if there is a command for it, to copy the picture.
    void offer(const QString& message, const QString& folder, const std::function<void()>& copy);
    ui::FigureWriter* writer();             ///< Made when first asked for.
    void showJob(ui::Job* job);             ///< In the status bar.
    void useInPrompt(const QString& token); ///< At the end of what is there.
    void addExports(QMenu* menu, ui::FigureSource* source);
    void addCopies(QMenu* menu, ui::FigureSource* source);
    bool isOfHead(ui::FigureSource* source) const; ///< Other heads have the same picture.
    void dragOut(QWidget* picture); ///< Into another program, as a picture, a drawing, numbers or files.

    WindowSettings* m_settings;
    Pages* m_pages;
    ui::SubjectMenu* m_subjects;
    ui::NoticeBar* m_notices;
    QString m_exportedTo;            // by the dialog, in this window
    QHash<QString, QString> m_names; // files that the user named, by the title of the picture
    QTimer m_noticeEnd;
    const ui::FigureSource* m_exported = nullptr; // to compare with only; it may be gone
    QPointer<QWidget> m_clicked;                  // the picture clicked since that export
    QPointer<QWidget> m_touched;                  // the picture clicked or focused last
    std::shared_ptr<ui::DragFolder> m_dragFolder;
    ui::FigureWriter* m_writer = nullptr;
    ui::FigureBatch* m_batch = nullptr;
};

} // namespace headwise::app
