#pragma once

#include "core/base/result.h"

#include <QMenu>
#include <QString>

#include <functional>
#include <memory>

namespace headwise::ui {

class ExportDialog;
class Workspace;

/// Exports figures of several panels: those of description files, and as a menu those that the session keeps.
class PanelsMenu : public QMenu {
    Q_OBJECT

public:
    /// \param folder  where files are looked for and suggested
    PanelsMenu(Workspace* workspace, std::function<QString()> folder, QWidget* window);

    void chooseDescription(); ///< Asks for a description and offers the export of its figure.

signals:
    void exported(const QString& file);
    void failed(const QString& message);

private:
    void fill();
    void open(Result<std::unique_ptr<ExportDialog>> made);

    Workspace* m_workspace;
    std::function<QString()> m_folder;
};

} // namespace headwise::ui
