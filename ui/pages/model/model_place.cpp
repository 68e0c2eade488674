#include "ui/pages/model/model_place.h"

#include "ui/base/text.h"
#include "ui/document/workspace.h"

#include <QFileInfo>

namespace headwise::ui {
namespace {

const QString stackKey = QStringLiteral("?stack=");

} // namespace

QString stackOf(const ModelSource& source)
{
    const auto asked = source.overrides.find("stack");
    return asked == source.overrides.end() ? QString() : text(asked->second);
}

ModelPlace placeOf(const QString& text)
{
    const qsizetype at = text.lastIndexOf(stackKey);
    if (at < 0 || QFileInfo::exists(text))
        return {text, {}};
    return {text.left(at), text.mid(at + stackKey.size())};
}

QString placeText(const ModelPlace& place)
{
    return place.stack.isEmpty() ? place.path : place.path + stackKey + place.stack;
}

ModelPlace openPlace(const Workspace& workspace)
{
    if (const auto session = workspace.session()->path(); !session.empty())
        return {text(session.string()), {}};
    return {text(workspace.model()->files().source.path.string()),
            stackOf(workspace.model()->files().source)};
}

QString openStack(const Workspace& workspace)
{
    const auto weights = workspace.model()->weights();
    if (!weights)
        return stackOf(workspace.model()->files().source);
    const std::vector<std::string>& stacks = weights->config().stacks;
    return stacks.empty() ? QString() : text(stacks.front());
}

} // namespace headwise::ui
