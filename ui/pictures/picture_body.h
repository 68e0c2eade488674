#pragma once

#include "core/results/picture.h"
#include "ui/document/array_part.h"
#include "ui/figures/figure_export.h"

#include <QWidget>

#include <memory>
#include <vector>

namespace headwise::ui {

/// Data of one picture: the arrays it has, and the results that keep them alive.
struct PictureData {
    Picture picture;
    std::shared_ptr<const ResultSet> results;
    std::vector<const ResultArray*> arrays;
};

/// The views of one picture, drawn from its arrays; one kind of picture, one class.
class PictureBody : public QWidget {
    Q_OBJECT

public:
    explicit PictureBody(Workspace* workspace, QWidget* parent = nullptr)
        : QWidget(parent)
        , m_workspace(workspace)
    {
    }

    virtual void showPicture(const PictureData& shown) = 0; ///< At the selected head.
    virtual void markHead() { } ///< Another head is selected; only of bodies that show all heads.
    virtual bool showsAllHeads() const { return false; }

    /// The views that have something to take away, with the name of each ("" where there is but one).
    virtual std::vector<std::pair<QWidget*, QString>> figures() = 0;
    virtual QString caption() const { return {}; } ///< Anything else to know: how many are left out, …

signals:
    void readOutChanged(const QString& text);
    void captionChanged();

protected:
    Workspace* workspace() const { return m_workspace; }

private:
    Workspace* m_workspace;
};

PictureBody* newCellsBody(Picture::Kind kind, Workspace* workspace, QWidget* parent);
PictureBody* newChartBody(Picture::Kind kind, Workspace* workspace, QWidget* parent);
PictureBody* newTableBody(Workspace* workspace, QWidget* parent);
PictureBody* newDiagramBody(Workspace* workspace, QWidget* parent);

} // namespace headwise::ui
