#include "core/session/picture_numbers.h"

#include "core/results/array_cut.h"
#include "core/results/table_file.h"
#include "core/tokenizer/token_text.h"

#include <array>

namespace headwise {
namespace {

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

std::vector<std::string> counted(std::size_t count)
{
    std::vector<std::string> labels;
    for (std::size_t i = 0; i < count; ++i)
        labels.push_back(std::to_string(i));
    return labels;
}

/// Names of a dimension's entries: the steps of a training, else numbers from 0.
std::vector<std::string> entryNames(const ResultArray& array, std::size_t dimension)
{
    const auto steps = array.attributes.find("steps");
    const auto* names =
        steps == array.attributes.end() ? nullptr : std::get_if<std::vector<std::string>>(&steps->second);
    const bool isOfSteps =
        names && array.axes[dimension] == Axis::Step && names->size() == array.shape[dimension];
    return isOfSteps ? *names : counted(array.shape[dimension]);
}

std::vector<std::string> headLabels(const ModelCard& model)
{
    std::vector<std::string> labels;
    for (int layer = 0; layer < model.nLayers; ++layer)
        for (int head = 0; head < model.nHeads; ++head)
            labels.push_back(headLabel({layer, head}));
    return labels;
}

/// Names of the rows and columns of a table.
struct TableLabels {
    std::string rowAxis;
    std::vector<std::string> rows, columns;
};

/// Numbers of two dimensions with a table of as many rows and columns; of complex numbers two columns each.
PictureNumbers withTable(std::vector<std::size_t> shape, ResultArray::Values values,
                         const TableLabels& labels)
{
    PictureNumbers numbers{std::move(shape), std::move(values), {}};
    Table& table = numbers.table;
    table.columns.push_back(labels.rowAxis);
    const bool isComplex = numbers.values.index() >= 3;
    for (const std::string& label : labels.columns)
        if (isComplex)
            table.columns.insert(table.columns.end(), {label + "_real", label + "_imaginary"});
        else
            table.columns.push_back(label);
    std::visit(
        [&](const auto& list) {
            for (std::size_t r = 0; r < numbers.shape[0]; ++r) {
                std::vector<std::string>& row = table.rows.emplace_back();
                row.push_back(labels.rows[r]);
                for (std::size_t c = 0; c < numbers.shape[1]; ++c)
                    appendCells(row, list[r * numbers.shape[1] + c]);
            }
        },
        numbers.values);
    return numbers;
}

ResultArray atHead(const ResultArray& array, HeadId head)
{
    const ArrayPart layer = entryOf(wholeArray(array), static_cast<std::size_t>(head.layer));
    return copyOf(entryOf(layer, static_cast<std::size_t>(head.head)));
}

PictureNumbers arrayNumbers(const Session& session, const ResultArray& array, std::optional<HeadId> head)
{
    ResultArray part = head && isPerHead(session.model, array) ? atHead(array, *head) : array;
    if (isOfPairs(session.model, array)) {
        const std::vector<std::string> heads = headLabels(session.model);
        return withTable({heads.size(), heads.size()}, std::move(part.values),
                         {"earlier head", heads, heads});
    }
    const auto axis = [&](std::size_t dimension) { return part.axes[dimension].name(); };
    if (part.shape.size() == 1)
        return withTable({part.shape[0], 1}, std::move(part.values),
                         {axis(0), counted(part.shape[0]), {"value"}});
    if (part.shape.size() == 2)
        return withTable(part.shape, std::move(part.values),
                         {axis(0), counted(part.shape[0]), entryNames(part, 1)});
    PictureNumbers numbers{part.shape, {}, tableOf(part)};
    numbers.values = std::move(part.values);
    return numbers;
}

/// A column for each array, a row for each of the head's numbers.
PictureNumbers columnsOf(const std::vector<const ResultArray*>& arrays, HeadId head)
{
    const std::size_t rows = arrays[0]->shape[2], columns = arrays.size();
    TableLabels labels{"index", counted(rows), {}};
    for (const ResultArray* array : arrays)
        labels.columns.push_back(circuitIn(array->path));
    ResultArray::Values values = std::visit(
        [&]<typename T>(const std::vector<T>&) -> ResultArray::Values {
            std::vector<T> all(rows * columns);
            for (std::size_t c = 0; c < columns; ++c) {
                const ResultArray part = atHead(*arrays[c], head);
                const auto& numbers = std::get<std::vector<T>>(part.values);
                for (std::size_t r = 0; r < rows; ++r)
                    all[r * columns + c] = numbers[r];
            }
            return all;
        },
        arrays[0]->values);
    return withTable({rows, columns}, std::move(values), labels);
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

void appendTokens(Table& table, const Session& session, const TableEnd& end, const ResultArray& ids,
                  const ResultArray& values)
{
    const std::size_t k = ids.shape[1];
    const auto& idList = std::get<std::vector<std::int32_t>>(ids.values);
    for (std::size_t i = 0; i < idList.size(); ++i) {
        const std::int32_t id = idList[i];
        if (id < 0)
            continue;
        const auto token = static_cast<int>(i / k);
        std::vector<std::string> row = {end.direction,
                                        std::to_string(token),
                                        tokenText(session, token),
                                        end.end,
                                        std::to_string(i % k + 1),
                                        std::to_string(id),
                                        tokenText(session, id)};
        std::visit([&](const auto& numbers) { appendCells(row, numbers[i]); }, values.values);
        table.rows.push_back(std::move(row));
    }
}

Result<PictureNumbers> tokenNumbers(const Session& session, const std::string& group, HeadId head)
{
    PictureNumbers numbers;
    numbers.table.columns = {"direction", "of_id", "of_token", "end", "rank", "id", "token", "value"};
    for (const TableEnd& end : tableEnds) {
        const ResultArray* ids = session.results.find(group + "/" + end.ids);
        const ResultArray* values = session.results.find(group + "/" + end.values);
        if (!ids || !values || ids->shape != values->shape || ids->values.index() != 2
            || ids->shape.size() != 3)
            continue;
        const auto place = placeInList(*ids, session.results, head);
        if (!place)
            continue;
        ResultArray strongest = copyOf(entryOf(wholeArray(*values), *place));
        appendTokens(numbers.table, session, end, copyOf(entryOf(wholeArray(*ids), *place)), strongest);
        if (numbers.shape.empty()) {
            numbers.shape = strongest.shape;
            numbers.values = std::move(strongest.values);
        }
    }
    if (numbers.shape.empty())
        return Error{ErrorCode::NotFound,
                     "The session has no '/" + group + "' of head " + dottedHead(head) + "."};
    return numbers;
}

} // namespace

bool isPerHead(const ModelCard& model, const ResultArray& array)
{
    return array.shape.size() > 2 && headAxes(array, model) == HeadAxes::OneHead;
}

bool isOfPairs(const ModelCard& model, const ResultArray& array)
{
    return array.shape.size() == 4 && headAxes(array, model) == HeadAxes::TwoHeads;
}

std::string circuitIn(std::string_view path)
{
    const std::size_t first = path.find('/') + 1;
    return std::string(path.substr(first, path.find('/', first) - first));
}

std::vector<const ResultArray*> sideBySide(const Session& session, const Picture& picture)
{
    std::vector<const ResultArray*> alike;
    for (const std::string& path : picture.arrays) {
        const ResultArray* array = session.results.find(path);
        if (array && isPerHead(session.model, *array) && array->shape.size() == 3
            && (alike.empty()
                || (array->values.index() == alike[0]->values.index() && array->shape == alike[0]->shape)))
            alike.push_back(array);
    }
    return alike;
}

Result<PictureNumbers> numbersOf(const Session& session, const Picture& picture, std::optional<HeadId> head)
{
    const std::string& path = picture.arrays.front();
    if (head && picture.arrays.size() > 1 && picture.kind == Picture::Kind::Table)
        return tokenNumbers(session, path.substr(0, path.rfind('/')), *head);
    if (head && picture.arrays.size() > 1) {
        const std::vector<const ResultArray*> arrays = sideBySide(session, picture);
        if (!arrays.empty())
            return columnsOf(arrays, *head);
    } else if (const ResultArray* array = session.results.find(path)) {
        return arrayNumbers(session, *array, head);
    }
    return Error{ErrorCode::NotFound, "The session has no '/" + path + "'."};
}

std::string tokenText(const Session& session, int id)
{
    return id >= 0 && static_cast<std::size_t>(id) < session.tokens.size()
        ? session.tokens[static_cast<std::size_t>(id)]
        : shownId(id);
}

} // namespace headwise
