#include "core/model/families/layer_parts.h"
#include "tests/support/family_model.h"
#include "tests/support/loaded.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QTemporaryDir>

#include <cmath>

using namespace headwise;

namespace {

const std::vector<int> goldenPrompt{3, 1, 4, 1, 5, 0, 2, 6};

double activation(Activation kind, double x)
{
    Matrix<double> value = Matrix<double>::Constant(1, 1, x);
    activate(kind, value);
    return value(0, 0);
}

bool isPublished(double a, double b)
{
    return std::abs(a - b) <= 1e-15 * std::abs(b) + 1e-17;
}

} // namespace

/// Published values; those of rotary frequencies and ALiBi's slopes are in positions_test.
class GoldenValuesTest : public QObject {
    Q_OBJECT

private slots:
    void activationsAtOne()
    {
        QVERIFY(isPublished(activation(Activation::Gelu, 1), 0.8413447460685429));
        QVERIFY(isPublished(activation(Activation::GeluNew, 1), 0.8411919906082768));
        QVERIFY(isPublished(activation(Activation::QuickGelu, 1), 0.8457957659328212));
        QVERIFY(isPublished(activation(Activation::Silu, 1), 0.7310585786300049));
    }

    void activationsAtMinusThree()
    {
        // The published value loses two digits in 1 + erf.
        QVERIFY(std::abs(activation(Activation::Gelu, -3) + 0.00404969409489031) < 1e-16);
        QVERIFY(isPublished(activation(Activation::GeluNew, -3), -0.0036373920817729943));
    }

    void yarnLengthensQueriesAndKeysByItsOwnFactor()
    {
        const QTemporaryDir folder;
        test::FamilyModel model = test::familyModel("llama, yarn scaling");
        const auto path = test::writeFamily(folder.path().toStdString(), model);
        QVERIFY(isPublished(test::loaded(path)->config().rotary.scaling.attentionFactor, 1.138629436111989));
    }

    /// d_model 16, 4 heads of 3 over 2 key/value heads.
    void foldedAndUnfoldedLogitsAgreeToTenDigits_data()
    {
        QTest::addColumn<QString>("norm");
        QTest::addColumn<bool>("offset");
        QTest::addColumn<bool>("parallel");
        QTest::addColumn<int>("kvHeads");
        QTest::newRow("LN") << QString("LN") << false << false << 0;
        QTest::newRow("RMS") << QString("RMS") << false << false << 0;
        QTest::newRow("RMS, 1 + w") << QString("RMS") << true << false << 0;
        QTest::newRow("LN, parallel") << QString("LN") << false << true << 0;
        QTest::newRow("LN, grouped") << QString("LN") << false << false << 2;
        QTest::newRow("RMS, grouped, parallel") << QString("RMS") << false << true << 2;
    }
    void foldedAndUnfoldedLogitsAgreeToTenDigits()
    {
        QFETCH(QString, norm);
        QFETCH(bool, offset);
        QFETCH(bool, parallel);
        QFETCH(int, kvHeads);
        test::ToyOptions options;
        options.dModel = 16;
        options.nHeads = 4;
        options.nKvHeads = kvHeads;
        options.dHead = 3;
        options.normalization = norm.toStdString();
        options.normOffset = offset;
        options.parallel = parallel;
        options.float64 = true;
        const QTemporaryDir folder;
        const auto path = test::writeToyModel(folder.path().toStdString(), options).folder;
        const auto loaded = test::loaded(path);
        ProcessingWish wish;
        wish.centerUnembed = StepWish::Off; // shifts the logits
        const Matrix<double> before = test::ran<double>(test::raw(loaded), goldenPrompt).logits;
        const Matrix<double> after = test::ran<double>(test::processed(loaded, wish), goldenPrompt).logits;
        QCOMPARE_LT((after - before).cwiseAbs().maxCoeff(), 1e-10);
    }
};

HEADWISE_TEST(GoldenValuesTest)
#include "golden_values_test.moc"
