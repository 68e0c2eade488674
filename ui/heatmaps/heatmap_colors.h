#pragma once

#include "ui/heatmaps/heatmap_content.h"

#include <QObject>

#include <optional>

class QPalette;

namespace headwise::ui {

class SharedScale;
struct ColorChoice;

/// The parts of a scale that the user chose. The page decides the rest for every matrix.
struct ScaleChoice {
    bool map = false;
    bool inverted = false;
    bool transform = false;
    bool fit = false; ///< Includes its percentile, and for ColorFit::Fixed the limits, which are then locked.

    bool operator==(const ScaleChoice&) const = default;
};

/// The colour scale of a heatmap: what the page proposes, what the user chose, and the limits that fit the numbers.
class HeatmapColors : public QObject {
    Q_OBJECT

public:
    HeatmapColors(HeatmapContent* content, QObject* parent);

    const ColorScale& scale() const { return m_content->scene().scale; }
    /// Fits the scale to the matrix unless it is fixed. Differences from the previous scale count as the user's choice.
    void setScale(const ColorScale& scale);
    /// Proposes the page's scale for the next numbers. Affects only what the user has not chosen, and nothing while the
    /// scale is shared.
    void proposeScale(const ColorScale& scale);
    void showScale(const ColorScale& scale);           ///< Unchanged, for this heatmap only.
    ColorScale scaleOn(const QPalette& palette) const; ///< The scale with the map of the palette's theme.
    const ScaleChoice& choice() const { return m_choice; }
    void setChoice(const ScaleChoice& choice);
    bool isLocked() const; ///< True if the user fixed the limits.
    void toggleLock();     ///< Switches between fixed limits and limits that follow the data or the page.
    void invert();
    void centerOnZero(); ///< Makes the limits symmetric about zero, on a map with a neutral middle.
    void setSharedScale(SharedScale* shared) { m_shared = shared; } ///< Called by SharedScale.
    SharedScale* sharedScale() const { return m_shared; }           ///< Null: a scale of its own.

signals:
    void scaleChanged(const headwise::ColorScale& scale); ///< Set, or refitted to a new matrix.
    void choiceChanged(const headwise::ui::ScaleChoice& choice);

private:
    void followColorChoice(const ColorChoice& before);
    void fitScale(const ColorScale& scale);

    HeatmapContent* m_content;
    ColorFit m_unlockedFit = ColorFit::Full; // The fit that toggleLock() restores.
    bool m_unlockedFitChosen = false;
    // The proposed scale that toggleLock() restores if the user chose no fit.
    std::optional<ColorScale> m_proposed;
    ScaleChoice m_choice;
    SharedScale* m_shared = nullptr; // The views with the same scale.
};

} // namespace headwise::ui
