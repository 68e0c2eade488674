// Another theme while every page is open: no page keeps a colour of the old one.

#include "tests/support/every_page.h"
#include "tests/support/program.h"

#include <QAbstractItemView>
#include <QImage>
#include <QLabel>
#include <QRegularExpression>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

using namespace headwise;
using namespace headwise::ui;
using test::WindowDriver;

namespace {

/// WCAG 2.2, "contrast ratio".
double readability(const QColor& ink, const QColor& surface)
{
    const auto luminance = [](const QColor& color) {
        const auto linear = [](double x) {
            return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
        };
        return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF())
            + 0.0722 * linear(color.blueF());
    };
    const auto [low, high] = std::minmax({luminance(ink), luminance(surface)});
    return (high + 0.05) / (low + 0.05);
}

std::array<QRgb, 3> surfacesOf(const ThemeColors& colors)
{
    return {colors.window.rgb(), colors.base.rgb(), colors.alternate.rgb()};
}

std::ptrdiff_t pixelsOf(const QImage& image, const std::array<QRgb, 3>& colors)
{
    std::ptrdiff_t count = 0;
    for (int y = 0; y < image.height(); ++y) {
        const auto* line = reinterpret_cast<const QRgb*>(image.constScanLine(y));
        count += std::count_if(line, line + image.width(),
                               [&](QRgb pixel) { return std::ranges::find(colors, pixel) != colors.end(); });
    }
    return count;
}

/// Appends the texts of the rows below `parent` that nobody can read on `surface`.
void addUnreadableRows(const QAbstractItemModel* model, const QModelIndex& parent, const QColor& surface,
                       QStringList& found)
{
    for (int row = 0; row < std::min(model->rowCount(parent), 200); ++row) {
        for (int column = 0; column < model->columnCount(parent); ++column) {
            const QModelIndex index = model->index(row, column, parent);
            const QVariant ink = index.data(Qt::ForegroundRole);
            if (ink.isValid() && readability(ink.value<QBrush>().color(), surface) < 3)
                found << index.data().toString();
        }
        addUnreadableRows(model, model->index(row, 0, parent), surface, found);
    }
}

QStringList unreadableIn(const QWidget& window, const ThemeColors& colors)
{
    static const QRegularExpression named(QStringLiteral("color:(#[0-9a-f]{6})"));
    QStringList found;
    for (const auto* list : window.findChildren<QAbstractItemView*>())
        if (list->isVisible() && list->model())
            addUnreadableRows(list->model(), {}, colors.base, found);
    for (const auto* label : window.findChildren<QLabel*>()) {
        if (!label->isVisible() || label->text().isEmpty())
            continue;
        bool isReadable = readability(label->palette().color(label->foregroundRole()), colors.window) >= 3;
        for (auto span = named.globalMatch(label->text()); span.hasNext();)
            isReadable = readability(QColor(span.next().captured(1)), colors.window) >= 3 && isReadable;
        if (!isReadable)
            found << label->text();
    }
    return found;
}

} // namespace

class ThemeSwitchTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { test::beginWithOwnSettings(m_folder); }

    void cleanupTestCase()
    {
        applyTheme(*qApp, ThemeMode::Light);
        QVERIFY(waitForJobs(std::chrono::minutes(1)));
    }

    void everyPageTakesTheNewColours()
    {
        WindowDriver driver;
        driver.openDemo();
        driver.workspace().selection()->setReference(HeadId{0, 4});
        driver.workspace().selection()->setHead({1, 5});
        test::visitAllPages(driver, [](const QString&) {});
        ThemeColors before = lightColors();
        for (const ThemeMode mode : {ThemeMode::Dark, ThemeMode::Light}) {
            applyTheme(*qApp, mode);
            const ThemeColors& now = themeColors(QApplication::palette());
            QVERIFY(!(now == before));
            QStringList wrong;
            test::visitAllPages(driver, [&](const QString& name) {
                const QImage image = driver.page()->grab().toImage().convertToFormat(QImage::Format_RGB32);
                if (pixelsOf(image, surfacesOf(now)) <= 4 * pixelsOf(image, surfacesOf(before)))
                    wrong << name + QStringLiteral(" has the old surfaces");
                for (const QString& words : unreadableIn(driver.window, now))
                    wrong << name + QStringLiteral(": ") + words;
            });
            QVERIFY2(wrong.isEmpty(), qPrintable(wrong.join(u'\n')));
            before = now;
        }
    }

private:
    QTemporaryDir m_folder;
};

HEADWISE_TEST(ThemeSwitchTest)
#include "theme_switch_test.moc"
