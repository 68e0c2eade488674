#pragma once

#include <QPushButton>

namespace headwise::ui {

class Workspace;

/// Offers the files without which a page or panel has nothing to show. Hidden while none are lacking.
///
/// The window connects the buttons of all pages, so that a panel need not pass the wish on.
class FillButton : public QPushButton {
    Q_OBJECT

public:
    enum class Lack { Nothing, Model, Tokenizer };

    explicit FillButton(QWidget* parent = nullptr);

    void offer(Lack lack);

    /// Returns what a panel lacks that needs the weights, or also words.
    static Lack lackOf(const Workspace& workspace, bool needsTokenizer = false);

signals:
    void locateWanted();    ///< The model's files, of a session without them.
    void tokenizerWanted(); ///< The tokenizer of a model without one.

protected:
    void offerOther() { m_lack = Lack::Nothing; } ///< The caller gives the button another purpose.

private:
    Lack m_lack = Lack::Nothing;
};

} // namespace headwise::ui
