#include "core/session/figure_check.h"

#include "core/model/head_id.h"
#include "core/results/table_file.h"

#include <algorithm>
#include <array>
#include <utility>

namespace headwise {
namespace {

constexpr FigureRange panelShare{0.01, 100};

/// Checks ranges and references, after the types.
class DescriptionCheck {
public:
    DescriptionCheck(FigureDescription& figure, std::string_view file)
        : m_figure(figure)
        , m_file(file)
    {
    }

    std::optional<Error> run()
    {
        checkFields();
        if (!m_problem)
            placePanels();
        if (!m_problem)
            checkGrid();
        return m_problem;
    }

private:
    void refuse(const std::string& key, const std::string& sentence)
    {
        if (!m_problem)
            m_problem = keyError(m_file, key, sentence);
    }

    void checkFields()
    {
        if (m_figure.version != 1)
            refuse("version",
                   "is " + std::to_string(m_figure.version) + ", but this Headwise reads version 1");
        checkPage(m_figure.page);
        checkFormats();
        if (m_figure.panels.empty() || m_figure.panels.size() > mostPanels)
            return refuse("panels",
                          "has " + std::to_string(m_figure.panels.size()) + " entries, expected 1 to "
                              + std::to_string(mostPanels));
        for (std::size_t i = 0; i < m_figure.panels.size(); ++i)
            checkPanel(m_figure.panels[i], "panels[" + std::to_string(i) + "].");
    }

    void checkGrid()
    {
        const std::pair<int, int> grid = panelGrid(m_figure);
        checkShares("widths", m_figure.widths, grid.second, "column");
        checkShares("heights", m_figure.heights, grid.first, "row");
    }

    void checkRange(const std::string& key, double value, const FigureRange& range, const char* unit)
    {
        if (!range.contains(value))
            refuse(key,
                   "is " + shortestText(value) + ", expected " + shortestText(range.low) + " to "
                       + shortestText(range.high) + unit);
    }

    void checkPage(const FigurePage& page)
    {
        const auto preset = std::ranges::find(figurePresets, page.preset, &FigurePreset::name);
        if (preset == figurePresets.end())
            refuse("page.preset", "is '" + page.preset + "', expected single, double, slide or poster");
        if (page.width != 0)
            checkRange("page.width", page.width, figureSide, " mm");
        if (page.height != 0)
            checkRange("page.height", page.height, figureSide, " mm");
        if (page.fontSize != 0)
            checkRange("page.font_size", page.fontSize, composedFontSize, " points");
        checkRange("page.line_width", page.lineWidth, figureLineWidth, " points");
        checkRange("page.dpi", page.dpi, figureDpi, " dots per inch");
    }

    void checkFormats()
    {
        if (m_figure.formats.empty())
            refuse("formats", "is empty, expected pdf, svg or png");
        for (const std::string& format : m_figure.formats)
            if (format != "pdf" && format != "svg" && format != "png")
                refuse("formats", "has '" + format + "', expected pdf, svg or png");
    }

    void checkHead(const std::string& key, const std::string& head)
    {
        if (!parseHeadId(head))
            refuse(key, "is '" + head + "', expected a head like 5.1 or L5H1");
    }

    void checkPanel(const FigurePanel& panel, const std::string& at)
    {
        if (panel.view.empty())
            refuse(at + "view", "is missing; headwise export --list names the views");
        if (!panel.head.empty())
            checkHead(at + "head", panel.head);
        if (!panel.reference.empty())
            checkHead(at + "reference", panel.reference);
        for (std::size_t i = 0; i < panel.heads.size(); ++i)
            checkHead(at + "heads[" + std::to_string(i) + "].head", panel.heads[i].head);
        if (panel.step < FigurePanel::lastStep)
            refuse(at + "step", "is " + std::to_string(panel.step) + ", expected the step of a checkpoint");
        const FigureRange places{0, mostPanelRows}, spans{1, mostPanelRows};
        checkRange(at + "row", panel.row, places, "");
        checkRange(at + "column", panel.column, places, "");
        checkRange(at + "row_span", panel.rowSpan, spans, "");
        checkRange(at + "column_span", panel.columnSpan, spans, "");
    }

    /// Gives the panels without a place the one right of the panel before them, and refuses a place that is taken.
    void placePanels()
    {
        constexpr std::size_t side = 2UL * mostPanelRows;
        std::array<std::array<bool, side>, side> taken{};
        int row = 1, column = 1;
        for (std::size_t i = 0; i < m_figure.panels.size(); ++i) {
            FigurePanel& panel = m_figure.panels[i];
            const bool isNewRow = panel.row != 0 && panel.row != row;
            panel.row = panel.row == 0 ? row : panel.row;
            if (panel.column == 0)
                panel.column = isNewRow ? 1 : column;
            row = panel.row;
            column = panel.column + panel.columnSpan;
            const std::string key = "panels[" + std::to_string(i) + "]";
            if (panel.row + panel.rowSpan - 1 > mostPanelRows || column - 1 > mostPanelRows)
                return refuse(key,
                              "ends outside the grid, which has at most " + std::to_string(mostPanelRows)
                                  + " rows and columns");
            for (int y = panel.row; y < panel.row + panel.rowSpan; ++y)
                for (int x = panel.column; x < column; ++x)
                    if (std::exchange(taken[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)], true))
                        return refuse(key,
                                      "covers row " + std::to_string(y) + ", column " + std::to_string(x)
                                          + ", where another panel is");
        }
    }

    void checkShares(const std::string& key, const std::vector<double>& shares, int count, const char* of)
    {
        if (!shares.empty() && shares.size() != static_cast<std::size_t>(count))
            refuse(key,
                   "has " + std::to_string(shares.size()) + " entries, expected one for each "
                       + std::string(of) + ": " + std::to_string(count));
        for (const double share : shares)
            checkRange(key, share, panelShare, "");
    }

    FigureDescription& m_figure;
    std::string_view m_file;
    std::optional<Error> m_problem;
};

} // namespace

Error keyError(std::string_view file, const std::string& key, const std::string& sentence)
{
    return {ErrorCode::InvalidArgument,
            "'" + std::string(file) + "': " + (key.empty() ? "the description" : key) + " " + sentence + "."};
}

std::optional<Error> completeFigure(FigureDescription& figure, std::string_view file)
{
    return DescriptionCheck(figure, file).run();
}

FigureSettings figureSettings(const FigureDescription& figure, FigureFormat format)
{
    const FigurePage& page = figure.page;
    const auto found = std::ranges::find(figurePresets, page.preset, &FigurePreset::name);
    const FigurePreset& preset = found == figurePresets.end() ? figurePresets.front() : *found;
    FigureSettings settings{.format = format,
                            .width = page.width != 0 ? page.width : preset.width,
                            .height = page.height != 0 ? page.height : preset.height,
                            .dpi = page.dpi};
    settings.style.fontFamily = page.font;
    settings.style.fontSize = page.fontSize != 0 ? page.fontSize : preset.fontSize;
    settings.style.lineWidth = page.lineWidth;
    settings.style.title = !figure.title.empty();
    return settings;
}

std::string panelLabel(const FigureDescription& figure, std::size_t panel)
{
    const std::string& own = figure.panels[panel].label;
    return own.empty() ? std::string(1, static_cast<char>('a' + panel)) : own;
}

std::pair<int, int> panelGrid(const FigureDescription& figure)
{
    std::pair<int, int> grid{1, 1};
    for (const FigurePanel& panel : figure.panels) {
        grid.first = std::max(grid.first, panel.row + panel.rowSpan - 1);
        grid.second = std::max(grid.second, panel.column + panel.columnSpan - 1);
    }
    return grid;
}

} // namespace headwise
