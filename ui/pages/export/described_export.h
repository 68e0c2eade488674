#pragma once

#include "core/base/result.h"

#include <QString>

#include <memory>

class QWidget;

namespace headwise::ui {

class ExportDialog;
class Workspace;

/// Returns the export dialog of the figure of several panels that a description file asks for. The figure is drawn from the open
/// results instead of the session that the description names.
/// Errors: Io; those of parseFigureDescription() and DescribedFigure::make().
Result<std::unique_ptr<ExportDialog>> describedExport(const QString& file, const Workspace& workspace,
                                                      QWidget* parent);

} // namespace headwise::ui
