#include "core/session/views.h"

#include "core/analysis/catalogue.h"
#include "core/analysis/inputs/token_filter.h"
#include "core/results/array_cut.h"
#include "core/results/suggested_picture.h"
#include "core/session/picture_numbers.h"
#include "core/session/view_names.h"

#include <algorithm>
#include <array>

namespace headwise {
namespace {

using Kind = Picture::Kind;

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
    const bool isOfEachHead = !head && array.shape.size() == 3 && isOverTraining(array)
        && headAxes(array, model) == HeadAxes::OneHead; // small multiples
    view.picture = named ? named->picture : suggestedPicture(array, isGrid || isOfEachHead ? 2 : fixed);
    if (isOfEachHead)
        view.dimensions = 1;
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

/// Returns the arrays of a picture that the session has.
std::vector<const ResultArray*> arraysOf(const Picture& picture, const Session& session)
{
    std::vector<const ResultArray*> there;
    for (const std::string& path : picture.arrays)
        if (const ResultArray* array = session.results.find(path))
            there.push_back(array);
    return there;
}

bool showsOneHead(const Picture& picture, const Session& session)
{
    return std::ranges::any_of(arraysOf(picture, session), [&](const ResultArray* array) {
        return isCutAtHead(picture, *array, session.model);
    });
}

Result<View> pageView(const Session& session, std::string_view name, std::optional<HeadId> head)
{
    constexpr std::string_view selected = ", selected head";
    const std::string_view page = name.substr(0, name.find(pageColon));
    const Result<Picture> picture = pagePicture(page, name.substr(page.size() + pageColon.size()));
    if (!picture)
        return picture.error();
    const std::vector<const ResultArray*> arrays = arraysOf(*picture, session);
    if (arrays.empty())
        return Error{ErrorCode::NotFound,
                     findAnalysis(page) ? "The session has no results of '" + std::string(page)
                             + "'; headwise analyze MODEL -o SESSION.h5 --analyses " + std::string(page)
                             + " makes them."
                                        : "The session compares no two models; headwise compare does."};
    if (const Result<Done> checked = checkHead(session, name, showsOneHead(*picture, session), head);
        !checked)
        return checked.error();
    View view;
    describe(view, *arrays.front());
    view.dimensions = 2;
    view.picture = *picture;
    if (head) // names it instead of calling it selected
        view.picture.title = headLabel(*head) + " " + picture->title.substr(0, picture->title.find(selected));
    view.name = name;
    view.head = head;
    view.isOfPage = true;
    addProvenance(view, session);
    return view;
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
    // A grid of several arrays is a figure for each of them.
    for (const PagePictures& page : pagesOfPictures())
        for (const Picture& picture : page.pictures)
            if (picture.kind != Kind::HeadGrid && shortNameOf(picture).empty()
                && canBeDrawn(picture, session.results))
                list.push_back({pageName(page.name, picture), picture.title,
                                "/" + arraysOf(picture, session).front()->path,
                                showsOneHead(picture, session)});
    return list;
}

Result<View> viewOf(const Session& session, std::string_view name, std::optional<HeadId> head)
{
    if (name.find(pageColon) != std::string_view::npos && !session.results.find(name))
        return pageView(session, name, head);
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

} // namespace headwise
