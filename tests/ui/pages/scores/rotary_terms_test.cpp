#include "ui/pages/scores/rotary_terms.h"

#include "core/circuits/position_scores.h"
#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/pages/scores/scores_page.h"

#include <QLabel>
#include <QSlider>
#include <QTemporaryDir>

#include <algorithm>
#include <cmath>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

/// The Scores page of a model with rotary positions.
class RotaryTermsTest : public QObject {
    Q_OBJECT

private:
    using Opened = OpenedPage<ScoresPage>;
    QTemporaryDir m_folder;

    std::filesystem::path model(const char* positional) const
    {
        const auto path = std::filesystem::path(m_folder.path().toStdString()) / positional;
        ToyOptions options;
        options.positional = positional;
        options.dHead = 6;
        if (options.positional == "rotary")
            options.rotaryDim = 4;
        writeToyModel(path, options);
        return path;
    }

    static double sumOf(const ChartSeries& bars)
    {
        double sum = 0;
        for (const QPointF& bar : bars.points)
            sum += bar.y();
        return sum;
    }

    static bool isNear(double a, double b) { return std::abs(a - b) < 1e-5 * (1 + std::abs(b)); }

private slots:
    void theBarsAddUpToTheScoreAtTheOffset()
    {
        Opened opened(model("rotary"));
        QVERIFY(ScoresPage::whyNot(opened.workspace).isEmpty());
        opened.workspace.selection()->setHead({1, 2});
        const auto* line = opened.find<LineChart>(QStringLiteral("Score by offset"));
        QTRY_VERIFY(opened.workspace.model()->tokens());
        const auto& circuits = *opened.workspace.model()->circuits();
        const RowVector<double> mean =
            opened.workspace.model()->tokens()->embeddingOf(1).whole<double>()->colwise().mean();
        const RowVector<double> expected = offsetScores(circuits.weights(), {1, 2}, mean, 10);
        // The head shown before has another score.
        QTRY_VERIFY(line->series().size() == 2 && isNear(line->series()[0].points[3].y(), expected(3)));
        for (const int offset : {0, 3, 9}) {
            opened.workspace.selection()->setRotaryOffset(offset);
            const auto* bars =
                opened.find<LineChart>(QStringLiteral("Score by frequency at Δ = %1").arg(offset));
            QCOMPARE(bars->series().size(), std::size_t(2));
            QCOMPARE(bars->series()[0].points.size(), 3); // the content and two frequencies
            QCOMPARE(bars->look().xLabels.value(0), QStringLiteral("content"));
            QCOMPARE(bars->look().xLabels.value(1), QStringLiteral("0 (6.28)"));
            QVERIFY2(
                isNear(sumOf(bars->series()[0]), expected(offset)),
                qPrintable(QStringLiteral("%1 for %2").arg(sumOf(bars->series()[0])).arg(expected(offset))));
            for (std::size_t pair = 0; pair < 2; ++pair)
                QVERIFY(isNear(sumOf(bars->series()[pair]), line->series()[pair].points[offset].y()));
        }
        QCOMPARE(opened.page.figures().size(), 2);
    }

    /// Every number has its own sign: "0 + +0.221" has one too many.
    void theSentenceHasOneSignBeforeANumber()
    {
        Opened opened(model("rotary"));
        const auto* line = opened.find<LineChart>(QStringLiteral("Score by offset"));
        QTRY_VERIFY(line->series().size() == 2);
        QString said;
        for (const QLabel* label : opened.page.findChildren<QLabel*>())
            if (label->text().contains(QStringLiteral("from frequencies")))
                said = label->text();
        QVERIFY(!said.isEmpty());
        QVERIFY2(!said.contains(QStringLiteral("+ ")) && said.contains(QStringLiteral("together")),
                 qPrintable(said));
    }

    void anotherTokenChangesItsQueryAlone()
    {
        Opened opened(model("rotary"));
        const auto* line = opened.find<LineChart>(QStringLiteral("Score by offset"));
        QTRY_VERIFY(line->series().size() == 2);
        const auto before = line->series();
        opened.workspace.selection()->setToken(5);
        QTRY_VERIFY(line->series()[1].points != before[1].points);
        QCOMPARE(line->series()[0].points, before[0].points);
    }

    void modelsWithoutEitherKeepTheSentence()
    {
        Opened opened(model("none"));
        const QString why = ScoresPage::whyNot(opened.workspace);
        QVERIFY(!why.isEmpty());
        const auto labels = opened.page.findChildren<QLabel*>();
        QVERIFY(std::ranges::any_of(
            labels, [&](const QLabel* label) { return label->isVisible() && label->text() == why; }));
        QVERIFY(!opened.page.findChild<RotaryTerms*>()->isVisible());
        QVERIFY(opened.page.figures().isEmpty());
    }

    void learnedPositionsKeepTheirTerms()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        QVERIFY(ScoresPage::whyNot(opened.workspace).isEmpty());
        QVERIFY(!opened.page.findChild<RotaryTerms*>()->isVisible());
        QVERIFY(opened.find<QSlider>(QStringLiteral("Query position"))->isVisible());
    }
};

HEADWISE_TEST(RotaryTermsTest)
#include "rotary_terms_test.moc"
