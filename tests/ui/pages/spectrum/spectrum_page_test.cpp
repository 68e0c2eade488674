#include "ui/pages/spectrum/spectrum_page.h"

#include "core/base/decompositions.h"
#include "core/circuits/singular_directions.h"
#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/document/head_metrics.h"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QRegularExpression>
#include <QSignalSpy>

#include <algorithm>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

class SpectrumPageTest : public QObject {
    Q_OBJECT

private:
    using Opened = OpenedPage<SpectrumPage>;

    /// Returns the text on the page that contains `words`; empty: none.
    static QString said(Opened& opened, const QString& words)
    {
        for (const QLabel* label : opened.page.findChildren<QLabel*>())
            if (label->text().contains(words))
                return label->text();
        return {};
    }

    /// Counts the significant digits of the longest number in `words`.
    static qsizetype mostDigits(const QString& words)
    {
        static const QRegularExpression number(QStringLiteral("\\d+(\\.\\d+)?")),
            notSignificant(QStringLiteral("^0+"));
        qsizetype most = 0;
        for (auto found = number.globalMatch(words); found.hasNext();)
            most = std::max(most, found.next().captured().remove(u'.').remove(notSignificant).size());
        return most;
    }

private slots:
    void readOutsHaveFewDigits()
    {
        QCOMPARE(mostDigits(QStringLiteral("λ1 = 0.012345 +1.5 i")), 5);
        Opened opened(HEADWISE_DEMO_MODEL);
        opened.workspace.selection()->setHead({1, 5});
        int read = 0;
        for (LineChart* chart : opened.page.findChildren<LineChart*>()) {
            if (!chart->isVisible())
                continue;
            QTRY_VERIFY(!chart->series().empty());
            QSignalSpy said(&opened.page, &Page::readOutChanged);
            for (const Qt::Key key : {Qt::Key_Home, Qt::Key_Right, Qt::Key_Right}) {
                said.clear();
                QTest::keyClick(chart, key);
                QVERIFY(!said.isEmpty());
                const QString words = said.last()[0].toString();
                QVERIFY2(mostDigits(words) > 0 && mostDigits(words) <= 6, qPrintable(words));
                ++read;
            }
        }
        QVERIFY(read > 3);
    }

    void saysHowMuchOfTheCircuitItsEigenvaluesTell()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        opened.workspace.selection()->setHead({1, 5});
        auto* circuit = opened.find<QComboBox>(QStringLiteral("Circuit of the eigenvalues"));
        circuit->setCurrentIndex(circuit->findData(static_cast<int>(CircuitKind::Ov)));
        const Matrix<double> ov =
            opened.workspace.model()->circuits()->circuit<double>(CircuitKind::Ov, {1, 5}, nullptr).dense();
        const auto lambda = eigenvalues(ov);
        QVERIFY(lambda);
        const double share = lambda->squaredNorm() / ov.squaredNorm();
        const QString words = QStringLiteral("Σ|λ|² / ‖W‖² = %1, Henrici's departure from normality %2")
                                  .arg(number(share), number(std::sqrt(1 - share)));
        QTRY_VERIFY(!said(opened, words).isEmpty());
        QCOMPARE(said(opened, words).contains(QStringLiteral("Far from normal")), share < 0.1);
        // With its null where that has been computed.
        opened.workspace.runs()->runAnalysis("normality");
        const auto normality = [&] {
            return opened.workspace.model()->results()->find("analyses/normality/ov");
        };
        QTRY_VERIFY(normality());
        const QString null = QStringLiteral("(random weights %1 ± %2)")
                                 .arg(number(*normality()->nullMean), number(*normality()->nullDeviation));
        QTRY_VERIFY(!said(opened, null).isEmpty());
    }

    void normsAndRanksStandBesideThoseOfRandomWeightsAndNameTheirMetric()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        opened.workspace.selection()->setHead({1, 5});
        const auto array = [&](const char* path) { return opened.workspace.model()->results()->find(path); };
        const auto run = [&](ResidualMetric metric) {
            AnalysisInputs inputs;
            inputs.metric = metric;
            opened.workspace.runs()->setInputs(inputs);
            opened.workspace.runs()->runAnalysis("spectra");
        };
        run(ResidualMetric::Identity);
        QTRY_VERIFY(array("spectra/ov/effective_rank"));
        const ResultArray* ranks = array("spectra/ov/effective_rank");
        const QString beside = QStringLiteral("effective rank %1 (random %2)")
                                   .arg(number(metricAt(*ranks, {1, 5})), number(*ranks->nullMean));
        QTRY_VERIFY(!said(opened, beside).isEmpty());
        const QString metric = QStringLiteral("embedding covariance");
        QVERIFY(said(opened, metric).isEmpty());
        run(ResidualMetric::Embedding);
        QTRY_VERIFY(!said(opened, metric).isEmpty());
    }

    void degenerateBlocksOfBothCircuitsAreBracketed()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        auto* chart = opened.find<LineChart>(QStringLiteral("Singular values"));
        QCheckBox* normalized = nullptr;
        for (auto* box : opened.page.findChildren<QCheckBox*>())
            if (box->text() == QStringLiteral("Divide by σ₁"))
                normalized = box;
        QVERIFY(normalized);
        std::size_t all = 0;
        for (int head = 0; head < 8; ++head) {
            normalized->setChecked(head % 2 == 1);
            opened.workspace.selection()->setHead({1, head});
            std::vector<ChartBracket> wanted;
            double first = 0;
            for (const CircuitKind kind : {CircuitKind::Ov, CircuitKind::Qk}) {
                const auto svd = singularDirections(*opened.workspace.model()->circuits(), kind, {1, head});
                QVERIFY(svd);
                const Eigen::VectorXd& S = svd->S;
                first = S(0); // of QK, the first series
                const double unit = normalized->isChecked() ? S(0) : 1;
                std::vector<ChartBracket> own;
                for (Eigen::Index from = 0, to = 0; from < S.size(); from = to + 1) {
                    to = from;
                    while (to + 1 < S.size() && S(to) - S(to + 1) < 0.01 * S(to))
                        ++to;
                    if (to > from)
                        own.push_back({double(from + 1), double(to + 1), S(from) / unit});
                }
                wanted.insert(wanted.begin(), own.begin(), own.end());
            }
            const double shown = normalized->isChecked() ? 1 : first;
            QTRY_VERIFY(chart->series().size() == 2
                        && std::abs(chart->series()[0].points[0].y() - shown) < 1e-5 * shown);
            QTRY_COMPARE(chart->brackets().size(), wanted.size());
            for (std::size_t i = 0; i < wanted.size(); ++i) {
                QCOMPARE(chart->brackets()[i].from, wanted[i].from);
                QCOMPARE(chart->brackets()[i].to, wanted[i].to);
                QVERIFY(std::abs(chart->brackets()[i].y - wanted[i].y) < 1e-5 * wanted[i].y);
            }
            all += wanted.size();
        }
        QVERIFY(all > 0);
        QVERIFY(!said(opened, QStringLiteral("only their joint subspace")).isEmpty()
                || chart->brackets().empty());
    }

    void eigenvaluesStandInTheComplexPlaneOrByAngleAndLogarithm()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        auto* chart = opened.find<LineChart>(QStringLiteral("Eigenvalues of full OV"));
        QTRY_VERIFY(!chart->series().empty());
        QCOMPARE(chart->look().plane, ChartLook::Plane::Complex);
        const QVector<QPointF> before = chart->series().front().points;
        auto* plane = opened.find<QComboBox>(QStringLiteral("Eigenvalue plot"));
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

HEADWISE_TEST(SpectrumPageTest)
#include "spectrum_page_test.moc"
