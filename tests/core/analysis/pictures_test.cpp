#include "core/results/array_cut.h"
#include "tests/support/every_input.h"
#include "tests/support/program.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace headwise;

namespace {

ModelCard cardOf(const ModelConfig& config)
{
    ModelCard card;
    card.nLayers = config.nLayers;
    card.nHeads = config.nHeads;
    return card;
}

/// Number of dimensions that remain when an array is cut at the selected head, heads or layer.
std::size_t leftOver(const ResultArray& array, const ModelConfig& config)
{
    return array.shape.size() - headDimensions(headAxes(array, cardOf(config)));
}

bool fits(const Picture& picture, const ResultArray& array, const ModelConfig& config)
{
    const std::size_t left = leftOver(array, config);
    const HeadAxes heads = headAxes(array, cardOf(config));
    const bool isGrid = heads == HeadAxes::OneHead && array.shape.size() == 2;
    const bool isOfPairs = heads == HeadAxes::TwoHeads && array.shape.size() == 4;
    switch (picture.kind) {
    case Picture::Kind::HeadGrid:
    case Picture::Kind::Histogram:
    case Picture::Kind::HeadPlane: return isGrid;
    case Picture::Kind::HeadPairs: // or one row per head
        return isOfPairs || (heads == HeadAxes::OneHead && array.shape.size() == 3);
    case Picture::Kind::Diagram: return isOfPairs;
    case Picture::Kind::HeadMap:
        return heads == HeadAxes::OneHead && array.shape.size() == 3 && array.shape[2] == 2;
    case Picture::Kind::Points: return left == 1;
    case Picture::Kind::Matrix: return left >= 2;                       // boxes choose among the first ones
    case Picture::Kind::Table: return left >= 1 || isGrid || isOfPairs; // pairs are sorted
    case Picture::Kind::Bars: return left <= 2; // a number per array stands beside the others
    case Picture::Kind::Lines: return left <= 2;
    }
    return false;
}

/// A picture of lines needs an axis; single numbers are levels across it.
bool hasAnAxis(const Picture& picture, const std::vector<const ResultArray*>& arrays,
               const ModelConfig& config)
{
    return picture.kind != Picture::Kind::Lines
        || std::any_of(arrays.begin(), arrays.end(),
                       [&](const ResultArray* array) { return leftOver(*array, config) > 0; });
}

} // namespace

/// Every array that a picture shows exists, with the shape that its kind needs.
class PicturesTest : public QObject {
    Q_OBJECT

private slots:
    /// A title stands alone in a figure, without the pictures beside it.
    void titlesStandAlone()
    {
        for (const Analysis& analysis : catalogue())
            for (const Picture& picture : analysis.pictures)
                for (const char* start :
                     {"The same", "Its ", "By ", "Against ", "At ", "Both ", "Blocks", "From "})
                    QVERIFY2(!picture.title.starts_with(start), picture.title.c_str());
    }

    void picturesFindTheirArrays_data()
    {
        QTest::addColumn<QString>("id");
        for (const Analysis& analysis : catalogue())
            QTest::newRow(std::string(analysis.id).c_str())
                << QString::fromUtf8(analysis.id.data(), static_cast<qsizetype>(analysis.id.size()));
    }
    void picturesFindTheirArrays()
    {
        QFETCH(QString, id);
        const Analysis* analysis = findAnalysis(id.toStdString());
        QVERIFY(analysis);
        QVERIFY(!analysis->pictures.empty());
        for (const Picture& picture : analysis->pictures) {
            QVERIFY(!picture.title.empty());
            QVERIFY2(!picture.arrays.empty(), picture.title.c_str());
            for (const std::string& path : picture.arrays) {
                const auto has = [&](const auto& model) { return model.second.find(path) != nullptr; };
                QVERIFY2(std::any_of(test::everyArray().begin(), test::everyArray().end(), has),
                         (picture.title + ": " + path).c_str());
            }
            for (const auto& [circuits, results] : test::everyArray()) {
                std::vector<const ResultArray*> there;
                for (const std::string& path : picture.arrays)
                    if (const ResultArray* array = results.find(path))
                        there.push_back(array);
                for (const ResultArray* array : there)
                    QVERIFY2(fits(picture, *array, circuits.config()),
                             (picture.title + ": " + array->path).c_str());
                QVERIFY2(there.empty() || hasAnAxis(picture, there, circuits.config()),
                         picture.title.c_str());
            }
        }
    }

    /// A picture whose title names all heads is not cut at the selected one.
    void titlesThatNameAllHeadsShowThem()
    {
        int named = 0;
        for (const Analysis& analysis : catalogue()) {
            for (const Picture& picture : analysis.pictures) {
                if (picture.title.find("heads by ") == std::string::npos
                    || picture.kind != Picture::Kind::Matrix)
                    continue;
                for (const auto& [circuits, results] : test::everyArray()) {
                    const ResultArray* array = results.find(picture.arrays[0]);
                    if (!array)
                        continue;
                    ++named;
                    const auto heads = static_cast<std::size_t>(circuits.config().nLayers)
                        * static_cast<std::size_t>(circuits.config().nHeads);
                    QVERIFY2(headAxes(*array, cardOf(circuits.config())) != HeadAxes::OneHead
                                 && array->shape[0] == heads,
                             array->path.c_str());
                }
            }
        }
        QVERIFY(named > 0);
    }

    /// Tests the check itself, with the old map of energies, cut to the row of one head.
    void aMatrixOfOneRowDoesNotFit()
    {
        const auto& [circuits, results] = test::everyArray()[1];
        const ResultArray* energy = results.find("analyses/rotary/energy");
        const ResultArray* ofHeads = results.find("analyses/rotary/energy_of_heads");
        QVERIFY(energy && ofHeads);
        const Picture picture{.kind = Picture::Kind::Matrix, .title = {}, .arrays = {}};
        QVERIFY(!fits(picture, *energy, circuits.config()));
        QVERIFY(fits(picture, *ofHeads, circuits.config()));
    }
};

HEADWISE_TEST(PicturesTest)
#include "pictures_test.moc"
