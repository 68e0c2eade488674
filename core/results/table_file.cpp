#include "core/results/table_file.h"

#include "core/checkpoint/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>

namespace headwise {
namespace {

template <typename T>
std::string shortest(T value)
{
    if (std::isnan(value))
        return "nan"; // never "-nan"
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value);
    return {text, end.ptr};
}

template <typename T>
std::optional<T> parsed(const std::string& text)
{
    T value{};
    const char* end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    return result.ec == std::errc() && result.ptr == end ? std::optional(value) : std::nullopt;
}

template <typename T>
constexpr std::string_view npyType()
{
    if constexpr (std::is_same_v<T, float>)
        return "<f4";
    else if constexpr (std::is_same_v<T, double>)
        return "<f8";
    else if constexpr (std::is_same_v<T, std::int32_t>)
        return "<i4";
    else
        return std::is_same_v<T, std::complex<float>> ? "<c8" : "<c16";
}

template <typename T>
void appendValue(std::vector<std::string>& row, T value)
{
    row.push_back(shortestText(value));
}
void appendValue(std::vector<std::string>& row, std::int32_t value)
{
    row.push_back(std::to_string(value));
}
template <typename T>
void appendValue(std::vector<std::string>& row, std::complex<T> value)
{
    row.push_back(shortestText(value.real()));
    row.push_back(shortestText(value.imag()));
}

} // namespace

std::string shortestText(float value)
{
    return shortest(value);
}

std::string shortestText(double value)
{
    return shortest(value);
}

Table tableOf(const ResultArray& array)
{
    Table table;
    table.columns = axisNames(array.axes);
    const bool isComplex = array.values.index() >= 3;
    if (isComplex)
        table.columns.insert(table.columns.end(), {"real", "imaginary"});
    else
        table.columns.push_back("value");
    std::vector<std::size_t> index(array.shape.size(), 0);
    std::visit(
        [&](const auto& values) {
            for (const auto value : values) {
                std::vector<std::string>& row = table.rows.emplace_back();
                for (const std::size_t i : index)
                    row.push_back(std::to_string(i));
                appendValue(row, value);
                for (std::size_t axis = index.size(); axis-- > 0 && ++index[axis] == array.shape[axis];)
                    index[axis] = 0;
            }
        },
        array.values);
    return table;
}

Result<ResultArray> arrayOf(const Table& table)
{
    const bool isComplex = table.columns.size() >= 2 && table.columns.back() == "imaginary";
    const std::size_t rank = table.columns.size() - (isComplex ? 2 : 1);
    const auto wrong = [](std::size_t row, const char* why) {
        return Error{ErrorCode::Corrupt, "Line " + std::to_string(row + 2) + " " + why + "."};
    };
    ResultArray array;
    array.axes =
        axesNamed({table.columns.begin(), table.columns.begin() + static_cast<std::ptrdiff_t>(rank)});
    array.shape.assign(rank, 0);
    for (std::size_t r = 0; r < table.rows.size(); ++r)
        for (std::size_t axis = 0; axis < rank; ++axis) {
            const auto index = parsed<std::size_t>(table.rows[r][axis]);
            if (!index || *index > r)
                return wrong(r, "has no index where one is expected");
            array.shape[axis] = std::max(array.shape[axis], *index + 1);
        }
    std::vector<double> reals;
    std::vector<std::complex<double>> complexes;
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
        std::size_t place = 0;
        for (std::size_t axis = 0; axis < rank; ++axis)
            place = place * array.shape[axis] + *parsed<std::size_t>(table.rows[r][axis]);
        const auto first = parsed<double>(table.rows[r][rank]);
        const auto second = parsed<double>(table.rows[r].back());
        if (place != r)
            return wrong(r, "is out of order");
        if (!first || !second)
            return wrong(r, "has no number where one is expected");
        reals.push_back(*first);
        complexes.emplace_back(*first, *second);
    }
    if (isComplex)
        array.values = std::move(complexes);
    else
        array.values = std::move(reals);
    return array;
}

std::string npyBytes(const std::vector<std::size_t>& shape, const ResultArray::Values& values)
{
    static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");
    return std::visit(
        [&]<typename T>(const std::vector<T>& numbers) {
            std::string bytes = npyHeader(npyType<T>(), {shape.begin(), shape.end()});
            bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T));
            return bytes;
        },
        values);
}

} // namespace headwise
