#pragma once

#include "core/results/color_scale.h"

#include <QColor>
#include <QMap>
#include <QObject>
#include <QString>

namespace headwise::ui {

/// Colour maps offered for unsigned values.
inline constexpr std::array sequentialMaps{ColorMap::Viridis, ColorMap::Cividis, ColorMap::Gray,
                                           ColorMap::HighContrast};

/// The default colours of new pictures.
struct ColorChoice {
    ColorMap sequential = ColorMap::Viridis; ///< One of sequentialMaps.
    bool redIsNegative = false;              ///< Signed values run from red to blue.
    /// Colours of head classes, by name; other classes use the theme's.
    QMap<QString, QColor> classes = {};

    bool operator==(const ColorChoice&) const = default;

    /// \param color  invalid: back to the theme's colour
    void setClass(const QString& name, const QColor& color);
};

const ColorChoice& colorChoice();
/// Applies to new pictures, and to pictures on screen that still have the previous default.
void setColorChoice(const ColorChoice& choice);

/// Sets the colour of the heads of one class, as ColorChoice::setClass.
void setClassColor(const QString& name, const QColor& color);

/// Tells pictures that the choice changed, and the settings which class a page has coloured.
class ColorNews : public QObject {
    Q_OBJECT

public:
    static ColorNews& instance(); ///< GUI thread only.

signals:
    void choiceChanged(const headwise::ui::ColorChoice& before);
    void classColorChanged(const QString& name, const QColor& color);
};

/// Returns the initial scale of a picture, before its limits are fitted.
ColorScale firstScale(bool isSigned, ColorFit fit = ColorFit::Full);

} // namespace headwise::ui
