#include "core/results/table_file.h"

#include "core/checkpoint/npy.h"

#include <bit>
#include <charconv>
#include <cmath>

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
