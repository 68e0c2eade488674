#include "core/session/session_file.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/window_driver.h"
#include "ui/base/text.h"
#include "ui/charts/pattern_grid.h"
#include "ui/charts/small_multiples.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/pages/parts/saved_screen.h"

#include <QDir>
#include <QLabel>
#include <QLocale>
#include <QSignalSpy>

#include <algorithm>
#include <cmath>
#include <map>

using namespace headwise;
using namespace headwise::ui;
using test::WindowDriver;

namespace {

constexpr HeadId savedScreenHead{1, 5};

/// A picture as its page shows it.
struct ScreenFigure {
    QString title;
    std::vector<QStringList> rows;
};

std::vector<QStringList> savedRows(const FigureSource& figure)
{
    std::vector<QStringList> rows;
    figure.forEachDataRow([&rows](const QStringList& row) { rows.push_back(row); });
    return rows;
}

/// The pictures that a session keeps of a page.
std::vector<ScreenFigure> keptFigures(Page& page)
{
    std::vector<ScreenFigure> kept;
    for (const FigureSource* figure : page.figures()) {
        if (dynamic_cast<const PatternGrid*>(figure) || dynamic_cast<const SmallMultiples*>(figure))
            continue;
        std::vector<QStringList> rows = savedRows(*figure);
        rows.resize(std::min(rows.size(), 1 + mostScreenSide)); // the header is one
        if (rows.size() > 1)
            kept.push_back({figure->figureTitle(), std::move(rows)});
    }
    return kept;
}

/// Equal words, or equal numbers in whatever form.
bool isSameCell(const QString& a, const QString& b)
{
    bool isNumberA = false, isNumberB = false;
    const double numberA = QLocale::c().toDouble(a, &isNumberA);
    const double numberB = QLocale::c().toDouble(b, &isNumberB);
    return a == b || (a.isEmpty() && isNumberB && std::isnan(numberB)) // a table shows nothing for NaN
        || (isNumberA && isNumberB && static_cast<float>(numberA) == static_cast<float>(numberB));
}

/// Returns where the tables differ; empty: nowhere.
QString differenceOf(const std::vector<QStringList>& shown, const std::vector<QStringList>& expected)
{
    if (shown.size() != expected.size())
        return QStringLiteral("%1 rows, expected %2").arg(shown.size()).arg(expected.size());
    for (std::size_t row = 0; row < shown.size(); ++row)
        for (qsizetype column = 0; column < shown[row].size(); ++column)
            if (!isSameCell(shown[row][column], expected[row].value(column)))
                return QStringLiteral("row %1: '%2', expected '%3'")
                    .arg(row)
                    .arg(shown[row][column], expected[row].value(column));
    return {};
}

} // namespace

/// A session shows, without its model's files, the pictures that were on the screen when it was saved.
class SavedScreenTest : public QObject {
    Q_OBJECT

private slots:
    void init()
    {
        m_folder = std::make_unique<QTemporaryDir>();
        test::beginWithoutAutosave(*m_folder);
    }

    void everyVisitedPageShowsItsNumbersWithoutTheModel()
    {
        const std::map<QString, std::vector<ScreenFigure>> expected = savedPages(QStringLiteral("a.h5"));
        QVERIFY(!QTest::currentTestFailed());
        WindowDriver driver;
        openWithoutModel(driver, QStringLiteral("a.h5"));
        auto* saved = driver.window.findChild<SavedScreen*>();
        for (const auto& page : expected) {
            driver.window.showPage(page.first);
            for (const ScreenFigure& figure : page.second)
                QTRY_VERIFY2(isShown(driver, *saved, figure),
                             qPrintable(page.first + QStringLiteral(": ") + whyNotShown(*saved, figure)));
        }
    }

    void thePicturesAreThoseOfTheHeadAndSaySo()
    {
        (void)savedPages(QStringLiteral("b.h5"));
        QVERIFY(!QTest::currentTestFailed());
        WindowDriver driver;
        openWithoutModel(driver, QStringLiteral("b.h5"));
        auto* saved = driver.window.findChild<SavedScreen*>();
        driver.window.showPage(QStringLiteral("matrix"));
        QTRY_VERIFY(saved->isVisible());
        QVERIFY(saved->findChild<HeatmapView*>());
        QStringList words;
        for (const QLabel* label : saved->findChildren<QLabel*>())
            words << label->text();
        QVERIFY2(words.contains(QStringLiteral("As saved; locate the model to change it.")),
                 qPrintable(words.join(u'\n')));
        driver.workspace().selection()->setHead({0, 2});
        QTRY_VERIFY(!saved->isVisible());
        driver.workspace().selection()->setHead(savedScreenHead);
        QTRY_VERIFY(saved->isVisible());
        // Saved again without the model, the session still has them.
        const QString copy = m_folder->filePath(QStringLiteral("copy.h5"));
        saveScreen(driver, copy);
        const auto first = readSession(m_folder->filePath(QStringLiteral("b.h5")).toStdString(), {});
        const auto second = readSession(copy.toStdString(), {});
        QVERIFY(test::isOk(first));
        QVERIFY(test::isOk(second));
        QVERIFY(!first->screen.empty());
        QVERIFY(first->screen == second->screen);
    }

    void withTheModelThePagesMakeTheirOwn()
    {
        (void)savedPages(QStringLiteral("c.h5"));
        QVERIFY(!QTest::currentTestFailed());
        WindowDriver driver;
        openWithoutModel(driver, QStringLiteral("c.h5"));
        auto* saved = driver.window.findChild<SavedScreen*>();
        driver.window.showPage(QStringLiteral("matrix"));
        QTRY_VERIFY(saved->isVisible());
        driver.workspace().opener()->locateModel(
            {m_folder->filePath(QStringLiteral("elsewhere")).toStdString(), std::nullopt, {}});
        QTRY_VERIFY(driver.workspace().model()->hasModel());
        QTRY_VERIFY(!saved->isVisible());
        QTRY_VERIFY(!driver.page()->figures().isEmpty());
    }

private:
    /// Tells whether the page makes the picture of the session's results, or shows it with the saved numbers.
    static bool isShown(WindowDriver& driver, const SavedScreen& saved, const ScreenFigure& figure)
    {
        const QList<FigureSource*> own = driver.page()->figures(), kept = saved.figures();
        return std::ranges::any_of(
                   own, [&](const FigureSource* one) { return one->figureTitle() == figure.title; })
            || std::ranges::any_of(kept, [&](const FigureSource* one) {
                   return one->figureTitle() == figure.title
                       && differenceOf(savedRows(*one), figure.rows).isEmpty();
               });
    }

    static QString whyNotShown(const SavedScreen& saved, const ScreenFigure& figure)
    {
        for (const FigureSource* one : saved.figures())
            if (one->figureTitle() == figure.title)
                return figure.title + QStringLiteral(": ") + differenceOf(savedRows(*one), figure.rows);
        return figure.title + QStringLiteral(" is not shown");
    }

    static void saveScreen(WindowDriver& driver, const QString& file)
    {
        QSignalSpy saved(driver.workspace().session(), &SessionFile::saved);
        driver.window.saveTo(file);
        QTRY_COMPARE(saved.count(), 1);
    }

    /// Copies the demo, visits pages of one head, saves the session and moves the model away.
    /// \returns the pictures of each page when it was saved
    std::map<QString, std::vector<ScreenFigure>> savedPages(const QString& name)
    {
        const QString model = m_folder->filePath(QStringLiteral("model"));
        copyDemo(model);
        std::map<QString, std::vector<ScreenFigure>> pages;
        {
            WindowDriver driver;
            driver.window.openPath(model);
            driver.waitForAnalyses();
            driver.workspace().selection()->setHead(savedScreenHead);
            visit(driver);
            for (const QString& page : visited()) {
                Page* shown = driver.tabs()->page(driver.tabs()->indexOfName(page));
                if (!shown->isOutdated())
                    pages[page] = keptFigures(*shown);
            }
            saveScreen(driver, m_folder->filePath(name));
        }
        for (const QString& page : neededPages())
            if (pages[page].empty())
                QTest::qFail(qPrintable(page), __FILE__, __LINE__);
        if (!QDir().rename(model, m_folder->filePath(QStringLiteral("elsewhere"))))
            QTest::qFail("the model cannot be moved", __FILE__, __LINE__);
        return pages;
    }

    static QStringList visited()
    {
        return {QStringLiteral("overview"), QStringLiteral("tokens"),   QStringLiteral("spectrum"),
                QStringLiteral("vectors"),  QStringLiteral("position"), QStringLiteral("scores"),
                QStringLiteral("prompt"),   QStringLiteral("matrix")};
    }

    /// Pages that show nothing without the model.
    static QStringList neededPages()
    {
        return {QStringLiteral("tokens"), QStringLiteral("vectors"), QStringLiteral("prompt"),
                QStringLiteral("matrix")};
    }

    /// Shows each page, those of the model alone until they have their pictures.
    static void visit(WindowDriver& driver)
    {
        for (const QString& page : visited()) {
            driver.window.showPage(page);
            QCoreApplication::processEvents();
            const bool isNeeded = neededPages().contains(page);
            const auto hasPictures = [&] {
                return !driver.page()->isOutdated() && !driver.page()->figures().isEmpty();
            };
            QTRY_VERIFY2(!isNeeded || hasPictures(), qPrintable(page));
        }
    }

    static void copyDemo(const QString& folder)
    {
        const QDir demo(QStringLiteral(HEADWISE_DEMO_MODEL));
        QVERIFY(QDir().mkpath(folder));
        for (const QString& name : demo.entryList(QDir::Files))
            QVERIFY(QFile::copy(demo.filePath(name), folder + u'/' + name));
    }

    void openWithoutModel(WindowDriver& driver, const QString& name)
    {
        driver.window.openPath(m_folder->filePath(name));
        QTRY_VERIFY(driver.workspace().model()->isOpen());
        QTRY_COMPARE(driver.workspace().selection()->head(), savedScreenHead);
        QVERIFY(!driver.workspace().model()->hasModel());
    }

    std::unique_ptr<QTemporaryDir> m_folder;
};

HEADWISE_TEST(SavedScreenTest)
#include "saved_screen_test.moc"
