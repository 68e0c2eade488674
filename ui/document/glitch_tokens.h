#pragma once

#include "ui/base/job.h"

#include <QObject>

#include <memory>
#include <vector>

namespace headwise::ui {

class Workspace;
template <typename Part>
Part* partOf(Workspace* workspace);

/// Untrained tokens ("glitch tokens") of the open model. They lengthen tables of extremes and mean little there. The
/// workspace owns this object. The first request starts the search.
class GlitchTokens : public QObject {
    Q_OBJECT

public:
    static GlitchTokens* of(Workspace* workspace); ///< Made when first asked for.

    /// False until they are known, which `changed` says.
    bool contains(int token) const;

signals:
    void changed();

private:
    friend GlitchTokens* partOf<GlitchTokens>(Workspace* workspace);
    explicit GlitchTokens(Workspace* workspace);
    void look();

    Workspace* m_workspace;
    std::shared_ptr<const std::vector<bool>> m_marks; // [d_vocab]; null: not known
    Job m_job;
};

} // namespace headwise::ui
