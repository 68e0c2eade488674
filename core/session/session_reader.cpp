#include "core/model/config_reader.h"
#include "core/session/session_layout.h"
#include "core/session/session_reading.h"

#include <algorithm>
#include <limits>

namespace headwise {
namespace {

/// Reads which part of a sharded run the session is, if it is one.
Result<Done> readShard(SessionReading& reading, const Hdf5Attributes& attributes)
{
    if (!attributes.contains(layout::shard))
        return Done{};
    const Result<Shard> shard = parseShard(stored::textOf(attributes, layout::shard));
    if (!shard)
        return reading.corrupt(layout::shard, "does not name a part as i/n");
    reading.session.part = SessionPart{*shard, stored::textOf(attributes, layout::shardRun),
                                       stored::textsOf(attributes, layout::shardHeads)};
    return Done{};
}

Result<Done> readRoot(SessionReading& reading, std::string_view format, std::string_view what)
{
    const Result<Hdf5Attributes> attributes = reading.file.attributes("");
    if (!attributes)
        return Error{attributes.error().code,
                     "'" + reading.file.path().string()
                         + "' is damaged: its root group cannot be read; restore it from a copy."};
    if (stored::textOf(*attributes, "format") != format)
        return Error{ErrorCode::Unsupported,
                     "'" + reading.file.path().string() + "' is an HDF5 file but not a " + std::string(what)
                         + ": its attribute 'format' is not '" + std::string(format) + "'."};
    const auto* version = stored::get<std::int64_t>(*attributes, "format_version");
    if (!version || *version < 1 || *version > std::numeric_limits<int>::max())
        return reading.corrupt("format_version", "is not a version number");
    reading.session.formatVersion = static_cast<int>(*version);
    reading.session.headwiseVersion = stored::textOf(*attributes, "headwise_version");
    reading.session.created = stored::textOf(*attributes, "created");
    reading.session.modified = stored::textOf(*attributes, "modified");
    return reading.isNewer() ? Result<Done>(Done{}) : readShard(reading, *attributes);
}

/// Limits the sizes, because a few digits could make lists of all heads or tokens exceed any memory.
Result<Done> checkSizes(const SessionReading& reading)
{
    const ModelCard& m = reading.session.model;
    const auto number = [](int value) { return std::to_string(value); };
    if (m.nLayers > mostLayers)
        return reading.corrupt("model",
                               "has " + number(m.nLayers) + " layers, more than the " + number(mostLayers)
                                   + " that Headwise accepts");
    const int heads = std::max(m.nHeads, m.nKvHeads);
    if (heads > mostHeads / m.nLayers)
        return reading.corrupt("model",
                               "has " + number(m.nLayers) + " layers of " + number(heads)
                                   + " heads, more than the " + number(mostHeads)
                                   + " heads that Headwise accepts");
    if (m.nHeads % m.nKvHeads != 0)
        return reading.corrupt("model",
                               "has " + number(m.nHeads) + " heads, which its " + number(m.nKvHeads)
                                   + " key/value heads cannot share evenly");
    if (m.dVocab > mostTokens)
        return reading.corrupt("model",
                               "has " + number(m.dVocab) + " tokens, more than the " + number(mostTokens)
                                   + " that Headwise accepts");
    const double weights = 4.0 * m.nLayers * heads * m.dModel * m.dHead + 2.0 * m.nLayers * m.dModel * m.dMlp
        + 2.0 * m.dModel * m.dVocab;
    if (weights > mostWeights)
        return reading.corrupt("model",
                               "has sizes that need more weights (" + std::to_string(weights / 1e12)
                                   + "·10¹²) than any model has");
    return Done{};
}

Result<Done> readModel(SessionReading& reading)
{
    const Result<Hdf5Attributes> attributes = reading.file.attributes("model");
    if (!attributes)
        return attributes.error();
    ModelCard& model = reading.session.model;
    for (const layout::TextField& field : layout::modelTexts)
        model.*field.member = stored::textOf(*attributes, field.name);
    for (const layout::NumberField& field : layout::modelNumbers) {
        const auto* number = stored::get<std::int64_t>(*attributes, field.name);
        if (!number || *number < field.least || *number > std::numeric_limits<int>::max())
            return reading.corrupt(std::string("model, attribute ") + field.name,
                                   "is missing or not a whole number from " + std::to_string(field.least));
        model.*field.member = static_cast<int>(*number);
    }
    if (const Result<Done> believed = checkSizes(reading); !believed)
        return believed;
    reading.session.configFile = stored::textOf(*attributes, layout::configFile);
    reading.session.namesFile = stored::textOf(*attributes, layout::namesFile);
    reading.session.adapterBase = stored::textOf(*attributes, layout::adapterBase);
    reading.session.adapterStrength = stored::numberOf(*attributes, layout::adapterStrength).value_or(1);
    reading.session.overrides = stored::textsOf(*attributes, layout::overrides);
    reading.session.ignoredTensors = stored::textsOf(*attributes, layout::ignoredTensors);
    return Done{};
}

Result<Done> readProcessing(SessionReading& reading)
{
    if (!reading.file.has("processing")) {
        // Without it, raw weights cannot be told from processed ones.
        if (!reading.isNewer())
            return reading.corrupt("processing", "is missing");
        return Done{};
    }
    const Result<Hdf5Attributes> attributes = reading.file.attributes("processing");
    if (!attributes)
        return attributes.error();
    const auto readSwitch = [&](const layout::SwitchField& field) {
        if (const auto* flag = stored::get<bool>(*attributes, field.name))
            reading.session.processing.*field.member = *flag;
    };
    std::for_each(layout::switches.begin(), layout::switches.end(), readSwitch);
    std::for_each(layout::foldOptions.begin(), layout::foldOptions.end(), readSwitch);
    for (const std::string& name : stored::textsOf(*attributes, layout::headChanges)) {
        const auto change = parseHeadChange(name);
        if (!change)
            return reading.corrupt("processing", "names an invalid head change: '" + name + "'");
        reading.session.processing.headChanges.push_back(*change);
    }
    if (const auto* embedding = stored::get<std::string>(*attributes, "embedding"))
        reading.session.embedding = *embedding;
    reading.session.warnings = stored::textsOf(*attributes, "warnings");
    return Done{};
}

Result<Done> readVocabulary(SessionReading& reading)
{
    if (!reading.file.has("vocabulary/tokens"))
        return Done{};
    Result<std::vector<std::string>> tokens = reading.file.readTexts("vocabulary/tokens");
    if (!tokens)
        return tokens.error();
    if (tokens->size() != static_cast<std::size_t>(reading.session.model.dVocab))
        return reading.corrupt("vocabulary/tokens",
                               "has " + std::to_string(tokens->size()) + " entries, expected d_vocab = "
                                   + std::to_string(reading.session.model.dVocab));
    reading.session.tokens = std::move(tokens).value();
    if (!reading.file.has("vocabulary/bytes"))
        return Done{};
    Result<std::vector<std::string>> bytes = reading.file.readBytes("vocabulary/bytes");
    if (!bytes)
        return bytes.error();
    if (bytes->size() != reading.session.tokens.size())
        return reading.corrupt("vocabulary/bytes",
                               "has " + std::to_string(bytes->size()) + " entries, expected "
                                   + std::to_string(reading.session.tokens.size()));
    reading.session.tokenBytes = std::move(bytes).value();
    return Done{};
}

/// Checks that the heads of a part are heads of the model.
Result<Done> checkShard(SessionReading& reading)
{
    const auto& part = reading.session.part;
    for (const std::string& head : part ? part->heads : std::vector<std::string>())
        if (!stored::headOf(reading.session.model, head))
            return reading.corrupt(layout::shardHeads, "names a head that the model does not have: " + head);
    return Done{};
}

/// Reads notes and bookmarks; a note on a head that the model does not have is skipped.
Result<Done> readTexts(SessionReading& reading)
{
    Session& session = reading.session;
    if (reading.file.has("notes")) {
        const Result<std::vector<Hdf5Entry>> entries = reading.file.entries("notes");
        if (!entries)
            return entries.error();
        for (const Hdf5Entry& entry : *entries) {
            if (entry.kind != Hdf5Kind::Texts || !stored::headOf(session.model, entry.name))
                continue;
            const Result<std::vector<std::string>> note = reading.file.readTexts("notes/" + entry.name);
            if (!note)
                return note.error();
            if (note->size() == 1)
                session.notes[entry.name] = note->front();
        }
    }
    if (reading.file.has("bookmarks")) {
        const Result<std::vector<std::string>> bookmarks = reading.file.readTexts("bookmarks");
        if (!bookmarks)
            return bookmarks.error();
        for (const std::string& bookmark : *bookmarks)
            if (stored::headOf(session.model, bookmark))
                session.bookmarks.push_back(bookmark);
    }
    if (reading.file.has("view")) {
        const Result<std::vector<std::string>> view = reading.file.readTexts("view");
        if (!view)
            return view.error();
        if (view->size() == 1)
            session.view = view->front();
    }
    return Done{};
}

/// Reads the text of the figures. Anything else of that name belongs to somebody else: only texts were ever written.
Result<Done> readFigures(SessionReading& reading)
{
    if (!reading.file.has(layout::figures))
        return Done{};
    const Result<std::vector<Hdf5Entry>> entries = reading.file.entries("");
    if (!entries)
        return entries.error();
    const auto found = std::ranges::find(*entries, layout::figures, &Hdf5Entry::name);
    if (found == entries->end() || found->kind != Hdf5Kind::Texts)
        return Done{};
    const Result<std::vector<std::string>> texts = reading.file.readTexts(layout::figures);
    if (!texts)
        return texts.error();
    if (texts->size() == 1)
        reading.session.figures = texts->front();
    return Done{};
}

/// Reads the pictures that the window showed. A later version may store them differently.
Result<Done> readPictures(SessionReading& reading)
{
    Result<std::vector<ScreenPicture>> screen = readScreen(reading.file, reading.task);
    if (!screen)
        return reading.isNewer() ? Result<Done>(Done{}) : screen.error();
    reading.session.screen = std::move(screen).value();
    return Done{};
}

} // namespace

Result<Done> readHead(SessionReading& reading, std::string_view format, std::string_view what)
{
    if (const Result<Done> done = readRoot(reading, format, what); !done)
        return done;
    for (const auto step : {readModel, checkShard, readProcessing})
        if (const Result<Done> done = step(reading); !done)
            return done;
    return Done{};
}

Result<Session> readSession(const std::filesystem::path& path, const Task& task)
{
    const Result<Hdf5Reader> file = Hdf5Reader::open(path, task);
    if (!file)
        return file.error();
    Session session;
    SessionReading reading{*file, task, session};
    if (const Result<Done> done = readHead(reading, layout::format, "session"); !done)
        return done.error();
    for (const auto step : {readVocabulary, readTexts, readFigures, readSessionResults, readPictures}) {
        if (task.cancelled())
            return stopped();
        if (const Result<Done> done = step(reading); !done)
            return done.error();
    }
    return session;
}

bool isSessionFile(const std::filesystem::path& path)
{
    // An unreadable file is not a model either; as a session it is reported as damaged.
    return isHdf5(path) && formatOf(path).value_or(layout::format) == layout::format;
}

std::optional<std::string> formatOf(const std::filesystem::path& path)
{
    const Result<Hdf5Reader> file = Hdf5Reader::open(path);
    const Result<Hdf5Attributes> attributes = file ? file->attributes("") : file.error();
    return attributes ? std::optional(stored::textOf(*attributes, "format")) : std::nullopt;
}

} // namespace headwise
