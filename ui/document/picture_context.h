#pragma once

#include "core/session/session.h"

#include <QString>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace headwise::ui {

class Workspace;

/// Everything a picture is drawn from: the results and the selection at which they are cut.
struct PictureContext {
    std::shared_ptr<const ResultSet> results; ///< Never null.
    ModelCard card;
    HeadId head = {};
    std::optional<HeadId> reference = {}; ///< The head that others are compared with.
    bool isCut = true;    ///< Whether arrays are cut at the selection; else they are shown whole.
    bool isPaper = false; ///< Paper cannot scroll: tables begin with their strongest rows.
    int token = 0;
    std::function<QString(int)> tokenText;         ///< A token id as shown.
    std::vector<HeadId> previousTokenHeads = {};   ///< Known to the user, whatever their scores.
    std::map<HeadId, QString> ownHeadClasses = {}; ///< Classes the user gave to heads.
};

/// The results and the selection of the window; only while something is open.
PictureContext pictureContext(const Workspace& workspace);

} // namespace headwise::ui
