#include "core/results/color_scale.h"

#include "core/results/color_maps.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QTest>

#include <cmath>
#include <limits>
#include <map>
#include <set>

using namespace headwise;

namespace {

constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

// The forward direction of OKLab (Ottosson 2020); the maps are made with the inverse.
Eigen::Vector3d okLab(Rgb color)
{
    const auto linear = [color](unsigned shift) {
        const double x = double((color >> shift) & 0xFFU) / 255;
        return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
    };
    const double r = linear(16);
    const double g = linear(8);
    const double b = linear(0);
    const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
    const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
    const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
    return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
            1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
            0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

Eigen::MatrixXf row(std::initializer_list<float> values)
{
    Eigen::MatrixXf m(1, static_cast<Eigen::Index>(values.size()));
    std::copy(values.begin(), values.end(), m.data());
    return m;
}

} // namespace

class ColorScaleTest : public QObject {
    Q_OBJECT

private slots:
    void finiteValuesBeyondTheLimitsAreCounted()
    {
        const ColorScale scale{.low = -1, .high = 3};
        Eigen::MatrixXf values(3, 4);
        values << -1, 3, 0, 3.00001F,     // rounding is not beyond
            -1.01F, 3.01F, -2e38F, 3e38F, //
            infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), 1;
        QCOMPARE(countBeyond(scale, values), 4);
        QCOMPARE(countBeyond(scale, Eigen::MatrixXf(0, 3)), 0);
    }

    void zeroIsWhiteOnASignedScaleAndDarkOnItsTwin()
    {
        QCOMPARE(colorOf(0, {.map = ColorMap::Signed, .low = -2, .high = 2}), 0xFFFFFFFFU);
        QCOMPARE(colorOf(0, {.map = ColorMap::SignedDark, .low = -2, .high = 2}), 0xFF16181BU);
        QCOMPARE(darkTwin(ColorMap::Signed), ColorMap::SignedDark);
        QCOMPARE(darkTwin(ColorMap::Viridis), ColorMap::Viridis);
    }

    void negativeIsBlueAndPositiveIsRed()
    {
        const ColorScale scale;
        QVERIFY((colorOf(-1, scale) & 0xFFU) > (colorOf(-1, scale) >> 16U & 0xFFU) + 60);
        QVERIFY((colorOf(1, scale) >> 16U & 0xFFU) > (colorOf(1, scale) & 0xFFU) + 60);
    }

    void publishedTablesHaveTheirPublishedEnds()
    {
        QCOMPARE(colorTable(ColorMap::Viridis).front(), 0xFF440154U);
        QCOMPARE(colorTable(ColorMap::Viridis).back(), 0xFFFDE725U);
        QCOMPARE(colorTable(ColorMap::Viridis)[128], 0xFF21918CU);
        QCOMPARE(colorTable(ColorMap::Cividis).back(), 0xFFFEE838U);
        QCOMPARE(colorTable(ColorMap::HighContrast).front(), 0xFF000004U);
        QCOMPARE(colorTable(ColorMap::Attention).back(), 0xFF2563C9U); // The accent of the light window.
    }

    void computedMapsHaveEqualPerceptualSteps()
    {
        for (const ColorMap map :
             {ColorMap::Signed, ColorMap::SignedDark, ColorMap::Gray, ColorMap::Attention}) {
            const ColorTable& table = colorTable(map);
            const std::size_t first = isSigned(map) ? 128 : 0;
            const double whole = (okLab(table[255]) - okLab(table[first])).norm();
            for (std::size_t i = first; i + 15 <= 255; i += 15) { // 15 entries drown the rounding to 8 bits.
                const double step = (okLab(table[i + 15]) - okLab(table[i])).norm();
                const double expected = whole * 15 / double(255 - first);
                if (map == ColorMap::Gray && i < 30)
                    continue; // 8 bits have too few blacks.
                QVERIFY2(std::abs(step - expected) < 0.15 * expected,
                         qPrintable(QString::number(step / expected)));
            }
        }
    }

    void bothSidesOfASignedMapAreEquallyLight()
    {
        for (const ColorMap map : {ColorMap::Signed, ColorMap::SignedDark})
            for (std::size_t i = 0; i < 128; ++i)
                QVERIFY(std::abs(okLab(colorTable(map)[i]).x() - okLab(colorTable(map)[255 - i]).x()) < 0.01);
    }

    void valuesOutsideAreClampedNotWrapped()
    {
        const ColorScale scale;
        QCOMPARE(colorOf(1000, scale), colorOf(1, scale));
        QCOMPARE(colorOf(-1000, scale), colorOf(-1, scale));
        QVERIFY(colorOf(1, scale) != colorOf(-1, scale));
    }

    void invertingExchangesTheEnds()
    {
        for (const ColorMap map : allColorMaps)
            QCOMPARE(colorOf(0.25F, {.map = map, .low = 0, .inverted = true}),
                     colorOf(0.7499F, {.map = map, .low = 0}));
    }

    void notANumberHasAColorNoMapContains()
    {
        const ColorScale scale{.map = ColorMap::Viridis, .low = 0};
        QCOMPARE(colorOf(notANumber, scale), nanColor);
        QCOMPARE(colorOf(infinity, scale), nanColor);
        for (const ColorMap map : allColorMaps) {
            const ColorTable& table = colorTable(map);
            QCOMPARE(std::count(table.begin(), table.end(), nanColor), 0);
        }
    }

    void aFullFitOfASignedMapIsSymmetricAndIgnoresWhatIsNotFinite()
    {
        const ColorScale scale = fitted({.map = ColorMap::Signed}, row({-3, notANumber, 1, infinity}));
        QCOMPARE(scale.low, -3.0F);
        QCOMPARE(scale.high, 3.0F);
    }

    void aFullFitOfAnUnsignedMapStartsAtZero()
    {
        const ColorScale scale = fitted({.map = ColorMap::Viridis}, row({2, 5}));
        QCOMPARE(scale.low, 0.0F);
        QCOMPARE(scale.high, 5.0F);
    }

    void theDataRangeIsTheDataRange()
    {
        const ColorScale scale = fitted({.map = ColorMap::Signed, .fit = ColorFit::DataRange}, row({2, 5}));
        QCOMPARE(scale.low, 2.0F);
        QCOMPARE(scale.high, 5.0F);
    }

    void aRobustFitTrimsAtThreeStandardDeviations()
    {
        Eigen::MatrixXf m = Eigen::MatrixXf::Constant(1, 100, 1);
        m(0, 7) = -50;
        const float expected = 3 * std::sqrt((99 + 2500) / 100.0F);
        QCOMPARE(fitted({.map = ColorMap::Signed, .fit = ColorFit::Robust}, m).high, expected);
        QCOMPARE(fitted({.map = ColorMap::Signed, .fit = ColorFit::Robust}, row({1, -1, 1})).high,
                 1.0F); // Nothing to trim.
    }

    void aFixedFitKeepsTheLimits()
    {
        const ColorScale scale{.low = -7, .high = 2, .fit = ColorFit::Fixed};
        QVERIFY(fitted(scale, row({100})) == scale);
        QVERIFY(!(fitted(ColorScale{}, row({100})) == ColorScale{})); // The positive control.
    }

    void everyFitOfEveryMatrixIsAValidScale()
    {
        const std::vector<Eigen::MatrixXf> matrices{{},
                                                    Eigen::MatrixXf::Zero(2, 2),
                                                    row({notANumber, infinity}),
                                                    row({1e30F}),
                                                    row({-1e30F}),
                                                    row({1e-30F})};
        for (const Eigen::MatrixXf& m : matrices)
            for (const ColorMap map : allColorMaps)
                for (const ColorFit fit : {ColorFit::Full, ColorFit::Robust, ColorFit::DataRange}) {
                    const ColorScale scale = fitted({.map = map, .fit = fit}, m);
                    QVERIFY(scale.low < scale.high);
                }
    }

    void symlogKeepsTheEndsAndZeroAndRaisesTheSmall()
    {
        const ColorScale linear{.low = -10, .high = 10};
        ColorScale symlog = linear;
        symlog.transform = ColorTransform::Symlog;
        QCOMPARE(position(10, symlog), 1.0F);
        QCOMPARE(position(-10, symlog), 0.0F);
        QCOMPARE(position(0, symlog), 0.5F);
        // By hand: asinh(0.1 · 100) / asinh(100) = 2.998223 / 5.298342.
        QVERIFY(std::abs(position(1, symlog) - (0.5F + 0.5F * 2.998223F / 5.298342F)) < 1e-5F);
        for (const float value : {-9.5F, -1.0F, 0.25F, 6.0F}) {
            QVERIFY(std::abs(valueAt(position(value, symlog), symlog) - value) < 1e-4F);
            QVERIFY(std::abs(valueAt(position(value, linear), linear) - value) < 1e-4F);
        }
    }

    void pixelsAreRowMajor()
    {
        const Eigen::MatrixXf m =
            Eigen::MatrixXf::Random(37, 71); // Larger than a block, in no multiple of it.
        const ColorScale scale = fitted({.map = ColorMap::Signed}, m);
        const std::vector<Rgb> pixels = toPixels(m, scale);
        QCOMPARE(pixels.size(), std::size_t{37 * 71});
        for (Eigen::Index r = 0; r < m.rows(); ++r)
            for (Eigen::Index c = 0; c < m.cols(); ++c)
                QCOMPARE(pixels[static_cast<std::size_t>(r * m.cols() + c)], colorOf(m(r, c), scale));
    }

    void savedTextReadsBackAsTheSameScale()
    {
        for (const ColorMap map : allColorMaps)
            for (const ColorFit fit :
                 {ColorFit::Full, ColorFit::Robust, ColorFit::DataRange, ColorFit::Fixed}) {
                const ColorScale scale{.map = map,
                                       .low = -0.1F,
                                       .high = 3.0e-7F,
                                       .fit = fit,
                                       .transform = ColorTransform::Symlog,
                                       .inverted = true};
                const Result<ColorScale> read = parseColorScale(text(scale));
                QVERIFY(test::isOk(read));
                QVERIFY(*read == scale);
            }
        QCOMPARE(text(ColorScale{}),
                 std::string("map=signed low=-1 high=1 fit=full transform=linear inverted=no"));
    }

    void refusesWhatItDidNotWriteAndNamesTheWord()
    {
        for (const std::string_view line :
             {"map=rainbow", "low=one", "low=nan", "high", "inverted=maybe", "colour=red"})
            QVERIFY(test::failsWith(parseColorScale(line), ErrorCode::Corrupt, line));
        QVERIFY(test::failsWith(parseColorScale("low=2 high=1"), ErrorCode::Corrupt, "no room"));
    }

    void percentilesAreOfMagnitudesOnSignedMapsAndOfBothEndsElse()
    {
        Eigen::MatrixXf values(1, 1000);
        for (int i = 0; i < 1000; ++i)
            values(i) = static_cast<float>(i < 500 ? -i : i); // Magnitudes 0 … 999.
        ColorScale scale{.fit = ColorFit::Percentiles, .percentile = 95};
        QCOMPARE(fitted(scale, values).high, 950.0F);
        QCOMPARE(fitted(scale, values).low, -950.0F);
        scale.map = ColorMap::Viridis;
        QCOMPARE(fitted(scale, values.cwiseAbs()).low, 50.0F);
        QCOMPARE(fitted(scale, values.cwiseAbs()).high, 950.0F);
        ValueStatistics both = statisticsOf(values.cwiseAbs());
        both.add(statisticsOf(Eigen::MatrixXf::Constant(1, 1000, 2000))); // over two matrices together
        QCOMPARE(fitted(scale, both).high, 2000.0F);
        QCOMPARE(fitted(scale, both).low, 100.0F);
    }

    void everyTransformKeepsOrderAndIsUndoneByValueAt()
    {
        for (const ColorTransform transform :
             {ColorTransform::Linear, ColorTransform::Sqrt, ColorTransform::Symlog}) {
            const ColorScale scale{.low = -4, .high = 9, .transform = transform};
            for (float x = -4; x <= 9; x += 0.37F) {
                const float at = position(x, scale);
                QVERIFY(std::abs(valueAt(at, scale) - x) < 1e-4F);
                // The table entry is the one under the position, up to rounding at its edge.
                const Rgb found = colorOf(x, scale);
                const auto entry = [&](float place) {
                    return colorTable(
                        scale.map)[static_cast<std::size_t>(std::clamp(place * 256, 0.F, 255.F))];
                };
                QVERIFY(found == entry(at - 1e-4F) || found == entry(at + 1e-4F));
            }
        }
        QCOMPARE(position(4, {.low = 0, .high = 16, .transform = ColorTransform::Sqrt}), 0.5F);
    }

    void aRankIsTheShareOfValuesBelow()
    {
        Eigen::MatrixXf values = Eigen::MatrixXf::Random(40, 50).array().exp(); // no two alike
        values(3, 4) = notANumber;
        const ColorScale scale =
            fitted({.map = ColorMap::Viridis, .fit = ColorFit::DataRange, .transform = ColorTransform::Rank},
                   values);
        std::map<int, int> used; // of the colours
        for (const float x : values.reshaped()) {
            if (std::isnan(x))
                continue;
            const auto below = (values.array() < x).count();
            QVERIFY(std::abs(position(x, scale) - static_cast<float>(below) / 1999) < 1.5F / 256);
            QVERIFY(std::abs(valueAt(position(x, scale), scale) - x) < 1e-4F);
            ++used[std::min(255, static_cast<int>(256 * position(x, scale)))];
        }
        QCOMPARE(used.size(), std::size_t{256});
        for (const auto& [entry, times] : used)
            QVERIFY(times >= 6 && times <= 9); // 1999 / 256 each
    }

    void ranksAboutZeroAreOfMagnitudesAndZeroStaysNeutral()
    {
        Eigen::MatrixXf values(1, 1000);
        for (int i = 0; i < 1000; ++i) // Half of them zeros, and nearly all others positive.
            values(i) = i < 500 ? 0.0F : i < 510 ? -static_cast<float>(i * i) : static_cast<float>(i * i);
        const ColorScale scale = fitted({.transform = ColorTransform::Rank}, values);
        QCOMPARE(scale.high, 999.0F * 999);
        QCOMPARE(position(0, scale), 0.5F);
        QCOMPARE(colorOf(0, scale), 0xFFFFFFFFU);
        for (const float x : {505.0F * 505, 700.0F * 700, 999.0F * 999}) {
            const float share =
                static_cast<float>((values.array().abs() < x && values.array() != 0).count()) / 499;
            QVERIFY(std::abs(position(x, scale) - (0.5F + share / 2)) < 1.5F / 256);
            QVERIFY(std::abs(position(x, scale) + position(-x, scale) - 1) < 1e-6F);
        }
    }

    void ranksOfAnythingAreAValidScale()
    {
        for (const Eigen::MatrixXf& m : {Eigen::MatrixXf(), Eigen::MatrixXf(Eigen::MatrixXf::Zero(2, 2)),
                                         row({notANumber, infinity}), row({1e30F, 1e30F}), row({-1, 0, 1})})
            for (const ColorMap map : {ColorMap::Signed, ColorMap::Viridis})
                for (const ColorFit fit : {ColorFit::Full, ColorFit::DataRange, ColorFit::Fixed}) {
                    const ColorScale scale =
                        fitted({.map = map, .fit = fit, .transform = ColorTransform::Rank}, m);
                    QVERIFY(scale.low < scale.high);
                    QCOMPARE(scale.rankKnots.size(), std::size_t{257});
                    QVERIFY(std::ranges::is_sorted(scale.rankKnots));
                    QCOMPARE(position(scale.low - 1, scale), 0.0F);
                    QCOMPARE(position(scale.high, scale), 1.0F);
                    QVERIFY(std::isnan(position(notANumber, scale)));
                }
        const ColorScale unfitted{.transform = ColorTransform::Rank};
        QCOMPARE(position(0.5F, unfitted), 0.75F);
        const auto read = parseColorScale(text(fitted(unfitted, row({-1, 3}))));
        QVERIFY(read && read->transform == ColorTransform::Rank && read->rankKnots.empty());
    }

    void percentilesAndTransformsAreSaved()
    {
        const ColorScale scale{
            .fit = ColorFit::Percentiles, .transform = ColorTransform::Sqrt, .percentile = 97.5F};
        const auto read = parseColorScale(text(scale));
        QVERIFY(read && *read == scale);
        QVERIFY(test::failsWith(parseColorScale("low=-1 high=1 percentile=20"), ErrorCode::Corrupt,
                                "percentile=20"));
    }
};

HEADWISE_TEST(ColorScaleTest)
#include "color_scale_test.moc"
