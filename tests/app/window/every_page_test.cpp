// Promises that hold on every page, and on each tab of it.

#include "tests/support/chart_legend_names.h"
#include "tests/support/every_page.h"
#include "tests/support/program.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/document/compared_model.h"
#include "ui/figures/figure_export.h"

#include <QAbstractItemView>
#include <QDockWidget>
#include <QLabel>
#include <QRegularExpression>
#include <QScrollArea>
#include <QScrollBar>

#include <algorithm>
#include <memory>

using namespace headwise;
using namespace headwise::ui;
using test::visitAllPages;
using test::WindowDriver;

namespace {

constexpr qsizetype mostDigits = 7;

/// Returns the numbers with a point whose significant digits nobody reads, such as 0.30000001192092896.
QStringList longNumbersIn(const QString& words)
{
    static const QRegularExpression number(QStringLiteral("\\d+\\.\\d+")),
        notSignificant(QStringLiteral("^0+"));
    QStringList found;
    for (auto match = number.globalMatch(words); match.hasNext();) {
        const QString shown = match.next().captured();
        if (QString(shown).remove(u'.').remove(notSignificant).size() > mostDigits)
            found << shown;
    }
    return found;
}

QStringList shownNumbers(const QWidget& page)
{
    QStringList shown;
    for (const auto* label : page.findChildren<QLabel*>())
        if (label->isVisible())
            shown << label->text();
    for (const auto* table : page.findChildren<QAbstractItemView*>())
        if (table->isVisible() && table->model())
            for (int row = 0; row < std::min(table->model()->rowCount(), 50); ++row)
                for (int column = 0; column < table->model()->columnCount(); ++column)
                    shown << table->model()->index(row, column).data().toString();
    return shown;
}

/// Moves the mouse over the pictures of the page and returns what it reads out.
QStringList readOuts(Page& page)
{
    QStringList said;
    const auto connection =
        QObject::connect(&page, &Page::readOutChanged, [&said](const QString& words) { said << words; });
    for (FigureSource* source : page.figures()) {
        auto* view = dynamic_cast<QWidget*>(source);
        if (!view || !view->isVisible())
            continue;
        for (int i = 1; i < 8; ++i) { // along both diagonals
            QTest::mouseMove(view, {view->width() * i / 8, view->height() * i / 8});
            QTest::mouseMove(view, {view->width() * i / 8, view->height() * (8 - i) / 8});
        }
    }
    QObject::disconnect(connection);
    return said;
}

} // namespace

class EveryPageTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    std::unique_ptr<WindowDriver> m_driver; // one for all tests: only its size changes

private slots:
    void initTestCase()
    {
        test::beginWithOwnSettings(m_folder);
        m_driver = std::make_unique<WindowDriver>();
        m_driver->openDemo();
        Workspace& workspace = m_driver->workspace();
        workspace.selection()->setReference(HeadId{0, 1});
        workspace.selection()->setHead({1, 5});
        workspace.runs()->runAnalysis("relations");
        ComparedModel::of(&workspace)->compare({HEADWISE_DEMO_MODEL, std::nullopt, {}});
        QVERIFY(test::hasNoJob());
    }

    void cleanupTestCase()
    {
        m_driver.reset();
        QVERIFY(waitForJobs(std::chrono::minutes(1)));
    }

    void numbersHaveFewDigits()
    {
        QCOMPARE(longNumbersIn(QStringLiteral("L1H5 0.30000001192092896 of 0.00012")),
                 QStringList{QStringLiteral("0.30000001192092896")});
        qsizetype shown = 0, read = 0;
        QStringList tooLong;
        visitAllPages(*m_driver, [&](const QString& page) {
            const QStringList words = shownNumbers(*m_driver->page()), said = readOuts(*m_driver->page());
            shown += words.size();
            read += said.filter(QStringLiteral(".")).size();
            for (const QString& one : words + said)
                for (const QString& number : longNumbersIn(one))
                    tooLong << page + QStringLiteral(": ") + number + QStringLiteral(" in ") + one.left(80);
        });
        QVERIFY2(shown > 1000 && read > 50, qPrintable(QStringLiteral("%1 %2").arg(shown).arg(read)));
        tooLong.removeDuplicates();
        QVERIFY2(tooLong.isEmpty(), qPrintable(tooLong.join(u'\n')));
    }

    void legendsNameWhatIsDrawn()
    {
        int legends = 0;
        QStringList undrawn;
        visitAllPages(*m_driver, [&](const QString& page) {
            for (const auto* chart : m_driver->page()->findChildren<LineChart*>()) {
                if (!chart->isVisible())
                    continue;
                legends += test::legendNames(*chart, chart->series()).isEmpty() ? 0 : 1;
                for (const QString& name : test::namesWithoutCurve(*chart))
                    undrawn << page + QStringLiteral(": ") + name;
            }
        });
        QVERIFY2(legends > 4, qPrintable(QString::number(legends)));
        QVERIFY2(undrawn.isEmpty(), qPrintable(undrawn.join(u'\n')));
    }

    void noneScrollsSideways_data()
    {
        QTest::addColumn<QSize>("size");
        QTest::newRow("900 x 520") << QSize(900, 520);
        QTest::newRow("1024 x 640") << QSize(1024, 640);
    }

    void noneScrollsSideways()
    {
        QFETCH(QSize, size);
        m_driver->window.resize(size);
        QStringList wide;
        visitAllPages(*m_driver, [&](const QString& page) {
            const QWidget* place = m_driver->tabs()->currentWidget();
            const auto widest = [place] {
                int room = 0;
                for (const auto* area : place->findChildren<QScrollArea*>() + areaAround(place))
                    if (area->isVisible())
                        room = std::max(room, area->horizontalScrollBar()->maximum());
                return room;
            };
            if (!QTest::qWaitFor([&] { return widest() == 0; }, 500))
                wide << QStringLiteral("%1: %2 px").arg(page).arg(widest());
        });
        QVERIFY2(wide.isEmpty(), qPrintable(wide.join(u'\n')));
        QCOMPARE(m_driver->window.size(), size);
        // The heads stay as long as the pages have room beside them, and all comes back.
        const auto isShown = [this](const char* dock) {
            return m_driver->window.findChild<QDockWidget*>(QLatin1String(dock))->isVisible();
        };
        QTRY_COMPARE(isShown("heads"), size.width() > 1000);
        QVERIFY(!isShown("notes"));
        m_driver->window.resize(1700, 860);
        QTRY_VERIFY(isShown("heads") && isShown("notes"));
    }

private:
    /// The scroll area that the widget is or is in; none: nothing.
    static QList<QScrollArea*> areaAround(const QWidget* widget)
    {
        for (auto* one = const_cast<QWidget*>(widget); one; one = one->parentWidget())
            if (auto* area = qobject_cast<QScrollArea*>(one))
                return {area};
        return {};
    }
};

HEADWISE_TEST(EveryPageTest)
#include "every_page_test.moc"
