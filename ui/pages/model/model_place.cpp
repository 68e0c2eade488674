#include "ui/pages/model/model_place.h"

#include "ui/base/text.h"
#include "ui/document/training_series.h"
#include "ui/document/workspace.h"

#include <QFileInfo>

namespace headwise::ui {
namespace {

const QString stackKey = QStringLiteral("?stack=");

/// Tells whether a path is that of the open session or series.
bool isOpenFile(Workspace& workspace, const std::filesystem::path& path)
{
    return isSameFile(path, workspace.session()->path())
        || (TrainingSeries::isOpenIn(workspace) && isSameFile(path, TrainingSeries::of(&workspace)->file()));
}

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

bool isSameFile(const std::filesystem::path& a, const std::filesystem::path& b)
{
    std::error_code code;
    return !a.empty() && !b.empty() && (a == b || std::filesystem::equivalent(a, b, code));
}

bool isShown(Workspace& workspace, const std::filesystem::path& path)
{
    if (const ModelSource* coming = workspace.opener()->coming())
        return isSameFile(path, coming->path);
    return workspace.model()->isOpen()
        && (isSameFile(path, workspace.model()->files().source.path) || isOpenFile(workspace, path));
}

bool isShown(Workspace& workspace, const std::filesystem::path& path, const QString& stack)
{
    if (!isShown(workspace, path))
        return false;
    if (const ModelSource* coming = workspace.opener()->coming())
        return stack == stackOf(*coming);
    return isOpenFile(workspace, path) || stack == stackOf(workspace.model()->files().source)
        || stack == openStack(workspace);
}

} // namespace headwise::ui
