#pragma once

class QBoxLayout;
class QLabel;

namespace headwise::ui {

/// Arranges a sentence and, after it, what can be pressed about it.
/// \param isAlone  the page has nothing else: under each other in its middle, instead of side by side
void arrangeInvitation(QBoxLayout* row, QLabel* sentence, bool isAlone);

} // namespace headwise::ui
