#pragma once

#include "core/results/color_scale.h"

#include <QColor>
#include <QMap>
#include <QObject>
#include <QString>

namespace headwise::ui {

/// Colour maps on offer for values without a sign.
inline constexpr std::array sequentialMaps{ColorMap::Viridis, ColorMap::Cividis, ColorMap::Gray,
                                           ColorMap::HighContrast};

/// The colours that pictures have until their reader chooses others.
struct ColorChoice {
    ColorMap sequential = ColorMap::Viridis; ///< One of sequentialMaps.
    bool redIsNegative = false;              ///< Signed values run from red to blue.
    QMap<QString, QColor> classes = {};      ///< Colours of head classes, by name; others have the theme's.

    bool operator==(const ColorChoice&) const = default;

    void setClass(const QString& name, const QColor& color); ///< \param color  invalid: the theme's again
};

const ColorChoice& colorChoice();
/// From now on, and in the pictures on screen that still have the colours chosen before.
void setColorChoice(const ColorChoice& choice);

/// The colour of the heads of one class, as ColorChoice::setClass.
void setClassColor(const QString& name, const QColor& color);

/// Tells pictures that the choice changed, and settings which class a page has coloured.
class ColorNews : public QObject {
    Q_OBJECT

public:
    static ColorNews& instance(); ///< GUI thread only.

signals:
    void choiceChanged(const headwise::ui::ColorChoice& before);
    void classColorChanged(const QString& name, const QColor& color);
};

/// The scale a picture begins with, its limits not fitted.
ColorScale firstScale(bool isSigned, ColorFit fit = ColorFit::Full);

} // namespace headwise::ui
