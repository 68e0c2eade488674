#pragma once

#include <QColor>
#include <QFont>

#include <array>

class QApplication;
class QLabel;
class QPalette;

namespace headwise::ui {

enum class ThemeMode { System, Light, Dark, HighContrast };

/// Every colour of the window by its role. Views read them when painting and keep none.
struct ThemeColors {
    QColor window, base, alternate;
    QColor text, muted, border;
    QColor accent, onAccent;
    QColor good, warning, bad;
    std::array<QColor, 7> categorical; ///< Okabe-Ito without yellow, colour-blind safe in this order.
    bool dark = false;                 ///< Light text on a dark background.

    bool operator==(const ThemeColors&) const = default;
};

const ThemeColors& lightColors(); ///< Also used for exported figures.
const ThemeColors& darkColors();
const ThemeColors& highContrastColors(); ///< Black, white and yellow, with 7:1 contrast of text.
/// Returns the colours for a widget's palette, so that a view follows its window.
const ThemeColors& themeColors(const QPalette& palette);
QPalette paletteOf(const ThemeColors& colors);

/// Sets Fusion, our palette and the system's UI font at 10 pt for the program, and the style sheet of the windows that
/// use wearTheme(). Call it again when the mode or the system changes.
void applyTheme(QApplication& application, ThemeMode mode);
/// Gives a window the theme's style sheet, now and after every applyTheme(). It is set per window: a sheet for the whole
/// program would polish every widget, with its children, again each time a layout places it.
void wearTheme(QWidget& window);
bool systemIsDark(); ///< Asks the platform; on Qt 6.4 it judges by the lightness of the palette.

QFont tokenFont();     ///< Monospace, with fallbacks for every script a vocabulary contains.
QFont secondaryFont(); ///< 9 pt.
QFont headingFont();   ///< 12 pt semibold.
QFont numberFont();    ///< Figures of equal width.

/// Makes `label` a page heading, or secondary text in the muted colour.
void makeHeading(QLabel* label);
void makeSecondary(QLabel* label);
/// Keeps the widget's place while it is hidden, so that nothing else moves when it comes and goes.
void keepPlace(QWidget* widget);

} // namespace headwise::ui
