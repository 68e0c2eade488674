#include "core/files/table_formats.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace headwise {

namespace {

enum class ColumnKind { Text, Whole, Number };

std::optional<double> parseNumber(std::string_view cell)
{
    if (cell == "nan")
        return std::numeric_limits<double>::quiet_NaN();
    double value = 0;
    const auto read = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (read.ec != std::errc() || read.ptr != cell.data() + cell.size())
        return std::nullopt;
    return value;
}

std::optional<std::int64_t> parseWhole(std::string_view cell)
{
    std::int64_t value = 0;
    const auto read = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (read.ec != std::errc() || read.ptr != cell.data() + cell.size())
        return std::nullopt;
    return value;
}

/// A column of tokens: a token may look like a number without being one.
bool isOfTokens(std::string_view name)
{
    return name.find("token") != std::string_view::npos;
}

ColumnKind kindOf(const Table& table, std::size_t column)
{
    if (isOfTokens(table.columns[column]))
        return ColumnKind::Text;
    ColumnKind kind = ColumnKind::Whole;
    bool any = false;
    for (const std::vector<std::string>& row : table.rows) {
        const std::string& cell = row[column];
        any = any || !cell.empty();
        if (!cell.empty() && !parseNumber(cell))
            return ColumnKind::Text;
        if (cell.empty() || !parseWhole(cell))
            kind = ColumnKind::Number;
    }
    return any ? kind : ColumnKind::Text;
}

std::vector<ColumnKind> kindsOf(const Table& table)
{
    std::vector<ColumnKind> kinds;
    for (std::size_t column = 0; column < table.columns.size(); ++column)
        kinds.push_back(kindOf(table, column));
    return kinds;
}

/// Rounds to "-0.0720", "1235", "1.20e-05"; whole numbers stay as they are.
std::string rounded(const std::string& cell)
{
    const std::optional<double> value = parseNumber(cell);
    if (!value || !std::isfinite(*value) || parseWhole(cell))
        return cell;
    // to_chars writes a decimal point in every locale; printf does not.
    std::array<char, 32> text{};
    const auto written = [&](std::chars_format format, int digits) {
        return std::string(text.data(),
                           std::to_chars(text.data(), text.data() + text.size(), *value, format, digits).ptr);
    };
    const std::string scientific = written(std::chars_format::scientific, 2);
    const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
    if (*value != 0 && (exponent < -3 || exponent >= 6))
        return scientific;
    return written(std::chars_format::fixed, std::max(0, 2 - exponent));
}

struct Replacement {
    std::string_view from, to;
};

// Characters that LaTeX does not print as they are, and those that its usual fonts lack.
constexpr std::array latexReplacements{Replacement{"\\", "\\textbackslash{}"},
                                       Replacement{"{", "\\{"},
                                       Replacement{"}", "\\}"},
                                       Replacement{"&", "\\&"},
                                       Replacement{"%", "\\%"},
                                       Replacement{"$", "\\$"},
                                       Replacement{"#", "\\#"},
                                       Replacement{"_", "\\_"},
                                       Replacement{"~", "\\textasciitilde{}"},
                                       Replacement{"^", "\\textasciicircum{}"},
                                       Replacement{"<", "\\textless{}"},
                                       Replacement{">", "\\textgreater{}"},
                                       Replacement{"|", "\\textbar{}"},
                                       Replacement{"\n", " "},
                                       Replacement{"\r", " "},
                                       Replacement{"␣", "\\textvisiblespace{}"},
                                       Replacement{"⏎", "$\\hookleftarrow$"},
                                       Replacement{"⇥", "$\\mapsto$"},
                                       Replacement{"→", "$\\rightarrow$"},
                                       Replacement{"←", "$\\leftarrow$"},
                                       Replacement{"−", "$-$"},
                                       Replacement{"×", "$\\times$"},
                                       Replacement{"‖", "$\\Vert$"},
                                       Replacement{"√", "$\\surd$"},
                                       Replacement{"ᵀ", "$^\\top$"},
                                       Replacement{"Δ", "$\\Delta$"},
                                       Replacement{"Σ", "$\\Sigma$"},
                                       Replacement{"λ", "$\\lambda$"},
                                       Replacement{"σ", "$\\sigma$"}};

/// TeX's own ligatures: dashes, quotes, ?` and !`.
bool isLigature(char first, char second)
{
    return (first == second && std::string_view("-`',").find(first) != std::string_view::npos)
        || ((first == '?' || first == '!') && second == '`');
}

std::string latexEscaped(std::string_view text)
{
    std::string escaped;
    while (!text.empty()) {
        const auto found =
            std::find_if(latexReplacements.begin(), latexReplacements.end(),
                         [text](const Replacement& row) { return text.starts_with(row.from); });
        const bool known = found != latexReplacements.end();
        escaped += known ? found->to : text.substr(0, 1);
        if (!known && text.size() > 1 && isLigature(text[0], text[1]))
            escaped += "{}";
        text.remove_prefix(known ? found->from.size() : 1);
    }
    return escaped;
}

std::string latexNumber(const std::string& cell)
{
    std::string number = rounded(cell);
    if (number == "inf" || number == "-inf")
        return number == "inf" ? "$\\infty$" : "$-\\infty$";
    if (const std::size_t e = number.find('e'); e != std::string::npos)
        return "$" + number.substr(0, e) + "\\times10^{" + std::to_string(std::stoi(number.substr(e + 1)))
            + "}$";
    return number.starts_with('-') ? "$" + number + "$" : number;
}

std::string markdownEscaped(std::string_view text)
{
    std::string escaped;
    for (const char c : text) {
        if (std::string_view("\\`*_{}[]<>()#+-.!|~$&").find(c) != std::string_view::npos)
            escaped += '\\';
        escaped += c == '\n' || c == '\r' ? ' ' : c;
    }
    return escaped;
}

template <typename Integer>
void append(std::string& bytes, Integer value)
{
    for (std::size_t i = 0; i < sizeof(Integer); ++i)
        bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 255);
}

/// Returns the code points of valid UTF-8; an invalid byte stands for itself.
std::u32string codePoints(std::string_view text)
{
    std::u32string points;
    for (std::size_t i = 0; i < text.size();) {
        const auto lead = static_cast<unsigned char>(text[i]);
        const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
        auto point = static_cast<char32_t>(length == 1 ? lead : lead & (0x7F >> length));
        for (std::size_t k = 1; k < length && i + k < text.size(); ++k)
            point = point << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3F);
        points += point;
        i += length;
    }
    return points;
}

/// One column of records: its NumPy type and how its cells are written.
struct NpyColumn {
    ColumnKind kind;
    std::size_t length = 1; // code points of the longest text

    std::string type() const
    {
        return kind == ColumnKind::Text ? "<U" + std::to_string(length)
            : kind == ColumnKind::Whole ? "<i8"
                                        : "<f8";
    }

    void write(std::string& bytes, const std::string& cell) const
    {
        if (kind == ColumnKind::Whole)
            return append(bytes, *parseWhole(cell));
        if (kind == ColumnKind::Number)
            return append(bytes,
                          std::bit_cast<std::uint64_t>(
                              parseNumber(cell).value_or(std::numeric_limits<double>::quiet_NaN())));
        const std::u32string points = codePoints(cell);
        for (std::size_t i = 0; i < length; ++i)
            append(bytes, static_cast<std::uint32_t>(i < points.size() ? points[i] : 0));
    }
};

std::string pythonQuoted(const std::string& text)
{
    std::string quoted = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\')
            quoted += '\\';
        quoted += c == '\n' || c == '\r' ? ' ' : c;
    }
    return quoted + "'";
}

std::vector<std::string> uniqueNames(const std::vector<std::string>& names)
{
    std::vector<std::string> unique;
    for (const std::string& name : names) {
        const std::string base = name.empty() ? "column" : name;
        std::string candidate = base;
        for (int i = 2; std::find(unique.begin(), unique.end(), candidate) != unique.end(); ++i)
            candidate = base + "_" + std::to_string(i);
        unique.push_back(candidate);
    }
    return unique;
}

} // namespace

std::string latexText(const Table& table, const std::string& comment)
{
    const std::vector<ColumnKind> kinds = kindsOf(table);
    std::string text;
    for (std::size_t begin = 0; begin < comment.size();) {
        const std::size_t end = std::min(comment.find('\n', begin), comment.size());
        text += "% " + comment.substr(begin, end - begin) + "\n";
        begin = end + 1;
    }
    text += "% \\usepackage{booktabs}\n\\begin{tabular}{";
    for (const ColumnKind kind : kinds)
        text += kind == ColumnKind::Text ? 'l' : 'r';
    text += "}\n\\toprule\n";
    for (std::size_t i = 0; i < table.columns.size(); ++i)
        text += (i > 0 ? " & " : "") + latexEscaped(table.columns[i]);
    text += " \\\\\n\\midrule\n";
    for (const std::vector<std::string>& row : table.rows) {
        for (std::size_t i = 0; i < row.size(); ++i)
            text += (i > 0 ? " & " : "")
                + (kinds[i] == ColumnKind::Text ? latexEscaped(row[i]) : latexNumber(row[i]));
        text += " \\\\\n";
    }
    return text + "\\bottomrule\n\\end{tabular}\n";
}

std::string markdownText(const Table& table)
{
    const std::vector<ColumnKind> kinds = kindsOf(table);
    std::string text = "|";
    for (const std::string& name : table.columns)
        text += " " + markdownEscaped(name) + " |";
    text += "\n|";
    for (const ColumnKind kind : kinds)
        text += kind == ColumnKind::Text ? " --- |" : " ---: |";
    text += '\n';
    for (const std::vector<std::string>& row : table.rows) {
        text += '|';
        for (std::size_t i = 0; i < row.size(); ++i)
            text += " " + (kinds[i] == ColumnKind::Text ? markdownEscaped(row[i]) : rounded(row[i])) + " |";
        text += '\n';
    }
    return text;
}

std::string npyText(const Table& table)
{
    const std::vector<std::string> names = uniqueNames(table.columns);
    std::vector<NpyColumn> columns;
    std::string header = "{'descr': [";
    for (std::size_t i = 0; i < names.size(); ++i) {
        NpyColumn column{kindOf(table, i)};
        if (column.kind == ColumnKind::Text)
            for (const std::vector<std::string>& row : table.rows)
                column.length = std::max(column.length, codePoints(row[i]).size());
        header += "(" + pythonQuoted(names[i]) + ", '" + column.type() + "'), ";
        columns.push_back(column);
    }
    header += "], 'fortran_order': False, 'shape': (" + std::to_string(table.rows.size()) + ",), }";
    header.append(63 - (12 + header.size()) % 64, ' '); // magic (6), version (2) and length (4) precede
    header += '\n';
    std::string bytes = "\x93NUMPY";
    bytes += {'\3', '\0'};
    append(bytes, static_cast<std::uint32_t>(header.size()));
    bytes += header;
    for (const std::vector<std::string>& row : table.rows)
        for (std::size_t i = 0; i < row.size(); ++i)
            columns[i].write(bytes, row[i]);
    return bytes;
}

} // namespace headwise
