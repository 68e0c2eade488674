#include "ui/document/picture_context.h"

#include "ui/base/text.h"
#include "ui/document/workspace.h"

namespace headwise::ui {

PictureContext pictureContext(const Workspace& workspace)
{
    // Shares the tokenizer: figures that a job writes outlive the selection they were recorded at.
    const auto tokenText = [tokenizer = workspace.tokenizer()](int id) {
        return tokenizer ? text(tokenizer->shown(id)) : QStringLiteral("#%1").arg(id);
    };
    return {.results = workspace.results(),
            .card = workspace.isOpen() ? workspace.card() : ModelCard{},
            .head = workspace.head(),
            .reference = workspace.reference(),
            .token = workspace.token(),
            .tokenText = tokenText,
            .previousTokenHeads = workspace.inputs().previousTokenHeads,
            .ownHeadClasses = workspace.ownHeadClasses()};
}

} // namespace headwise::ui
