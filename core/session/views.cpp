#include "core/session/views.h"

#include "core/analysis/catalogue.h"
#include "core/analysis/inputs/token_filter.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace headwise {
namespace {

constexpr std::array<std::string_view, 4> circuitNames = {"qk", "ov", "full_qk", "full_ov"};

std::string underscored(std::string_view name)
{
    std::string text(name);
    std::replace(text.begin(), text.end(), '-', '_');
    return text;
}

std::size_t product(const std::vector<std::size_t>& shape, std::size_t from)
{
    return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(from), shape.end(), std::size_t(1),
                           std::multiplies<>());
}

std::vector<std::string> counted(std::size_t count)
{
    std::vector<std::string> labels;
    for (std::size_t i = 0; i < count; ++i)
        labels.push_back(std::to_string(i));
    return labels;
}

std::vector<std::string> headLabels(const ModelCard& model)
{
    std::vector<std::string> labels;
    for (int layer = 0; layer < model.nLayers; ++layer)
        for (int head = 0; head < model.nHeads; ++head)
            labels.push_back(headLabel({layer, head}));
    return labels;
}

void appendCells(std::vector<std::string>& row, float value)
{
    row.push_back(shortestText(value));
}
void appendCells(std::vector<std::string>& row, double value)
{
    row.push_back(shortestText(value));
}
void appendCells(std::vector<std::string>& row, std::int32_t value)
{
    row.push_back(std::to_string(value));
}
template <typename T>
void appendCells(std::vector<std::string>& row, std::complex<T> value)
{
    row.push_back(shortestText(value.real()));
    row.push_back(shortestText(value.imag()));
}

/// The rows and columns of `values` with their labels.
Table wideTable(const ViewData& view)
{
    Table table;
    table.columns.push_back(view.rowAxis);
    const bool isComplex = view.values.index() >= 3;
    for (const std::string& label : view.columnLabels)
        if (isComplex)
            table.columns.insert(table.columns.end(), {label + "_real", label + "_imaginary"});
        else
            table.columns.push_back(label);
    std::visit(
        [&](const auto& values) {
            for (std::size_t r = 0; r < view.shape[0]; ++r) {
                std::vector<std::string>& row = table.rows.emplace_back();
                row.push_back(view.rowLabels[r]);
                for (std::size_t c = 0; c < view.shape[1]; ++c)
                    appendCells(row, values[r * view.shape[1] + c]);
            }
        },
        view.values);
    return table;
}

Error missing(std::string_view path, std::string_view analyses)
{
    return {ErrorCode::NotFound,
            "The session has no '" + std::string(path) + "'; headwise analyze MODEL -o SESSION.h5 --analyses "
                + std::string(analyses) + " makes it."};
}

void noteEmbedding(ViewData& view, const ResultArray& array)
{
    const auto embedding = array.attributes.find("embedding");
    if (embedding != array.attributes.end())
        if (const auto* name = std::get_if<std::string>(&embedding->second))
            view.embedding = *name;
}

void describe(ViewData& view, const ResultArray& array)
{
    view.valueName = array.title.empty() ? array.path : array.title;
    view.unit = array.unit;
    view.definition = array.definition;
    view.range = array.range;
    view.filter = filterOf(array);
    noteEmbedding(view, array);
}

/// The part of an array [layer, head, …] that belongs to one head.
template <typename T>
std::vector<T> headPart(const ResultArray& array, const std::vector<T>& values, HeadId head)
{
    const std::size_t size = product(array.shape, 2);
    const std::size_t begin =
        (static_cast<std::size_t>(head.layer) * array.shape[1] + static_cast<std::size_t>(head.head)) * size;
    return {values.begin() + static_cast<std::ptrdiff_t>(begin),
            values.begin() + static_cast<std::ptrdiff_t>(begin + size)};
}

/// Whatever its axes are called, the first two sizes must be those of the model: headPart counts on them.
bool isOfHeads(const ModelCard& model, const ResultArray& array)
{
    return array.shape.size() > 2 && array.shape[0] == static_cast<std::size_t>(model.nLayers)
        && array.shape[1] == static_cast<std::size_t>(model.nHeads);
}

bool isPerHead(const ModelCard& model, const ResultArray& array)
{
    return isOfHeads(model, array) && array.axes.size() == array.shape.size() && array.axes[0] == "layer"
        && array.axes[1] == "head";
}

/// Any array: two dimensions are a heatmap, one is a line, more are numbers.
ViewData arrayView(const Session& session, const ResultArray& array, std::optional<HeadId> head)
{
    ViewData view;
    describe(view, array);
    view.title = (head ? headLabel(*head) + " " : "") + view.valueName;
    std::vector<std::string> axes = array.axes;
    view.shape = array.shape;
    view.values = array.values;
    if (head && isPerHead(session.model, array)) {
        std::visit([&](const auto& values) { view.values = headPart(array, values, *head); }, array.values);
        axes.erase(axes.begin(), axes.begin() + 2);
        view.shape.erase(view.shape.begin(), view.shape.begin() + 2);
    }
    const auto heads =
        static_cast<std::size_t>(session.model.nLayers) * static_cast<std::size_t>(session.model.nHeads);
    const bool isPairs = view.shape.size() == 4 && view.shape[0] * view.shape[1] == heads
        && view.shape[2] * view.shape[3] == heads;
    if (isPairs) { // every head with every head
        view.ofPairs = true;
        view.shape = {heads, heads};
        view.rowLabels = view.columnLabels = headLabels(session.model);
        axes = {"earlier head", "later head"};
    } else if (view.shape.size() == 1) {
        view.shape.push_back(1);
        axes.push_back("value");
        view.columnLabels = {"value"};
        view.kind = ViewKind::Lines;
    }
    if (view.shape.size() != 2) {
        ResultArray part = array;
        part.shape = view.shape;
        part.values = view.values;
        part.axes = axes;
        view.table = tableOf(part);
        return view;
    }
    const bool isComplex = view.values.index() >= 3;
    view.kind = isComplex              ? ViewKind::Points
        : view.kind == ViewKind::Lines ? ViewKind::Lines
                                       : ViewKind::Heatmap;
    view.rowAxis = axes[0];
    view.columnAxis = axes[1];
    if (view.rowLabels.empty())
        view.rowLabels = counted(view.shape[0]);
    if (view.columnLabels.empty())
        view.columnLabels = counted(view.shape[1]);
    view.table = wideTable(view);
    return view;
}

/// Shows the same array of up to four circuits side by side, one column each.
Result<ViewData> circuitsView(const Session& session, HeadId head, std::string_view prefix,
                              std::string_view suffix)
{
    std::vector<const ResultArray*> columns;
    ViewData view;
    for (const std::string_view circuit : circuitNames) {
        const ResultArray* array =
            session.results.find(std::string(prefix) + std::string(circuit) + std::string(suffix));
        if (!array || !isOfHeads(session.model, *array)
            || (!columns.empty()
                && (array->values.index() != columns[0]->values.index()
                    || array->shape != columns[0]->shape)))
            continue;
        columns.push_back(array);
        noteEmbedding(view, *array);
        view.columnLabels.emplace_back(circuit);
        view.definition +=
            (view.definition.empty() ? "" : "; ") + std::string(circuit) + ": " + array->definition;
    }
    if (columns.empty())
        return missing("/" + std::string(prefix), prefix == "spectra/" ? "spectra" : "eigenvalues");
    const std::size_t points = columns[0]->shape[2];
    view.shape = {points, columns.size()};
    std::visit(
        [&]<typename T>(const std::vector<T>&) {
            std::vector<T> values(points * columns.size());
            for (std::size_t c = 0; c < columns.size(); ++c) {
                const std::vector<T> part =
                    headPart(*columns[c], std::get<std::vector<T>>(columns[c]->values), head);
                for (std::size_t i = 0; i < points; ++i)
                    values[i * columns.size() + c] = part[i];
            }
            view.values = std::move(values);
        },
        columns[0]->values);
    view.kind = prefix == "spectra/" ? ViewKind::Lines : ViewKind::Points;
    view.valueName = prefix == "spectra/" ? "singular value" : "eigenvalue";
    view.title = headLabel(head) + (prefix == "spectra/" ? " singular values" : " eigenvalues");
    view.rowAxis = "index";
    view.columnAxis = "circuit";
    view.rowLabels = counted(points);
    view.table = wideTable(view);
    return view;
}

/// One of the three pairs of arrays of a table group.
struct TableEnd {
    const char* direction;
    const char* end;
    const char* ids;
    const char* values;
};
constexpr std::array<TableEnd, 3> tableEnds = {{{"row", "top", "ids", "values"},
                                                {"row", "bottom", "lowest_ids", "lowest_values"},
                                                {"column", "top", "column_ids", "column_values"}}};

/// The ids and values of one of them.
struct EndArrays {
    const TableEnd& end;
    const ResultArray& ids;
    const ResultArray& values;
};

void appendTokens(ViewData& view, const Session& session, const EndArrays& arrays, std::size_t place)
{
    const auto& [end, ids, values] = arrays;
    const std::size_t k = ids.shape[2];
    const std::size_t begin = place * ids.shape[1] * k;
    const auto& idList = std::get<std::vector<std::int32_t>>(ids.values);
    for (std::size_t token = 0; token < ids.shape[1]; ++token)
        for (std::size_t rank = 0; rank < k; ++rank) {
            const std::size_t at = begin + token * k + rank;
            if (idList[at] < 0)
                continue;
            std::vector<std::string> row = {end.direction,
                                            std::to_string(token),
                                            tokenText(session, static_cast<int>(token)),
                                            end.end,
                                            std::to_string(rank + 1),
                                            std::to_string(idList[at]),
                                            tokenText(session, idList[at])};
            std::visit([&row, at](const auto& numbers) { appendCells(row, numbers[at]); },
                       arrays.values.values);
            view.table.rows.push_back(std::move(row));
        }
}

Result<ViewData> tokensView(const Session& session, HeadId head, const std::string& group)
{
    const auto attributes = session.results.groupAttributes.find(group);
    const auto* heads =
        attributes != session.results.groupAttributes.end() && attributes->second.contains("heads")
        ? std::get_if<std::vector<std::string>>(&attributes->second.at("heads"))
        : nullptr;
    if (!heads)
        return missing("/" + group, "tables");
    const auto found = std::find(heads->begin(), heads->end(), dottedHead(head));
    if (found == heads->end())
        return Error{ErrorCode::NotFound,
                     "The tables of the session leave out head " + dottedHead(head)
                         + "; headwise analyze MODEL -o SESSION.h5 --analyses tables --heads "
                         + dottedHead(head) + " makes them."};
    const auto place = static_cast<std::size_t>(found - heads->begin());
    ViewData view;
    view.kind = ViewKind::TokenTable;
    view.title = headLabel(head) + (group == "tables/full_ov" ? " full OV tokens" : " full QK tokens");
    view.rowAxis = "token";
    view.columnAxis = "rank";
    view.table.columns = {"direction", "of_id", "of_token", "end", "rank", "id", "token", "value"};
    for (const TableEnd& end : tableEnds) {
        const ResultArray* ids = session.results.find(group + "/" + end.ids);
        const ResultArray* values = session.results.find(group + "/" + end.values);
        if (!ids || !values || ids->shape != values->shape || ids->values.index() != 2
            || ids->shape.size() != 3 || place >= ids->shape[0])
            continue;
        appendTokens(view, session, {end, *ids, *values}, place);
        if (!view.shape.empty())
            continue;
        describe(view, *values);
        const std::size_t size = product(values->shape, 1);
        view.shape = {values->shape[1], values->shape[2]};
        std::visit(
            [&]<typename T>(const std::vector<T>& numbers) {
                const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(place * size);
                view.values = std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(size));
            },
            values->values);
    }
    if (view.shape.empty())
        return missing("/" + group, "tables");
    for (std::size_t token = 0; token < view.shape[0]; ++token)
        view.rowLabels.push_back(tokenText(session, static_cast<int>(token)));
    view.columnLabels = counted(view.shape[1]);
    return view;
}

void addProvenance(ViewData& view, const Session& session, std::optional<HeadId> head)
{
    std::string steps;
    const auto step = [&](bool applied, const char* name) {
        if (applied)
            steps += (steps.empty() ? "" : ", ") + std::string(name);
    };
    step(session.processing.foldLayerNorm, "fold-layer-norm");
    step(session.processing.centerWritingWeights, "center-writing-weights");
    step(session.processing.centerUnembed, "center-unembed");
    step(session.processing.foldValueBiases, "fold-value-biases");
    step(session.processing.refactorAttention, "refactor-factored-attention");
    for (const HeadChange& change : session.processing.headChanges)
        step(true, headChangeName(change).c_str());
    view.provenance = {{"model", session.model.name},
                       {"architecture", session.model.architecture},
                       {"source", session.model.source},
                       {"sha256", session.model.sha256},
                       {"weights", steps.empty() ? "raw" : "processed: " + steps},
                       {"embedding", view.embedding},
                       {"tokens", view.filter},
                       {"view", view.name},
                       {"definition", view.definition},
                       {"headwise", session.headwiseVersion},
                       {"session", session.modified}};
    view.subtitle = session.model.name + ", " + (steps.empty() ? "raw" : "processed") + " weights"
        + (view.embedding.empty() ? "" : ", " + view.embedding + " embedding")
        + (view.filter.empty() ? "" : ", tokens " + view.filter);
    std::erase_if(view.provenance, [](const auto& entry) { return entry.second.empty(); });
    if (head)
        view.provenance.insert(view.provenance.end() - 3, {"head", headLabel(*head)});
}

/// Returns the path of the array that a named view reads, if it reads one array.
std::string arrayOfView(const std::string& name)
{
    if (name.starts_with("norm_"))
        return "spectra/" + name.substr(5) + "/frobenius_norm";
    if (name.starts_with("composition_"))
        return "composition/" + name.substr(12);
    if (name == "position")
        return "analyses/position_kernel/mean_score";
    return name.find('/') == std::string::npos ? "scores/" + name : name;
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
        return invalid("The model has no head " + dottedHead(*head) + "; it has "
                       + std::to_string(session.model.nLayers) + " layers of "
                       + std::to_string(session.model.nHeads) + " heads.");
    return Done{};
}

Result<ViewData> namedView(const Session& session, const std::string& name, std::optional<HeadId> head)
{
    if (name == "spectrum")
        return circuitsView(session, *head, "spectra/", "/singular_values");
    if (name == "eigenvalues")
        return circuitsView(session, *head, "eigenvalues/", "");
    if (name == "tokens_qk")
        return tokensView(session, *head, "tables/full_qk");
    if (name == "tokens_ov")
        return tokensView(session, *head, "tables/full_ov");
    const std::string path = arrayOfView(name);
    const ResultArray* array = session.results.find(path);
    if (!array)
        return missing("/" + path,
                       name.starts_with("norm_")              ? "spectra"
                           : name.starts_with("composition_") ? "composition"
                           : name == "position"               ? "position_kernel"
                           : findAnalysis(name)               ? std::string_view(name)
                                                              : "all");
    return arrayView(session, *array, head);
}

} // namespace

const std::vector<ViewDescription>& views()
{
    static const std::vector<ViewDescription> table = {
        {"copying", "Copying score of every head", "/scores/copying", false},
        {"matching", "Matching score of every head", "/scores/matching", false},
        {"previous_token", "Previous-token score of every head", "/scores/previous_token", false},
        {"norm-qk", "Norm of QK of every head", "/spectra/qk/frobenius_norm", false},
        {"norm-ov", "Norm of OV of every head", "/spectra/ov/frobenius_norm", false},
        {"norm-full-qk", "Norm of full QK of every head", "/spectra/full_qk/frobenius_norm", false},
        {"norm-full-ov", "Norm of full OV of every head", "/spectra/full_ov/frobenius_norm", false},
        {"composition-q", "Q-composition of every pair of heads", "/composition/q", false},
        {"composition-k", "K-composition of every pair of heads", "/composition/k", false},
        {"composition-v", "V-composition of every pair of heads", "/composition/v", false},
        {"spectrum", "Singular values of a head's circuits", "/spectra", true},
        {"eigenvalues", "Eigenvalues of a head's circuits", "/eigenvalues", true},
        {"position", "Mean score of a head by offset", "/analyses/position_kernel/mean_score", true},
        {"tokens-qk", "Which tokens attend to which", "/tables/full_qk", true},
        {"tokens-ov", "Which tokens raise which", "/tables/full_ov", true},
    };
    return table;
}

std::vector<ViewDescription> viewsOf(const Session& session)
{
    std::vector<ViewDescription> list;
    for (const ViewDescription& view : views()) {
        const std::string path = view.needs.substr(1);
        const bool isThere =
            std::any_of(session.results.arrays.begin(), session.results.arrays.end(),
                        [&](const auto& a) { return a.path == path || a.path.starts_with(path + "/"); });
        if (isThere)
            list.push_back(view);
    }
    for (const ResultArray& array : session.results.arrays)
        list.push_back({array.path, array.title.empty() ? array.definition : array.title, "/" + array.path,
                        isPerHead(session.model, array)});
    return list;
}

Result<ViewData> viewData(const Session& session, std::string_view name, std::optional<HeadId> head)
{
    const bool isPath = name.find('/') != std::string_view::npos;
    const std::string_view path = name.starts_with('/') ? name.substr(1) : name;
    const std::string plain = isPath ? std::string(path) : underscored(name);
    const auto described = std::find_if(views().begin(), views().end(),
                                        [&](const auto& view) { return underscored(view.name) == plain; });
    const ResultArray* array = session.results.find(arrayOfView(plain));
    if (described == views().end() && !array) {
        const ErrorCode code = isPath ? ErrorCode::NotFound : ErrorCode::InvalidArgument;
        return Error{code,
                     "There is no view '" + std::string(name) + "'; headwise export --list names them."};
    }
    const bool ofHead = described != views().end() ? described->ofHead : isPerHead(session.model, *array);
    // A per-head array may also be taken whole.
    const bool isWhole = isPath && ofHead && !head;
    if (const Result<Done> checked = checkHead(session, name, ofHead && !isWhole, head); !checked)
        return checked.error();
    Result<ViewData> found = namedView(session, plain, head);
    if (!found)
        return found;
    ViewData view = std::move(found).value();
    view.name = described != views().end() ? described->name : plain;
    addProvenance(view, session, head);
    return view;
}

std::string tokenText(const Session& session, int id)
{
    return id >= 0 && static_cast<std::size_t>(id) < session.tokens.size()
        ? session.tokens[static_cast<std::size_t>(id)]
        : "#" + std::to_string(id);
}

} // namespace headwise
