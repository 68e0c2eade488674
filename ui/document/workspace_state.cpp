#include "ui/document/workspace_state.h"

#include "core/model/head_list.h"
#include "ui/base/json_fields.h"
#include "ui/base/text.h"
#include "ui/document/workspace.h"

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

namespace {

using LeadingSpace = TokenFilter::LeadingSpace;

QJsonValue fieldJson(LeadingSpace space)
{
    return space == LeadingSpace::Either ? QJsonValue() : QJsonValue(space == LeadingSpace::With);
}

void readField(const QJsonValue& json, LeadingSpace& space)
{
    if (json.isBool())
        space = json.toBool() ? LeadingSpace::With : LeadingSpace::Without;
}

/// Calls `visit` with each field's name in a session and the field.
template <typename Filter, typename Visit>
void forEachFilterField(Filter& filter, Visit visit)
{
    visit("ascii", filter.asciiOnly);
    visit("words", filter.wordsOnly);
    visit("trained", filter.trainedOnly);
    visit("no_specials", filter.noSpecials);
    visit("leading_space", filter.leadingSpace);
    visit("first_id", filter.firstId);
    visit("last_id", filter.lastId);
    visit("min_norm", filter.lowestNorm);
    visit("max_norm", filter.highestNorm);
    visit("min_count", filter.lowestCount);
}

} // namespace

QJsonObject filterState(const TokenFilter& filter)
{
    const auto stateOf = [](const TokenFilter& of) {
        QJsonObject fields;
        forEachFilterField(of, [&fields](const char* name, const auto& value) {
            fields[QLatin1String(name)] = fieldJson(value);
        });
        return fields;
    };
    const QJsonObject off = stateOf(TokenFilter());
    QJsonObject state = stateOf(filter);
    for (const QString& name : off.keys())
        if (state[name] == off[name])
            state.remove(name);
    return state;
}

TokenFilter filterFromState(const QJsonObject& state)
{
    TokenFilter filter;
    forEachFilterField(
        filter, [&state](const char* name, auto& value) { readField(state[QLatin1String(name)], value); });
    return filter;
}

} // namespace headwise::ui
