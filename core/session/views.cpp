#include "core/session/views.h"

#include "core/analysis/catalogue.h"
#include "core/analysis/inputs/token_filter.h"
#include "core/results/array_cut.h"
#include "core/results/suggested_picture.h"
#include "core/session/picture_numbers.h"

#include <algorithm>
#include <array>

namespace headwise {
namespace {

using Kind = Picture::Kind;

constexpr std::array<std::string_view, 4> circuitNames = {"qk", "ov", "full_qk", "full_ov"};

/// A picture every session can have.
struct NamedPicture {
    ViewDescription description;
    Picture picture;           ///< Its title follows the head's name; empty: the title of its array does.
    std::string_view analysis; ///< Makes its arrays.
};

std::vector<std::string> ofCircuits(std::string_view prefix, std::string_view suffix)
{
    std::vector<std::string> paths;
    paths.reserve(circuitNames.size());
    for (const std::string_view circuit : circuitNames)
        paths.push_back(std::string(prefix).append(circuit).append(suffix));
    return paths;
}

/// Colours of a picture of all heads.
enum class Colors { Signed, Unsigned };

NamedPicture ofAllHeads(ViewDescription description, Kind kind, std::string_view analysis, Colors colors)
{
    std::string path = description.needs.substr(1);
    return {std::move(description),
            {.kind = kind,
             .title = {},
             .arrays = {std::move(path)},
             .signedColors = colors == Colors::Signed,
             .note = {}},
            analysis};
}

/// \param entries words over its lists
NamedPicture tokensOf(const char* name, const char* title, const std::string& group, const char* shown,
                      const char* entries)
{
    return {
        {name, title, "/" + group, true},
        {.kind = Kind::Table, .title = shown, .arrays = {group + "/ids", group + "/values"}, .note = entries},
        "tables"};
}

std::vector<NamedPicture> makeNamedPictures()
{
    std::vector<NamedPicture> all = {
        ofAllHeads({"copying", "Copying score of every head", "/scores/copying", false}, Kind::HeadGrid,
                   "copying", Colors::Signed),
        ofAllHeads({"matching", "Matching score of every head", "/scores/matching", false}, Kind::HeadGrid,
                   "matching", Colors::Signed),
        ofAllHeads({"previous_token", "Previous-token score of every head", "/scores/previous_token", false},
                   Kind::HeadGrid, "previous_token", Colors::Unsigned)};
    using Names = std::array<const char*, 3>; // of the view, its title, and what stands in the path
    for (const auto& [name, title, circuit] :
         {Names{"norm-qk", "Norm of QK of every head", "qk"},
          Names{"norm-ov", "Norm of OV of every head", "ov"},
          Names{"norm-full-qk", "Norm of full QK of every head", "full_qk"},
          Names{"norm-full-ov", "Norm of full OV of every head", "full_ov"}})
        all.push_back(ofAllHeads({name, title, std::string("/spectra/") + circuit + "/frobenius_norm", false},
                                 Kind::HeadGrid, "spectra", Colors::Unsigned));
    for (const auto& [name, title, mode] :
         {Names{"composition-q", "Q-composition of every pair of heads", "q"},
          Names{"composition-k", "K-composition of every pair of heads", "k"},
          Names{"composition-v", "V-composition of every pair of heads", "v"}})
        all.push_back(ofAllHeads({name, title, std::string("/composition/") + mode, false}, Kind::HeadPairs,
                                 "composition", Colors::Unsigned));
    all.push_back({{"spectrum", "Singular values of a head's circuits", "/spectra", true},
                   {.kind = Kind::Lines,
                    .title = "singular values",
                    .arrays = ofCircuits("spectra/", "/singular_values"),
                    .logY = true, // circuits of one head differ by orders of magnitude
                    .note = {}},
                   "spectra"});
    all.push_back(
        {{"eigenvalues", "Eigenvalues of a head's circuits", "/eigenvalues", true},
         {.kind = Kind::Points, .title = "eigenvalues", .arrays = ofCircuits("eigenvalues/", ""), .note = {}},
         "eigenvalues"});
    all.push_back(
        {{"position", "Mean score of a head by offset", "/analyses/position_kernel/mean_score", true},
         {.kind = Kind::Lines, .title = {}, .arrays = {"analyses/position_kernel/mean_score"}, .note = {}},
         "position_kernel"});
    all.push_back(tokensOf("tokens-qk", "Keys that query tokens attend to", "tables/full_qk",
                           "full QK tokens", "keys it attends to most, score"));
    all.push_back(tokensOf("tokens-ov", "Outputs that source tokens promote", "tables/full_ov",
                           "full OV tokens", "outputs it raises most, logit"));
    return all;
}

const std::vector<NamedPicture>& namedPictures()
{
    static const std::vector<NamedPicture> table = makeNamedPictures();
    return table;
}

std::string underscored(std::string_view name)
{
    std::string text(name);
    std::replace(text.begin(), text.end(), '-', '_');
    return text;
}

Error missing(const NamedPicture& named)
{
    return {ErrorCode::NotFound,
            "The session has no '" + named.description.needs
                + "'; headwise analyze MODEL -o SESSION.h5 --analyses " + std::string(named.analysis)
                + " makes it."};
}

std::string embeddingOf(const ResultArray& array)
{
    const auto embedding = array.attributes.find("embedding");
    const auto* name =
        embedding == array.attributes.end() ? nullptr : std::get_if<std::string>(&embedding->second);
    return name ? *name : std::string();
}

void describe(View& view, const ResultArray& array)
{
    view.definition = array.definition;
    view.filter = filterOf(array);
    view.embedding = embeddingOf(array);
}

std::string appliedSteps(const Processing& processing)
{
    std::string steps;
    const auto step = [&](bool applied, const char* name) {
        if (applied)
            steps += (steps.empty() ? "" : ", ") + std::string(name);
    };
    step(processing.foldLayerNorm, "fold-layer-norm");
    step(processing.centerWritingWeights, "center-writing-weights");
    step(processing.centerUnembed, "center-unembed");
    step(processing.foldValueBiases, "fold-value-biases");
    step(processing.refactorAttention, "refactor-factored-attention");
    for (const HeadChange& change : processing.headChanges)
        step(true, headChangeName(change).c_str());
    return steps;
}

void addProvenance(View& view, const Session& session)
{
    const std::string applied = appliedSteps(session.processing);
    view.provenance = {{"model", session.model.name},
                       {"architecture", session.model.architecture},
                       {"source", session.model.source},
                       {"sha256", session.model.sha256},
                       {"weights", applied.empty() ? "raw" : "processed: " + applied},
                       {"embedding", view.embedding},
                       {"tokens", view.filter},
                       {"view", view.name},
                       {"definition", view.definition},
                       {"headwise", session.headwiseVersion},
                       {"session", session.modified}};
    view.subtitle = session.model.name + ", " + (applied.empty() ? "raw" : "processed") + " weights"
        + (view.embedding.empty() ? "" : ", " + view.embedding + " embedding")
        + (view.filter.empty() ? "" : ", tokens " + view.filter);
    std::erase_if(view.provenance, [](const auto& entry) { return entry.second.empty(); });
    if (view.head)
        view.provenance.insert(view.provenance.end() - 3, {"head", headLabel(*view.head)});
}

Result<Done> checkHead(const Session& session, std::string_view name, bool ofHead, std::optional<HeadId> head)
{
    const auto invalid = [&](const std::string& sentence) {
        return Error{ErrorCode::InvalidArgument, sentence};
    };
    if (ofHead && !head)
        return invalid("The view '" + std::string(name)
                       + "' shows one head; name it with --head LAYER.HEAD.");
    if (!ofHead && head)
        return invalid("The view '" + std::string(name) + "' shows every head; leave --head out.");
    if (head && (head->layer >= session.model.nLayers || head->head >= session.model.nHeads))
        return invalid("The model has no head " + dottedHead(*head) + "; its heads are 0.0 to "
                       + dottedHead({session.model.nLayers - 1, session.model.nHeads - 1}) + ".");
    return Done{};
}

/// \param named the view it belongs to; null: its own picture, as its axes suggest
View arrayView(const ResultArray& array, const ModelCard& model, const NamedPicture* named,
               std::optional<HeadId> head)
{
    View view;
    describe(view, array);
    const std::size_t fixed = head && isPerHead(model, array) ? 2 : 0;
    view.dimensions = array.shape.size() - fixed;
    // Without a head an array is shown whole.
    const bool isGrid = array.shape.size() == 2 && headAxes(array, model) == HeadAxes::OneHead;
    view.picture = named ? named->picture : suggestedPicture(array, isGrid ? 2 : fixed);
    if (!head && isOfPairs(model, array)) {
        view.picture.kind = Kind::HeadPairs;
        view.dimensions = 2;
    }
    view.picture.title =
        (head ? headLabel(*head) + " " : "") + (array.title.empty() ? array.path : array.title);
    return view;
}

/// The same array of up to four circuits of one head.
Result<View> circuitsView(const Session& session, const NamedPicture& named, HeadId head)
{
    View view;
    view.picture = named.picture;
    view.picture.title = headLabel(head) + " " + named.picture.title;
    for (const ResultArray* array : sideBySide(session, named.picture)) {
        view.dimensions = 2;
        if (const std::string embedding = embeddingOf(*array); !embedding.empty())
            view.embedding = embedding;
        view.definition +=
            (view.definition.empty() ? "" : "; ") + circuitIn(array->path) + ": " + array->definition;
    }
    if (view.dimensions == 0)
        return missing(named);
    return view;
}

Result<View> tokensView(const Session& session, const NamedPicture& named, HeadId head)
{
    const ResultArray* ids = session.results.find(named.picture.arrays[0]);
    const ResultArray* values = session.results.find(named.picture.arrays[1]);
    if (!ids || !values || ids->shape != values->shape || ids->values.index() != 2 || ids->shape.size() != 3)
        return missing(named);
    if (!placeInList(*ids, session.results, head))
        return Error{ErrorCode::NotFound,
                     "The tables of the session leave out head " + dottedHead(head)
                         + "; headwise analyze MODEL -o SESSION.h5 --analyses tables --heads "
                         + dottedHead(head) + " makes them."};
    View view;
    describe(view, *values);
    view.picture = named.picture;
    view.picture.title = headLabel(head) + " " + named.picture.title;
    view.dimensions = 2;
    return view;
}

Result<View> namedView(const Session& session, const NamedPicture& named, std::optional<HeadId> head)
{
    if (named.picture.kind == Kind::Table)
        return tokensView(session, named, *head);
    if (named.picture.arrays.size() > 1)
        return circuitsView(session, named, *head);
    const ResultArray* array = session.results.find(named.picture.arrays.front());
    if (!array)
        return missing(named);
    return arrayView(*array, session.model, &named, head);
}

/// Finds "ANALYSIS: PICTURE" in the catalogue.
Result<Picture> cataloguePicture(std::string_view analysisName, std::string_view title)
{
    const Analysis* analysis = findAnalysis(analysisName);
    if (!analysis)
        return Error{ErrorCode::InvalidArgument,
                     "There is no analysis '" + std::string(analysisName)
                         + "'; headwise list-analyses names them."};
    std::string titles;
    for (const Picture& picture : analysis->pictures) {
        if (picture.title == title)
            return picture;
        titles += (titles.empty() ? "'" : ", '") + picture.title + "'";
    }
    return Error{ErrorCode::InvalidArgument,
                 "The analysis '" + std::string(analysisName) + "' has no picture '" + std::string(title)
                     + "'; it has " + (titles.empty() ? "none" : titles) + "."};
}

/// Whether a picture shows one head of this array rather than all.
bool isCutAtHead(const Picture& picture, const ResultArray& array, const ModelCard& model)
{
    constexpr std::array cut{Kind::Lines, Kind::Bars, Kind::Points, Kind::Matrix, Kind::Table};
    if (std::find(cut.begin(), cut.end(), picture.kind) == cut.end())
        return false;
    const HeadAxes axes = headAxes(array, model);
    const bool hasRest = array.shape.size() > headDimensions(axes);
    return axes == HeadAxes::Layer || axes == HeadAxes::ListedHeads || (axes != HeadAxes::None && hasRest);
}

} // namespace

std::vector<ViewDescription> views()
{
    std::vector<ViewDescription> list;
    for (const NamedPicture& named : namedPictures())
        list.push_back(named.description);
    return list;
}

std::vector<ViewDescription> viewsOf(const Session& session)
{
    std::vector<ViewDescription> list;
    for (const NamedPicture& named : namedPictures()) {
        const std::string path = named.description.needs.substr(1);
        const bool isThere =
            std::any_of(session.results.arrays.begin(), session.results.arrays.end(),
                        [&](const auto& a) { return a.path == path || a.path.starts_with(path + "/"); });
        if (isThere)
            list.push_back(named.description);
    }
    for (const ResultArray& array : session.results.arrays)
        list.push_back({array.path, array.title.empty() ? array.definition : array.title, "/" + array.path,
                        isPerHead(session.model, array)});
    return list;
}

std::string viewNameOf(const Picture& picture)
{
    for (const NamedPicture& named : namedPictures())
        if (named.picture.kind == picture.kind && named.picture.arrays == picture.arrays)
            return named.description.name;
    constexpr std::array ofOneArray{Kind::HeadGrid, Kind::Lines, Kind::Points, Kind::Matrix, Kind::Table};
    const bool isDrawnAlone = picture.arrays.size() == 1
        && std::find(ofOneArray.begin(), ofOneArray.end(), picture.kind) != ofOneArray.end();
    return isDrawnAlone ? picture.arrays.front() : std::string();
}

Result<View> viewOf(const Session& session, std::string_view name, std::optional<HeadId> head)
{
    const bool isPath = name.find('/') != std::string_view::npos;
    const std::string plain =
        isPath ? std::string(name.substr(name.starts_with('/') ? 1 : 0)) : underscored(name);
    const auto named =
        std::find_if(namedPictures().begin(), namedPictures().end(),
                     [&](const NamedPicture& one) { return underscored(one.description.name) == plain; });
    const bool isNamed = named != namedPictures().end();
    const ResultArray* array = session.results.find(isPath ? plain : "scores/" + plain);
    if (!isNamed && !array) {
        const ErrorCode code = isPath ? ErrorCode::NotFound : ErrorCode::InvalidArgument;
        return Error{code,
                     "There is no view '" + std::string(name) + "'; headwise export --list names them."};
    }
    const bool ofHead = isNamed ? named->description.ofHead : isPerHead(session.model, *array);
    // A per-head array may also be taken whole.
    const bool isWhole = isPath && ofHead && !head;
    if (const Result<Done> checked = checkHead(session, name, ofHead && !isWhole, head); !checked)
        return checked.error();
    Result<View> found = isNamed ? namedView(session, *named, head)
                                 : Result<View>(arrayView(*array, session.model, nullptr, head));
    if (!found)
        return found;
    View view = std::move(found).value();
    view.name = isNamed ? named->description.name : plain;
    view.head = head;
    addProvenance(view, session);
    return view;
}

Result<View> panelViewOf(const Session& session, std::string_view name, std::optional<HeadId> head)
{
    constexpr std::string_view colon = ": ", selected = ", selected head";
    const std::size_t at = name.find(colon);
    if (at == std::string_view::npos)
        return viewOf(session, name, head);
    const std::string_view analysis = name.substr(0, at);
    const Result<Picture> picture = cataloguePicture(analysis, name.substr(at + colon.size()));
    if (!picture)
        return picture.error();
    View view;
    bool ofHead = false;
    for (const std::string& path : picture->arrays)
        if (const ResultArray* array = session.results.find(path)) {
            if (view.dimensions == 0)
                describe(view, *array);
            view.dimensions = 2;
            ofHead = ofHead || isCutAtHead(*picture, *array, session.model);
        }
    if (view.dimensions == 0)
        return Error{ErrorCode::NotFound,
                     "The session has no results of '" + std::string(analysis)
                         + "'; headwise analyze MODEL -o SESSION.h5 --analyses " + std::string(analysis)
                         + " makes them."};
    if (const Result<Done> checked = checkHead(session, name, ofHead, head); !checked)
        return checked.error();
    view.picture = *picture;
    if (head) // names it instead of calling it selected
        view.picture.title = headLabel(*head) + " " + picture->title.substr(0, picture->title.find(selected));
    view.name = name;
    view.head = head;
    addProvenance(view, session);
    return view;
}

} // namespace headwise
