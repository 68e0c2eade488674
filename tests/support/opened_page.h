#pragma once

#include "tests/support/program.h"
#include "ui/base/theme.h"
#include "ui/document/workspace.h"
#include "ui/figures/figure_export.h"

#include <QAbstractItemModel>
#include <QTableView>
#include <QTest>

#include <vector>

namespace headwise::test {

/// A page on the screen with an open model.
template <typename PageType>
class OpenedPage {
public:
    explicit OpenedPage(const std::filesystem::path& model, const QSize& size = {1000, 800})
        : page(&workspace)
    {
        ui::wearTheme(page);
        page.resize(size);
        page.show();
        workspace.opener()->openModel({model, {}, {}});
        [&] {
            QTRY_VERIFY(workspace.model()->tokens() && !workspace.model()->tokenReader()->job()->isRunning());
        }();
    }

    /// Waits for the widget with that accessible name, because pictures are made in a later turn.
    template <typename Widget>
    Widget* find(const QString& name)
    {
        Widget* found = nullptr;
        const auto look = [&] {
            for (Widget* one : page.template findChildren<Widget*>())
                if (one->accessibleName() == name)
                    return found = one, true;
            return false;
        };
        if (!look() && !QTest::qWaitFor(look, patience))
            qFatal("there is no '%s'", qPrintable(name));
        return found;
    }

    ui::Workspace workspace;
    PageType page;
};

inline std::vector<QStringList> dataRows(const ui::FigureSource* source)
{
    std::vector<QStringList> rows;
    source->forEachDataRow([&](const QStringList& row) { rows.push_back(row); });
    return rows;
}

inline QString cellText(const QTableView* table, int row, int column)
{
    return table->model()->index(row, column).data().toString();
}

} // namespace headwise::test
