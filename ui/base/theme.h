#pragma once

#include <QColor>
#include <QFont>

#include <array>

class QApplication;
class QLabel;
class QPalette;

namespace headwise::ui {

enum class ThemeMode { System, Light, Dark, HighContrast };

/// Every colour of the window by its role. Views read them at paint time and keep none.
struct ThemeColors {
    QColor window, base, alternate;
    QColor text, muted, border;
    QColor accent, onAccent;
    QColor good, warning, bad;
    std::array<QColor, 7> categorical; ///< Okabe-Ito without yellow, colour-blind safe in this order.
    bool dark = false;                 ///< Light on a dark ground.

    bool operator==(const ThemeColors&) const = default;
};

const ThemeColors& lightColors(); ///< Also of every exported figure.
const ThemeColors& darkColors();
const ThemeColors& highContrastColors(); ///< Black, white and yellow: text of 7:1.
/// The colours that belong to a widget's palette, so that a view follows its window.
const ThemeColors& themeColors(const QPalette& palette);
QPalette paletteOf(const ThemeColors& colors);

/// Fusion, our palette and the system's UI font at 10 pt for the whole program, and the one style sheet for the windows that
/// wear it. May be called again when the mode or the system changes.
void applyTheme(QApplication& application, ThemeMode mode);
/// Gives a window and all in it the theme's style sheet, now and after every applyTheme(). Of windows, as under a sheet of
/// the program every widget would be polished again, with all it holds, each time it finds its place in a layout.
void wearTheme(QWidget& window);
bool systemIsDark(); ///< Asked of the platform; on Qt 6.4 by the lightness of its palette.

QFont tokenFont();     ///< Monospace, with fallbacks for every script a vocabulary contains.
QFont secondaryFont(); ///< 9 pt.
QFont headingFont();   ///< 12 pt semibold.
QFont numberFont();    ///< Figures of equal width.

/// Makes `label` a page heading, or secondary text in the muted colour.
void makeHeading(QLabel* label);
void makeSecondary(QLabel* label);

} // namespace headwise::ui
