#include "ui/pages/spectrum_page.h"

#include "core/base/decompositions.h"
#include "tests/support/opened_page.h"
#include "ui/text.h"
#include "ui/theme.h"
#include "ui/pages/tokens_page.h"
#include "ui/pages/vectors_page.h"
#include "ui/pages/heatmap_page.h"
#include "ui/pages/prompt_page.h"
#include "ui/pages/overview_page.h"
#include "ui/views/table_figure.h"
#include <QApplication>
#include <QCheckBox>
#include <QToolButton>
#include <QMenu>
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
    void shots()
    {
        for (const ThemeMode mode : {ThemeMode::Light, ThemeMode::Dark}) {
            applyTheme(*qApp, mode);
            const QString x = mode == ThemeMode::Light ? QStringLiteral("l") : QStringLiteral("d");
            const auto keep = [&](QWidget& w, const char* n) { QTest::qWait(800); w.grab().save(QStringLiteral("/tmp/shots_ui/%1-%2.png").arg(QLatin1String(n), x)); };
            {
                OpenedPage<SpectrumPage> o(HEADWISE_DEMO_MODEL); o.workspace.setHead({1,5});
                QTest::qWait(3000);
                o.find<QComboBox>(QStringLiteral("How eigenvalues are drawn"))->setCurrentIndex(1); keep(o.page, "polar");
            }
            {
                OpenedPage<TokensPage> o(HEADWISE_DEMO_MODEL); o.workspace.setHead({1,5});
                o.workspace.setToken(o.workspace.tokenizer()->encode(" king")->back());
                keep(o.page, "tokens");
                o.find<QComboBox>(QStringLiteral("Circuit of the tables"))->setCurrentIndex(1); 
                for (auto* b : o.page.findChildren<QCheckBox*>()) if (b->text() == QLatin1String("ids")) b->click();
                auto* t = o.find<QToolButton>(QStringLiteral("Token filter"));
                auto* sp = o.find<QComboBox>(QStringLiteral("Leading space")); sp->setCurrentIndex(1); emit sp->activated(1);
                keep(o.page, "tokens2");
                t->menu()->popup(QPoint(50,50)); keep(*t->menu(), "menu"); t->menu()->hide();
                o.find<QComboBox>(QStringLiteral("What the tables list"))->setCurrentIndex(2); QTest::qWait(1500); keep(o.page, "largest");
            }
            {
                OpenedPage<VectorsPage> o(HEADWISE_DEMO_MODEL); o.workspace.setHead({1,2}); keep(o.page, "vectors");
                for (auto* b : o.page.findChildren<QCheckBox*>()) b->click();
                keep(o.page, "vectors2");
                FigureSettings st; st.width = 170; st.height = 120;
                figureImage(*o.find<TableFigure>(QStringLiteral("Tokens of the first side")), st, 150).save(QStringLiteral("/tmp/shots_ui/fig-%1.png").arg(x));
            }
            {
                OpenedPage<HeatmapPage> o(HEADWISE_DEMO_MODEL); o.workspace.setHead({1,5});
                o.find<QComboBox>(QStringLiteral("Circuit shown"))->setCurrentIndex(4);
                o.find<QComboBox>(QStringLiteral("Order of rows and columns"))->setCurrentIndex(3); keep(o.page, "direct");
            }
            {
                OpenedPage<PromptPage> o(HEADWISE_DEMO_MODEL); o.workspace.setHead({1,5}); QTest::qWait(1500);
                o.page.findChild<QCheckBox*>()->click(); keep(o.page, "prompt");
            }
            {
                OpenedPage<OverviewPage> o(HEADWISE_DEMO_MODEL); o.workspace.setHead({1,5}); QTest::qWait(3000);
                keep(o.page, "overview");
            }
        }
    }
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
