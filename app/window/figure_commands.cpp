#include "app/window/figure_commands.h"

#include "app/figure_command_line.h"
#include "app/window/export_heads_dialog.h"
#include "app/window/pages.h"
#include "app/window/window_settings.h"
#include "core/base/log.h"
#include "ui/base/icons.h"
#include "ui/base/text.h"
#include "ui/figures/figure_drag.h"
#include "ui/figures/figure_writer.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/pages/export/export_dialog.h"
#include "ui/pages/export/figure_export_batch.h"
#include "ui/pages/export/figure_fit.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pages/parts/page.h"
#include "ui/pages/parts/subject_menu.h"
#include "ui/widgets/drag_out.h"
#include "ui/widgets/job_bar.h"
#include "ui/widgets/notice_bar.h"
#include "ui/widgets/subject.h"

#include <QAbstractScrollArea>
#include <QApplication>
#include <QClipboard>
#include <QCursor>
#include <QDesktopServices>
#include <QDir>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMenu>
#include <QPointer>
#include <QStatusBar>
#include <QUrl>

#include <algorithm>
#include <chrono>

namespace headwise::app {

using namespace headwise::ui;

namespace {

constexpr auto noticeTime = std::chrono::seconds(30);

/// Returns the picture that `widget` is or belongs to; null if there is none.
QWidget* pictureAround(QWidget* widget)
{
    while (widget && !dynamic_cast<FigureSource*>(widget))
        widget = widget->isWindow() ? nullptr : widget->parentWidget();
    return widget;
}

/// Calls `use` with the picture if it still exists. An analysis that ends while a menu is open replaces its pictures.
template <typename Use>
auto ifThere(FigureSource* source, Use use)
{
    return [there = QPointer<QObject>(dynamic_cast<QObject*>(source)), source, use] {
        if (there)
            use(source);
    };
}

} // namespace

FigureCommands::FigureCommands(QMainWindow* window, Workspace* workspace, WindowSettings* settings,
                               Pages* pages, NoticeBar* notices)
    : WindowPart(window, workspace)
    , m_settings(settings)
    , m_pages(pages)
    , m_subjects(new SubjectMenu(workspace, this))
    , m_notices(notices)
    , m_dragFolder(std::make_shared<DragFolder>())
{
    m_noticeEnd.setSingleShot(true);
    m_noticeEnd.setInterval(noticeTime);
    connect(&m_noticeEnd, &QTimer::timeout, this,
            [this] { m_notices->withdraw(QStringLiteral("exported")); });
    connect(pages, &Pages::figureMenuRequested, this, &FigureCommands::showMenu);
    connect(pages, &Pages::fillWanted, this, [this](FillButton::Lack lack) {
        if (lack == FillButton::Lack::Reference)
            m_subjects->compareWithNearest(m_workspace->selection()->head());
    });
    connect(m_subjects, &SubjectMenu::pageWanted, pages, &Pages::showPage);
    connect(m_subjects, &SubjectMenu::promptWanted, this, &FigureCommands::useInPrompt);
    connect(m_subjects, &SubjectMenu::problemFound, this, &FigureCommands::showMessage);
    auto* drags = new DragOut(
        [this](QWidget* widget) -> QWidget* {
            QWidget* picture = widget->window() == m_window ? pictureAround(widget) : nullptr;
            return m_pages->figures().contains(dynamic_cast<FigureSource*>(picture)) ? picture : nullptr;
        },
        this);
    connect(drags, &DragOut::dragged, this, &FigureCommands::dragOut);
    qApp->installEventFilter(
        this); // A click need not give a picture the focus, nor reach more than a part of it.
}

bool FigureCommands::eventFilter(QObject* watched, QEvent* event)
{
    // A window opens files that are dropped on it, but not its own.
    if (event->type() == QEvent::DragEnter
        && qobject_cast<QMainWindow*>(static_cast<QDragEnterEvent*>(event)->source())) {
        event->ignore();
        return true;
    }
    const bool isTouch = event->type() == QEvent::MouseButtonPress || event->type() == QEvent::FocusIn;
    auto* widget = isTouch ? qobject_cast<QWidget*>(watched) : nullptr;
    if (widget && widget->window() == m_window)
        if (QWidget* picture = pictureAround(widget)) {
            m_touched = picture;
            if (event->type() == QEvent::MouseButtonPress)
                m_clicked = picture;
        }
    return WindowPart::eventFilter(watched, event);
}

FigureSource* FigureCommands::figureMeant() const
{
    Page* page = m_pages->currentPage();
    const QList<FigureSource*> sources = page->figures();
    if (auto* source = dynamic_cast<FigureSource*>(m_touched.data()); source && sources.contains(source))
        return source;
    QWidget* focus = QApplication::focusWidget();
    const bool isElsewhere = dynamic_cast<FigureSource*>(focus) && !page->isAncestorOf(focus);
    return sources.size() == 1 && !isElsewhere ? sources.first() : nullptr;
}

void FigureCommands::choose(const QList<FigureSource*>& sources, Command command)
{
    QMenu menu(m_window);
    for (FigureSource* source : sources)
        menu.addAction(source->figureTitle(), this,
                       ifThere(source, [this, command](FigureSource* there) { (this->*command)(there); }));
    menu.exec(QCursor::pos());
}

void FigureCommands::exportFigure()
{
    const QList<FigureSource*> sources = m_pages->figures();
    if (sources.isEmpty())
        return showMessage(tr("There is no picture to export yet."));
    if (FigureSource* meant = figureMeant())
        return exportFigureOf(meant);
    choose(sources, &FigureCommands::exportFigureOf);
}

FigureSettings FigureCommands::settingsFor(const FigureSource& source) const
{
    const auto kept = m_workspace->session()->settingsOf(source.figureTitle());
    return kept ? *kept : parseFigureSettings(m_settings->now().figure);
}

void FigureCommands::exportFigureOf(FigureSource* source)
{
    const QString title = source->figureTitle();
    auto* dialog =
        new ExportDialog(source, settingsFor(*source),
                         QDir(m_settings->exportFolder()).filePath(FigureBatch::fileNameOf(title)), m_window);
    dialog->setPresets(parseFigurePresets(m_settings->now().figurePresets));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setHeadsOffered(isOfHead(source));
    const QPointer<QObject> there(dynamic_cast<QObject*>(source));
    connect(dialog, &ExportDialog::exported, this, [this, dialog, source, there, title](const QString& file) {
        m_settings->keepFolderOf(file);
        m_exportedTo = file;
        m_exported = source;
        m_clicked.clear();
        m_names[title] = file;
        const bool canCopy = there && !isData(dialog->settings().format);
        tellOfExport(file, canCopy ? writer()->copyOf(*source, dialog->settings()) : nullptr);
    });
    connect(dialog, &QDialog::finished, this, [this, dialog, title] {
        FigureSettings kept = dialog->remembered();
        kept.style.edits = dialog->settings().style.edits;
        m_workspace->session()->keepSettings(title, kept);
        m_settings->keep([figure = ui::text(dialog->remembered()),
                          presets = ui::text(dialog->presets())](Settings& settings) {
            settings.figure = figure;
            settings.figurePresets = presets;
        });
    });
    connect(dialog, &ExportDialog::headsRequested, this, [this, source] {
        if (m_pages->figures().contains(source))
            exportHeadsOf(source);
    });
    if (there)
        connect(there, &QObject::destroyed, dialog, &ExportDialog::forgetSource);
    dialog->open();
}

QString FigureCommands::fileFor(const FigureSource& source, FigureFormat format) const
{
    const QString& title = source.figureTitle();
    const QFileInfo named(m_names.value(title));
    const QFileInfo last(m_exportedTo);
    const QDir folder = m_names.contains(title) ? named.dir() : last.dir();
    const QString name = m_names.contains(title) ? named.completeBaseName() : FigureBatch::fileNameOf(title);
    return folder.filePath(name + u'.' + suffixOf(format));
}

void FigureCommands::exportAgain()
{
    const QList<FigureSource*> sources = m_pages->figures();
    if (m_exportedTo.isEmpty() || sources.isEmpty())
        return exportFigure();
    // A dialog that closes gives the focus back, perhaps to another picture; a click on the page tells which is meant.
    auto* source = dynamic_cast<FigureSource*>(m_clicked.data());
    if (!source || !m_pages->currentPage()->figures().contains(source)) {
        const auto last = std::ranges::find(sources, m_exported);
        source = last == sources.end() ? figureMeant() : *last;
    }
    if (!source)
        source = sources.first();
    FigureSettings settings = settingsFor(*source);
    if (const Result<FigureFormat> format = figureFormatOf(m_exportedTo))
        settings.format = *format;
    settings = fittedToView(*source, settings);
    const std::function<void()> copy =
        isData(settings.format) ? nullptr : writer()->copyOf(*source, settings);
    writer()->write(*source, fileFor(*source, settings.format), settings, FigureWriter::Naming::NextFree,
                    [this, copy](const QString& file) { tellOfExport(file, copy); });
}

void FigureCommands::tellOfExport(const QString& file, const std::function<void()>& copy)
{
    logInfo("exported " + file.toStdString());
    showMessage(tr("Exported %1").arg(file));
    const QFileInfo info(file);
    offer(tr("Exported %1").arg(info.fileName()), info.path(), copy);
}

void FigureCommands::offer(const QString& message, const QString& folder, const std::function<void()>& copy)
{
    std::vector<NoticeBar::Choice> choices{
        {tr("Open folder"), [folder] { QDesktopServices::openUrl(QUrl::fromLocalFile(folder)); }}};
    if (copy)
        choices.push_back({tr("Copy"), copy});
    m_notices->post({.id = QStringLiteral("exported"),
                     .text = message,
                     .choices = std::move(choices),
                     .isPassing = true});
    m_noticeEnd.start();
}

FigureWriter* FigureCommands::writer()
{
    if (m_writer)
        return m_writer;
    m_writer = new FigureWriter(this);
    showJob(m_writer->job());
    connect(m_writer, &FigureWriter::copied, this,
            [this](const QString& title) { showMessage(tr("Copied %1").arg(title)); });
    connect(m_writer, &FigureWriter::failed, this,
            [this](const QString& message) { showError(tr("Cannot export"), message); });
    return m_writer;
}

void FigureCommands::showJob(Job* job)
{
    m_window->statusBar()->addWidget(new JobBar(job, m_window));
}

bool FigureCommands::isOfHead(FigureSource* source) const
{
    return m_pages->hasPicturesOfHead() && m_pages->currentPage()->figures().contains(source)
        && FigureBatch::isOfHead(source->figureTitle(), m_workspace->selection()->head());
}

void FigureCommands::exportHeads()
{
    QList<FigureSource*> sources;
    for (FigureSource* source : m_pages->figures())
        if (isOfHead(source))
            sources << source;
    if (sources.isEmpty())
        return showMessage(tr("There is no picture of the selected head on this page."));
    if (sources.size() == 1)
        return exportHeadsOf(sources.first());
    choose(sources, &FigureCommands::exportHeadsOf);
}

void FigureCommands::exportHeadsOf(FigureSource* source)
{
    const FigureSettings settings = parseFigureSettings(m_settings->now().figure);
    const QString example = FigureBatch::fileNameOf(source->figureTitle()) + u'.' + suffixOf(settings.format);
    auto* dialog =
        new ExportHeadsDialog({m_workspace->model()->card().nLayers, m_workspace->model()->card().nHeads,
                               m_workspace->selection()->head(), FigureBatch::timeOfOne(settings)},
                              example, m_settings->exportFolder(), m_window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [this, dialog, source] {
        if (m_pages->figures().contains(source)) // Analyses that ended meanwhile may have replaced it.
            startBatch(source, dialog->heads(), dialog->folder());
    });
    dialog->open();
}

void FigureCommands::startBatch(FigureSource* source, const std::vector<HeadId>& heads, const QString& folder)
{
    m_settings->keep([folder](Settings& settings) { settings.lastFolder = folder; });
    if (!m_batch) {
        m_batch = new FigureBatch(m_workspace, this);
        showJob(m_batch->job());
        connect(m_batch, &FigureBatch::finished, this,
                [this](int written, const QString& into, const QStringList& failures) {
                    logInfo("exported " + std::to_string(written) + " figures into " + into.toStdString());
                    const QString done = written == 1
                        ? tr("Exported 1 figure into %1").arg(into)
                        : tr("Exported %1 figures into %2").arg(written).arg(into);
                    showMessage(done);
                    if (written > 0)
                        offer(done, into, nullptr);
                    if (!failures.isEmpty())
                        showError(failures.size() == 1 ? tr("1 figure is missing")
                                                       : tr("%1 figures are missing").arg(failures.size()),
                                  failures.join(u'\n'));
                });
    }
    m_batch->start({heads, source->figureTitle(), folder, parseFigureSettings(m_settings->now().figure),
                    m_pages->copier()});
}

bool FigureCommands::copyFocused()
{
    auto* source = dynamic_cast<FigureSource*>(QApplication::focusWidget());
    if (!source || !m_pages->figures().contains(source))
        return false;
    const bool isMatrix = qobject_cast<HeatmapView*>(QApplication::focusWidget()); // often of millions
    writer()->copy(*source, settingsFor(*source),
                   isMatrix ? FigureWriter::Numbers::LeftOut : FigureWriter::Numbers::Beside);
    return true;
}

void FigureCommands::dragOut(QWidget* picture)
{
    const auto* source = dynamic_cast<FigureSource*>(picture);
    if (!source)
        return;
    FigureSettings settings = settingsFor(*source);
    settings.format = FigureFormat::Png;
    dragFigure(*source, fittedToView(*source, settings), FigureBatch::fileNameOf(source->figureTitle()),
               m_dragFolder, m_window);
}

void FigureCommands::addCopies(QMenu* menu, FigureSource* source)
{
    QAction* copy = menu->addAction(
        icon("copy"), tr("Copy figure"), this,
        ifThere(source, [this](FigureSource* there) { writer()->copy(*there, settingsFor(*there)); }));
    copy->setToolTip(tr("You can also drag it into another program while holding Ctrl"));
    const auto add = [&](const QString& words, FigureFormat format) {
        menu->addAction(words, this, ifThere(source, [this, format](FigureSource* there) {
                            writer()->copyData(*there, format);
                        }));
    };
    add(tr("Copy data"), FigureFormat::Tsv);
    add(tr("Copy as LaTeX"), FigureFormat::Latex);
    add(tr("Copy as Markdown"), FigureFormat::Markdown);
    if (!figureViewName(*source).isEmpty())
        menu->addAction(tr("Copy command"), this,
                        ifThere(source,
                                [this](FigureSource* there) {
                                    QGuiApplication::clipboard()->setText(
                                        figureCommandLine(m_workspace, m_pages, there));
                                    showMessage(
                                        tr("Copied the command that draws %1").arg(there->figureTitle()));
                                }))
            ->setToolTip(tr("The command that draws this picture without the window"));
    menu->addAction(tr("Copy caption"), this, ifThere(source, [this](FigureSource* there) {
                        QGuiApplication::clipboard()->setText(
                            figureCaption(*there, settingsFor(*there).style));
                        showMessage(tr("Copied the caption of %1").arg(there->figureTitle()));
                    }));
}

void FigureCommands::addExports(QMenu* menu, FigureSource* source)
{
    menu->addAction(icon("export"), tr("Export figure…"), this,
                    ifThere(source, [this](FigureSource* there) { exportFigureOf(there); }));
    if (isOfHead(source))
        menu->addAction(tr("Export all heads…"), this,
                        ifThere(source, [this](FigureSource* there) { exportHeadsOf(there); }));
    menu->addSeparator();
    addCopies(menu, source);
}

void FigureCommands::useInPrompt(const QString& token)
{
    const QString name = QStringLiteral("prompt");
    Page* page = m_pages->page(m_pages->indexOfName(name));
    QString prompt = page->viewState()[name].toString();
    if (!m_workspace->model()->tokenizer() && !prompt.isEmpty())
        prompt += u' '; // between ids
    m_pages->showOn(name, {{name, prompt + token}});
}

void FigureCommands::showMenu(QWidget* view, const QPoint& position)
{
    const QList<QAction*> ownActions = view->actions();
    auto* source = dynamic_cast<FigureSource*>(view);
    const bool isFigure = source && m_pages->figures().contains(source);
    QMenu menu(m_window);
    menu.setToolTipsVisible(true);
    m_subjects->addTo(&menu, subjectAt(view, position));
    if (isFigure || !source) // else there is nothing in it yet
        menu.addActions(ownActions);
    if (isFigure)
        addExports(&menu, source);
    if (menu.isEmpty())
        return;
    const auto* area = qobject_cast<QAbstractScrollArea*>(view);
    menu.exec((area ? area->viewport() : view)->mapToGlobal(position));
}

} // namespace headwise::app
