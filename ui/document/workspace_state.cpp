#include "ui/document/workspace_state.h"

#include "core/model/head_list.h"
#include "ui/base/text.h"
#include "ui/document/workspace.h"

#include <cmath>

namespace headwise::ui {

namespace {

constexpr QLatin1StringView all("all"), selected("selected");

QString choiceState(const HeadChoice& choice)
{
    switch (choice.which) {
    case HeadChoice::Which::All: return all;
    case HeadChoice::Which::Selected: return selected;
    case HeadChoice::Which::Listed: return text(headNames(choice.listed));
    }
    return {};
}

std::optional<HeadChoice> choiceFromState(const QString& words, const ModelCard& card)
{
    if (words == all)
        return HeadChoice{};
    if (words == selected)
        return HeadChoice{.which = HeadChoice::Which::Selected};
    const auto listed = parseHeads(words.toStdString(), card.nLayers, card.nHeads);
    return listed ? std::optional(HeadChoice{HeadChoice::Which::Listed, *listed}) : std::nullopt;
}

} // namespace

QJsonObject questionState(const Workspace& workspace)
{
    QJsonObject heads, classes;
    for (const auto& [id, choice] : workspace.runs()->headChoices())
        heads[text(id)] = choiceState(choice);
    for (const auto& [head, name] : workspace.notebook()->ownHeadClasses())
        classes[text(dottedHead(head))] = name;
    return {{QStringLiteral("tokens"), filterState(workspace.filteredTokens()->wantedFilter())},
            {QStringLiteral("heads"), heads},
            {QStringLiteral("offset"), workspace.selection()->rotaryOffset()},
            {QStringLiteral("classes"), classes}};
}

void restoreQuestion(Workspace& workspace, const QJsonObject& state)
{
    if (!workspace.model()->isOpen())
        return;
    const QJsonObject heads = state[QStringLiteral("heads")].toObject();
    for (auto it = heads.begin(); it != heads.end(); ++it) {
        const Analysis* analysis = findAnalysis(it.key().toStdString());
        const auto choice = choiceFromState(it.value().toString(), workspace.model()->card());
        if (analysis && choice)
            workspace.runs()->setHeadChoice(*analysis, *choice);
    }
    std::map<HeadId, QString> classes;
    const QJsonObject kept = state[QStringLiteral("classes")].toObject();
    for (auto it = kept.begin(); it != kept.end(); ++it)
        if (const auto head = parseHeadId(it.key().toStdString()))
            classes[*head] = it.value().toString();
    workspace.notebook()->setOwnHeadClasses(std::move(classes));
    workspace.selection()->setRotaryOffset(state[QStringLiteral("offset")].toInt());
    workspace.filteredTokens()->setFilter(filterFromState(state[QStringLiteral("tokens")].toObject()));
}

QJsonObject filterState(const TokenFilter& filter)
{
    const TokenFilter off;
    QJsonObject state;
    const auto keep = [&](const char* key, const QJsonValue& value, bool isOn) {
        if (isOn)
            state[QLatin1String(key)] = value;
    };
    keep("ascii", true, filter.asciiOnly);
    keep("words", true, filter.wordsOnly);
    keep("trained", true, filter.trainedOnly);
    keep("no_specials", true, filter.noSpecials);
    keep("leading_space", filter.leadingSpace == TokenFilter::LeadingSpace::With,
         filter.leadingSpace != off.leadingSpace);
    keep("first_id", filter.firstId, filter.firstId != off.firstId);
    keep("last_id", filter.lastId, filter.lastId != off.lastId);
    keep("min_norm", filter.lowestNorm, filter.lowestNorm > 0);
    keep("max_norm", filter.highestNorm, std::isfinite(filter.highestNorm));
    keep("min_count", filter.lowestCount, filter.lowestCount > 0);
    return state;
}

TokenFilter filterFromState(const QJsonObject& state)
{
    using Space = TokenFilter::LeadingSpace;
    const auto at = [&state](const char* key) { return state[QLatin1String(key)]; };
    TokenFilter filter;
    filter.asciiOnly = at("ascii").toBool();
    filter.wordsOnly = at("words").toBool();
    filter.trainedOnly = at("trained").toBool();
    filter.noSpecials = at("no_specials").toBool();
    if (at("leading_space").isBool())
        filter.leadingSpace = at("leading_space").toBool() ? Space::With : Space::Without;
    filter.firstId = at("first_id").toInt(filter.firstId);
    filter.lastId = at("last_id").toInt(filter.lastId);
    filter.lowestNorm = at("min_norm").toDouble(filter.lowestNorm);
    filter.highestNorm = at("max_norm").toDouble(filter.highestNorm);
    filter.lowestCount = at("min_count").toDouble(filter.lowestCount);
    return filter;
}

} // namespace headwise::ui
