#pragma once

#include "core/base/result.h"
#include "core/model/head_id.h"
#include "core/results/result_set.h"
#include "core/session/session.h"

#include <QString>
#include <QStringList>

#include <filesystem>
#include <map>
#include <vector>

namespace headwise::ui {

/// Known behaviour of a head, by the scores computed so far.
enum class HeadClass { None, PreviousToken, Induction, DuplicateToken, Suppression, Copying };
inline constexpr int headClassCount = 6;

QString text(HeadClass headClass); ///< "previous token"; empty for None.

/// The class of every head, [layer · H + head]. What it attends to on repeated random tokens, at least 0.3 (induction and
/// duplicate token: beyond the unrepeated control), comes before what it copies, at least 0.5 of either sign; without those
/// scores the weights' own previous-token score says the first.
/// \param previousTokenHeads  known to the user, whatever their scores
std::vector<HeadClass> headClasses(const ResultSet& results, const ModelCard& card,
                                   const std::vector<HeadId>& previousTokenHeads = {});

/// Reads the user's own head classes: a CSV file of rows head,class ("5.1,name mover"), with or without that header.
/// Errors: NotFound, Io; Corrupt, naming the line (no two fields; no head of this model, or one that came before; an empty or
/// overlong class; more than 40 classes).
Result<std::map<HeadId, QString>> readHeadClasses(const std::filesystem::path& file, const ModelCard& card);

/// The classes of heads by their names.
struct NamedClasses {
    QStringList names;        ///< Classes of the rules, then the user's own.
    std::vector<int> ofHeads; ///< [layer · H + head], 0: none, else 1 + place in `names`.
};

/// \param known  by the rules; a class of the user's own comes before, and is the rules' where it has one of their names
NamedClasses namedClasses(const std::vector<HeadClass>& known, const std::map<HeadId, QString>& own,
                          const ModelCard& card);

} // namespace headwise::ui
