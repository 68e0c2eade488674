#include "ui/pages/parts/fill_button.h"

#include "ui/base/icons.h"
#include "ui/document/workspace.h"

#include <array>

namespace headwise::ui {

namespace {

struct FillOffer {
    FillButton::Lack lack;
    const char* icon;
    const char* words;
    const char* toolTip;
};

constexpr std::array fillOffers{
    FillOffer{FillButton::Lack::Model, "link", QT_TRANSLATE_NOOP("headwise::ui::FillButton", "Locate model…"),
              QT_TRANSLATE_NOOP("headwise::ui::FillButton",
                                "Finds the files of the model that this session was made from")},
    FillOffer{
        FillButton::Lack::Tokenizer, "open", QT_TRANSLATE_NOOP("headwise::ui::FillButton", "Add tokenizer…"),
        QT_TRANSLATE_NOOP("headwise::ui::FillButton", "Chooses the file that turns token ids into words")},
    FillOffer{FillButton::Lack::Reference, "swap",
              QT_TRANSLATE_NOOP("headwise::ui::FillButton", "Compare with nearest head"),
              QT_TRANSLATE_NOOP("headwise::ui::FillButton",
                                "Sets the head whose W_V W_O has the largest cosine as the reference")},
    FillOffer{FillButton::Lack::Series, "open", QT_TRANSLATE_NOOP("headwise::ui::FillButton", "Open series…"),
              QT_TRANSLATE_NOOP("headwise::ui::FillButton", "Chooses a file that headwise series wrote")},
    FillOffer{FillButton::Lack::SeriesFolder, "folder",
              QT_TRANSLATE_NOOP("headwise::ui::FillButton", "Open series folder…"),
              QT_TRANSLATE_NOOP("headwise::ui::FillButton",
                                "Chooses a folder of checkpoints and computes a series from it")},
};

} // namespace

FillButton::FillButton(QWidget* parent)
    : QPushButton(parent)
{
    hide();
    connect(this, &QPushButton::clicked, this, [this] {
        if (m_lack != Lack::Nothing)
            emit wanted(m_lack);
    });
}

void FillButton::offer(Lack lack)
{
    m_lack = lack;
    for (const FillOffer& offered : fillOffers)
        if (offered.lack == lack) {
            setIcon(ui::icon(offered.icon));
            setText(tr(offered.words));
            setToolTip(tr(offered.toolTip));
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
