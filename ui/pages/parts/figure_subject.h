#pragma once

#include "ui/base/text.h"
#include "ui/figures/figure_export.h"

#include <algorithm>
#include <optional>

namespace headwise::ui {

/// Says whose figure it is, where it is not the selected head's, as a page describes it: another's, or, none, one of all
/// heads or of no head.
inline void setSubject(FigureSource* figure, std::optional<HeadId> head)
{
    Provenance lines = figure->provenance();
    const auto isHead = [](const auto& line) { return line.first == QLatin1String("head"); };
    if (!head)
        lines.removeIf(isHead);
    else if (const auto line = std::ranges::find_if(lines, isHead); line != lines.end())
        line->second = text(*head);
    figure->setProvenance(lines);
}

/// Says under which name `headwise export --view` draws the same figure; nothing where the name is empty.
inline void setView(FigureSource* figure, const QString& name)
{
    if (name.isEmpty())
        return;
    Provenance lines = figure->provenance();
    lines.append({QStringLiteral("view"), name});
    figure->setProvenance(lines);
}

} // namespace headwise::ui
