#pragma once

#include "core/model/head_id.h"
#include "core/results/result_set.h"

#include <QString>

namespace headwise::ui {

/// Sets a head's attention on random tokens beside the score of its weights as an induction head; empty without both.
QString verifiedText(const ResultSet& results, HeadId head);

} // namespace headwise::ui
