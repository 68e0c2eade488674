#include "app/commands/export/export_figure.h"

#include "core/base/log.h"
#include "core/files/file_write.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/figures/animated_svg.h"
#include "ui/figures/figure_export.h"
#include "ui/figures/figure_metadata.h"
#include "ui/heatmaps/shared_scale.h"
#include "ui/pictures/described_figure.h"
#include "ui/pictures/shared_ranges.h"

#include <QApplication>

#include <algorithm>

namespace headwise::app {
namespace {

using ui::text;

/// Says what a figure leaves out in its first file, which is no table of numbers.
std::vector<std::string> omissionsOf(const ui::FigureSource& figure, std::span<const FigureFile> files)
{
    std::vector<std::string> said;
    const auto drawn =
        std::ranges::find_if(files, [](const FigureFile& file) { return !isData(file.settings.format); });
    if (drawn != files.end())
        for (const QString& omission :
             figure.omissions(ui::paintedSize(drawn->settings), drawn->settings.style))
            said.push_back(omission.toStdString());
    return said;
}

/// A view, drawn.
struct DrawnView {
    std::unique_ptr<ui::PictureBody> body;
    QWidget* picture = nullptr; ///< Part of the body.

    ui::FigureSource* figure() const { return dynamic_cast<ui::FigureSource*>(picture); }
};

/// Draws a view of a session, which must outlive it. Errors: InvalidArgument, NotFound.
Result<DrawnView> drawn(const Session& session, const View& view)
{
    if (view.dimensions < 1 || view.dimensions > 2)
        return Error{
            ErrorCode::InvalidArgument,
            "'" + view.name + "' has " + std::to_string(view.dimensions)
                + " dimensions and no picture; write it as .csv, .tsv or .npy, or name a head with --head."};
    DrawnView made{std::unique_ptr<ui::PictureBody>(ui::newPictureBody(view.picture.kind, {}, nullptr))};
    const ui::PictureContext context = ui::paperContext(session, view.head);
    made.body->setContext(context);
    made.body->showPicture(ui::pictureData(view.picture, context.results));
    const auto figures = made.body->figures();
    if (view.isOfPage && figures.size() > 1)
        return Error{ErrorCode::InvalidArgument,
                     "'" + view.name + "' is " + std::to_string(figures.size())
                         + " pictures; export each by its array, as /" + view.picture.arrays.front() + "."};
    made.picture = figures.empty() ? nullptr : figures.front().first;
    ui::FigureSource* figure = made.figure();
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
    return made;
}

/// Writes a.csv, b.csv, … and figure.json.
Result<Done> writePanels(const ui::ComposedFigure& page, const FigureDescription& description,
                         const std::filesystem::path& folder)
{
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error)
        return cannotWrite(folder, error.value());
    char letter = 'a';
    for (const ui::ComposedFigure::Panel& panel : page.panels()) {
        const std::filesystem::path file = folder / (std::string(1, letter++) + ".csv");
        if (const Result<Done> written =
                ui::exportFigure(*panel.source, text(file.string()), {.format = FigureFormat::Csv});
            !written)
            return written;
    }
    return replaceFile(folder / "figure.json", text(description, 2) + "\n");
}

/// Sends Qt's messages to the log, because errors must be one line on stderr.
void logQtMessage(QtMsgType type, const QMessageLogContext&, const QString& message)
{
    const bool isFault = type == QtWarningMsg || type == QtCriticalMsg || type == QtFatalMsg;
    (isFault ? logWarning : logDebug)("Qt: " + message.toStdString());
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
    std::vector<std::string> choices;
    for (const auto& [key, value] : *lines)
        if (key == QLatin1StringView(ui::choiceKey))
            choices.push_back(value.toStdString());
    const QString series = valueOf(seriesKey);
    const QString session = series.isEmpty() ? valueOf(ui::sessionFileKey) : series;
    return FigureRecipe{.session = session.toStdString(),
                        .isOfSeries = !series.isEmpty(),
                        .model = valueOf("model").toStdString(),
                        .sha256 = valueOf("sha256").toStdString(),
                        .view = valueOf("view").toStdString(),
                        .head = valueOf("head").toStdString(),
                        .choices = choices,
                        .step = valueOf(stepKey).toStdString(),
                        .isSteps = !valueOf(stepsKey).isEmpty(),
                        .settings = ui::parseFigureSettings(valueOf(ui::figureSettingsKey)),
                        .description = valueOf(ui::figureDescriptionKey).toStdString(),
                        .sessionSha256 = valueOf(ui::sessionSha256Key).toStdString()};
}

struct DrawingProgram::Parts {
    char name[9] = "headwise";
    char* arguments[2] = {name, nullptr};
    int count = 1;
    QApplication application{count, arguments};
};

DrawingProgram::DrawingProgram()
{
    qInstallMessageHandler(logQtMessage);
    qputenv("QT_QPA_PLATFORM", "offscreen");
    m_parts = std::make_unique<Parts>();
    ui::applyTheme(m_parts->application, ui::ThemeMode::Light);
}

DrawingProgram::~DrawingProgram() = default;

Result<std::vector<std::string>> exportFigures(const Session& session, const View& view,
                                               std::span<const FigureFile> files)
{
    const DrawingProgram program;
    const Result<DrawnView> made = drawn(session, view);
    if (!made)
        return made.error();
    return writeFigures(*made->figure(), files);
}

Result<std::vector<std::string>> writeFigures(const ui::FigureSource& figure,
                                              std::span<const FigureFile> files)
{
    for (const FigureFile& file : files)
        if (const Result<Done> written = ui::exportFigure(figure, text(file.path.string()), file.settings);
            !written)
            return written.error();
    return omissionsOf(figure, files);
}

Result<std::vector<std::string>> exportAnimation(std::span<const FigureFrame> frames,
                                                 std::span<const FigureFile> files)
{
    const DrawingProgram program;
    std::vector<DrawnView> pictures;
    std::vector<QWidget*> shared;
    for (const FigureFrame& frame : frames) {
        Result<DrawnView> made = drawn(frame.session, frame.view);
        if (!made)
            return made.error();
        pictures.push_back(std::move(made).value());
        shared.push_back(pictures.back().picture);
    }
    const auto scale = ui::shareRange(shared);
    for (const FigureFile& file : files) {
        std::vector<ui::SvgFrame> svgs;
        for (std::size_t i = 0; i < frames.size(); ++i) {
            const auto painted = ui::renderFigure(*pictures[i].figure(), file.settings);
            if (!painted)
                return painted.error();
            svgs.push_back({painted->bytes, text(frames[i].name)});
        }
        const auto joined = ui::animatedSvg(svgs);
        if (!joined)
            return joined.error();
        ui::RenderedFigure animation;
        animation.bytes = *joined;
        if (const Result<Done> written = ui::writeFigure(animation, text(file.path.string())); !written)
            return written.error();
    }
    return omissionsOf(*pictures.back().figure(), files);
}

Result<std::vector<std::string>> exportComposition(const DrawingProgram& /*program*/,
                                                   const Composition& composition,
                                                   std::span<const FigureFile> files,
                                                   const std::filesystem::path& data)
{
    const auto figure = ui::DescribedFigure::make(composition.description, composition.sessions);
    if (!figure)
        return figure.error();
    ui::ComposedFigure& page = (*figure)->page();
    (*figure)->addRecipe(composition.description, composition.sessionSha256);
    auto omissions = writeFigures(page, files);
    if (omissions && !data.empty())
        if (const Result<Done> written = writePanels(page, composition.description, data); !written)
            return written.error();
    return omissions;
}

} // namespace headwise::app
