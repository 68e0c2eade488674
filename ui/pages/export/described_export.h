#pragma once

#include "core/base/result.h"

#include <QString>

#include <memory>

class QWidget;

namespace headwise::ui {

class ExportDialog;
class Workspace;

/// Returns the export dialog of the figure of several panels that a description file asks for. The figure is drawn from the open
/// results instead of the session that the description names, or from the open series if a panel asks for its steps. Closing
/// the dialog keeps the description in the session, under the file's name and with the size and type that were chosen.
/// Errors: Io; those of parseFigureDescription(), readSeriesSteps() and DescribedFigure::make().
Result<std::unique_ptr<ExportDialog>> describedExport(const QString& file, const Workspace& workspace,
                                                      QWidget* parent);

/// The same of a figure that the session keeps.
/// \param folder  suggested for the file
/// Errors: NotFound; those of DescribedFigure::make().
Result<std::unique_ptr<ExportDialog>> keptExport(const QString& name, const QString& folder,
                                                 const Workspace& workspace, QWidget* parent);

} // namespace headwise::ui
