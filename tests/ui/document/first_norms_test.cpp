#include "ui/document/first_norms.h"

#include "tests/support/loaded.h"
#include "tests/support/program.h"
#include "ui/document/head_metrics.h"

#include <QTest>

#include <cmath>

using namespace headwise;
using namespace headwise::ui;

namespace {

std::shared_ptr<const Circuits> demo()
{
    return std::make_shared<const Circuits>(
        std::make_shared<const ProcessedWeights>(test::processed(test::loaded(HEADWISE_DEMO_MODEL))));
}

} // namespace

/// The norms that colour the heads before the first analysis ends.
class FirstNormsTest : public QObject {
    Q_OBJECT

private slots:
    void everyLayerIsToldOnce()
    {
        const auto circuits = demo();
        const ModelConfig& config = circuits->config();
        FirstNorms norms;
        QVERIFY(!norms.array());
        std::vector<Eigen::MatrixXf> told;
        connect(&norms, &FirstNorms::changed, this, [&] { told.push_back(metricGrid(*norms.array())); });
        norms.start(circuits);
        QTRY_COMPARE_WITH_TIMEOUT(std::ssize(told), config.nLayers, 60000);
        for (int layer = 0; layer < config.nLayers; ++layer) {
            const Eigen::MatrixXf& grid = told[static_cast<std::size_t>(layer)];
            QCOMPARE(grid.cols(), config.nHeads);
            for (int head = 0; head < config.nHeads; ++head) {
                const Svd<double> svd = *circuits->ov({layer, head}).svd();
                const double norm = svd.S.norm();
                QVERIFY(std::abs(double{grid(layer, head)} - norm) < 1e-6 * norm);
                QVERIFY(layer + 1 == config.nLayers || std::isnan(grid(layer + 1, head)));
            }
        }
        QVERIFY(waitForJobs(std::chrono::seconds(20)));
        QCoreApplication::processEvents(); // A late answer would be in the queue by now.
        QCOMPARE(std::ssize(told), config.nLayers);
    }

    void afterStopNothingIsTold()
    {
        FirstNorms norms;
        int told = 0;
        connect(&norms, &FirstNorms::changed, this, [&] { ++told; });
        norms.start(demo());
        norms.stop();
        QVERIFY(waitForJobs(std::chrono::seconds(20)));
        QCoreApplication::processEvents(); // A late answer would be in the queue by now.
        QCOMPARE(told, 0);
        QVERIFY(!norms.array());
    }
};

HEADWISE_TEST(FirstNormsTest)

#include "first_norms_test.moc"
