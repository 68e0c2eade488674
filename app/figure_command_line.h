#pragma once

#include <QString>

namespace headwise::ui {
class FigureSource;
class Workspace;
} // namespace headwise::ui

namespace headwise::app {

class Pages;

/// Returns the command that draws a picture of the window without it, "headwise export demo --view 'matrix: …' -o figure.svg";
/// empty for a picture without a name on the command line.
///
/// For a view of a session it names the open session, else SESSION.h5.
QString figureCommandLine(ui::Workspace* workspace, Pages* pages, ui::FigureSource* figure);

} // namespace headwise::app
