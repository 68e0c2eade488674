#include "ui/pages/export/described_export.h"

#include "core/base/task.h"
#include "core/files/json.h"
#include "core/series/step_curves.h"
#include "core/session/figure_description.h"
#include "core/session/session.h"
#include "ui/document/session_file.h"
#include "ui/document/training_series.h"
#include "ui/document/workspace.h"
#include "ui/pages/export/export_dialog.h"
#include "ui/pages/export/figure_export_batch.h"
#include "ui/pictures/described_figure.h"

#include <QDir>
#include <QFileInfo>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace headwise::ui {
namespace {

/// A figure and the results or the series that it is drawn from.
struct DrawnDescription {
    std::unique_ptr<const Session> session;
    std::vector<SeriesStep> steps;
    std::unique_ptr<DescribedFigure> figure;
};

/// A description, and how the session and the dialog call its figure.
struct NamedDescription {
    FigureDescription description;
    QString name;
    QString path; ///< Suggested for the file, without an ending.
};

/// Returns the description with the page and the title that were chosen in the dialog, if they can be drawn.
FigureDescription withChoices(const FigureDescription& description, const FigureSettings& settings,
                              const ComposedFigure& page)
{
    FigureDescription chosen = description;
    chosen.page.width = settings.width;
    chosen.page.height = settings.height;
    chosen.page.fontSize = settings.style.fontSize;
    chosen.page.lineWidth = settings.style.lineWidth;
    chosen.page.font = settings.style.fontFamily;
    chosen.page.dpi = settings.dpi;
    if (!settings.style.edits.title.empty())
        chosen.title = settings.style.edits.title;
    const bool isDrawn = page.crowded(paintedSize(settings), settings.style).isEmpty()
        && parseFigureDescription(headwise::text(chosen), "chosen");
    return isDrawn ? chosen : description;
}

/// Keeps its figure as long as it shows it.
class DescribedDialog : private DrawnDescription, public ExportDialog {
public:
    DescribedDialog(DrawnDescription drawn, const FigureSettings& settings, const QString& path,
                    QWidget* parent)
        : DrawnDescription(std::move(drawn))
        , ExportDialog(&figure->page(), settings, path, parent)
    {
    }

    const ComposedFigure& page() const { return figure->page(); }
};

/// The file of the open series if a description is drawn from it: it asks for a step or for all of them, or no checkpoint is
/// open as a model. Else empty.
std::filesystem::path seriesFor(const FigureDescription& description, const Workspace& workspace)
{
    const auto isOfSteps = [](const FigurePanel& panel) {
        return panel.step != FigurePanel::lastStep || showsAllSteps(panel.view);
    };
    const bool isOfSeries = TrainingSeries::isOpenIn(workspace)
        && (workspace.model()->isSeries() || std::ranges::any_of(description.panels, isOfSteps));
    return isOfSeries ? TrainingSeries::openIn(workspace)->file() : std::filesystem::path();
}

/// Errors: those of readSeriesSteps() and DescribedFigure::make().
Result<DrawnDescription> drawnFrom(const FigureDescription& description, const Workspace& workspace,
                                   const std::filesystem::path& series)
{
    DrawnDescription drawn;
    if (series.empty()) {
        drawn.session = std::make_unique<const Session>(workspace.session()->snapshot({})());
    } else {
        auto steps = readSeriesSteps(series, Task{});
        if (!steps)
            return steps.error();
        drawn.steps = std::move(steps).value();
        addStepCurves(drawn.steps);
    }
    auto figure = series.empty() ? DescribedFigure::make(description, *drawn.session)
                                 : DescribedFigure::make(description, FigureSessions(drawn.steps));
    if (!figure)
        return figure.error();
    drawn.figure = std::move(figure).value();
    return drawn;
}

Result<std::unique_ptr<ExportDialog>> dialogOf(const NamedDescription& named, const Workspace& workspace,
                                               QWidget* parent)
{
    const std::filesystem::path series = seriesFor(named.description, workspace);
    Result<DrawnDescription> made = drawnFrom(named.description, workspace, series);
    if (!made)
        return made.error();
    DrawnDescription drawn = std::move(made).value();
    FigureDescription recipe = named.description;
    if (const std::filesystem::path file = series.empty() ? workspace.session()->path() : series;
        !file.empty())
        recipe.session = file.filename().string();
    drawn.figure->addRecipe(recipe, {});
    auto dialog = std::make_unique<DescribedDialog>(
        std::move(drawn), figureSettings(named.description, FigureFormat::Pdf), named.path, parent);
    QObject::connect(dialog.get(), &QDialog::finished, workspace.session(),
                     [named, shown = dialog.get(), kept = workspace.session()] {
                         kept->keepFigure(named.name,
                                          withChoices(named.description, shown->settings(), shown->page()));
                     });
    return std::unique_ptr<ExportDialog>(std::move(dialog));
}

} // namespace

Result<std::unique_ptr<ExportDialog>> describedExport(const QString& file, const Workspace& workspace,
                                                      QWidget* parent)
{
    const QFileInfo info(file);
    const Result<std::string> words = readTextFile(file.toStdString());
    if (!words)
        return words.error();
    const Result<FigureDescription> description =
        parseFigureDescription(*words, info.fileName().toStdString());
    if (!description)
        return description.error();
    const QString name = info.completeBaseName();
    return dialogOf({*description, name, info.path() + u'/' + name}, workspace, parent);
}

Result<std::unique_ptr<ExportDialog>> keptExport(const QString& name, const QString& folder,
                                                 const Workspace& workspace, QWidget* parent)
{
    const KeptFigures kept = workspace.session()->figures();
    const auto found = kept.composed.find(name.toStdString());
    if (found == kept.composed.end())
        return Error{ErrorCode::NotFound,
                     "The session keeps no figure '" + name.toStdString() + "' any more."};
    return dialogOf({found->second, name, QDir(folder).filePath(FigureBatch::fileNameOf(name))}, workspace,
                    parent);
}

} // namespace headwise::ui
