#include "ui/pages/spectrum_page.h"

#include "core/base/decompositions.h"
#include "tests/support/opened_page.h"
#include "ui/text.h"
#include "ui/views/spectrum_chart.h"

#include <QComboBox>
#include <QLabel>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

class SpectrumPageTest : public QObject {
    Q_OBJECT

private:
    using Opened = OpenedPage<SpectrumPage>;

    /// What the page says that contains `words`; empty: nothing.
    static QString said(Opened& opened, const QString& words)
    {
        for (const QLabel* label : opened.page.findChildren<QLabel*>())
            if (label->text().contains(words))
                return label->text();
        return {};
    }

private slots:
    void saysHowMuchOfTheCircuitItsEigenvaluesTell()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        opened.workspace.setHead({1, 5});
        auto* circuit = opened.find<QComboBox>(QStringLiteral("Circuit whose eigenvalues are shown"));
        circuit->setCurrentIndex(circuit->findData(static_cast<int>(CircuitKind::Ov)));
        const Matrix<double> ov =
            opened.workspace.circuits()->circuit<double>(CircuitKind::Ov, {1, 5}, nullptr).dense();
        const auto lambda = eigenvalues(ov);
        QVERIFY(lambda);
        const double share = lambda->squaredNorm() / ov.squaredNorm();
        const QString words = QStringLiteral("Σ|λ|² / ‖W‖² = %1, Henrici's departure from normality %2")
                                  .arg(number(share), number(std::sqrt(1 - share)));
        QTRY_VERIFY_WITH_TIMEOUT(!said(opened, words).isEmpty(), patience);
        QCOMPARE(said(opened, words).contains(QStringLiteral("Far from normal")), share < 0.1);
        // With its null where that has been computed.
        opened.workspace.runAnalysis("normality");
        const auto normality = [&] { return opened.workspace.results()->find("analyses/normality/ov"); };
        QTRY_VERIFY_WITH_TIMEOUT(normality(), patience);
        const QString null = QStringLiteral("(random weights %1 ± %2)")
                                 .arg(number(*normality()->nullMean), number(*normality()->nullDeviation));
        QTRY_VERIFY_WITH_TIMEOUT(!said(opened, null).isEmpty(), patience);
    }

    void eigenvaluesStandInTheComplexPlaneOrByAngleAndLogarithm()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        auto* chart = opened.find<LineChart>(QStringLiteral("Eigenvalues of the circuit"));
        QTRY_VERIFY_WITH_TIMEOUT(!chart->series().empty(), patience);
        QCOMPARE(chart->look().plane, ChartLook::Plane::Complex);
        const QVector<QPointF> before = chart->series().front().points;
        auto* plane = opened.find<QComboBox>(QStringLiteral("How eigenvalues are drawn"));
        plane->setCurrentIndex(1);
        QCOMPARE(chart->look().plane, ChartLook::Plane::LogPolar);
        QCOMPARE(chart->series().front().points, before);
        double largest = 0;
        for (const QPointF& point : before)
            largest = std::max(largest, std::hypot(point.x(), point.y()));
        QVERIFY(chart->look().innerRadius > 0 && chart->look().innerRadius < largest);
        const QJsonObject state = opened.page.viewState();
        plane->setCurrentIndex(0);
        QCOMPARE(chart->look().plane, ChartLook::Plane::Complex);
        opened.page.setViewState(state);
        QCOMPARE(chart->look().plane, ChartLook::Plane::LogPolar);
    }
};

QTEST_MAIN(SpectrumPageTest)
#include "spectrum_page_test.moc"
