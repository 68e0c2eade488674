#pragma once

#include "app/address.h"
#include "app/window/window_part.h"

#include <QString>

namespace headwise::ui {
class OpenModel;
}

namespace headwise::app {

class Opening;
class Pages;

/// Finds a token by its text as shown, its raw text or #id. Errors: NotFound; those of Tokenizer::find().
Result<int> tokenNamed(const ui::OpenModel& model, const std::string& shown);
/// Returns text by which tokenNamed() finds the token.
std::string tokenReference(const ui::OpenModel& model, int token);

/// Goes to addresses in a model, and copies the address of the place on screen.
class Addresses : public WindowPart {
    Q_OBJECT

public:
    Addresses(QMainWindow* window, ui::Workspace* workspace, Opening* opening, Pages* pages);

    /// Errors: InvalidArgument, naming the pages there are.
    Result<Done> check(const Address& address) const;
    void goTo(const Address& address); ///< Opens its model first if another one is open.
    bool isAwaited() const;            ///< Whether showAwaited() has a place to show.
    /// Shows the place of the model that has just been opened. It waits for a model that is still being opened.
    void showAwaited();
    void copyReference(); ///< To the clipboard: an address for --goto to come back here.

private:
    void connectSeries(); ///< Opens a series' steps where it stands.
    void show(const Address& address);
    bool isShown(const Address& address) const; ///< Its model is open or being opened, in its stack.
    bool chooseToken(const std::string& shown);
    QString rawToken(const std::string& shown) const;

    Opening* m_opening;
    Pages* m_pages;
    std::optional<Address> m_awaited;
};

} // namespace headwise::app
