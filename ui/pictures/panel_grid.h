#pragma once

#include <QGridLayout>
#include <QWidget>

#include <algorithm>
#include <utility>
#include <vector>

namespace headwise::ui {

/// Panels with a title over each, as many abreast as can be read in a width.
class PanelGrid {
public:
    explicit PanelGrid(QWidget* parent)
        : m_layout(new QGridLayout(parent))
    {
        m_layout->setContentsMargins(0, 0, 0, 0);
        m_layout->setHorizontalSpacing(16);
        m_layout->setVerticalSpacing(8);
    }

    void add(QWidget* title, QWidget* panel)
    {
        m_panels.emplace_back(title, panel);
        place(m_panels.size() - 1);
    }

    void fit(int width)
    {
        constexpr int leastWidth = 200;
        const int abreast = std::clamp(width / leastWidth, 1, most);
        if (abreast == m_abreast)
            return;
        m_abreast = abreast;
        for (int column = 0; column < most; ++column)
            m_layout->setColumnStretch(column, 0);
        for (std::size_t i = 0; i < m_panels.size(); ++i)
            place(i);
    }

    /// As wide as one panel: the others go below it where there is no room beside it.
    QSize minimumSize() const
    {
        int width = 0;
        for (const auto& [title, panel] : m_panels)
            width = std::max(width, panel->minimumSizeHint().width());
        return {width, m_layout->totalMinimumSize().height()};
    }

private:
    static constexpr int most = 3;

    void place(std::size_t index)
    {
        const int row = static_cast<int>(index) / m_abreast, column = static_cast<int>(index) % m_abreast;
        m_layout->setColumnStretch(column, 1);
        m_layout->addWidget(m_panels[index].first, 2 * row, column);
        m_layout->addWidget(m_panels[index].second, 2 * row + 1, column);
    }

    QGridLayout* m_layout;
    std::vector<std::pair<QWidget*, QWidget*>> m_panels;
    int m_abreast = most;
};

} // namespace headwise::ui
