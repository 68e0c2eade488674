#pragma once

#include "core/base/matrix.h"
#include "ui/pages/parts/page.h"
#include "ui/pictures/picture_body.h"

#include <array>

namespace headwise::ui {

/// A picture that fills its place on a page. The page says what to draw of which results; the picture engine draws it, as it
/// does for the analyses' cards and for `headwise export`.
class PicturePanel : public Page {
    Q_OBJECT

public:
    /// \param name of the picture on its page, for the command line, and for assistive technology until there is one
    PicturePanel(Workspace* workspace, Picture::Kind kind, const QString& name, QWidget* parent = nullptr);

    /// Draws arrays of the open model's results at the selected head.
    void showPicture(const Picture& picture);
    /// Draws arrays that the page computed for its inputs: they are shown whole.
    void showPicture(const Picture& picture, ResultSet results);
    void showMessage(const QString& message); ///< Instead of a picture: a hint or an error.

    void setPending(bool pending) { m_body->setPending(pending); } ///< Until the next picture or message.

    void markHead(); ///< Another head or reference is selected; only of pictures of all heads.

    PictureBody* body() const { return m_body; }
    QString caption() const { return m_body->caption(); }

    ViewFields viewFields() override { return m_body->viewFields(); }
    QList<FigureSource*> figures() override;

private:
    void draw(const Picture& picture, PictureContext context);

    const QString m_name;
    PictureBody* m_body;
    PictureContext m_context;
    QString m_title; // of the picture that is shown; empty: none
};

/// An array of one dimension that a page computed, for a picture of it.
/// \param path where an analysis keeps the same numbers, if one does: its title, definition and unit are taken from there
ResultArray shownArray(const std::string& path, ArrayAxis axis, std::vector<double> values);
/// The same for a matrix.
ResultArray shownMatrix(const std::string& path, const std::array<Axis, 2>& axes,
                        const Matrix<double>& values);

} // namespace headwise::ui
