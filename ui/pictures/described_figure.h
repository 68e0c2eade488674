#pragma once

#include "core/series/figure_sessions.h"
#include "core/session/figure_description.h"
#include "core/session/views.h"
#include "ui/figures/composed_figure.h"
#include "ui/pictures/picture_body.h"

#include <memory>
#include <vector>

namespace headwise::ui {

class SharedScale;

/// The results of a session at a head, for pictures on paper. The session must outlive it.
/// \param head none: pictures of all heads
PictureContext paperContext(const Session& session, std::optional<HeadId> head);

/// The figure that a description asks for, drawn from a session or a series by the bodies of the window's pictures.
class DescribedFigure {
public:
    /// Errors: those of viewOf() and FigureSessions::at(); NotFound for a view without numbers at its head; InvalidArgument for a title, a shared
    /// scale or named heads that a view cannot have, and for a page that is too small, naming the panel.
    static Result<std::unique_ptr<DescribedFigure>> make(const FigureDescription& description,
                                                         const FigureSessions& sessions);
    static Result<std::unique_ptr<DescribedFigure>> make(const FigureDescription& description,
                                                         const Session& session)
    {
        return make(description, FigureSessions(session));
    }
    ~DescribedFigure();

    ComposedFigure& page() { return *m_page; }
    /// Adds to the metadata how `headwise export --again` makes the figure again.
    /// \param sessionSha256 hash of the file of the session or series; empty: it is not in a file
    void addRecipe(const FigureDescription& description, const std::string& sessionSha256);

private:
    struct Drawn; ///< A panel with its picture.

    explicit DescribedFigure(bool isOfSeries);
    Result<Done> draw(const FigurePanel& panel, const QString& label, const FigureSessions::Step& from);
    /// Writes the panel's own words over those of its picture.
    static Result<Done> nameParts(const Drawn& drawn, const FigurePanel& panel, const ModelCard& card);
    Result<Done> shareScales(const FigureDescription& description);
    Result<Done> compose(const FigureDescription& description);
    Provenance provenance() const;

    bool m_isOfSeries;
    std::vector<std::unique_ptr<Drawn>> m_drawn;
    std::vector<std::unique_ptr<SharedScale>> m_scales;
    std::unique_ptr<ComposedFigure> m_page;
};

} // namespace headwise::ui
