#include "ui/pages/export/described_export.h"

#include "core/files/json.h"
#include "core/session/figure_description.h"
#include "core/session/session.h"
#include "ui/document/session_file.h"
#include "ui/document/workspace.h"
#include "ui/pages/export/export_dialog.h"
#include "ui/pictures/described_figure.h"

#include <QFileInfo>

#include <utility>

namespace headwise::ui {
namespace {

/// A figure and the results that it is drawn from.
struct DrawnDescription {
    std::unique_ptr<const Session> session;
    std::unique_ptr<DescribedFigure> figure;
};

/// Keeps its figure as long as it shows it.
class DescribedDialog : private DrawnDescription, public ExportDialog {
public:
    DescribedDialog(DrawnDescription drawn, const FigureSettings& settings, const QString& path,
                    QWidget* parent)
        : DrawnDescription(std::move(drawn))
        , ExportDialog(&figure->page(), settings, path, parent)
    {
    }
};

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
    DrawnDescription drawn{std::make_unique<const Session>(workspace.session()->snapshot({})()), nullptr};
    Result<std::unique_ptr<DescribedFigure>> figure = DescribedFigure::make(*description, *drawn.session);
    if (!figure)
        return figure.error();
    drawn.figure = std::move(figure).value();
    drawn.figure->addRecipe(*description, {});
    const QString path = info.path() + u'/' + info.completeBaseName();
    return std::unique_ptr<ExportDialog>(std::make_unique<DescribedDialog>(
        std::move(drawn), figureSettings(*description, FigureFormat::Pdf), path, parent));
}

} // namespace headwise::ui
