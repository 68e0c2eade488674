#pragma once

#include "ui/figures/figure_recording.h"

#include <QDir>
#include <QMimeData>
#include <QTemporaryDir>

#include <map>
#include <memory>

namespace headwise::ui {

/// A private folder for files dragged into other programs, removed with this object. Making it also removes folders that
/// crashed programs left behind.
class DragFolder {
public:
    explicit DragFolder(QString where = QDir::tempPath());

    QString path(); ///< Made when first asked for; empty if it cannot be made.

private:
    QString m_where;
    std::unique_ptr<QTemporaryDir> m_folder;
};

/// A figure on its way to another program: a PNG, an SVG, its numbers, and files of all three.
///
/// The figure is recorded now. Each form is rendered when the other program asks for it.
class FigureMime : public QMimeData {
    Q_OBJECT

public:
    /// \param name  of the files, without an ending
    FigureMime(const FigureSource& source, const FigureSettings& settings, QString name,
               std::shared_ptr<DragFolder> folder);

    QStringList formats() const override;

protected:
    QVariant retrieveData(const QString& type, QMetaType preferred) const override;

private:
    QByteArray bytes(FigureFormat format) const; ///< Empty if they cannot be made.
    QVariantList files() const;                  ///< Addresses of the files that could be written.

    FigureSettings m_settings;
    QString m_name;
    std::shared_ptr<DragFolder> m_folder;
    std::map<FigureFormat, std::unique_ptr<RecordedFigure>> m_recordings; // one for each format of a file
    mutable std::map<FigureFormat, QByteArray> m_rendered;
};

/// Drags a figure, as a FigureMime, until the mouse is released. A small picture of it follows the pointer.
/// \param from  where the drag begins
void dragFigure(const FigureSource& source, const FigureSettings& settings, const QString& name,
                const std::shared_ptr<DragFolder>& folder, QObject* from);

} // namespace headwise::ui
