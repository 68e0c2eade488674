// A head replaced by another: chosen in the menu, announced above the pages, shown by every page, and undone.

#include "tests/support/program.h"
#include "tests/support/window_driver.h"
#include "ui/pages/heads/head_header.h"

#include <QLabel>
#include <QMenu>

using namespace headwise;
using namespace headwise::ui;
using test::WindowDriver;

namespace {

struct HeadChangeDriver : WindowDriver {
    QAction* starting(const QString& words)
    {
        for (QAction* action : window.findChildren<QAction*>())
            if (QString(action->text()).remove(u'&').startsWith(words))
                return action;
        return nullptr;
    }

    QLabel* banner() { return window.findChild<QLabel*>(QStringLiteral("banner")); }

    std::vector<double> spectrum(HeadId head)
    {
        const auto found = workspace().model()->circuits()->ov(head).singularValues();
        return found ? *found : std::vector<double>();
    }

    /// Waits until the weights have changed and all their results are computed again.
    void change(QAction* action)
    {
        const auto before = workspace().model()->circuits();
        action->trigger();
        QTRY_VERIFY(workspace().model()->circuits() != before);
        waitForAnalyses();
    }
};

} // namespace

class HeadChangeTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { test::beginWithOwnSettings(m_folder); }

    void aComponentIsTakenOutAndComesBack()
    {
        HeadChangeDriver driver;
        driver.openDemo();
        driver.workspace().selection()->setHead({1, 5});
        driver.workspace().selection()->setDirection({CircuitKind::Ov, 2, 1});
        const std::vector<double> before = driver.spectrum({1, 5});
        QVERIFY(driver.banner()->isHidden());
        QAction* remove = driver.starting(QStringLiteral("Without singular component 3 of its W_OV"));
        QVERIFY(remove && remove->isEnabled());
        driver.change(remove);
        const std::vector<double> after = driver.spectrum({1, 5});
        QVERIFY(std::abs(after[2] - before[3]) < 1e-12 * before[0]);
        QVERIFY(after.back() < 1e-12 * before[0]);
        QVERIFY(driver.banner()->isVisible());
        QVERIFY(driver.banner()->text().startsWith(QStringLiteral("L1H5 without its singular component 3.")));
        QVERIFY(processingText(driver.workspace().model()->processing())
                    .endsWith(QStringLiteral("L1H5 without its singular component 3")));
        const ResultArray* written =
            driver.workspace().model()->results()->find("spectra/ov/singular_values");
        QVERIFY(written);
        const auto& values = std::get<std::vector<float>>(written->values);
        const std::size_t at = (1 * 8 + 5) * after.size();
        QVERIFY(std::abs(values[at + 2] - after[2]) < 1e-5 * after[0]);

        emit driver.banner()->linkActivated(QStringLiteral("undo-head-changes"));
        QTRY_VERIFY(driver.banner()->isHidden());
        driver.waitForAnalyses();
        QCOMPARE(driver.spectrum({1, 5}), before);
    }

    void aVirtualHeadStandsInTheLaterOnesPlace()
    {
        HeadChangeDriver driver;
        driver.openDemo();
        driver.workspace().selection()->setHead({1, 5});
        QAction* chain = driver.starting(QStringLiteral("As virtual head"));
        QVERIFY(chain && !chain->isEnabled());
        driver.workspace().selection()->setReference(HeadId{1, 0}); // no earlier layer
        QVERIFY(!chain->isEnabled());
        driver.workspace().selection()->setReference(HeadId{0, 1});
        QVERIFY(chain->isEnabled());
        const Matrix<double> dense = driver.workspace().model()->circuits()->ov({0, 1}).dense()
            * driver.workspace().model()->circuits()->ov({1, 5}).dense();
        driver.change(chain);
        const Matrix<double> shown = driver.workspace().model()->circuits()->ov({1, 5}).dense();
        QVERIFY((shown - dense).norm() < 1e-12 * dense.norm());
        // Another step of processing keeps the change, and one change per head takes the place of the last.
        driver.workspace().selection()->setDirection({CircuitKind::Ov, 0, 1});
        driver.change(driver.starting(QStringLiteral("Without singular component 1")));
        QCOMPARE(driver.workspace().model()->processing().headChanges,
                 (std::vector<HeadChange>{{.head = {1, 5}, .withoutComponent = 0}}));
        driver.change(driver.starting(QStringLiteral("Undo head changes")));
        QVERIFY(driver.workspace().model()->processing().headChanges.empty());
        QVERIFY(!driver.starting(QStringLiteral("Undo head changes"))->isEnabled());
    }

private:
    QTemporaryDir m_folder;
};

HEADWISE_TEST(HeadChangeTest)
#include "head_change_test.moc"
