#pragma once

class QWidget;

namespace headwise::app {

/// Opens the guide to keys, conventions and analyses, which can be searched, beside the window.
void showHelp(QWidget* window);

} // namespace headwise::app
