#include "core/series/step_curves.h"

#include "core/results/suggested_picture.h"
#include "core/series/figure_sessions.h"
#include "core/session/figure_description.h"
#include "core/session/views.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QTest>

#include <algorithm>
#include <cmath>

using namespace headwise;
using namespace headwise::test;

namespace {

/// A model of 1 × 2 heads at the steps 1, 10 and 100; the second has no singular values.
std::vector<SeriesStep> threeSteps()
{
    std::vector<SeriesStep> steps;
    for (const int step : {1, 10, 100}) {
        SeriesStep one;
        one.step = step;
        one.session.model.name = "toy";
        one.session.model.nLayers = 1;
        one.session.model.nHeads = 2;
        const auto at = static_cast<float>(step);
        ResultArray score;
        score.path = "scores/copying";
        score.title = "Copying";
        score.shape = {1, 2};
        score.axes = {Axis::Layer, Axis::Head};
        score.values = std::vector<float>{at, -at};
        ResultArray sigma;
        sigma.path = "spectra/qk/singular_values";
        sigma.title = "Singular values of QK";
        sigma.shape = {1, 2, 2};
        sigma.axes = {Axis::Layer, Axis::Head, Axis::SingularValue};
        sigma.values = std::vector<float>{4 * at, 3 * at, 2 * at, at};
        one.session.results.arrays.push_back(std::move(score));
        if (step != 10)
            one.session.results.arrays.push_back(std::move(sigma));
        steps.push_back(std::move(one));
    }
    return steps;
}

const ResultArray* arrayIn(const std::vector<ResultArray>& arrays, const char* path)
{
    const auto found = std::ranges::find(arrays, path, &ResultArray::path);
    return found == arrays.end() ? nullptr : &*found;
}

} // namespace

/// The curves of a series as arrays.
class StepCurvesTest : public QObject {
    Q_OBJECT

private slots:
    void scoresAndSpectraHaveAnAxisOfSteps()
    {
        const std::vector<ResultArray> curves = stepCurves(threeSteps());
        QCOMPARE(curves.size(), std::size_t{2});
        const ResultArray* copying = arrayIn(curves, "training/copying");
        QVERIFY(copying && copying->shape == (std::vector<std::size_t>{1, 2, 3}));
        QVERIFY(
            (std::get<std::vector<float>>(copying->values) == std::vector<float>{1, 10, 100, -1, -10, -100}));
        QVERIFY((std::get<std::vector<std::string>>(copying->attributes.at("steps"))
                 == std::vector<std::string>{"1", "10", "100"}));
        const ResultArray* sigma = arrayIn(curves, "training/qk_singular_values");
        QVERIFY(sigma && sigma->shape == (std::vector<std::size_t>{1, 2, 2, 3}));
        const auto& values = std::get<std::vector<float>>(sigma->values);
        QVERIFY(values[0] == 4 && std::isnan(values[1]) && values[2] == 400 && values[5] == 300);
        QVERIFY(stepCurves({}).empty());
    }

    /// A score is a curve at a head and one for each of all heads, on logarithmic steps.
    void aScoreIsDrawnAtOneHeadOrAtEach()
    {
        std::vector<SeriesStep> steps = threeSteps();
        addStepCurves(steps);
        const Session& last = steps.back().session;
        for (const std::optional<HeadId> head : {std::optional<HeadId>(), std::optional(HeadId{0, 1})}) {
            const auto view = viewOf(last, "training/copying", head);
            QVERIFY(isOk(view));
            QVERIFY(view->picture.kind == Picture::Kind::Lines && view->picture.logX);
            QCOMPARE(view->dimensions, std::size_t{1});
        }
        const auto spectra = viewOf(last, "training/qk_singular_values", HeadId{0, 1});
        QVERIFY(isOk(spectra) && spectra->picture.logX && spectra->picture.logY);
        QVERIFY(showsAllSteps("/training/copying") && showsAllSteps("tracks/ov_in"));
        QVERIFY(!showsAllSteps("copying"));
    }

    void aFigureFindsItsStep()
    {
        const std::vector<SeriesStep> steps = threeSteps();
        const FigureSessions series(steps);
        QVERIFY(series.isSeries());
        QCOMPARE(series.at(10, "copying")->session, &steps[1].session);
        QCOMPARE(series.at(FigurePanel::lastStep, "copying")->step, std::optional(100));
        QCOMPARE(series.at(FigurePanel::lastStep, "training/copying")->step, std::optional<int>());
        QVERIFY(failsWith(series.at(7, "copying"), ErrorCode::InvalidArgument,
                          "no checkpoint of step 7; its steps are 1 to 100"));
        QVERIFY(failsWith(series.at(10, "training/copying"), ErrorCode::InvalidArgument, "shows all steps"));
        const FigureSessions one(steps.front().session);
        QCOMPARE(one.at(FigurePanel::lastStep, "copying")->step, std::optional<int>());
        QVERIFY(failsWith(one.at(1, "copying"), ErrorCode::InvalidArgument, "step needs a series"));
    }
};

HEADWISE_TEST(StepCurvesTest)
#include "step_curves_test.moc"
