#pragma once

#include "core/results/picture.h"
#include "ui/document/array_part.h"
#include "ui/figures/figure_export.h"
#include "ui/widgets/view_fields.h"

#include <QWidget>

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace headwise::ui {

/// Data of one picture: the arrays it has, and the results that keep them alive.
struct PictureData {
    Picture picture;
    std::shared_ptr<const ResultSet> results;
    std::vector<const ResultArray*> arrays;
};

/// The arrays of `picture` that `results` have.
PictureData pictureData(const Picture& picture, std::shared_ptr<const ResultSet> results);

/// The views of one picture, drawn from its arrays; one kind of picture, one class.
///
/// It needs no window: `headwise export` draws the same bodies on paper.
class PictureBody : public QWidget {
    Q_OBJECT

public:
    explicit PictureBody(QWidget* parent = nullptr)
        : QWidget(parent)
    {
    }

    /// Replaces results and selection; shows them with the next showPicture() or mark.
    void setContext(const PictureContext& context) { m_context = context; }

    virtual void showPicture(const PictureData& shown) = 0;  ///< At the selected head.
    virtual void showMessage(const QString& /*message*/) { } ///< Instead of a picture: a hint or an error.
    virtual void setPending(bool /*pending*/) { }            ///< Another picture is being computed.
    /// Takes the size of its place, with the selected head alone; cards have their own size.
    virtual void fillPlace() { }
    virtual void markHead() { }  ///< Another head is selected; only of bodies that show all heads.
    virtual void markToken() { } ///< Another token is selected.
    /// Lights the head that is hovered in any picture; only of bodies that show all heads.
    virtual void lightHead(std::optional<HeadId> /*head*/) { }
    virtual void markClasses() { } ///< The user gave heads other classes.
    virtual bool showsAllHeads() const { return false; }

    /// Returns the views that can be exported, with the name of each ("" if there is only one).
    virtual std::vector<std::pair<QWidget*, QString>> figures() = 0;
    virtual QString caption() const { return {}; } ///< Further facts, such as how many entries are left out.

    /// Zoom and colours, for a session.
    virtual ViewFields viewFields() { return {}; }
    /// The choices in the boxes over the picture, which make it another one. A box at its first choice has no value.
    /// Restored once the picture is drawn.
    virtual ViewFields choices() { return {}; }

signals:
    void readOutChanged(const QString& text);
    void captionChanged();
    void headChosen(headwise::HeadId head);
    void referenceChosen(headwise::HeadId head);
    void
    headHovered(std::optional<headwise::HeadId> head); ///< Before the read-out; none: the mouse has left.
    void pairHovered(headwise::HeadId earlier, headwise::HeadId later);
    void pairActivated(headwise::HeadId earlier, headwise::HeadId later); ///< By a double click.
    void tokenChosen(int token);
    void ownHeadClassesChosen(const std::map<headwise::HeadId, QString>& classes);

protected:
    const PictureContext& context() const { return m_context; }

private:
    PictureContext m_context;
};

/// \param name of its views for assistive technology, until there is a picture
PictureBody* newPictureBody(Picture::Kind kind, const QString& name, QWidget* parent);

PictureBody* newGridsBody(QWidget* parent);
PictureBody* newCellsBody(Picture::Kind kind, QWidget* parent);
PictureBody* newChartBody(Picture::Kind kind, QWidget* parent);
PictureBody* newTableBody(QWidget* parent);
PictureBody* newDiagramBody(QWidget* parent);

} // namespace headwise::ui
