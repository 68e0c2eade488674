#include "ui/document/training_series.h"

#include "core/files/hdf5.h"
#include "core/series/series_request.h"
#include "core/session/partial_run.h"
#include "core/tokenizer/token_text.h"
#include "ui/base/text.h"
#include "ui/document/workspace_part.h"

#include <QTimer>

#include <algorithm>
#include <utility>

namespace headwise::ui {

namespace {

/// Returns the folders in which the checkpoints of a series file can be.
std::vector<std::filesystem::path> foldersAround(const std::filesystem::path& file)
{
    const std::filesystem::path around = file.parent_path();
    std::vector<std::filesystem::path> folders{around};
    std::error_code code;
    for (std::filesystem::directory_iterator entry(around, code), end; !code && entry != end;
         entry.increment(code)) {
        std::error_code unreadable;
        if (entry->is_directory(unreadable))
            folders.push_back(entry->path());
    }
    std::sort(folders.begin() + 1, folders.end());
    return folders;
}

/// Finds the checkpoints where they were computed from, and the others in the first folder that has any of them.
std::vector<std::filesystem::path> foundMembers(const Series& series, const std::filesystem::path& file)
{
    std::vector<std::filesystem::path> found(series.steps.size());
    for (std::size_t step = 0; step < found.size(); ++step) {
        const std::filesystem::path known = series.paths[step];
        std::error_code code;
        if (known.is_absolute() && std::filesystem::exists(known, code))
            found[step] = known;
    }
    if (std::ranges::none_of(found, &std::filesystem::path::empty))
        return found;
    for (const std::filesystem::path& folder : foldersAround(file)) {
        bool hasAny = false;
        for (std::size_t step = 0; step < found.size(); ++step) {
            const std::filesystem::path name = series.members[step];
            std::error_code code;
            if (!found[step].empty() || name.empty() || name != name.filename() || name == ".." || name == "."
                || !std::filesystem::exists(folder / name, code))
                continue;
            found[step] = folder / name;
            hasAny = true;
        }
        if (hasAny)
            break;
    }
    return found;
}

void showControls(Series& series)
{
    const auto show = [](std::string& words) { words = shownSpecialToken(words); };
    show(series.modelName);
    std::ranges::for_each(series.members, show);
    std::ranges::for_each(series.problems, show);
    for (SeriesScore& score : series.scores)
        for (std::string* words : {&score.name, &score.title, &score.unit, &score.definition})
            show(*words);
    for (SeriesChange& change : series.changes)
        for (std::string* words : {&change.score, &change.text})
            show(*words);
}

ResultSet scoresAt(const Series& series, int step)
{
    ResultSet results;
    for (const SeriesScore& score : series.scores)
        results.arrays.push_back(scoreAt(series, score, step));
    return results;
}

int lastGoodStep(const Series& series)
{
    const auto good = std::find(series.problems.rbegin(), series.problems.rend(), std::string());
    return good == series.problems.rend() ? 0 : static_cast<int>(series.problems.rend() - good) - 1;
}

} // namespace

bool OpenedSeries::hasHeadsOf(const ModelCard& card) const
{
    return series.nLayers == card.nLayers && series.nHeads == card.nHeads;
}

ResultArray scoreAt(const Series& series, const SeriesScore& score, int step)
{
    const std::size_t layers = static_cast<std::size_t>(series.nLayers),
                      heads = static_cast<std::size_t>(series.nHeads);
    const auto first = score.values.begin() + static_cast<std::ptrdiff_t>(layers * heads) * step;
    ResultArray array;
    array.path = "series/" + score.name;
    array.shape = {layers, heads};
    array.values = std::vector<float>(first, first + static_cast<std::ptrdiff_t>(layers * heads));
    array.axes = {Axis::Layer, Axis::Head};
    array.definition = score.definition;
    array.title = score.title;
    array.unit = score.unit;
    array.nullMean = score.null;
    return array;
}

Result<std::shared_ptr<const OpenedSeries>> openSeriesFile(const std::filesystem::path& file,
                                                           const Task& task)
{
    auto opened = std::make_shared<OpenedSeries>();
    opened->file = file;
    opened->stamp = stampOf(file);
    auto series = readSeries(file, task);
    if (!series)
        return series.error();
    opened->series = std::move(series).value();
    opened->members = foundMembers(opened->series, file);
    showControls(opened->series);
    return std::shared_ptr<const OpenedSeries>(std::move(opened));
}

TrainingSeries* TrainingSeries::of(Workspace* workspace)
{
    return partOf<TrainingSeries>(workspace);
}

const TrainingSeries* TrainingSeries::openIn(const Workspace& workspace)
{
    const auto* part = workspace.findChild<TrainingSeries*>(QString(), Qt::FindDirectChildrenOnly);
    return part && part->isOpen() ? part : nullptr;
}

TrainingSeries::TrainingSeries(Workspace* workspace)
    : QObject(workspace)
    , m_workspace(workspace)
{
    const OpenModel* model = workspace->model();
    connect(model, &OpenModel::opened, this, [this, model] {
        if (m_opened && !m_opened->hasHeadsOf(model->card()))
            setOpened(nullptr);
    });
    connect(model, &OpenModel::closed, this, [this] { setOpened(nullptr); });
    connect(&m_job, &Job::finished, this, &TrainingSeries::sayIfStopped);
}

std::filesystem::path TrainingSeries::member(int step) const
{
    return m_opened->members[static_cast<std::size_t>(step)];
}

void TrainingSeries::setStep(int step)
{
    if (!m_opened || step == m_step || step < 0 || step >= static_cast<int>(series().steps.size()))
        return;
    m_step = step;
    showScores();
    emit stepChanged();
}

void TrainingSeries::setOpened(std::shared_ptr<const OpenedSeries> opened)
{
    if (opened == m_opened)
        return;
    m_opened = std::move(opened);
    m_step = m_opened ? lastGoodStep(series()) : 0;
    emit changed();
}

void TrainingSeries::make(const SeriesMembers& members, const std::filesystem::path& file)
{
    m_making = file;
    m_job.start(
        tr("Computing the series %1").arg(text(members.name)),
        [members, file](const Task& task) -> Result<Done> {
            if (const auto writable = canWriteHdf5(file); !writable)
                return writable;
            const auto computed = computeSeries(defaultSeriesRequest(members, file), task);
            return computed ? Result<Done>(Done{}) : computed.error();
        },
        [this](const Result<Done>& result) {
            const std::filesystem::path written = std::exchange(m_making, {});
            if (result)
                emit made(text(written.string()));
            else
                emit makingFailed(text(result.error()));
        });
}

void TrainingSeries::sayIfStopped()
{
    // Its answer, if it has one, follows at once.
    QTimer::singleShot(0, this, [this] {
        if (!m_making.empty() && !m_job.isRunning())
            emit makingStopped(text(PartialRun::sideFile(std::exchange(m_making, {})).string()));
    });
}

OpenedSession TrainingSeries::standIn(const OpenedSeries& opened)
{
    auto session = std::make_shared<Session>();
    session->model.name = opened.series.modelName;
    session->model.architecture =
        tr("series of %1 checkpoints").arg(opened.series.steps.size()).toStdString();
    session->model.nLayers = opened.series.nLayers;
    session->model.nHeads = session->model.nKvHeads = opened.series.nHeads;
    OpenedSession made;
    made.session = std::move(session);
    made.results = std::make_shared<const ResultSet>(scoresAt(opened.series, lastGoodStep(opened.series)));
    made.stamp = opened.stamp;
    made.isSeries = true;
    return made;
}

void TrainingSeries::showScores()
{
    if (m_workspace->model()->isSeries())
        m_workspace->model()->setResults(scoresAt(series(), m_step));
}

} // namespace headwise::ui
