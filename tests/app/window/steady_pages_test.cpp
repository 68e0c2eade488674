// Pictures keep their place while jobs start, report and end.

#include "tests/support/program.h"
#include "tests/support/window_driver.h"
#include "ui/base/job.h"
#include "ui/base/theme.h"
#include "ui/figures/figure_export.h"

#include <QLabel>
#include <QPointer>
#include <QVBoxLayout>

using namespace headwise;
using namespace headwise::ui;
using test::patience;
using test::WindowDriver;

namespace {

/// The place of the most important picture of a page in it; null while it has none.
QRect placeOfPicture(Page& page)
{
    auto* picture = dynamic_cast<QWidget*>(page.figures().value(0));
    if (!picture || !picture->isVisible())
        return {};
    return {picture->mapTo(&page, QPoint()), picture->size()};
}

/// Lets events pass until no job runs and returns every place that the picture had meanwhile.
QList<QRect> placesUntilRest(Page& page)
{
    QList<QRect> seen;
    const auto look = [&] {
        QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
        if (const QRect place = placeOfPicture(page); !place.isNull() && !seen.contains(place))
            seen << place;
        return JobBoard::instance().running().isEmpty();
    };
    const QMetaObject::Connection began = QObject::connect(&JobBoard::instance(), &JobBoard::started, look);
    if (!QTest::qWaitFor(look, patience))
        qWarning("a job does not end");
    QObject::disconnect(began);
    look();
    return seen;
}

QString wordsFor(const QList<QRect>& places)
{
    QStringList words;
    for (const QRect& place : places)
        words << QStringLiteral("%1,%2 %3x%4")
                     .arg(place.x())
                     .arg(place.y())
                     .arg(place.width())
                     .arg(place.height());
    return words.join(u'|');
}

} // namespace

class SteadyPagesTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { test::beginWithOwnSettings(m_folder); }
    void cleanupTestCase() { QVERIFY(waitForJobs(std::chrono::minutes(1))); }

    void aWidgetCanKeepItsPlace()
    {
        QWidget page;
        auto* layout = new QVBoxLayout(&page);
        auto* state = new QLabel(&page);
        auto* picture = new QWidget(&page);
        layout->addWidget(state);
        layout->addWidget(picture, 1);
        keepPlace(state);
        page.resize(300, 300);
        page.show();
        layout->activate();
        const QRect before = picture->geometry();
        state->setText(QStringLiteral("Computing"));
        layout->activate();
        QCOMPARE(picture->geometry(), before);
        state->hide();
        layout->activate();
        QCOMPARE(picture->geometry(), before);
    }

    /// An analysis that is run again, and another head: a picture has the place of one head or of the other, and no third.
    void picturesKeepTheirPlaceWhileJobsRun()
    {
        WindowDriver driver;
        driver.openDemo();
        driver.workspace().selection()->setReference(HeadId{0, 4});
        driver.workspace().selection()->setHead({1, 5});
        int pictures = 0;
        for (int page = 0; page < driver.tabs()->count(); ++page) {
            driver.tabs()->setCurrentIndex(page);
            QTRY_VERIFY(JobBoard::instance().running().isEmpty());
            Page* shown = driver.page();
            QCoreApplication::processEvents();
            (void)placesUntilRest(*shown);
            const QRect before = placeOfPicture(*shown);
            if (before.isNull())
                continue;
            ++pictures;
            driver.workspace().runs()->runAnalysis("ranks");
            const QList<QRect> whileRun = placesUntilRest(*shown);
            QVERIFY2(whileRun == QList<QRect>{before},
                     qPrintable(driver.tabs()->tabText(page) + QStringLiteral(": ") + wordsFor(whileRun)
                                + QStringLiteral(" not ") + wordsFor({before})));
            driver.workspace().selection()->setHead({0, 1});
            QList<QRect> onTheWay = placesUntilRest(*shown);
            const QRect after = placeOfPicture(*shown);
            onTheWay.removeAll(before);
            onTheWay.removeAll(after);
            QVERIFY2(onTheWay.isEmpty(),
                     qPrintable(driver.tabs()->tabText(page) + QStringLiteral(": ") + wordsFor(onTheWay)
                                + QStringLiteral(" between ") + wordsFor({before, after})));
            driver.workspace().selection()->setHead({1, 5});
        }
        QVERIFY(pictures > 8); // the positive control
    }

private:
    QTemporaryDir m_folder;
};

HEADWISE_TEST(SteadyPagesTest)
#include "steady_pages_test.moc"
