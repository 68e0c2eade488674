#include "core/base/log.h"
#include "core/files/hdf5.h"
#include "core/findings/findings_text.h"
#include "core/session/session_file.h"
#include "core/session/session_layout.h"
#include "core/session/session_writing.h"

#include <ctime>
#include <map>
#include <numeric>

namespace headwise {
namespace {

std::string utcNow()
{
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

Hdf5Attribute attribute(const AttributeValue& value)
{
    return std::visit([](const auto& held) { return Hdf5Attribute(held); }, value);
}

Result<Done> writeRoot(Hdf5Writer& file, const Session& session, const std::string& format)
{
    const std::string now = utcNow();
    Hdf5Attributes attributes{
        {"format", format},
        {"format_version", std::int64_t(sessionFormatVersion)},
        {"headwise_version",
         session.headwiseVersion.empty() ? std::string(versionText()) : session.headwiseVersion},
        {"created", session.created.empty() ? now : session.created},
        {"modified", now}};
    if (session.part) {
        attributes[layout::shard] = shardName(session.part->shard);
        attributes[layout::shardRun] = session.part->run;
        attributes[layout::shardHeads] = session.part->heads;
    }
    return setAttributes(file, "", attributes);
}

Result<Done> writeModel(Hdf5Writer& file, const Session& session)
{
    const ModelCard& model = session.model;
    Hdf5Attributes attributes;
    for (const layout::TextField& field : layout::modelTexts)
        attributes[field.name] = model.*field.member;
    for (const layout::NumberField& field : layout::modelNumbers)
        attributes[field.name] = std::int64_t(model.*field.member);
    if (!session.configFile.empty())
        attributes[layout::configFile] = session.configFile;
    if (!session.namesFile.empty())
        attributes[layout::namesFile] = session.namesFile;
    if (!session.adapterBase.empty()) {
        attributes[layout::adapterBase] = session.adapterBase;
        attributes[layout::adapterStrength] = session.adapterStrength;
    }
    if (!session.overrides.empty())
        attributes[layout::overrides] = session.overrides;
    if (!session.ignoredTensors.empty())
        attributes[layout::ignoredTensors] = session.ignoredTensors;
    if (const Result<Done> made = file.createGroup("model"); !made)
        return made;
    return setAttributes(file, "model", attributes);
}

Result<Done> writeProcessing(Hdf5Writer& file, const Session& session)
{
    Hdf5Attributes attributes{{"embedding", session.embedding}, {"warnings", session.warnings}};
    for (const layout::SwitchField& field : layout::switches)
        attributes[field.name] = session.processing.*field.member;
    for (const layout::SwitchField& field : layout::foldOptions)
        if (!(session.processing.*field.member))
            attributes[field.name] = false;
    std::vector<std::string> changes;
    for (const HeadChange& change : session.processing.headChanges)
        changes.push_back(headChangeName(change));
    if (!changes.empty())
        attributes[layout::headChanges] = std::move(changes);
    if (const Result<Done> made = file.createGroup("processing"); !made)
        return made;
    return setAttributes(file, "processing", attributes);
}

Hdf5Attributes attributesOf(const ResultArray& array)
{
    Hdf5Attributes attributes{{"axes", axisNames(array.axes)}, {"definition", array.definition}};
    if (!array.title.empty())
        attributes["title"] = array.title;
    if (!array.unit.empty())
        attributes["unit"] = array.unit;
    if (array.nullMean)
        attributes["null_mean"] = *array.nullMean;
    if (array.nullDeviation)
        attributes["null_deviation"] = *array.nullDeviation;
    if (array.range) {
        attributes["range_low"] = array.range->first;
        attributes["range_high"] = array.range->second;
    }
    for (const auto& [name, value] : array.attributes)
        attributes.emplace(name, attribute(value));
    return attributes;
}

/// Returns the path of the dimension scale of an axis; empty if the axis has only a name.
std::string scaleOf(const Session& session, const ResultArray& array, std::size_t axis)
{
    const ModelCard& model = session.model;
    const std::string name = array.axes[axis].name();
    const auto is = [&](std::string_view word, int length) {
        return name.ends_with(word) && array.shape[axis] == static_cast<std::size_t>(length);
    };
    const bool ofTable = array.path.starts_with("tables/"); // their heads may belong to any layers
    if (is("layer", model.nLayers))
        return layout::layerScale;
    if (is("head", model.nHeads) && !ofTable)
        return layout::headScale;
    if (is("token", model.dVocab) && !session.tokens.empty())
        return layout::tokenScale;
    return {};
}

Result<Done> writeScale(Hdf5Writer& file, const char* path, const char* axis, int length)
{
    std::vector<std::int32_t> indices(static_cast<std::size_t>(length));
    std::iota(indices.begin(), indices.end(), 0);
    if (const Result<Done> written = file.writeNumbers<std::int32_t>(path, {indices.size()}, indices, Task{});
        !written)
        return written;
    if (const Result<Done> named = file.setAttribute(path, "axes", std::vector<std::string>{axis}); !named)
        return named;
    return file.setAttribute(path, "definition", std::string("the indices of the axis"));
}

} // namespace

Result<Done> setAttributes(Hdf5Writer& file, const std::string& path, const Hdf5Attributes& attributes)
{
    for (const auto& [name, value] : attributes)
        if (const Result<Done> set = file.setAttribute(path, name, value); !set)
            return set;
    return Done{};
}

Result<Done> writeHead(Hdf5Writer& file, const Session& session, const std::string& format)
{
    if (const Result<Done> done = writeRoot(file, session, format); !done)
        return done;
    if (const Result<Done> done = writeModel(file, session); !done)
        return done;
    return writeProcessing(file, session);
}

Result<Done> writeResults(Hdf5Writer& file, const ResultSet& results, const Task& task)
{
    const int count = static_cast<int>(results.arrays.size());
    for (int i = 0; i < count; ++i) {
        task.report(i, count, "arrays");
        const ResultArray& array = results.arrays[static_cast<std::size_t>(i)];
        if (const Result<Done> written = file.writeArray(array.path, array.shape, array.values, task);
            !written)
            return written;
        if (const Result<Done> set = setAttributes(file, array.path, attributesOf(array)); !set)
            return set;
    }
    for (const auto& [group, values] : results.groupAttributes) {
        Hdf5Attributes attributes;
        for (const auto& [name, value] : values)
            attributes.emplace(name, attribute(value));
        if (const Result<Done> made = file.createGroup(group); !made)
            return made;
        if (const Result<Done> set = setAttributes(file, group, attributes); !set)
            return set;
    }
    task.report(count, count, "arrays");
    return Done{};
}

Result<Done> writeAxes(Hdf5Writer& file, const Session& session)
{
    if (const auto written = writeScale(file, layout::layerScale, "layer", session.model.nLayers); !written)
        return written;
    if (const auto written = writeScale(file, layout::headScale, "head", session.model.nHeads); !written)
        return written;
    std::map<std::string, std::size_t> attached;
    for (const ResultArray& array : session.results.arrays) {
        if (array.axes.size() != array.shape.size() || array.shape.empty())
            continue;
        if (const Result<Done> set = file.labelAxes(array.path, axisNames(array.axes)); !set)
            return set;
        if (array.path.starts_with("analyses/"))
            continue;
        for (std::size_t axis = 0; axis < array.axes.size(); ++axis) {
            const std::string scale = scaleOf(session, array, axis);
            if (scale.empty() || ++attached[scale] > Hdf5Writer::mostAttached)
                continue;
            if (const Result<Done> set = file.attachScale(array.path, static_cast<unsigned>(axis), scale);
                !set)
                return set;
        }
    }
    return Done{};
}

namespace {

Result<Done> writeTexts(Hdf5Writer& file, const Session& session)
{
    if (!session.tokens.empty()) {
        if (const Result<Done> written = file.writeTexts("vocabulary/tokens", session.tokens); !written)
            return written;
        if (const Result<Done> written = file.writeBytes("vocabulary/bytes", session.tokenBytes); !written)
            return written;
    }
    for (const auto& [head, note] : session.notes)
        if (const Result<Done> written = file.writeText("notes/" + head, note); !written)
            return written;
    if (!session.bookmarks.empty())
        if (const Result<Done> written = file.writeTexts("bookmarks", session.bookmarks); !written)
            return written;
    if (!session.view.empty())
        if (const Result<Done> written = file.writeText("view", session.view); !written)
            return written;
    if (!session.figures.empty())
        return file.writeText(layout::figures, session.figures);
    return Done{};
}

/// Writes what the rules say of the results, for readers without them; Headwise itself applies them again.
Result<Done> writeFindings(Hdf5Writer& file, const Session& session)
{
    const FindingEvidence evidence{session.model, session.results, session.tokens};
    return canAnswer(evidence) ? file.writeText(layout::findings, findingsJson(findingsOf(evidence)))
                               : Result<Done>(Done{});
}

} // namespace

Result<Done> writeSession(const std::filesystem::path& path, const Session& session, const Task& task,
                          SessionParts parts)
{
    if (session.formatVersion > sessionFormatVersion)
        return Error{ErrorCode::InvalidArgument,
                     "This session has format version " + std::to_string(session.formatVersion)
                         + " and is open read-only, because saving it with format version "
                         + std::to_string(sessionFormatVersion)
                         + " would drop data this program does not know."};
    Result<Hdf5Writer> created = Hdf5Writer::create(path);
    if (!created)
        return created.error();
    Hdf5Writer file = std::move(created).value();
    const auto steps = {
        +[](Hdf5Writer& f, const Session& s, const Task&) { return writeHead(f, s, layout::format); },
        +[](Hdf5Writer& f, const Session& s, const Task&) { return writeTexts(f, s); },
        +[](Hdf5Writer& f, const Session& s, const Task& t) { return writeResults(f, s.results, t); },
        +[](Hdf5Writer& f, const Session& s, const Task& t) { return writeScreen(f, s.screen, t); },
        +[](Hdf5Writer& f, const Session& s, const Task&) { return writeAxes(f, s); }};
    for (const auto step : steps) {
        if (task.cancelled())
            return stopped();
        if (const Result<Done> done = step(file, session, task); !done)
            return done;
    }
    if (parts == SessionParts::All)
        if (const Result<Done> done = writeFindings(file, session); !done)
            return done;
    return file.close();
}

} // namespace headwise
