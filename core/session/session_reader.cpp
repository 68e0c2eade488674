#include "core/base/log.h"
#include "core/files/hdf5.h"
#include "core/model/config_reader.h"
#include "core/session/session_file.h"
#include "core/session/session_layout.h"

#include <spdlog/logger.h>

#include <algorithm>
#include <limits>

namespace headwise {
namespace {

constexpr int maxDepth = 4;
constexpr std::size_t maxArrays = 10'000;

/// A file being read, and its state.
struct Reading {
    const Hdf5Reader& file;
    const Task& task;
    Session& session;

    /// True for a format version that this reader does not know.
    bool isNewer() const { return session.formatVersion > sessionFormatVersion; }

    Error corrupt(const std::string& what, const std::string& why) const
    {
        return {ErrorCode::Corrupt,
                "'" + what + "' of the session '" + file.path().string() + "' " + why + "."};
    }
};

template <typename T>
const T* get(const Hdf5Attributes& attributes, std::string_view name)
{
    const auto found = attributes.find(std::string(name));
    return found == attributes.end() ? nullptr : std::get_if<T>(&found->second);
}

std::string textOf(const Hdf5Attributes& attributes, std::string_view name)
{
    const auto* text = get<std::string>(attributes, name);
    return text ? *text : std::string();
}

std::vector<std::string> textsOf(const Hdf5Attributes& attributes, std::string_view name)
{
    const auto* texts = get<std::vector<std::string>>(attributes, name);
    return texts ? *texts : std::vector<std::string>();
}

std::optional<double> numberOf(const Hdf5Attributes& attributes, std::string_view name)
{
    if (const auto* number = get<double>(attributes, name))
        return *number;
    if (const auto* integer = get<std::int64_t>(attributes, name))
        return static_cast<double>(*integer);
    return std::nullopt;
}

/// Converts whole numbers to doubles, the only numbers of an AttributeValue.
AttributeValue attributeValue(const Hdf5Attribute& value)
{
    const auto kept = []<typename T>(const T& held) -> AttributeValue {
        return static_cast<std::conditional_t<std::is_same_v<T, std::int64_t>, double, T>>(held);
    };
    return std::visit(kept, value);
}

/// Reads which part of a sharded run the session is, if it is one.
Result<Done> readShard(Reading& reading, const Hdf5Attributes& attributes)
{
    if (!attributes.contains(layout::shard))
        return Done{};
    const Result<Shard> shard = parseShard(textOf(attributes, layout::shard));
    if (!shard)
        return reading.corrupt(layout::shard, "does not name a part as i/n");
    reading.session.part =
        SessionPart{*shard, textOf(attributes, layout::shardRun), textsOf(attributes, layout::shardHeads)};
    return Done{};
}

Result<Done> readRoot(Reading& reading)
{
    const Result<Hdf5Attributes> attributes = reading.file.attributes("");
    if (!attributes)
        return Error{attributes.error().code,
                     "'" + reading.file.path().string()
                         + "' is damaged: its root group cannot be read; restore it from a copy."};
    if (textOf(*attributes, "format") != layout::format)
        return Error{ErrorCode::Unsupported,
                     "'" + reading.file.path().string()
                         + "' is an HDF5 file but not a session: its attribute 'format' is not '"
                         + layout::format + "'."};
    const auto* version = get<std::int64_t>(*attributes, "format_version");
    if (!version || *version < 1 || *version > std::numeric_limits<int>::max())
        return reading.corrupt("format_version", "is not a version number");
    reading.session.formatVersion = static_cast<int>(*version);
    reading.session.headwiseVersion = textOf(*attributes, "headwise_version");
    reading.session.created = textOf(*attributes, "created");
    reading.session.modified = textOf(*attributes, "modified");
    return reading.isNewer() ? Result<Done>(Done{}) : readShard(reading, *attributes);
}

/// Limits the sizes, because a few digits could make lists of all heads or tokens exceed any memory.
Result<Done> checkSizes(const Reading& reading)
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

Result<Done> readModel(Reading& reading)
{
    const Result<Hdf5Attributes> attributes = reading.file.attributes("model");
    if (!attributes)
        return attributes.error();
    ModelCard& model = reading.session.model;
    for (const layout::TextField& field : layout::modelTexts)
        model.*field.member = textOf(*attributes, field.name);
    for (const layout::NumberField& field : layout::modelNumbers) {
        const auto* number = get<std::int64_t>(*attributes, field.name);
        if (!number || *number < field.least || *number > std::numeric_limits<int>::max())
            return reading.corrupt(std::string("model, attribute ") + field.name,
                                   "is missing or not a whole number from " + std::to_string(field.least));
        model.*field.member = static_cast<int>(*number);
    }
    if (const Result<Done> believed = checkSizes(reading); !believed)
        return believed;
    reading.session.configFile = textOf(*attributes, layout::configFile);
    reading.session.overrides = textsOf(*attributes, layout::overrides);
    reading.session.ignoredTensors = textsOf(*attributes, layout::ignoredTensors);
    return Done{};
}

Result<Done> readProcessing(Reading& reading)
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
        if (const auto* flag = get<bool>(*attributes, field.name))
            reading.session.processing.*field.member = *flag;
    };
    std::for_each(layout::switches.begin(), layout::switches.end(), readSwitch);
    std::for_each(layout::foldOptions.begin(), layout::foldOptions.end(), readSwitch);
    for (const std::string& name : textsOf(*attributes, layout::headChanges)) {
        const auto change = parseHeadChange(name);
        if (!change)
            return reading.corrupt("processing", "names an invalid head change: '" + name + "'");
        reading.session.processing.headChanges.push_back(*change);
    }
    if (const auto* embedding = get<std::string>(*attributes, "embedding"))
        reading.session.embedding = *embedding;
    reading.session.warnings = textsOf(*attributes, "warnings");
    return Done{};
}

Result<Done> readVocabulary(Reading& reading)
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

std::optional<HeadId> headOf(const ModelCard& model, std::string_view dotted)
{
    const std::optional<HeadId> head = parseHeadId(dotted);
    const bool inside =
        head && dottedHead(*head) == dotted && head->layer < model.nLayers && head->head < model.nHeads;
    return inside ? head : std::nullopt;
}

/// Checks that the heads of a part are heads of the model.
Result<Done> checkShard(Reading& reading)
{
    const auto& part = reading.session.part;
    for (const std::string& head : part ? part->heads : std::vector<std::string>())
        if (!headOf(reading.session.model, head))
            return reading.corrupt(layout::shardHeads, "names a head that the model does not have: " + head);
    return Done{};
}

/// Reads notes and bookmarks; a note on a head that the model does not have is skipped.
Result<Done> readTexts(Reading& reading)
{
    Session& session = reading.session;
    if (reading.file.has("notes")) {
        const Result<std::vector<Hdf5Entry>> entries = reading.file.entries("notes");
        if (!entries)
            return entries.error();
        for (const Hdf5Entry& entry : *entries) {
            if (entry.kind != Hdf5Kind::Texts || !headOf(session.model, entry.name))
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
            if (headOf(session.model, bookmark))
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

/// Returns the shape that FORMAT.md gives this path; −1: any size; nothing: the axes decide.
std::optional<std::vector<int>> namedShape(std::string_view path, const ModelCard& m)
{
    const std::string_view root = path.substr(0, path.find('/'));
    const std::string_view name = path.substr(path.rfind('/') + 1);
    const int L = m.nLayers;
    const int H = m.nHeads;
    if (root == "spectra")
        return name == "singular_values" ? std::vector<int>{L, H, m.dHead} : std::vector<int>{L, H};
    if (root == "eigenvalues")
        return std::vector<int>{L, H, m.dHead};
    if (root == "scores")
        return std::vector<int>{L, H};
    if (root == "composition")
        return std::vector<int>{L, H, L, H};
    if (root == "tables")
        return std::vector<int>{-1, -1, -1};
    if (root == "factors")
        return name == "a" ? std::vector<int>{L, H, m.dModel, m.dHead}
                           : std::vector<int>{L, H, m.dHead, m.dModel};
    if (root == "embedding")
        return std::vector<int>{m.dVocab, m.dModel};
    if (root == "unembedding")
        return std::vector<int>{m.dModel, -1};
    return std::nullopt;
}

Result<Done> checkShape(const Reading& reading, const ResultArray& array)
{
    const ModelCard& model = reading.session.model;
    const auto wrong = [&] {
        std::string shape;
        for (const std::size_t size : array.shape)
            shape += (shape.empty() ? "" : ", ") + std::to_string(size);
        return reading.corrupt(array.path,
                               "has shape [" + shape + "], which does not fit its axes or the model");
    };
    if (array.axes.size() != array.shape.size())
        return wrong();
    for (std::size_t i = 0; i < array.shape.size(); ++i) {
        const bool isLayer = array.axes[i] == Axis::Layer, isHead = array.axes[i] == Axis::Head;
        const int fixed = isLayer ? model.nLayers : isHead ? model.nHeads : -1;
        // A table lists only the analysed heads, so its rows belong to no layer.
        const bool ofTable = array.path.starts_with("tables/");
        if (ofTable && (isLayer || (isHead && i > 0)))
            return wrong();
        if (fixed >= 0 && !ofTable && array.shape[i] != static_cast<std::size_t>(fixed))
            return wrong();
    }
    const auto named = namedShape(array.path, model);
    if (!named)
        return Done{};
    if (named->size() != array.shape.size())
        return wrong();
    for (std::size_t i = 0; i < named->size(); ++i)
        if ((*named)[i] >= 0 && array.shape[i] != static_cast<std::size_t>((*named)[i]))
            return wrong();
    return Done{};
}

/// Returns nothing if a later version gives this path another shape, or if the array is foreign and stored in a way that
/// is not read: a reader ignores what it does not know.
Result<std::optional<ResultArray>> readArray(const Reading& reading, const std::string& path)
{
    Result<Hdf5Array> stored = reading.file.readArray(path);
    if (!stored && stored.error().code == ErrorCode::Unsupported
        && !namedShape(path, reading.session.model)) {
        logger().warn("{}", stored.error().message);
        return std::optional<ResultArray>(); // a foreign array
    }
    if (!stored)
        return stored.error();
    const Result<Hdf5Attributes> attributes = reading.file.attributes(path);
    if (!attributes)
        return attributes.error();
    ResultArray array;
    array.path = path;
    Hdf5Array numbers = std::move(stored).value();
    array.shape = std::move(numbers.shape);
    array.values = std::move(numbers.values);
    array.axes = axesNamed(textsOf(*attributes, "axes"));
    array.definition = textOf(*attributes, "definition");
    array.title = textOf(*attributes, "title");
    array.unit = textOf(*attributes, "unit");
    array.nullMean = numberOf(*attributes, "null_mean");
    array.nullDeviation = numberOf(*attributes, "null_deviation");
    const auto low = numberOf(*attributes, "range_low");
    const auto high = numberOf(*attributes, "range_high");
    if (low && high)
        array.range = {*low, *high};
    for (const auto& [name, value] : *attributes)
        if (std::find(layout::arrayAttributes.begin(), layout::arrayAttributes.end(), name)
            == layout::arrayAttributes.end())
            array.attributes.emplace(name, attributeValue(value));
    if (array.axes.empty()) // an array that another program added
        for (std::size_t i = 0; i < array.shape.size(); ++i)
            array.axes.push_back(ArrayAxis::named("axis " + std::to_string(i)));
    if (const Result<Done> fits = checkShape(reading, array); !fits) {
        if (reading.isNewer())
            return std::optional<ResultArray>();
        return fits.error();
    }
    return std::optional(std::move(array));
}

Result<Done> addArray(Reading& reading, const std::string& path)
{
    Result<std::optional<ResultArray>> array = readArray(reading, path);
    if (!array)
        return array.error();
    std::optional<ResultArray> found = std::move(array).value();
    if (found)
        reading.session.results.arrays.push_back(*std::move(found));
    return Done{};
}

Result<Done> readGroup(Reading& reading, const std::string& path, int depth)
{
    if (depth > maxDepth)
        return Done{};
    const Result<Hdf5Attributes> attributes = reading.file.attributes(path);
    if (!attributes)
        return attributes.error();
    for (const auto& [name, value] : *attributes)
        reading.session.results.groupAttributes[path].emplace(name, attributeValue(value));
    const Result<std::vector<Hdf5Entry>> entries = reading.file.entries(path);
    if (!entries)
        return entries.error();
    for (const Hdf5Entry& entry : *entries) {
        if (reading.task.cancelled())
            return stopped();
        const std::string child = path + "/" + entry.name;
        if (entry.kind == Hdf5Kind::Group) {
            if (const Result<Done> read = readGroup(reading, child, depth + 1); !read)
                return read;
        } else if (entry.kind == Hdf5Kind::Numbers) {
            if (reading.session.results.arrays.size() == maxArrays)
                return reading.corrupt(path, "holds more than " + std::to_string(maxArrays) + " arrays");
            if (const Result<Done> read = addArray(reading, child); !read)
                return read;
        }
    }
    return Done{};
}

Result<Done> readResults(Reading& reading)
{
    const Result<std::vector<Hdf5Entry>> entries = reading.file.entries("");
    if (!entries)
        return entries.error();
    int done = 0;
    for (const Hdf5Entry& entry : *entries) {
        reading.task.report(done++, static_cast<int>(entries->size()), "groups");
        if (std::find(layout::resultRoots.begin(), layout::resultRoots.end(), entry.name)
            == layout::resultRoots.end())
            continue;
        if (entry.kind == Hdf5Kind::Group) {
            if (const Result<Done> read = readGroup(reading, entry.name, 1); !read)
                return read;
        } else if (entry.kind == Hdf5Kind::Numbers) {
            if (const Result<Done> read = addArray(reading, entry.name); !read)
                return read;
        }
    }
    reading.task.report(done, done, "groups");
    return Done{};
}

/// Checks that the heads of each table belong to the model, one per row, and that its ids are tokens.
Result<Done> tablesFit(const Reading& reading)
{
    const ResultSet& results = reading.session.results;
    for (const ResultArray& array : results.arrays) {
        if (!array.path.starts_with("tables/"))
            continue;
        const std::string group = array.path.substr(0, array.path.rfind('/'));
        const auto attributes = results.groupAttributes.find(group);
        const auto heads = attributes == results.groupAttributes.end() ? std::vector<std::string>()
            : attributes->second.contains("heads") && attributes->second.at("heads").index() == 3
            ? std::get<std::vector<std::string>>(attributes->second.at("heads"))
            : std::vector<std::string>();
        const bool known = std::all_of(heads.begin(), heads.end(), [&](const std::string& head) {
            return headOf(reading.session.model, head).has_value();
        });
        if (heads.size() != array.shape[0] || !known)
            return reading.corrupt(group, "does not name the head of each of its rows in 'heads'");
        const ResultArray* columns = results.find(group + "/column_ids");
        const auto limit = std::max(static_cast<std::size_t>(reading.session.model.dVocab),
                                    columns ? columns->shape[1] : std::size_t(0));
        if (const auto* ids = std::get_if<std::vector<std::int32_t>>(&array.values))
            if (std::any_of(ids->begin(), ids->end(), [&](std::int32_t id) {
                    return id < -1 || (id >= 0 && std::size_t(id) >= limit);
                }))
                return reading.corrupt(array.path, "holds token ids outside the vocabulary");
    }
    return Done{};
}

/// Infers the number of output tokens, which is stored nowhere else: column tables have one entry for each column of W_U.
Result<Done> checkUnembedding(Reading& reading)
{
    const ResultSet& results = reading.session.results;
    const ResultArray* unembedding = results.find("unembedding");
    const ResultArray* columns = results.find("tables/full_ov/column_ids");
    if (!unembedding || !columns || unembedding->shape[1] == columns->shape[1] || reading.isNewer())
        return Done{};
    return reading.corrupt("unembedding",
                           "has " + std::to_string(unembedding->shape[1]) + " columns, expected "
                               + std::to_string(columns->shape[1]) + " as tables/full_ov/column_ids has");
}

/// Checks the tables. A later version may store them differently; in ours, a mismatch means a damaged file.
Result<Done> checkTables(Reading& reading)
{
    const Result<Done> fit = tablesFit(reading);
    if (fit || !reading.isNewer())
        return fit;
    std::erase_if(reading.session.results.arrays,
                  [](const ResultArray& array) { return array.path.starts_with("tables/"); });
    return Done{};
}

/// Reads the pictures that the window showed. A later version may store them differently.
Result<Done> readPictures(Reading& reading)
{
    Result<std::vector<ScreenPicture>> screen = readScreen(reading.file, reading.task);
    if (!screen)
        return reading.isNewer() ? Result<Done>(Done{}) : screen.error();
    reading.session.screen = std::move(screen).value();
    return Done{};
}

} // namespace

Result<Session> readSession(const std::filesystem::path& path, const Task& task)
{
    const Result<Hdf5Reader> file = Hdf5Reader::open(path, task);
    if (!file)
        return file.error();
    Session session;
    Reading reading{*file, task, session};
    for (const auto step : {readRoot, readModel, checkShard, readProcessing, readVocabulary, readTexts,
                            readResults, checkTables, checkUnembedding, readPictures}) {
        if (task.cancelled())
            return stopped();
        if (const Result<Done> done = step(reading); !done)
            return done.error();
    }
    return session;
}

bool isSessionFile(const std::filesystem::path& path)
{
    if (!isHdf5(path))
        return false;
    const Result<Hdf5Reader> file = Hdf5Reader::open(path);
    const Result<Hdf5Attributes> attributes = file ? file->attributes("") : file.error();
    // An unreadable file is not a model either; as a session it is reported as damaged.
    return !attributes || textOf(*attributes, "format") == layout::format;
}

} // namespace headwise
