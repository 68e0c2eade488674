#include "app/figure_command_line.h"

#include "app/commands/export/export_page.h"
#include "app/commands/export/page_pictures.h"
#include "app/window/addresses.h"
#include "app/window/pages.h"
#include "ui/base/text.h"
#include "ui/document/training_series.h"
#include "ui/document/workspace.h"
#include "ui/pages/model/model_place.h"
#include "ui/pages/parts/figure_subject.h"

#include <QJsonObject>

namespace headwise::app {

using namespace headwise::ui;

namespace {

/// Adds what a picture of a page shows beside its head.
void addShown(PageRequest& request, Workspace* workspace, Pages* pages, FigureSource* figure)
{
    const ModelPlace place = openPlace(*workspace);
    PageOptions& options = request.options;
    options.model.path = place.path.toStdString();
    if (TrainingSeries::isOpenIn(*workspace) && workspace->model()->isSeries()) {
        const TrainingSeries* series = TrainingSeries::of(workspace);
        options.model.path = series->file().string();
        request.step = series->series().steps[static_cast<std::size_t>(series->step())];
    } else
        options.token = tokenReference(*workspace->model(), workspace->selection()->token());
    if (!place.stack.isEmpty())
        options.model.sets = {"stack=" + place.stack.toStdString()};
    if (const auto reference = workspace->selection()->reference())
        options.reference = dottedHead(*reference);
    const QJsonObject choices = pages->choicesOf(figure);
    for (auto choice = choices.begin(); choice != choices.end(); ++choice)
        options.choices.push_back(choiceText(choice.key(), choice.value()).toStdString());
}

} // namespace

QString figureCommandLine(Workspace* workspace, Pages* pages, FigureSource* figure)
{
    PageRequest request;
    request.view = figureViewName(*figure).toStdString();
    if (request.view.empty())
        return {};
    const PagePicture* ofPage = findPagePicture(request.view);
    for (const auto& [key, value] : figure->provenance())
        if (key == QLatin1String("head"))
            request.head = parseHeadId(value.toStdString());
    if (ofPage) {
        if (ofPage->ofHead)
            request.head = workspace->selection()->head();
        addShown(request, workspace, pages, figure);
    } else {
        const std::filesystem::path& session = workspace->session()->path();
        request.options.model.path = session.empty() ? "SESSION.h5" : session.string();
        for (const QString& choice : figureChoices(*figure))
            request.options.choices.push_back(choice.toStdString());
    }
    return text(exportCommandLine(request));
}

} // namespace headwise::app
