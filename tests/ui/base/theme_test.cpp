#include "ui/base/icons.h"

#include "tests/support/program.h"
#include "ui/base/text_size.h"
#include "ui/base/theme.h"
#include "ui/widgets/cell_heat.h"

#include <QApplication>
#include <QDir>
#include <QHash>
#include <QImage>
#include <QMenu>
#include <QPalette>
#include <QSlider>
#include <QTabWidget>
#include <QTest>

#include <algorithm>
#include <cmath>

using namespace headwise::ui;

namespace {

double linear(double x)
{
    return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
}

// WCAG 2.2, "contrast ratio".
double contrast(const QColor& a, const QColor& b)
{
    const auto luminance = [](const QColor& c) {
        return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
    };
    const double high = std::max(luminance(a), luminance(b));
    const double low = std::min(luminance(a), luminance(b));
    return (high + 0.05) / (low + 0.05);
}

// The colour of the most opaque pixel, in which the stroke was drawn.
QColor strokeOf(const QIcon& icon)
{
    const QImage image = icon.pixmap(24, 24).toImage().convertToFormat(QImage::Format_ARGB32);
    QColor strongest(Qt::transparent);
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            if (qAlpha(image.pixel(x, y)) > strongest.alpha())
                strongest = QColor::fromRgba(image.pixel(x, y));
    return strongest;
}

QImage rowOf(QMenu& menu, QAction* action)
{
    return menu.grab(menu.actionGeometry(action)).toImage().convertToFormat(QImage::Format_RGB32);
}

/// Moves the mouse onto a row. A menu takes no notice of the first movement, since it may open below the pointer.
void hover(QMenu& menu, QAction* action)
{
    const QRect row = menu.actionGeometry(action);
    for (const QPoint& place : {row.center(), row.center() + QPoint(3, 0)})
        QTest::mouseMove(&menu, place);
}

QColor commonestColor(const QImage& image)
{
    QHash<QRgb, int> counts;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            ++counts[image.pixel(x, y)];
    QRgb commonest = 0;
    for (auto entry = counts.cbegin(); entry != counts.cend(); ++entry)
        if (entry.value() > counts.value(commonest))
            commonest = entry.key();
    return QColor(commonest);
}

/// The largest contrast of a pixel with the background of the image.
double inkContrast(const QImage& image)
{
    const QColor background = commonestColor(image);
    double largest = 1;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            largest = std::max(largest, contrast(QColor(image.pixel(x, y)), background));
    return largest;
}

} // namespace

class ThemeTest : public QObject {
    Q_OBJECT

private slots:
    void textIsReadableOnEverySurface()
    {
        for (const ThemeColors& c : {lightColors(), darkColors()}) {
            for (const QColor& surface : {c.window, c.base, c.alternate})
                for (const QColor& ink : {c.text, c.muted, c.accent, c.good, c.warning, c.bad})
                    QVERIFY2(contrast(ink, surface) >= 4.5, qPrintable(ink.name() + u' ' + surface.name()));
            QVERIFY(contrast(c.onAccent, c.accent) >= 4.5);
        }
        QVERIFY(contrast(QColor(Qt::white), QColor(Qt::black)) > 20.9); // The oracle of the oracle: 21 to 1.
    }

    void highContrastTextIsReadableByAlmostEveryone()
    {
        const ThemeColors& c = highContrastColors();
        for (const QColor& surface : {c.window, c.base, c.alternate}) {
            for (const QColor& ink : {c.text, c.muted, c.accent, c.good, c.warning, c.bad, c.border})
                QVERIFY2(contrast(ink, surface) >= 7, qPrintable(ink.name() + u' ' + surface.name()));
            for (const QColor& ink : c.categorical) // names in charts have the colour of their line
                QVERIFY2(contrast(ink, surface) >= 7, qPrintable(ink.name() + u' ' + surface.name()));
        }
        QVERIFY(contrast(c.onAccent, c.accent) >= 7);
        for (int i = -100; i <= 100; ++i)
            QVERIFY2(contrast(c.text, heatColor(i / 100.0, c)) >= 7, qPrintable(QString::number(i)));
    }

    void numbersAreReadableOnTheirColours()
    {
        for (const ThemeColors& c : {lightColors(), darkColors()}) {
            for (int i = -100; i <= 100; ++i)
                QVERIFY2(contrast(c.text, heatColor(i / 100.0, c)) >= 4.5, qPrintable(QString::number(i)));
            const QColor low = heatColor(-1, c);
            const QColor high = heatColor(1, c);
            QVERIFY(low.blue() > low.red() && high.red() > high.blue());
            QVERIFY(contrast(heatColor(0, c), c.base) < 1.3); // zero does not stand out
            QCOMPARE(heatColor(3, c), high);
            QCOMPARE(heatColor(std::nan(""), c), c.base);
        }
    }

    void chartLinesStandOut()
    {
        for (const ThemeColors& c : {lightColors(), darkColors(), highContrastColors()})
            for (const QColor& line : c.categorical)
                QVERIFY2(contrast(line, c.base) >= 3, qPrintable(line.name()));
    }

    void thePaletteNamesItsTheme()
    {
        QVERIFY(themeColors(paletteOf(lightColors())) == lightColors());
        QVERIFY(themeColors(paletteOf(darkColors())) == darkColors());
        QVERIFY(themeColors(paletteOf(highContrastColors())) == highContrastColors());
    }

    void applyingAThemeChangesTheWholeProgram()
    {
        applyTheme(*qApp, ThemeMode::Dark);
        QCOMPARE(QApplication::palette().color(QPalette::Window), darkColors().window);
        applyTheme(*qApp, ThemeMode::HighContrast);
        QCOMPARE(QApplication::palette().color(QPalette::Window), highContrastColors().window);
        QCOMPARE(QApplication::palette().color(QPalette::Highlight), highContrastColors().accent);
        applyTheme(*qApp, ThemeMode::Light);
        QCOMPARE(QApplication::palette().color(QPalette::Window), lightColors().window);
        QCOMPARE(QApplication::font().pointSize(), 10);
        QVERIFY(!systemIsDark()); // The offscreen platform is light, whatever theme we use.
        applyTheme(*qApp, ThemeMode::Dark);
        QVERIFY(!systemIsDark());
        QCOMPARE(QApplication::palette().color(QPalette::Window), darkColors().window);
    }

    void windowsWearTheThemeThatIsApplied()
    {
        applyTheme(*qApp, ThemeMode::Light);
        QWidget window, plain;
        wearTheme(window);
        const QString light = window.styleSheet();
        QVERIFY(light.contains(lightColors().accent.name()));
        applyTheme(*qApp, ThemeMode::Dark);
        QVERIFY(window.styleSheet().contains(darkColors().accent.name()));
        QVERIFY(plain.styleSheet().isEmpty());
        applyTheme(*qApp, ThemeMode::Light);
        QCOMPARE(window.styleSheet(), light);
    }

    void menusShowTheSelectedAndTheDisabledRows()
    {
        for (const ThemeMode mode : {ThemeMode::Light, ThemeMode::Dark, ThemeMode::HighContrast}) {
            applyTheme(*qApp, mode);
            const ThemeColors& colors = themeColors(QApplication::palette());
            QWidget window;
            wearTheme(window);
            QMenu menu(&window);
            QAction* first = menu.addAction(QStringLiteral("HHHH llll HHHH"));
            QAction* second = menu.addAction(QStringLiteral("HHHH llll HHHH"));
            QAction* disabled = menu.addAction(QStringLiteral("HHHH llll HHHH"));
            disabled->setEnabled(false);
            menu.popup(QPoint(20, 20));
            QVERIFY(QTest::qWaitForWindowExposed(&menu));
            const auto background = [&menu](QAction* row) { return commonestColor(rowOf(menu, row)); };
            const auto showsOnly = [&](QAction* selected) {
                for (QAction* row : {first, second, disabled}) {
                    const bool isSelected = row == selected;
                    if (background(row) != (isSelected ? colors.accent : colors.base)
                        || (isSelected && inkContrast(rowOf(menu, row)) < 4))
                        return false;
                }
                return true;
            };
            QVERIFY(showsOnly(nullptr));
            QTest::keyClick(&menu, Qt::Key_Down);
            QVERIFY(showsOnly(first));
            QTest::keyClick(&menu, Qt::Key_Down);
            QVERIFY(showsOnly(second));
            hover(menu, first);
            QTRY_VERIFY(showsOnly(first));
            hover(menu, second);
            QTRY_VERIFY(showsOnly(second));
            hover(menu, disabled);
            QCOMPARE(background(disabled), colors.base);
            QVERIFY(inkContrast(rowOf(menu, disabled)) >= 4);
            QVERIFY(inkContrast(rowOf(menu, disabled)) < 0.8 * inkContrast(rowOf(menu, first)));
        }
    }

    void theHandleOfASliderStandsOut()
    {
        for (const ThemeMode mode : {ThemeMode::Light, ThemeMode::Dark, ThemeMode::HighContrast}) {
            applyTheme(*qApp, mode);
            QWidget window;
            wearTheme(window);
            window.resize(200, 40);
            QSlider slider(Qt::Horizontal, &window);
            slider.setGeometry(0, 0, 200, 30);
            window.show();
            const QImage handle =
                window.grab(QRect(0, 0, 14, 30)).toImage().convertToFormat(QImage::Format_RGB32);
            QVERIFY(inkContrast(handle) >= 3);
        }
    }

    /// The selected tab has its line below; nothing is drawn above the tabs.
    void noLineIsDrawnAboveTabs()
    {
        applyTheme(*qApp, ThemeMode::Light);
        QWidget window;
        wearTheme(window);
        window.resize(400, 100);
        QTabWidget tabs(&window);
        tabs.setDocumentMode(true);
        tabs.addTab(new QWidget, QStringLiteral("Map"));
        tabs.addTab(new QWidget, QStringLiteral("Wiring"));
        tabs.resize(window.size());
        window.show();
        const QImage top = window.grab(QRect(0, 0, 400, 3)).toImage().convertToFormat(QImage::Format_RGB32);
        QCOMPARE(inkContrast(top), 1.0);
    }

    void textIsAsLargeAsTheSystemsAndNeverSmallerThanOurs()
    {
        QFont system(QApplication::font());
        for (const auto& [wanted, size] : {std::pair(8, 10), {10, 10}, {16, 16}}) {
            system.setPointSize(wanted);
            QCOMPARE(bodyPointSize(system), size);
        }
        system.setPixelSize(40); // some systems speak of pixels: at 96 dpi 30 points
        QVERIFY(bodyPointSize(system) > 20);
    }

    void everyIconFollowsTheTextColor()
    {
        QVERIFY(!icon("copy").isNull());
        const QStringList files = QDir(QStringLiteral(":/icons")).entryList();
        QVERIFY(files.size() >= 25);
        for (const ThemeMode mode : {ThemeMode::Light, ThemeMode::Dark, ThemeMode::HighContrast}) {
            applyTheme(*qApp, mode);
            const QColor ink = QApplication::palette().color(QPalette::WindowText);
            for (const QString& name : files) {
                const QColor stroke = strokeOf(icon(qPrintable(name.section(u'.', 0, 0))));
                QVERIFY2(stroke.alpha() > 150, qPrintable(name));
                // Half transparent pixels round their colour.
                QVERIFY2(std::abs(stroke.red() - ink.red()) < 8, qPrintable(name + u' ' + stroke.name()));
            }
        }
        QVERIFY(!applicationIcon().pixmap(64, 64).isNull());
    }

    void tokensHaveAMonospaceFont() { QVERIFY(QFontInfo(tokenFont()).fixedPitch()); }
};

HEADWISE_TEST(ThemeTest)
#include "theme_test.moc"
