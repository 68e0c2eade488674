#pragma once

#include "app/window/main_window.h"
#include "app/window/page_tabs.h"

namespace headwise::test {

/// The page of a freshly opened model on which a test begins.
enum class FirstPage {
    Overview, ///< With head 0.0, whichever head stands out: for tests about the pages of a head.
    Findings, ///< As a user sees it.
};

/// Goes to the page when a model is opened that has no page of its own from a session.
inline void beginOn(FirstPage page, app::MainWindow& window)
{
    if (page == FirstPage::Findings)
        return;
    QObject::connect(window.workspace()->model(), &ui::OpenModel::opened, &window, [&window] {
        if (window.findChild<app::PageTabs*>()->currentName() == QLatin1String("findings"))
            window.showPage(QStringLiteral("overview"));
    });
}

} // namespace headwise::test
