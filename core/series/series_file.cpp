#include "core/series/series_file.h"

#include "core/files/hdf5.h"
#include "core/series/series_record.h"
#include "core/series/vector_tracks.h"
#include "core/session/session_reading.h"
#include "core/session/session_writing.h"

#include <algorithm>
#include <set>

namespace headwise {
namespace {

constexpr const char* questionAttribute = "question";
constexpr const char* stepsPath = "steps";
constexpr const char* namesPath = "members/names";
constexpr const char* pathsPath = "members/paths";
constexpr const char* filesPath = "members/files";
constexpr const char* previousPath = "members/previous";
constexpr const char* problemsPath = "members/problems";
constexpr std::string_view spectraGroup = "spectra";
constexpr std::string_view scoresGroup = "scores";
constexpr std::size_t mostSteps = 1'000'000;

/// Shared by the readers of a series.
struct SeriesReading {
    const Hdf5Reader& file;
    const Task& task;
    SeriesRecord& record;
    SeriesParts parts = SeriesParts::All;

    Error corrupt(const std::string& what, const std::string& why) const
    {
        return {ErrorCode::Corrupt,
                "'" + what + "' of the series '" + file.path().string() + "' " + why + "."};
    }
};

std::vector<std::string> textsOfEntries(const SeriesRecord& record, std::string SeriesEntry::*text)
{
    std::vector<std::string> texts;
    for (const SeriesEntry& entry : record.entries)
        texts.push_back(entry.*text);
    return texts;
}

Result<Done> writeDescribed(Hdf5Writer& file, const char* path, std::vector<std::int32_t> values,
                            const char* axis, const std::string& definition)
{
    if (const auto written = file.writeNumbers<std::int32_t>(path, {values.size()}, values, Task{}); !written)
        return written;
    return setAttributes(file, path, {{"axes", std::vector<std::string>{axis}}, {"definition", definition}});
}

Result<Done> writeMembers(Hdf5Writer& file, const SeriesRecord& record)
{
    std::vector<std::int32_t> steps;
    for (const SeriesEntry& entry : record.entries)
        steps.push_back(entry.step);
    if (const auto done = writeDescribed(file, stepsPath, std::move(steps), "step",
                                         "the number of the step in a checkpoint's name");
        !done)
        return done;
    if (const auto done = file.writeTexts(namesPath, textsOfEntries(record, &SeriesEntry::name)); !done)
        return done;
    if (const auto done = file.writeTexts(pathsPath, textsOfEntries(record, &SeriesEntry::path)); !done)
        return done;
    if (const auto done = file.writeTexts(filesPath, textsOfEntries(record, &SeriesEntry::files)); !done)
        return done;
    if (const auto done = file.writeTexts(previousPath, textsOfEntries(record, &SeriesEntry::previous));
        !done)
        return done;
    return file.writeTexts(problemsPath, textsOfEntries(record, &SeriesEntry::problem));
}

/// Writes the changes as parallel arrays; nothing without changes.
Result<Done> writeChanges(Hdf5Writer& file, const SeriesRecord& record)
{
    if (record.changes.empty())
        return Done{};
    std::vector<std::int32_t> layers, heads, before, after;
    std::vector<double> valuesBefore, valuesAfter, evidence;
    std::vector<std::string> scores, texts;
    for (const SeriesChange& change : record.changes) {
        layers.push_back(change.head.layer);
        heads.push_back(change.head.head);
        before.push_back(record.entries[static_cast<std::size_t>(change.before)].step);
        after.push_back(record.entries[static_cast<std::size_t>(change.after)].step);
        valuesBefore.push_back(change.valueBefore);
        valuesAfter.push_back(change.valueAfter);
        evidence.push_back(change.evidence);
        scores.push_back(change.score);
        texts.push_back(change.text);
    }
    const std::pair<const char*, const std::vector<std::int32_t>*> whole[] = {
        {"changes/layer", &layers},
        {"changes/head", &heads},
        {"changes/before_step", &before},
        {"changes/after_step", &after}};
    for (const auto& [path, values] : whole)
        if (const auto done = file.writeNumbers<std::int32_t>(path, {values->size()}, *values, Task{}); !done)
            return done;
    const std::pair<const char*, const std::vector<double>*> real[] = {
        {"changes/value_before", &valuesBefore},
        {"changes/value_after", &valuesAfter},
        {"changes/evidence", &evidence}};
    for (const auto& [path, values] : real)
        if (const auto done = file.writeNumbers<double>(path, {values->size()}, *values, Task{}); !done)
            return done;
    if (const auto done = file.writeTexts("changes/score", scores); !done)
        return done;
    return file.writeTexts("changes/text", texts);
}

Result<Done> readTextsOfEntries(SeriesReading& reading, const char* path, std::string SeriesEntry::*text)
{
    Result<std::vector<std::string>> texts = reading.file.readTexts(path);
    if (!texts)
        return texts.error();
    if (texts->size() != reading.record.entries.size())
        return reading.corrupt(path, "does not have one entry for each step");
    for (std::size_t i = 0; i < texts->size(); ++i)
        reading.record.entries[i].*text = (*texts)[i];
    return Done{};
}

Result<Done> readMembers(SeriesReading& reading)
{
    const Result<Hdf5Array> stored = reading.file.readArray(stepsPath);
    if (!stored)
        return stored.error();
    const auto* steps = std::get_if<std::vector<std::int32_t>>(&stored->values);
    if (!steps || stored->shape.size() != 1 || steps->empty() || steps->size() > mostSteps
        || std::adjacent_find(steps->begin(), steps->end(), std::greater_equal<>()) != steps->end())
        return reading.corrupt(stepsPath, "is not an ascending list of whole numbers");
    for (const std::int32_t step : *steps)
        reading.record.entries.push_back(
            {.step = step, .name = {}, .files = {}, .previous = {}, .problem = {}, .arrays = {}});
    if (const auto read = readTextsOfEntries(reading, namesPath, &SeriesEntry::name); !read)
        return read;
    if (reading.file.has(pathsPath)) // not in the first files
        if (const auto read = readTextsOfEntries(reading, pathsPath, &SeriesEntry::path); !read)
            return read;
    if (const auto read = readTextsOfEntries(reading, filesPath, &SeriesEntry::files); !read)
        return read;
    if (const auto read = readTextsOfEntries(reading, previousPath, &SeriesEntry::previous); !read)
        return read;
    return readTextsOfEntries(reading, problemsPath, &SeriesEntry::problem);
}

/// Cuts an array of the file into those of the members. \param group that it is in
Result<Done> readSteppedArray(SeriesReading& reading, const std::string& path, std::string_view group)
{
    Result<ResultArray> stored = readDescribedArray(reading.file, path);
    if (!stored)
        return stored.error();
    ResultArray array = std::move(stored).value();
    const ModelCard& model = reading.record.frame.model;
    std::vector<std::size_t> shape{reading.record.entries.size(), static_cast<std::size_t>(model.nLayers),
                                   static_cast<std::size_t>(model.nHeads)};
    if (group == spectraGroup)
        shape.push_back(static_cast<std::size_t>(model.dHead));
    if (group == vectorOverlapGroup && !array.shape.empty()) // as many before as now
        shape.insert(shape.end(), 2, std::min(array.shape.back(), static_cast<std::size_t>(model.dHead)));
    const auto* values = std::get_if<std::vector<float>>(&array.values);
    if (!values || array.shape != shape || array.axes.size() != shape.size())
        return reading.corrupt(path, "has a shape or type that does not fit the steps and the model");
    ResultArray part = array;
    part.shape.erase(part.shape.begin());
    part.axes.erase(part.axes.begin());
    const std::size_t size = values->size() / shape.front();
    for (std::size_t i = 0; i < shape.front(); ++i) {
        const auto begin = values->begin() + static_cast<std::ptrdiff_t>(i * size);
        part.values = std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(size));
        reading.record.entries[i].arrays.push_back(part);
    }
    return Done{};
}

Result<Done> readArrays(SeriesReading& reading)
{
    for (const std::string_view group : {spectraGroup, scoresGroup, vectorOverlapGroup}) {
        const bool isSpectrum = group == spectraGroup;
        const bool isWanted = group == scoresGroup || reading.parts == SeriesParts::All;
        if (!isWanted || !reading.file.has(group))
            continue;
        const Result<std::vector<Hdf5Entry>> entries = reading.file.entries(group);
        if (!entries)
            return entries.error();
        for (const Hdf5Entry& entry : *entries) {
            if (reading.task.cancelled())
                return stopped();
            const std::string path =
                std::string(group) + "/" + entry.name + (isSpectrum ? "/singular_values" : "");
            if (entry.kind != (isSpectrum ? Hdf5Kind::Group : Hdf5Kind::Numbers) || !reading.file.has(path))
                continue;
            if (const auto read = readSteppedArray(reading, path, group); !read)
                return read;
        }
    }
    return Done{};
}

/// One of the parallel arrays of /changes; empty if it is odd.
template <typename T>
std::vector<T> listIn(const Hdf5Reader& file, const char* path)
{
    const Result<Hdf5Array> stored = file.readArray(path);
    const auto* values = stored ? std::get_if<std::vector<T>>(&stored->values) : nullptr;
    return values && stored->shape.size() == 1 ? *values : std::vector<T>();
}

Result<Done> readChanges(SeriesReading& reading)
{
    const Hdf5Reader& file = reading.file;
    if (!file.has("changes"))
        return Done{};
    const auto layers = listIn<std::int32_t>(file, "changes/layer");
    const auto heads = listIn<std::int32_t>(file, "changes/head");
    const auto before = listIn<std::int32_t>(file, "changes/before_step");
    const auto after = listIn<std::int32_t>(file, "changes/after_step");
    const auto valuesBefore = listIn<double>(file, "changes/value_before");
    const auto valuesAfter = listIn<double>(file, "changes/value_after");
    const auto evidence = listIn<double>(file, "changes/evidence");
    const auto scores = file.readTexts("changes/score"), texts = file.readTexts("changes/text");
    const std::size_t count = layers.size();
    if (!scores || !texts
        || std::set{count, heads.size(), before.size(), after.size(), valuesBefore.size(), valuesAfter.size(),
                    evidence.size(), scores->size(), texts->size()}
                .size()
            > 1)
        return reading.corrupt("changes", "does not hold lists of the same length");
    const auto& entries = reading.record.entries;
    const ModelCard& model = reading.record.frame.model;
    const std::size_t most = entries.size() * entries.front().arrays.size()
        * static_cast<std::size_t>(model.nLayers) * static_cast<std::size_t>(model.nHeads);
    if (count > most) // a score of a head changes once between two steps
        return reading.corrupt("changes", "has more of them than heads can change");
    const auto placeOf = [&entries](std::int32_t step) {
        const auto found = std::ranges::find(entries, step, &SeriesEntry::step);
        return found == entries.end() ? -1 : static_cast<int>(found - entries.begin());
    };
    for (std::size_t i = 0; i < count; ++i) {
        const SeriesChange change{.head = {layers[i], heads[i]},
                                  .score = (*scores)[i],
                                  .before = placeOf(before[i]),
                                  .after = placeOf(after[i]),
                                  .valueBefore = valuesBefore[i],
                                  .valueAfter = valuesAfter[i],
                                  .evidence = evidence[i],
                                  .text = (*texts)[i]};
        if (layers[i] < 0 || layers[i] >= model.nLayers || heads[i] < 0 || heads[i] >= model.nHeads
            || change.before < 0 || change.after <= change.before)
            return reading.corrupt("changes", "names a head or a step that the series does not have");
        reading.record.changes.push_back(change);
    }
    return Done{};
}

/// Writes the arrays with their labels and, for readers of HDF5's dimension scales, the steps as the scale of the first axis.
Result<Done> writeArrays(Hdf5Writer& file, const Session& whole, const Task& task)
{
    if (const auto done = writeResults(file, whole.results, task); !done)
        return done;
    if (const auto done = writeAxes(file, whole); !done)
        return done;
    for (std::size_t i = 0; i < std::min(whole.results.arrays.size(), Hdf5Writer::mostAttached); ++i)
        if (const auto done = file.attachScale(whole.results.arrays[i].path, 0, stepsPath); !done)
            return done;
    return Done{};
}

} // namespace

Result<Done> writeSeriesRecord(const std::filesystem::path& path, const SeriesRecord& record,
                               const Task& task)
{
    Result<Hdf5Writer> created = Hdf5Writer::create(path);
    if (!created)
        return created.error();
    Hdf5Writer file = std::move(created).value();
    Session whole = record.frame;
    whole.results = joinedArrays(record);
    if (const auto done = writeHead(file, whole, seriesFormat); !done)
        return done;
    if (const auto done = file.setAttribute("", questionAttribute, record.question); !done)
        return done;
    if (const auto done = writeMembers(file, record); !done)
        return done;
    if (const auto done = writeArrays(file, whole, task); !done)
        return done;
    if (const auto done = writeChanges(file, record); !done)
        return done;
    return file.close();
}

Result<SeriesRecord> readSeriesRecord(const std::filesystem::path& path, const Task& task, SeriesParts parts)
{
    const Result<Hdf5Reader> file = Hdf5Reader::open(path, task);
    if (!file)
        return file.error();
    SeriesRecord record;
    SessionReading head{*file, task, record.frame};
    if (const auto done = readHead(head, seriesFormat, "series of checkpoints"); !done)
        return done.error();
    if (head.isNewer())
        return Error{ErrorCode::Unsupported,
                     "The series '" + path.string() + "' was written by a later version of Headwise."};
    const Result<Hdf5Attributes> attributes = file->attributes("");
    if (!attributes)
        return attributes.error();
    record.question = stored::textOf(*attributes, questionAttribute);
    SeriesReading reading{*file, task, record, parts};
    for (const auto step : {readMembers, readArrays, readChanges}) {
        if (task.cancelled())
            return stopped();
        if (const auto done = step(reading); !done)
            return done.error();
    }
    return record;
}

Series seriesOf(SeriesRecord record)
{
    Series series;
    for (const SeriesEntry& entry : record.entries) {
        series.steps.push_back(entry.step);
        series.members.push_back(entry.name);
        series.paths.push_back(entry.path);
        series.problems.push_back(entry.problem);
    }
    series.nLayers = record.frame.model.nLayers;
    series.nHeads = record.frame.model.nHeads;
    series.modelName = record.frame.model.name;
    ResultSet joined = joinedArrays(record);
    constexpr std::string_view folder = "scores/";
    for (ResultArray& array : joined.arrays)
        if (array.path.starts_with(folder))
            series.scores.push_back({.name = array.path.substr(folder.size()),
                                     .title = array.title,
                                     .unit = array.unit,
                                     .definition = array.definition,
                                     .null = array.nullMean,
                                     .values = std::get<std::vector<float>>(std::move(array.values))});
    series.changes = std::move(record.changes);
    return series;
}

Result<Series> readSeries(const std::filesystem::path& path, const Task& task)
{
    Result<SeriesRecord> read = readSeriesRecord(path, task, SeriesParts::WithoutSpectra);
    if (!read)
        return read.error();
    Series series = seriesOf(std::move(read).value());
    if (series.scores.empty())
        return Error{ErrorCode::Corrupt, "The series '" + path.string() + "' holds no scores."};
    return series;
}

bool isSeries(const std::filesystem::path& path)
{
    return isHdf5(path) && formatOf(path) == std::optional<std::string>(seriesFormat);
}

} // namespace headwise
