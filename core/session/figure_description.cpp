#include "core/session/figure_description.h"

#include "core/files/json.h"
#include "core/session/figure_check.h"

#include <nlohmann/json.hpp>

#include <concepts>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

namespace headwise {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t largestDescription = std::size_t(1) << 20; // bytes

/// The JSON names of a struct's fields, in the order in which they are written. Reading and writing both follow it.
template <typename Struct>
struct JsonFields;

template <>
struct JsonFields<HeadLabel> {
    static constexpr auto list =
        std::make_tuple(std::pair("head", &HeadLabel::head), std::pair("text", &HeadLabel::text));
};

template <>
struct JsonFields<FigurePanel> {
    static constexpr auto list = std::make_tuple(
        std::pair("label", &FigurePanel::label), std::pair("view", &FigurePanel::view),
        std::pair("head", &FigurePanel::head), std::pair("reference", &FigurePanel::reference),
        std::pair("step", &FigurePanel::step), std::pair("title", &FigurePanel::title),
        std::pair("value_title", &FigurePanel::valueTitle), std::pair("x_title", &FigurePanel::xTitle),
        std::pair("y_title", &FigurePanel::yTitle), std::pair("scale", &FigurePanel::scale),
        std::pair("series", &FigurePanel::series), std::pair("heads", &FigurePanel::heads),
        std::pair("row", &FigurePanel::row), std::pair("column", &FigurePanel::column),
        std::pair("row_span", &FigurePanel::rowSpan), std::pair("column_span", &FigurePanel::columnSpan));
};

template <>
struct JsonFields<FigurePage> {
    static constexpr auto list = std::make_tuple(
        std::pair("preset", &FigurePage::preset), std::pair("width", &FigurePage::width),
        std::pair("height", &FigurePage::height), std::pair("font_size", &FigurePage::fontSize),
        std::pair("line_width", &FigurePage::lineWidth), std::pair("font", &FigurePage::font),
        std::pair("dpi", &FigurePage::dpi));
};

template <>
struct JsonFields<FigureDescription> {
    static constexpr auto list = std::make_tuple(
        std::pair("version", &FigureDescription::version), std::pair("session", &FigureDescription::session),
        std::pair("page", &FigureDescription::page), std::pair("title", &FigureDescription::title),
        std::pair("caption", &FigureDescription::caption), std::pair("formats", &FigureDescription::formats),
        std::pair("widths", &FigureDescription::widths), std::pair("heights", &FigureDescription::heights),
        std::pair("panels", &FigureDescription::panels));
};

template <typename Struct>
concept HasJsonFields = requires
{
    JsonFields<Struct>::list;
};

/// Calls `visit` with the name and the member pointer of each field.
template <HasJsonFields Struct, typename Visit>
void forEachField(const Visit& visit)
{
    std::apply([&](const auto&... field) { (visit(field.first, field.second), ...); },
               JsonFields<Struct>::list);
}

template <typename Value>
constexpr bool isVector = false;
template <typename Entry>
constexpr bool isVector<std::vector<Entry>> = true;

template <typename Value>
ordered_json jsonOf(const Value& value)
{
    if constexpr (HasJsonFields<Value>) {
        const Value usual;
        auto object = ordered_json::object();
        forEachField<Value>([&](const char* name, auto member) {
            if (value.*member != usual.*member)
                object[name] = jsonOf(value.*member);
        });
        return object;
    } else if constexpr (isVector<Value>) {
        auto list = ordered_json::array();
        for (const auto& entry : value)
            list.push_back(jsonOf(entry));
        return list;
    } else {
        return value;
    }
}

/// Returns a key's value as a message quotes it.
std::string quoted(const json& value)
{
    constexpr std::size_t most = 40;
    std::string words = jsonText(value);
    if (value.is_object())
        words = "an object";
    else if (value.is_array())
        words = "a list";
    else if (words.size() > most)
        words = "too long to quote";
    return words;
}

/// Reads the fields of a description and keeps the first problem.
class DescriptionReader {
public:
    explicit DescriptionReader(std::string_view file)
        : m_file(file)
    {
    }

    const std::optional<Error>& problem() const { return m_problem; }

    void refuse(const std::string& key, const std::string& sentence)
    {
        if (!m_problem)
            m_problem = keyError(m_file, key, sentence);
    }

    template <typename Value>
    void read(const json& from, const std::string& key, Value& value)
    {
        if constexpr (HasJsonFields<Value>) {
            readFields(from, key, value);
        } else if constexpr (std::same_as<Value, std::string>) {
            if (from.is_string())
                value = from.get<std::string>();
            else
                mismatch(from, key, "text in quotes");
        } else if constexpr (std::same_as<Value, int>) {
            constexpr int most = std::numeric_limits<int>::max();
            if (from.is_number_integer() && from >= -most && from <= most)
                value = from.get<int>();
            else
                mismatch(from, key, "a whole number");
        } else if constexpr (std::same_as<Value, double>) {
            if (from.is_number())
                value = from.get<double>();
            else
                mismatch(from, key, "a number");
        } else {
            readList(from, key, value);
        }
    }

private:
    void mismatch(const json& from, const std::string& key, const std::string& expected)
    {
        refuse(key, "is " + quoted(from) + ", expected " + expected);
    }

    template <typename Value>
    void readFields(const json& from, const std::string& key, Value& value)
    {
        if (!from.is_object())
            return mismatch(from, key, "an object in braces");
        std::string allowed;
        forEachField<Value>(
            [&](const char* name, auto) { allowed += (allowed.empty() ? "" : ", ") + std::string(name); });
        const std::string prefix = key.empty() ? key : key + ".";
        for (auto entry = from.begin(); entry != from.end(); ++entry) {
            bool isKnown = false;
            forEachField<Value>([&](const char* name, auto member) {
                if (entry.key() != name)
                    return;
                isKnown = true;
                read(entry.value(), prefix + name, value.*member);
            });
            if (!isKnown)
                refuse(prefix + entry.key(), "is unknown; allowed are " + allowed);
        }
    }

    template <typename Value>
    void readList(const json& from, const std::string& key, std::vector<Value>& list)
    {
        constexpr std::size_t most = 1000;
        if (!from.is_array() || from.size() > most)
            return mismatch(from, key, "a list in brackets");
        list.clear();
        for (std::size_t i = 0; i < from.size(); ++i)
            read(from[i], key + "[" + std::to_string(i) + "]", list.emplace_back());
    }

    std::string_view m_file;
    std::optional<Error> m_problem;
};

} // namespace

Result<FigureDescription> parseFigureDescription(std::string_view words, std::string_view file)
{
    const Result<json> parsed = parseJson(words, file);
    if (!parsed)
        return parsed.error();
    FigureDescription figure;
    DescriptionReader reader(file);
    reader.read(*parsed, {}, figure);
    const std::optional<Error> problem = reader.problem() ? reader.problem() : completeFigure(figure, file);
    if (problem)
        return *problem;
    return figure;
}

Result<FigureDescription> readFigureDescription(const std::filesystem::path& file,
                                                const std::filesystem::path& given)
{
    const Result<std::string> words = readTextFile(file, largestDescription);
    if (!words)
        return words.error();
    Result<FigureDescription> parsed = parseFigureDescription(*words, file.string());
    if (!parsed)
        return parsed;
    FigureDescription figure = std::move(parsed).value();
    std::error_code ignored;
    if (!given.empty())
        figure.session = std::filesystem::absolute(given, ignored).string();
    if (figure.session.empty())
        return Error{
            ErrorCode::InvalidArgument,
            "'" + file.string()
                + "': session is missing; it is the path of a session or series from this file's folder."};
    const std::filesystem::path session = sessionPath(figure, file);
    if (!std::filesystem::exists(session, ignored))
        return Error{ErrorCode::NotFound,
                     "'" + file.string() + "': session is '" + figure.session + "', but there is no '"
                         + session.string() + "'; headwise analyze MODEL -o SESSION.h5 makes a session."};
    return figure;
}

std::string text(const FigureDescription& figure, int indent)
{
    // The version is written even though it has its default, for readers of later versions.
    ordered_json all{{"version", figure.version}};
    all.update(jsonOf(figure));
    return jsonText(all, indent);
}

FigureDescription asPublished(FigureDescription figure)
{
    figure.session = std::filesystem::path(figure.session).filename().string();
    return figure;
}

std::filesystem::path sessionPath(const FigureDescription& figure, const std::filesystem::path& file)
{
    return file.parent_path() / std::filesystem::path(figure.session);
}

} // namespace headwise
