#pragma once

#include "core/results/result_set.h"

#include <QObject>

#include <memory>

namespace headwise::ui {

class Workspace;
template <typename Part>
Part* partOf(Workspace* workspace);

/// Attention imported from another program for a prompt. The session keeps it, so that figures made from it stay the same. It
/// belongs to the workspace and is found through it; another model or session brings its own.
class ImportedAttention : public QObject {
    Q_OBJECT

public:
    using Array = std::shared_ptr<const ResultArray>;

    static ImportedAttention* of(Workspace* workspace); ///< Made when first asked for.

    Array array() const { return m_array; } ///< As patternArray() has it; null: there is none.
    void keep(Array array);
    void forget() { m_array.reset(); }

    static void putInto(ResultSet& results, const Array& array); ///< In place of what they have of it.

signals:
    void kept(); ///< New attention was kept; no session has it yet.

private:
    friend ImportedAttention* partOf<ImportedAttention>(Workspace* workspace);
    explicit ImportedAttention(Workspace* workspace);

    Array m_array;
};

} // namespace headwise::ui
