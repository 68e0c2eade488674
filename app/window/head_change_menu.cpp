#include "app/window/head_change_menu.h"

#include "ui/base/text.h"
#include "ui/document/workspace.h"

#include <QCoreApplication>
#include <QMenu>

#include <algorithm>

namespace headwise::app {

using namespace headwise::ui;

namespace {

QString tr(const char* words)
{
    return QCoreApplication::translate("headwise::app::HeadChangeMenu", words);
}

/// Returns the change that removes the selected singular component from the selected head's OV; none for a QK direction.
std::optional<HeadChange> removal(const Workspace& workspace)
{
    if (workspace.selection()->direction().circuit != CircuitKind::Ov)
        return std::nullopt;
    const int components = std::min(workspace.model()->card().dHead, workspace.model()->card().dModel);
    return HeadChange{workspace.selection()->head(),
                      {},
                      std::min(workspace.selection()->direction().index, components - 1)};
}

std::optional<HeadChange> virtualHead(const Workspace& workspace)
{
    const auto earlier = workspace.selection()->reference();
    if (!earlier || earlier->layer >= workspace.selection()->head().layer)
        return std::nullopt;
    return HeadChange{workspace.selection()->head(), earlier, {}};
}

/// Applies `change` in place of an earlier change of the same head.
void apply(Workspace& workspace, const HeadChange& change)
{
    ProcessingWish wish = workspace.model()->processingWish();
    std::erase_if(wish.headChanges, [&](const HeadChange& other) { return other.head == change.head; });
    wish.headChanges.push_back(change);
    workspace.model()->setProcessingWish(wish);
}

} // namespace

void undoHeadChanges(Workspace& workspace)
{
    ProcessingWish wish = workspace.model()->processingWish();
    wish.headChanges.clear();
    workspace.model()->setProcessingWish(wish);
}

void fillHeadChangeMenu(QMenu& menu, Workspace& workspace,
                        const std::function<void(const std::function<void()>&)>& whenSafe)
{
    using Change = std::optional<HeadChange> (*)(const Workspace&);
    const auto add = [&](Change change) {
        return menu.addAction(QString(), &menu, [&workspace, change, whenSafe] {
            if (const auto made = change(workspace))
                whenSafe([&workspace, made] { apply(workspace, *made); });
        });
    };
    QAction* remove = add(removal);
    QAction* chain = add(virtualHead);
    QAction* undo = menu.addAction(tr("&Undo head changes"), &menu, [&workspace, whenSafe] {
        whenSafe([&workspace] { undoHeadChanges(workspace); });
    });
    const auto refresh = [&workspace, remove, chain, undo] {
        const bool hasModel = workspace.model()->isOpen() && workspace.model()->hasModel();
        const auto removed = hasModel ? removal(workspace) : std::nullopt;
        const auto chained = hasModel ? virtualHead(workspace) : std::nullopt;
        remove->setText(
            removed ? tr("&Without singular component %1 of its W_OV").arg(*removed->withoutComponent + 1)
                    : tr("&Without a singular component: select one of W_OV on Vectors"));
        chain->setText(chained
                           ? tr("As &virtual head %1 → %2").arg(text(*chained->earlier), text(chained->head))
                           : tr("As &virtual head: mark an earlier head as the reference"));
        remove->setEnabled(removed.has_value());
        chain->setEnabled(chained.has_value());
        undo->setEnabled(hasModel && !workspace.model()->processing().headChanges.empty());
    };
    for (const auto change : {&OpenModel::opened, &OpenModel::closed, &OpenModel::circuitsChanged})
        QObject::connect(workspace.model(), change, &menu, refresh);
    QObject::connect(workspace.selection(), &Selection::referenceChanged, &menu, refresh);
    QObject::connect(workspace.selection(), &Selection::headChanged, &menu, refresh);
    QObject::connect(workspace.selection(), &Selection::directionChanged, &menu, refresh);
    refresh();
}

} // namespace headwise::app
