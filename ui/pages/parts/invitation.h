#pragma once

class QBoxLayout;
class QLabel;

namespace headwise::ui {

/// Arranges a sentence followed by its buttons.
/// \param isAlone  the page has nothing else: stacked in the middle instead of side by side
void arrangeInvitation(QBoxLayout* row, QLabel* sentence, bool isAlone);

} // namespace headwise::ui
