#include "ui/pages/parts/fill_button.h"

#include "ui/base/icons.h"
#include "ui/document/workspace.h"

namespace headwise::ui {

FillButton::FillButton(QWidget* parent)
    : QPushButton(parent)
{
    hide();
    connect(this, &QPushButton::clicked, this, [this] {
        if (m_lack == Lack::Model)
            emit locateWanted();
        else if (m_lack == Lack::Tokenizer)
            emit tokenizerWanted();
    });
}

void FillButton::offer(Lack lack)
{
    m_lack = lack;
    if (lack == Lack::Model) {
        setIcon(ui::icon("link"));
        setText(tr("Locate model…"));
        setToolTip(tr("Finds the files of the model that this session was made from"));
    } else if (lack == Lack::Tokenizer) {
        setIcon(ui::icon("open"));
        setText(tr("Add tokenizer…"));
        setToolTip(tr("Chooses the file that turns token ids into words"));
    }
    setVisible(lack != Lack::Nothing);
}

FillButton::Lack FillButton::lackOf(const Workspace& workspace, bool needsTokenizer)
{
    const OpenModel& model = *workspace.model();
    if (!model.isOpen())
        return Lack::Nothing;
    if (!model.hasModel())
        return Lack::Model;
    return needsTokenizer && !model.tokenizer() ? Lack::Tokenizer : Lack::Nothing;
}

} // namespace headwise::ui
