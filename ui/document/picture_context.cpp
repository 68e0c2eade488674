#include "ui/document/picture_context.h"

#include "ui/base/text.h"
#include "ui/document/workspace.h"

namespace headwise::ui {

PictureContext pictureContext(const Workspace& workspace)
{
    // Shares the tokenizer: figures that a job writes outlive the selection they were recorded at.
    const auto tokenText = [tokenizer = workspace.model()->tokenizer()](int id) {
        return text(shownToken(tokenizer.get(), id));
    };
    return {.results = workspace.model()->results(),
            .card = workspace.model()->isOpen() ? workspace.model()->card() : ModelCard{},
            .head = workspace.selection()->head(),
            .reference = workspace.selection()->reference(),
            .token = workspace.selection()->token(),
            .tokenText = tokenText,
            .previousTokenHeads = workspace.runs()->inputs().previousTokenHeads,
            .ownHeadClasses = workspace.notebook()->ownHeadClasses()};
}

} // namespace headwise::ui
