#pragma once

#include "tests/support/opened_page.h"
#include "ui/document/array_part.h"
#include "ui/document/head_metrics.h"
#include "ui/pages/analyses/result_page.h"

namespace headwise::test {

using OpenedResults = OpenedPage<ui::ResultPage>;

/// Computes an analysis and draws its pictures.
inline void run(OpenedResults& opened, std::string_view id)
{
    opened.page.showAnalysis(id);
    opened.page.run();
    QTRY_VERIFY(ui::isComputed(opened.page.analysis(), *opened.workspace.model()->results())
                && !opened.workspace.runs()->job()->isRunning());
    opened.page.figures(); // draws them all
}

inline ArrayPart numbers(OpenedResults& opened, const char* path)
{
    return wholeArray(*opened.workspace.model()->results()->find(path));
}

} // namespace headwise::test
