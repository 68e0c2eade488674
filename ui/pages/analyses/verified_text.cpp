#include "ui/pages/analyses/verified_text.h"

#include "ui/base/text.h"
#include "ui/document/head_metrics.h"

#include <QCoreApplication>

#include <cmath>

namespace headwise::ui {

QString verifiedText(const ResultSet& results, HeadId head)
{
    const ResultArray* weights = results.find("analyses/induction/as_induction_head");
    const ResultArray* tokens = results.find("analyses/pattern_scores/induction");
    if (!weights || !tokens)
        return {};
    const double seen = metricAt(*tokens, head), promised = metricAt(*weights, head);
    if (!std::isfinite(seen) || !std::isfinite(promised))
        return {};
    return QCoreApplication::translate("headwise::ui::ResultPage",
                                       "%1 on random tokens: %2, from the weights: %3")
        .arg(text(head), number(seen), number(promised));
}

} // namespace headwise::ui
