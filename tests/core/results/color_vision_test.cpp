#include "core/results/color_vision.h"

#include "tests/support/program.h"

#include "core/results/color_maps.h"

#include <QTest>

#include <cmath>

using namespace headwise;

namespace {

constexpr std::array visions{ColorVision::Deuteranopia, ColorVision::Protanopia, ColorVision::Tritanopia};

Eigen::Vector3d linear(Rgb color)
{
    const auto channel = [color](unsigned shift) {
        const double x = double((color >> shift) & 0xFFU) / 255;
        return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
    };
    return {channel(16), channel(8), channel(0)};
}

int largestDifference(Rgb one, Rgb other)
{
    int most = 0;
    for (const unsigned shift : {0U, 8U, 16U})
        most = std::max(most, std::abs(int(one >> shift & 0xFFU) - int(other >> shift & 0xFFU)));
    return most;
}

} // namespace

class ColorVisionTest : public QObject {
    Q_OBJECT

private slots:
    void normalVisionSeesWhatIsThereAndEverybodySeesGreys()
    {
        QCOMPARE(simulated(0xFF12AB34U, ColorVision::Normal), 0xFF12AB34U);
        for (const ColorVision vision : visions)
            for (Rgb level = 0; level < 256; ++level) {
                const Rgb grey = 0xFF000000U | level * 0x010101U;
                QVERIFY(largestDifference(simulated(grey, vision), grey) <= 1);
            }
    }

    // By hand from the published matrices: the image of a primary is its column, as sRGB bytes, clamped.
    void primariesBecomeTheColumnsOfThePublishedMatrices()
    {
        const auto bytes = [](double r, double g, double b) {
            const auto encode = [](double x) {
                const double c = std::clamp(x, 0.0, 1.0);
                const double s = c <= 0.0031308 ? 12.92 * c : 1.055 * std::pow(c, 1 / 2.4) - 0.055;
                return static_cast<Rgb>(std::lround(255 * s));
            };
            return 0xFF000000U | encode(r) << 16U | encode(g) << 8U | encode(b);
        };
        QVERIFY(largestDifference(simulated(0xFFFF0000U, ColorVision::Deuteranopia),
                                  bytes(0.367322, 0.280085, -0.011820))
                <= 1);
        QVERIFY(largestDifference(simulated(0xFF00FF00U, ColorVision::Protanopia),
                                  bytes(1.052583, 0.786281, -0.048116))
                <= 1);
        QVERIFY(largestDifference(simulated(0xFF0000FFU, ColorVision::Tritanopia),
                                  bytes(-0.178779, 0.147602, 0.303900))
                <= 1);
        QCOMPARE(simulated(0xFFFF0000U, ColorVision::Deuteranopia), 0xFFA39000U);
    }

    void redAndGreenMeetWithoutOneOfTheirCones()
    {
        // Equally light red and green: far apart normally, and hardly apart in two of three simulations.
        const Rgb red = 0xFFC04040U;
        const Rgb green = 0xFF4C8040U;
        const auto apart = [&](ColorVision vision) {
            const Eigen::Vector3d a = linear(simulated(red, vision));
            const Eigen::Vector3d b = linear(simulated(green, vision));
            return (a - b).head<2>().norm();
        };
        QVERIFY(apart(ColorVision::Deuteranopia) < 0.5 * apart(ColorVision::Normal));
        QVERIFY(apart(ColorVision::Protanopia) < 0.5 * apart(ColorVision::Normal));
        QVERIFY(apart(ColorVision::Tritanopia) > 0.8 * apart(ColorVision::Normal));
    }

    void theSignsOfASignedMapStayApartForEverybody()
    {
        const ColorTable& table = colorTable(ColorMap::Signed);
        for (const ColorVision vision : visions)
            QVERIFY(largestDifference(simulated(table.front(), vision), simulated(table.back(), vision))
                    > 90);
    }
};

HEADWISE_TEST(ColorVisionTest)
#include "color_vision_test.moc"
