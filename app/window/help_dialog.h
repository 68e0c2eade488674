#pragma once

class QWidget;

namespace headwise::app {

/// Opens the page about keys, conventions and analyses, beside the window.
void showHelp(QWidget* window);

} // namespace headwise::app
