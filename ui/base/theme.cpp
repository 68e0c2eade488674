#include "ui/base/theme.h"

#include "ui/base/plain_text.h"

#include "ui/base/icons.h"
#include "ui/base/text_size.h"
#include "ui/base/token_font.h"

#include <QApplication>
#include <QFontDatabase>
#include <QFontInfo>
#include <QGuiApplication>
#include <QLabel>
#include <QPalette>
#include <QStyle>
#include <QStyleFactory>
#include <QStyleHints>
#include <QVariant>

#include <algorithm>

namespace headwise::ui {

namespace {

std::array<QColor, 7> okabeIto()
{
    return {QColor(0x0072B2), QColor(0xD55E00), QColor(0x009E73), QColor(0xCC79A7),
            QColor(0x56B4E9), QColor(0xE69F00), QColor(0x5B5B5B)};
}

std::array<QColor, 7> okabeItoOnWhite()
{
    std::array<QColor, 7> colors = okabeIto();
    // Sky blue and orange in the same hue, dark enough for lines (contrast 3:1).
    colors[4] = QColor(0x209CE2);
    colors[5] = QColor(0xC58800);
    return colors;
}

std::array<QColor, 7> lighter(std::array<QColor, 7> colors)
{
    for (QColor& color : colors) {
        // A tenth lighter is not enough for the darkest on a dark background: chart lines need 3:1.
        const float lightness = color.lightnessF();
        color.setHslF(color.hslHueF(), color.hslSaturationF(), std::max(lightness * 1.1F, 0.48F));
    }
    return colors;
}

constexpr int smallestBody = 10; // points

/// The size that applyTheme() last used.
int& bodySize()
{
    static int size = smallestBody;
    return size;
}

/// Mixes two colours, close enough to the second to be visible on the first (contrast 3:1).
QColor blend(const QColor& ground, const QColor& ink)
{
    constexpr float share = 0.72F;
    const auto mixed = [](float a, float b) { return a + share * (b - a); };
    return QColor::fromRgbF(mixed(ground.redF(), ink.redF()), mixed(ground.greenF(), ink.greenF()),
                            mixed(ground.blueF(), ink.blueF()));
}

// styleSheet() replaces the names that begin with @.
constexpr auto sheet = R"(
QToolTip { color: @text; background: @base; border: 1px solid @border; padding: 4px 6px; }
QMainWindow::separator { background: @border; width: 1px; height: 1px; }
QDockWidget::title { background: @window; padding: 6px 8px; border-bottom: 1px solid @border; }
QToolBar { background: @window; border: none; border-bottom: 1px solid @border; spacing: 4px; padding: 4px 8px; }
QStatusBar { background: @window; border-top: 1px solid @border; }
QStatusBar::item { border: none; }
QTabWidget::pane { border: none; }
QTabBar { background: transparent; qproperty-drawBase: false; }
QTabBar::tab { padding: 6px 9px; color: @muted; background: transparent; border: none; border-bottom: 2px solid transparent; }
QTabBar::tab:selected { color: @text; border-bottom: 2px solid @accent; }
QTabBar::tab:hover { color: @text; }
QTabBar::tab:focus { color: @accent; }
QHeaderView { background: @base; border: none; }
QHeaderView::section { background: @base; color: @muted; border: none; border-bottom: 1px solid @border; padding: 4px 8px; }
QTableView, QListView, QTreeView, QPlainTextEdit { border: 1px solid @border; border-radius: 4px; background: @base; gridline-color: transparent; }
QTableView::item { padding: 2px 8px; }
QListWidget::item { padding: 3px 8px; }
QTreeView#sidebar, QTreeView#sidebar:focus { background: @window; border: none; outline: none; }
QTreeView#sidebar::item { padding: 0 4px; border: none; border-left: 3px solid transparent; }
QTreeView#sidebar::item:selected { color: @text; background: @alternate; border-left: 3px solid @accent; }
QTreeView#sidebar::item:selected:focus { color: @accent; }
QTableView:focus, QListView:focus, QTreeView:focus, QPlainTextEdit:focus { border: 1px solid @accent; }
QLineEdit, QAbstractSpinBox { border: 1px solid @border; border-radius: 4px; background: @base; padding: 3px 4px; selection-background-color: @accent; }
QLineEdit[readOnly="true"][frame="false"] { border: none; background: transparent; padding: 0; }
QLineEdit:focus, QAbstractSpinBox:focus { border: 1px solid @accent; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { subcontrol-origin: border; width: 18px; border: none; background: transparent; }
QAbstractSpinBox::up-button { subcontrol-position: top right; }
QAbstractSpinBox::down-button { subcontrol-position: bottom right; }
QAbstractSpinBox::up-arrow { image: url(:/spin-up-@shade.svg); width: 9px; height: 6px; }
QAbstractSpinBox::down-arrow { image: url(:/spin-down-@shade.svg); width: 9px; height: 6px; }
QPushButton { color: @text; background: @button; border: 1px solid @border; border-radius: 4px; padding: 4px 10px; }
QPushButton:hover { border-color: @muted; }
QPushButton:pressed, QPushButton:open { background: @alternate; border-color: @muted; }
QPushButton:checked { border: 2px solid @accent; padding: 3px 9px; }
QPushButton:default { border-color: @muted; }
QPushButton:focus { border: 2px solid @accent; padding: 3px 9px; }
QPushButton:disabled { color: @muted; background: transparent; border-color: @border; }
QToolButton[autoRaise="false"] { color: @text; background: @button; border: 1px solid @border; border-radius: 4px; padding: 3px 6px; }
QToolButton[autoRaise="false"][popupMode="2"] { padding-right: 18px; }
QToolButton[autoRaise="false"][popupMode="2"]::menu-indicator { image: url(:/spin-down-@shade.svg); width: 9px; height: 6px; subcontrol-origin: padding; subcontrol-position: center right; right: 5px; }
QToolButton[autoRaise="false"]:hover, QToolButton[autoRaise="false"]:open { border-color: @muted; }
QToolButton[autoRaise="false"]:pressed { background: @alternate; border-color: @muted; }
QToolButton[autoRaise="false"]:focus, QToolButton[autoRaise="false"]:checked { border-color: @accent; }
QToolButton[autoRaise="false"]:disabled { color: @muted; background: transparent; }
QTabBar QToolButton[autoRaise="false"] { background: @window; border-radius: 0; padding: 2px; }
QDialogButtonBox QPushButton { padding-left: 18px; padding-right: 18px; } QDialogButtonBox QPushButton:focus { padding-left: 17px; padding-right: 17px; }
QComboBox { color: @text; background: @button; border: 1px solid @border; border-radius: 4px; padding: 3px 4px 3px 6px; }
QComboBox:editable { background: @base; }
QComboBox:hover { border-color: @muted; }
QComboBox:focus, QComboBox:on { border: 1px solid @accent; }
QComboBox:disabled { color: @muted; background: transparent; border-color: @border; }
QComboBox::drop-down { subcontrol-origin: border; subcontrol-position: center right; width: 20px; border: none; background: transparent; }
QComboBox::down-arrow { image: url(:/spin-down-@shade.svg); width: 9px; height: 6px; }
QMenu { color: @text; background: @base; border: 1px solid @border; padding: 4px; }
QMenu::item:selected:enabled { color: @onAccent; background: @accent; }
QMenu::item:disabled { color: @muted; }
QScrollBar { background: transparent; border: none; }
QScrollBar:vertical { width: 12px; }
QScrollBar:horizontal { height: 12px; }
QScrollBar::handle { background: @handle; border-radius: 3px; margin: 3px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:hover, QScrollBar::handle:pressed { background: @muted; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; border: none; background: transparent; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractScrollArea::corner { background: transparent; }
QComboBox QLineEdit, QAbstractSpinBox QLineEdit { border: none; border-radius: 0; padding: 0; }
QSlider::groove:horizontal { height: 4px; border-radius: 2px; background: @border; }
QSlider::sub-page:horizontal { border-radius: 2px; background: @accent; }
QSlider::handle:horizontal { width: 12px; height: 12px; margin: -5px 0; border: 1px solid @muted; border-radius: 6px; background: @muted; }
QSlider::handle:horizontal:hover, QSlider::handle:horizontal:focus { background: @accent; border-color: @accent; }
QSlider::sub-page:horizontal:disabled, QSlider::handle:horizontal:disabled { background: @border; border-color: @border; }
QCheckBox::indicator { width: 14px; height: 14px; border: 1px solid @muted; border-radius: 3px; background: @base; }
QCheckBox::indicator:checked { background: @accent; border-color: @accent; image: url(@check); }
QCheckBox::indicator:disabled { border-color: @border; }
QCheckBox::indicator:focus { border: 2px solid @accent; }
QFrame[card="true"] { background: @base; border: 1px solid @border; border-radius: 4px; }
QFrame[card="true"]:focus { border: 1px solid @accent; }
QToolButton[segment="true"] { background: @base; border: 1px solid @border; border-radius: 4px; padding: 5px 6px; }
QToolButton[segment="true"]:hover, QToolButton[segment="true"]:focus { border-color: @muted; }
QToolButton[segment="true"]:checked { border: 2px solid @accent; padding: 4px 5px; font-weight: 600; }
QFrame#dropFrame { background: transparent; border: 2px solid @accent; border-radius: 4px; }
QFrame[notice="true"] { background: @alternate; border: none; border-bottom: 1px solid @border; border-left: 3px solid @accent; }
QLabel#banner { background: @alternate; border: 1px solid @border; border-left: 3px solid @accent; padding: 7px 10px; }
QLabel[role="heading"] { font-size: @headingSizept; font-weight: 600; }
QLabel[role="secondary"] { color: @muted; font-size: @secondarySizept; }
QLabel[role="error"] { color: @bad; }
)";

/// The windows' style sheet from the last applyTheme().
QString& wornSheet()
{
    static QString text;
    return text;
}

QString styleSheet(const ThemeColors& c)
{
    QString filled = QString::fromUtf8(sheet);
    filled.replace(QStringLiteral("@headingSize"), QString::number(headingFont().pointSize()));
    filled.replace(QStringLiteral("@secondarySize"), QString::number(secondaryFont().pointSize()));
    filled.replace(QStringLiteral("@text"), c.text.name());
    filled.replace(QStringLiteral("@base"), c.base.name());
    filled.replace(QStringLiteral("@border"), c.border.name());
    filled.replace(QStringLiteral("@window"), c.window.name());
    filled.replace(QStringLiteral("@alternate"), c.alternate.name());
    filled.replace(QStringLiteral("@muted"), c.muted.name());
    filled.replace(QStringLiteral("@accent"), c.accent.name());
    filled.replace(QStringLiteral("@onAccent"), c.onAccent.name());
    filled.replace(QStringLiteral("@button"), (c.dark ? c.alternate : c.base).name());
    filled.replace(QStringLiteral("@handle"), blend(c.window, c.muted).name());
    filled.replace(QStringLiteral("@check"), QStringLiteral(":/check-@shade.svg"));
    filled.replace(QStringLiteral("@shade"), c.dark ? QStringLiteral("dark") : QStringLiteral("light"));
    return filled.replace(QStringLiteral("@bad"), c.bad.name());
}

/// One for the whole program, like the application's font.
QString& tokenFontFamily()
{
    static QString family;
    return family;
}

void setRole(QLabel* label, const QString& role)
{
    label->setProperty("role", role);
    label->style()->unpolish(label);
    label->style()->polish(label);
}

} // namespace

const ThemeColors& lightColors()
{
    static const ThemeColors colors{.window = QColor(0xF6F7F9),
                                    .base = QColor(0xFFFFFF),
                                    .alternate = QColor(0xF0F2F5),
                                    .text = QColor(0x1A1C20),
                                    .muted = QColor(0x5F6672),
                                    .border = QColor(0xDADEE4),
                                    .accent = QColor(0x2563C9),
                                    .onAccent = QColor(0xFFFFFF),
                                    .good = QColor(0x1A7B4A),
                                    .warning = QColor(0x9A5B00),
                                    .bad = QColor(0xB3261E),
                                    .categorical = okabeItoOnWhite(),
                                    .dark = false};
    return colors;
}

const ThemeColors& darkColors()
{
    static const ThemeColors colors{.window = QColor(0x1D1F23),
                                    .base = QColor(0x16181B),
                                    .alternate = QColor(0x22252A),
                                    .text = QColor(0xE7E9EC),
                                    .muted = QColor(0x9CA3AF),
                                    .border = QColor(0x343941),
                                    .accent = QColor(0x7AA7FF),
                                    .onAccent = QColor(0x10131A),
                                    .good = QColor(0x5BC98C),
                                    .warning = QColor(0xE5A84B),
                                    .bad = QColor(0xF2867E),
                                    .categorical = lighter(okabeIto()),
                                    .dark = true};
    return colors;
}

const ThemeColors& highContrastColors()
{
    static const ThemeColors colors{.window = QColor(Qt::black),
                                    .base = QColor(Qt::black),
                                    .alternate = QColor(0x1A1A1A),
                                    .text = QColor(0xFFFFFF),
                                    .muted = QColor(0xD6D6D6),
                                    .border = QColor(0xFFFFFF),
                                    .accent = QColor(0xFFFF00),
                                    .onAccent = QColor(Qt::black),
                                    .good = QColor(0x7CF0A4),
                                    .warning = QColor(0xFFC34D),
                                    .bad = QColor(0xFFA399),
                                    .categorical = {QColor(0x5CB8FF), QColor(0xFF9A4D), QColor(0x2EE6B0),
                                                    QColor(0xF0A8D0), QColor(0x9ADBFF), QColor(0xFFC21A),
                                                    QColor(0xC8C8C8)},
                                    .dark = true};
    return colors;
}

const ThemeColors& themeColors(const QPalette& palette)
{
    if (palette.color(QPalette::Window) == highContrastColors().window)
        return highContrastColors();
    return palette.color(QPalette::Window).lightness() < 128 ? darkColors() : lightColors();
}

QPalette paletteOf(const ThemeColors& c)
{
    QPalette palette(c.window);
    palette.setColor(QPalette::Window, c.window);
    palette.setColor(QPalette::WindowText, c.text);
    palette.setColor(QPalette::Base, c.base);
    palette.setColor(QPalette::AlternateBase, c.alternate);
    palette.setColor(QPalette::Text, c.text);
    palette.setColor(QPalette::PlaceholderText, c.muted);
    palette.setColor(QPalette::Button, c.dark ? c.alternate : c.base);
    palette.setColor(QPalette::ButtonText, c.text);
    palette.setColor(QPalette::BrightText, c.bad);
    palette.setColor(QPalette::ToolTipBase, c.base);
    palette.setColor(QPalette::ToolTipText, c.text);
    palette.setColor(QPalette::Highlight, c.accent);
    palette.setColor(QPalette::HighlightedText, c.onAccent);
    palette.setColor(QPalette::Link, c.accent);
    palette.setColor(QPalette::LinkVisited, c.accent);
    // Fusion uses these colours for frames and separators.
    palette.setColor(QPalette::Light, c.dark ? c.border : c.base);
    palette.setColor(QPalette::Midlight, c.alternate);
    palette.setColor(QPalette::Mid, c.border);
    palette.setColor(QPalette::Dark, c.border.darker(c.dark ? 120 : 115));
    palette.setColor(QPalette::Shadow, c.dark ? QColor(Qt::black) : c.border.darker(140));
    for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        palette.setColor(QPalette::Disabled, role, c.muted);
    palette.setColor(QPalette::Disabled, QPalette::Highlight, c.border);
    palette.setColor(QPalette::Disabled, QPalette::HighlightedText, c.muted);
    return palette;
}

bool systemIsDark()
{
#if QT_VERSION >= QT_VERSION_CHECK(6, 5, 0)
    return QGuiApplication::styleHints()->colorScheme() == Qt::ColorScheme::Dark;
#else
    // Our own palette hides the system's; without it, QApplication returns the platform's.
    const QPalette ours = QApplication::palette();
    QApplication::setPalette(QPalette());
    const bool dark = QApplication::palette().color(QPalette::Window).lightness() < 128;
    QApplication::setPalette(ours);
    return dark;
#endif
}

int bodyPointSize(const QFont& system)
{
    return std::max(smallestBody, QFontInfo(system).pointSize());
}

void applyTheme(QApplication& application, ThemeMode mode)
{
    showTextAsItIs(application);
    if (application.style()->name() != QStringLiteral("fusion"))
        QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    const bool dark = mode == ThemeMode::Dark || (mode == ThemeMode::System && systemIsDark());
    const ThemeColors& colors = mode == ThemeMode::HighContrast ? highContrastColors()
        : dark                                                  ? darkColors()
                                                                : lightColors();
    QApplication::setPalette(paletteOf(colors));
    // Without a desktop nobody chose a size.
    const bool hasDesktop = !QStringList{QStringLiteral("offscreen"), QStringLiteral("minimal")}.contains(
        QGuiApplication::platformName());
    QFont font = QFontDatabase::systemFont(QFontDatabase::GeneralFont);
    bodySize() = hasDesktop ? bodyPointSize(font) : smallestBody;
    font.setPointSize(bodySize());
    QApplication::setFont(font);
    QApplication::setWindowIcon(applicationIcon()); // Also loads the pictures that the style sheet uses.
    wornSheet() = styleSheet(colors);
    const QWidgetList windows = QApplication::topLevelWidgets();
    for (QWidget* window : windows)
        if (!window->styleSheet().isEmpty())
            window->setStyleSheet(wornSheet());
}

void wearTheme(QWidget& window)
{
    window.setStyleSheet(wornSheet());
}

QFont tokenFont()
{
    QFont font(QStringList{tokenFontFamily().isEmpty() ? QStringLiteral("Noto Sans Mono") : tokenFontFamily(),
                           QStringLiteral("Noto Sans Mono"), QStringLiteral("DejaVu Sans Mono"),
                           QStringLiteral("Noto Sans Mono CJK SC"), QStringLiteral("Noto Sans CJK SC"),
                           QStringLiteral("Noto Sans CJK JP"), QStringLiteral("Noto Sans"),
                           QStringLiteral("Noto Sans Arabic"), QStringLiteral("Noto Sans Hebrew"),
                           QStringLiteral("Noto Sans Devanagari"), QStringLiteral("Noto Sans Thai"),
                           QStringLiteral("Noto Sans Symbols"), QStringLiteral("Noto Sans Symbols 2"),
                           QStringLiteral("Noto Sans Math"), QStringLiteral("Noto Color Emoji")});
    font.setStyleHint(QFont::Monospace);
    font.setPointSize(bodySize());
    return font;
}

void setTokenFontFamily(const QString& family)
{
    tokenFontFamily() = family;
}

QFont secondaryFont()
{
    QFont font = QApplication::font();
    font.setPointSize(bodySize() - 1);
    return font;
}

QFont headingFont()
{
    QFont font = QApplication::font();
    font.setPointSize(bodySize() + 2);
    font.setWeight(QFont::DemiBold);
    return font;
}

QFont numberFont()
{
    QFont font = QApplication::font();
#if QT_VERSION >= QT_VERSION_CHECK(6, 7, 0)
    font.setFeature("tnum", 1);
#endif
    return font;
}

void makeHeading(QLabel* label)
{
    setRole(label, QStringLiteral("heading"));
}

void makeSecondary(QLabel* label)
{
    setRole(label, QStringLiteral("secondary"));
}

void keepPlace(QWidget* widget)
{
    QSizePolicy kept = widget->sizePolicy();
    kept.setRetainSizeWhenHidden(true);
    widget->setSizePolicy(kept);
}

} // namespace headwise::ui
