#include "ui/head_classes.h"

#include "ui/head_metrics.h"

#include <QCoreApplication>

#include <array>

namespace headwise::ui {

namespace {

constexpr double leastAttention = 0.3, leastCopying = 0.5;

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

} // namespace

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
