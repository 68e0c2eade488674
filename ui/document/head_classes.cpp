#include "ui/document/head_classes.h"

#include "core/files/csv_rows.h"
#include "core/files/json.h"
#include "ui/base/text.h"
#include "ui/document/head_metrics.h"

#include <QCoreApplication>

#include <spdlog/fmt/fmt.h>

#include <array>
#include <set>

namespace headwise::ui {

namespace {

constexpr double leastAttention = 0.3, leastCopying = 0.5;
constexpr std::size_t largestFile = 16U << 20; // bytes
constexpr std::size_t longestName = 60;        // bytes
constexpr std::size_t mostClasses = 40;        // of the user's own

struct Rule {
    HeadClass headClass;
    const char* path;
    double least; ///< Below 0: the largest.
};

constexpr std::array<Rule, 6> rules{{
    {HeadClass::PreviousToken, "analyses/pattern_scores/previous", leastAttention},
    {HeadClass::Induction, "analyses/pattern_scores/induction", leastAttention},
    {HeadClass::DuplicateToken, "analyses/pattern_scores/duplicate", leastAttention},
    {HeadClass::PreviousToken, "scores/previous_token", leastAttention},
    {HeadClass::Suppression, "scores/copying", -leastCopying},
    {HeadClass::Copying, "scores/copying", leastCopying},
}};

Error wrong(const std::filesystem::path& file, int line, const std::string& what)
{
    return {ErrorCode::Corrupt,
            fmt::format("File of head classes '{}': line {} {}.", file.filename().string(), line, what)};
}

/// Adds what one row says, or says what is wrong with it.
std::string take(const std::vector<std::string>& fields, const ModelCard& card,
                 std::map<HeadId, QString>& classes)
{
    if (fields.size() != 2)
        return fmt::format("has {} column{}, expected two: head,class", fields.size(),
                           fields.size() == 1 ? "" : "s");
    const auto head = parseHeadId(fields[0]);
    if (!head || head->layer >= card.nLayers || head->head >= card.nHeads)
        return fmt::format("names '{}', which is not a head of this model; write layer.head, as in 0.1",
                           fields[0]);
    const QString name = text(fields[1]).simplified();
    if (name.isEmpty() || fields[1].size() > longestName)
        return fmt::format("has a class of {} bytes, expected 1 to {}", fields[1].size(), longestName);
    return classes.emplace(*head, name).second
        ? std::string()
        : fmt::format("names {} again, which already has a class", dottedHead(*head));
}

} // namespace

Result<std::map<HeadId, QString>> readHeadClasses(const std::filesystem::path& file, const ModelCard& card)
{
    const auto words = readTextFile(file, largestFile);
    if (!words)
        return words.error();
    const auto rows = csvRows(*words, fmt::format("File of head classes '{}'", file.filename().string()));
    if (!rows)
        return rows.error();
    std::map<HeadId, QString> classes;
    std::set<QString> names;
    for (const DelimitedRow& row : *rows) {
        if (&row == &rows->front() && row.fields == std::vector<std::string>{"head", "class"})
            continue;
        if (const std::string fault = take(row.fields, card, classes); !fault.empty())
            return wrong(file, row.line, fault);
        names.insert(text(row.fields[1]).simplified());
        if (names.size() > mostClasses)
            return wrong(file, row.line, fmt::format("has more than the {} classes allowed", mostClasses));
    }
    return classes;
}

NamedClasses namedClasses(const std::vector<HeadClass>& known, const std::map<HeadId, QString>& own,
                          const ModelCard& card)
{
    NamedClasses classes;
    for (int one = 1; one < headClassCount; ++one)
        classes.names << text(static_cast<HeadClass>(one));
    for (const HeadClass one : known)
        classes.ofHeads.push_back(static_cast<int>(one));
    for (const auto& [head, name] : own) {
        if (!classes.names.contains(name))
            classes.names << name;
        const auto place = static_cast<std::size_t>(head.layer) * static_cast<std::size_t>(card.nHeads)
            + static_cast<std::size_t>(head.head);
        if (place < classes.ofHeads.size())
            classes.ofHeads[place] = 1 + static_cast<int>(classes.names.indexOf(name));
    }
    return classes;
}

QString text(HeadClass headClass)
{
    constexpr const char* context = "HeadClass";
    switch (headClass) {
    case HeadClass::None: return {};
    case HeadClass::PreviousToken: return QCoreApplication::translate(context, "previous token");
    case HeadClass::Induction: return QCoreApplication::translate(context, "induction");
    case HeadClass::DuplicateToken: return QCoreApplication::translate(context, "duplicate token");
    case HeadClass::Suppression: return QCoreApplication::translate(context, "suppression");
    case HeadClass::Copying: return QCoreApplication::translate(context, "copying");
    }
    return {};
}

std::vector<HeadClass> headClasses(const ResultSet& results, const ModelCard& card,
                                   const std::vector<HeadId>& previousTokenHeads)
{
    const auto place = [&card](HeadId head) {
        return static_cast<std::size_t>(head.layer) * static_cast<std::size_t>(card.nHeads)
            + static_cast<std::size_t>(head.head);
    };
    std::vector<HeadClass> classes(place({card.nLayers, 0}), HeadClass::None);
    for (const HeadId head : previousTokenHeads)
        if (place(head) < classes.size())
            classes[place(head)] = HeadClass::PreviousToken;
    for (const Rule& rule : rules) {
        const ResultArray* scores = results.find(rule.path);
        if (!scores)
            continue;
        for (int layer = 0; layer < card.nLayers; ++layer)
            for (int head = 0; head < card.nHeads; ++head) {
                const double score = metricAt(*scores, {layer, head}); // NaN is of no class
                HeadClass& known = classes[place({layer, head})];
                if (known == HeadClass::None && (rule.least < 0 ? score <= rule.least : score >= rule.least))
                    known = rule.headClass;
            }
    }
    return classes;
}

} // namespace headwise::ui
