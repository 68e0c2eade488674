#include "app/window/export_heads_dialog.h"
#include "app/window/main_window.h"
#include "app/window/page_tabs.h"
#include "core/base/log.h"
#include "ui/base/icons.h"
#include "ui/base/text.h"
#include "ui/figures/figure_writer.h"
#include "ui/pages/analyses/result_page.h"
#include "ui/pages/compare/compare_page.h"
#include "ui/pages/composition/composition_page.h"
#include "ui/pages/export/export_dialog.h"
#include "ui/pages/export/figure_export_batch.h"
#include "ui/pages/heads/heads_page.h"
#include "ui/pages/matrix/heatmap_page.h"
#include "ui/pages/model/folding_page.h"
#include "ui/pages/overview/overview_page.h"
#include "ui/pages/position/position_page.h"
#include "ui/pages/prompt/prompt_page.h"
#include "ui/pages/relations/relations_page.h"
#include "ui/pages/scores/scores_page.h"
#include "ui/pages/spectrum/spectrum_page.h"
#include "ui/pages/spectrum/vectors_page.h"
#include "ui/pages/tokens/tokens_page.h"
#include "ui/widgets/job_bar.h"
#include "ui/widgets/table_copy.h"

#include <QApplication>
#include <QClipboard>
#include <QCursor>
#include <QDir>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMenu>
#include <QPointer>
#include <QStatusBar>

#include <spdlog/logger.h>

#include <array>

// Taking pictures and their numbers away.

namespace headwise::app {

using namespace headwise::ui;

namespace {

template <typename PageKind>
Page* make(Workspace* workspace)
{
    return new PageKind(workspace); // The caller owns it.
}

struct PageMaker {
    QLatin1StringView name; ///< Of the tab, as addPage() has it.
    Page* (*make)(Workspace*);
};
/// The pages with pictures of one head.
constexpr std::array pageMakers{PageMaker{QLatin1StringView("overview"), make<OverviewPage>},
                                PageMaker{QLatin1StringView("tokens"), make<TokensPage>},
                                PageMaker{QLatin1StringView("matrix"), make<HeatmapPage>},
                                PageMaker{QLatin1StringView("spectrum"), make<SpectrumPage>},
                                PageMaker{QLatin1StringView("vectors"), make<VectorsPage>},
                                PageMaker{QLatin1StringView("position"), make<PositionPage>},
                                PageMaker{QLatin1StringView("scores"), make<ScoresPage>},
                                PageMaker{QLatin1StringView("composition"), make<CompositionPage>},
                                PageMaker{QLatin1StringView("compare"), make<ComparePage>},
                                PageMaker{QLatin1StringView("prompt"), make<PromptPage>},
                                PageMaker{QLatin1StringView("folding"), make<FoldingPage>},
                                PageMaker{QLatin1StringView("relations"), make<RelationsPage>},
                                PageMaker{QLatin1StringView("analyses"), make<ResultPage>}};

const PageMaker* makerOf(const QString& name)
{
    for (const PageMaker& row : pageMakers)
        if (row.name == name)
            return &row;
    return nullptr;
}

/// The picture of `page` that has the focus, or its only one; null where that leaves a choice.
FigureSource* figureMeant(Page* page)
{
    const QList<FigureSource*> sources = page->figures();
    QWidget* focus = QApplication::focusWidget();
    for (QWidget* widget = focus; widget; widget = widget->parentWidget())
        if (auto* source = dynamic_cast<FigureSource*>(widget); source && sources.contains(source))
            return source;
    const bool isElsewhere = dynamic_cast<FigureSource*>(focus) && !page->isAncestorOf(focus);
    return sources.size() == 1 && !isElsewhere ? sources.first() : nullptr;
}

/// Does `what` with the picture where it is still there: analyses that end while a menu is open replace their pictures.
template <typename What>
auto ifThere(FigureSource* source, What what)
{
    return [there = QPointer<QObject>(dynamic_cast<QObject*>(source)), source, what] {
        if (there)
            what(source);
    };
}

} // namespace

QList<FigureSource*> MainWindow::figures() const
{
    auto* page = m_tabs->currentPage();
    return m_workspace->model()->isOpen() ? page->figures() + m_heads->figures() : QList<FigureSource*>();
}

void MainWindow::exportFigure()
{
    const QList<FigureSource*> sources = figures();
    if (sources.isEmpty())
        return showMessage(tr("There is no picture to export yet."));
    if (FigureSource* meant = figureMeant(m_tabs->currentPage()))
        return exportFigureOf(meant);
    QMenu menu(this);
    for (FigureSource* source : sources)
        menu.addAction(source->figureTitle(), this,
                       ifThere(source, [this](FigureSource* there) { exportFigureOf(there); }));
    menu.exec(QCursor::pos());
}

QString MainWindow::exportFolder() const
{
    if (!m_settings.exportFolder.isEmpty() && QDir(m_settings.exportFolder).exists())
        return m_settings.exportFolder;
    return m_settings.lastFolder.isEmpty() ? QDir::homePath() : m_settings.lastFolder;
}

void MainWindow::exportFigureOf(FigureSource* source)
{
    const QString name = FigureBatch::fileNameOf(source->figureTitle());
    auto* dialog = new ExportDialog(source, parseFigureSettings(m_settings.figure),
                                    QDir(exportFolder()).filePath(name), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setHeadsOffered(isOfHead(source));
    connect(dialog, &ExportDialog::exported, this, [this, source](const QString& file) {
        keepFolderOf(file);
        m_exportedTo = file;
        m_exported = source;
        logger().info("exported {}", file.toStdString());
        showMessage(tr("Exported %1").arg(file));
    });
    connect(dialog, &QDialog::finished, this, [this, dialog] {
        keep([dialog](Settings& settings) { settings.figure = ui::text(dialog->remembered()); });
    });
    connect(dialog, &ExportDialog::headsRequested, this, [this, source] {
        if (figures().contains(source))
            exportHeadsOf(source);
    });
    if (const auto* view = dynamic_cast<QObject*>(source))
        connect(view, &QObject::destroyed, dialog, &ExportDialog::forgetSource);
    dialog->open();
}

void MainWindow::exportAgain()
{
    const QList<FigureSource*> sources = figures();
    if (m_exportedTo.isEmpty() || sources.isEmpty())
        return exportFigure();
    FigureSource* source = sources.first();
    for (FigureSource* shown : sources)
        if (shown == m_exported)
            source = shown;
    FigureSettings settings = parseFigureSettings(m_settings.figure);
    if (const Result<FigureFormat> format = figureFormatOf(m_exportedTo))
        settings.format = *format;
    settings = fittedToView(*source, settings);
    figureWriter()->write(*source, m_exportedTo, settings, FigureWriter::Naming::NextFree);
}

FigureWriter* MainWindow::figureWriter()
{
    if (m_writer)
        return m_writer;
    m_writer = new FigureWriter(this);
    statusBar()->addWidget(new JobBar(m_writer->job(), this));
    connect(m_writer, &FigureWriter::written, this, [this](const QString& file) {
        logger().info("exported {}", file.toStdString());
        showMessage(tr("Exported %1").arg(file));
    });
    connect(m_writer, &FigureWriter::copied, this,
            [this](const QString& what) { showMessage(tr("Copied %1").arg(what)); });
    connect(m_writer, &FigureWriter::failed, this,
            [this](const QString& message) { showError(tr("Cannot export"), message); });
    return m_writer;
}

bool MainWindow::isOfHead(FigureSource* source) const
{
    auto* page = m_tabs->currentPage();
    return makerOf(m_tabs->currentName()) && page->figures().contains(source)
        && FigureBatch::isOfHead(source->figureTitle(), m_workspace->selection()->head());
}

void MainWindow::exportHeads()
{
    QList<FigureSource*> sources;
    for (FigureSource* source : figures())
        if (isOfHead(source))
            sources << source;
    if (sources.isEmpty())
        return showMessage(tr("There is no picture of the selected head on this page."));
    if (sources.size() == 1)
        return exportHeadsOf(sources.first());
    QMenu menu(this);
    for (FigureSource* source : sources)
        menu.addAction(source->figureTitle(), this,
                       ifThere(source, [this](FigureSource* there) { exportHeadsOf(there); }));
    menu.exec(QCursor::pos());
}

void MainWindow::exportHeadsOf(FigureSource* source)
{
    const FigureSettings settings = parseFigureSettings(m_settings.figure);
    const QString example = FigureBatch::fileNameOf(source->figureTitle()) + u'.' + suffixOf(settings.format);
    auto* dialog =
        new ExportHeadsDialog({m_workspace->model()->card().nLayers, m_workspace->model()->card().nHeads,
                               m_workspace->selection()->head(), FigureBatch::timeOfOne(settings)},
                              example, exportFolder(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [this, dialog, source] {
        if (figures().contains(source)) // Analyses that ended meanwhile may have replaced it.
            startBatch(source, dialog->heads(), dialog->folder());
    });
    dialog->open();
}

void MainWindow::startBatch(FigureSource* source, const std::vector<HeadId>& heads, const QString& folder)
{
    keep([&](Settings& settings) { settings.lastFolder = folder; });
    if (!m_batch) {
        m_batch = new FigureBatch(m_workspace, this);
        statusBar()->addWidget(new JobBar(m_batch->job(), this));
        connect(m_batch, &FigureBatch::finished, this,
                [this](int written, const QString& into, const QStringList& failures) {
                    logger().info("exported {} figures into {}", written, into.toStdString());
                    showMessage(written == 1 ? tr("Exported 1 figure into %1").arg(into)
                                             : tr("Exported %1 figures into %2").arg(written).arg(into));
                    if (!failures.isEmpty())
                        showError(failures.size() == 1 ? tr("1 figure is missing")
                                                       : tr("%1 figures are missing").arg(failures.size()),
                                  failures.join(u'\n'));
                });
    }
    const auto* page = m_tabs->currentPage();
    const PageMaker* maker = makerOf(m_tabs->currentName());
    const auto makePage = [make = maker->make, state = page->viewState(),
                           size = page->size()](Workspace* of) {
        Page* copy = make(of);
        copy->resize(size);
        copy->setViewState(state);
        return copy;
    };
    m_batch->start({heads, source->figureTitle(), folder, parseFigureSettings(m_settings.figure), makePage});
}

void MainWindow::addCopies(QMenu* menu, FigureSource* source)
{
    menu->addAction(icon("copy"), tr("Copy figure"), this, ifThere(source, [this](FigureSource* there) {
                        figureWriter()->copy(*there, parseFigureSettings(m_settings.figure));
                    }));
    const auto add = [&](const QString& words, FigureFormat format) {
        menu->addAction(words, this, ifThere(source, [this, format](FigureSource* there) {
                            figureWriter()->copyData(*there, format);
                        }));
    };
    add(tr("Copy data"), FigureFormat::Tsv);
    add(tr("Copy as LaTeX"), FigureFormat::Latex);
    add(tr("Copy as Markdown"), FigureFormat::Markdown);
    menu->addAction(tr("Copy caption"), this, ifThere(source, [this](FigureSource* there) {
                        QGuiApplication::clipboard()->setText(figureCaption(*there));
                        showMessage(tr("Copied the caption of %1").arg(there->figureTitle()));
                    }));
}

void MainWindow::showFigureMenu(QWidget* view, const QPoint& position)
{
    auto* source = dynamic_cast<FigureSource*>(view);
    if (!figures().contains(source))
        return; // nothing in it yet
    QMenu menu(this);
    menu.addActions(view->actions()); // what only this view can do
    addTokenCopies(&menu, view, position, m_workspace->model()->tokenizer().get());
    menu.addAction(icon("export"), tr("Export figure…"), this,
                   ifThere(source, [this](FigureSource* there) { exportFigureOf(there); }));
    if (isOfHead(source))
        menu.addAction(tr("Export all heads…"), this,
                       ifThere(source, [this](FigureSource* there) { exportHeadsOf(there); }));
    menu.addSeparator();
    addCopies(&menu, source);
    menu.exec(view->mapToGlobal(position));
}

} // namespace headwise::app
