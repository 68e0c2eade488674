#include "core/model/config.h"

#include "tests/support/program.h"

#include <QtTest>

#include <algorithm>
#include <cmath>

using namespace headwise;

namespace {

bool isClose(double actual, double expected)
{
    return std::abs(actual - expected) <= 1e-13 * std::abs(expected);
}

Rotary scaled(int dim, double base, const RotaryScaling& scaling)
{
    Rotary rotary{dim, base, false};
    rotary.scaling = scaling;
    return rotary;
}

RotaryScaling llama3(double factor)
{
    RotaryScaling scaling;
    scaling.kind = RotaryScaling::Kind::Llama3;
    scaling.factor = factor;
    scaling.originalContext = 8192;
    return scaling;
}

} // namespace

/// Frequencies and slopes, compared with published numbers.
class PositionsTest : public QObject {
    Q_OBJECT

private slots:
    /// Llama 3.2 1B's and Llama 3.1 8B's own settings.
    void scalesAsLlama3Does()
    {
        const auto small = rotaryFrequencies(scaled(64, 5e5, llama3(32)));
        QVERIFY(isClose(small[14], 0.0032114459947525913));
        QVERIFY(isClose(small[15], 0.001290547928209264));
        QVERIFY(isClose(small[16], 0.00042955679655936837));
        QVERIFY(isClose(small[17], 9.70828780262767e-05));
        QVERIFY(isClose(small[18], 1.9461638184831128e-05));
        const auto large = rotaryFrequencies(scaled(128, 5e5, llama3(8)));
        QVERIFY(isClose(large[28], 0.0032114459947525913));
        QVERIFY(isClose(large[30], 0.0013718935677611381));
        QVERIFY(isClose(large[34], 0.00017850781276799638));
        QVERIFY(isClose(large[36], 7.784655273932451e-05));
        const auto plain = rotaryFrequencies(scaled(64, 5e5, {}));
        QVERIFY(isClose(plain[15], 0.0021311195369119653));
        QVERIFY(isClose(plain[18], 0.0006227724219145961));
    }

    void scalesAsYarnDoes()
    {
        RotaryScaling yarn;
        yarn.kind = RotaryScaling::Kind::Yarn;
        yarn.factor = 4;
        yarn.originalContext = 32768;
        const auto frequencies = rotaryFrequencies(scaled(128, 1e6, yarn));
        const auto plain = rotaryFrequencies(scaled(128, 1e6, {}));
        QCOMPARE(frequencies[23], plain[23]); // up to pair 23 nothing changes, from pair 40 on all is divided
        QVERIFY(std::abs(frequencies[24] - 5.37532149e-03) < 1e-11);
        QVERIFY(isClose(frequencies[40], plain[40] / 4));
        QVERIFY(frequencies[39] > plain[39] / 4);
        QVERIFY(std::abs(frequencies[63] - 3.10234440e-07) < 1e-15);
    }

    /// The settings of gpt-oss, whose ramp begins and ends between pairs: at 8.09 and 17.40.
    void yarnsRampCanEndBetweenPairs()
    {
        RotaryScaling yarn;
        yarn.kind = RotaryScaling::Kind::Yarn;
        yarn.wholePairs = false;
        yarn.factor = 32;
        yarn.originalContext = 4096;
        const auto between = rotaryFrequencies(scaled(64, 150000, yarn));
        yarn.wholePairs = true;
        const auto whole = rotaryFrequencies(scaled(64, 150000, yarn));
        QCOMPARE(between[8], whole[8]);
        QVERIFY(isClose(between[9], 0.03170569618466377));
        QVERIFY(isClose(whole[9], 0.031620752275346484));
        QVERIFY(isClose(between[17], 0.0001293187012450632));
        QCOMPARE(between[18], whole[18]);
    }

    void slopesOfAlibiAreThoseOfItsAuthors()
    {
        const auto eight = alibiSlopes(8);
        QCOMPARE(eight.size(), 8U);
        for (int i = 0; i < 8; ++i)
            QVERIFY(isClose(eight[static_cast<std::size_t>(i)], std::ldexp(1, -i - 1)));
        const auto twelve = alibiSlopes(12);
        QCOMPARE(twelve.size(), 12U);
        QVERIFY(isClose(twelve[7], 1.0 / 256));
        QVERIFY(isClose(twelve[8], 0.7071067811865476));
        QVERIFY(isClose(twelve[9], 0.35355339059327384));
        QVERIFY(isClose(twelve[10], 0.17677669529663695));
        QVERIFY(isClose(twelve[11], 0.08838834764831849));
        const auto sixteen = alibiSlopes(16);
        QVERIFY(isClose(sixteen[0], 0.7071067811865476));
        QVERIFY(isClose(sixteen[1], 0.5));
        QVERIFY(isClose(sixteen[2], 0.35355339059327384));
    }

    /// The first distance of every bucket of T5's own sizes.
    void bucketsOfDistancesAreT5s()
    {
        const RelativeBias t5{32, 128};
        const std::vector<int> encoder{0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91};
        const std::vector<int> decoder{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                       16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113};
        for (int distance = 0; distance < 300; ++distance) {
            const auto bucket = [&](const std::vector<int>& firsts) {
                return static_cast<int>(std::upper_bound(firsts.begin(), firsts.end(), distance)
                                        - firsts.begin() - 1);
            };
            QCOMPARE(relativeBucket(t5, true, distance), bucket(encoder));
            QCOMPARE(relativeBucket(t5, true, -distance), bucket(encoder) + (distance > 0 ? 16 : 0));
            QCOMPARE(relativeBucket(t5, false, distance), bucket(decoder));
            QCOMPARE(relativeBucket(t5, false, -distance), 0);
        }
    }
};

HEADWISE_TEST(PositionsTest)
#include "positions_test.moc"
