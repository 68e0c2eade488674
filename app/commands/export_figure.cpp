#include "app/commands/export_figure.h"

#include "core/base/log.h"
#include "core/session/picture_numbers.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/figures/figure_export.h"
#include "ui/figures/figure_metadata.h"
#include "ui/pictures/picture_body.h"

#include <QApplication>

#include <spdlog/logger.h>

namespace headwise::app {
namespace {

using ui::text;

/// The session's results at the head of the view.
ui::PictureContext contextOf(const Session& session, std::optional<HeadId> head)
{
    // The session outlives the picture.
    return {.results = {std::shared_ptr<const ResultSet>(), &session.results},
            .card = session.model,
            .head = head.value_or(HeadId{}),
            .isCut = head.has_value(),
            .isPaper = true,
            .tokenText = [&session](int id) { return text(tokenText(session, id)); }};
}

Result<Done> write(const Session& session, const View& view, std::span<const FigureFile> files)
{
    const std::unique_ptr<ui::PictureBody> body(ui::newPictureBody(view.picture.kind, {}, nullptr));
    const ui::PictureContext context = contextOf(session, view.head);
    body->setContext(context);
    body->showPicture(ui::pictureData(view.picture, context.results));
    const auto figures = body->figures();
    auto* figure = figures.empty() ? nullptr : dynamic_cast<ui::FigureSource*>(figures.front().first);
    if (!figure)
        return Error{ErrorCode::NotFound,
                     "'" + view.name + "' has no numbers"
                         + (view.head ? " of head " + dottedHead(*view.head) : std::string())
                         + "; headwise analyze MODEL -o SESSION.h5 makes them."};
    ui::Provenance provenance;
    for (const auto& [key, value] : view.provenance)
        provenance.append({text(key), text(value)});
    figure->setFigureTitle(text(view.picture.title + " (" + view.subtitle + ")"));
    figure->setProvenance(provenance);
    for (const FigureFile& file : files)
        if (const Result<Done> written = ui::exportFigure(*figure, text(file.path.string()), file.settings);
            !written)
            return written;
    return Done{};
}

/// Sends Qt's messages to the log, because errors must be one line on stderr.
void logQtMessage(QtMsgType type, const QMessageLogContext&, const QString& message)
{
    const bool isFault = type == QtWarningMsg || type == QtCriticalMsg || type == QtFatalMsg;
    logger().log(isFault ? spdlog::level::warn : spdlog::level::debug, "Qt: {}", message.toStdString());
}

} // namespace

Result<FigureRecipe> figureRecipe(const std::string& file)
{
    qInstallMessageHandler(logQtMessage);
    const Result<ui::Provenance> lines = ui::figureMetadata(text(file));
    if (!lines)
        return lines.error();
    const auto valueOf = [&lines](const char* name) {
        for (const auto& [key, value] : *lines)
            if (key == QLatin1StringView(name))
                return value;
        return QString();
    };
    return FigureRecipe{.session = valueOf(ui::sessionFileKey).toStdString(),
                        .sha256 = valueOf("sha256").toStdString(),
                        .view = valueOf("view").toStdString(),
                        .head = valueOf("head").toStdString(),
                        .settings = ui::parseFigureSettings(valueOf(ui::figureSettingsKey))};
}

Result<Done> exportFigures(const Session& session, const View& view, std::span<const FigureFile> files)
{
    if (view.dimensions < 1 || view.dimensions > 2)
        return Error{
            ErrorCode::InvalidArgument,
            "'" + view.name + "' has " + std::to_string(view.dimensions)
                + " dimensions and no picture; write it as .csv, .tsv or .npy, or name a head with --head."};
    qInstallMessageHandler(logQtMessage);
    qputenv("QT_QPA_PLATFORM", "offscreen");
    char program[] = "headwise";
    char* arguments[] = {program, nullptr};
    int count = 1;
    QApplication application(count, arguments);
    ui::applyTheme(application, ui::ThemeMode::Light);
    return write(session, view, files);
}

} // namespace headwise::app
