#pragma once

#include <QPushButton>

namespace headwise::ui {

class Workspace;

/// Offers the files, or the other choice, without which a page or panel has nothing to show. Hidden while nothing is lacking.
///
/// The window connects the buttons of all pages, so that a panel need not pass the wish on.
class FillButton : public QPushButton {
    Q_OBJECT

public:
    enum class Lack {
        Nothing,
        Model,       ///< The model's files, of a session without them.
        Tokenizer,   ///< The tokenizer of a model without one.
        Reference,   ///< A reference head for the selected one.
        Series,      ///< A series of checkpoints…
        SeriesFolder ///< …or the folder from which it is computed.
    };

    explicit FillButton(QWidget* parent = nullptr);

    void offer(Lack lack);

    /// Returns what a panel lacks that needs the weights, or also words.
    static Lack lackOf(const Workspace& workspace, bool needsTokenizer = false);

signals:
    void wanted(headwise::ui::FillButton::Lack lack); ///< Never Nothing.

protected:
    void offerOther() { m_lack = Lack::Nothing; } ///< The caller gives the button another purpose.

private:
    Lack m_lack = Lack::Nothing;
};

} // namespace headwise::ui
