#include "core/io/tokenizer.h"

#include "tests/support/analysed.h"

#include <algorithm>
#include <cmath>

using namespace headwise;

namespace {

/// Results of the analyses whose pictures are looked at, on a model to which all of them apply.
ResultSet everything(const std::vector<std::string>& names, const Circuits& circuits)
{
    std::vector<std::string> words;
    for (int i = 0; i < circuits.config().dVocab; ++i)
        words.emplace_back(
            i < 4 ? std::vector<std::string>{" John", " Mary", " one", " two"}[static_cast<std::size_t>(i)]
                  : " word" + std::to_string(i));
    AnalysisOptions options;
    options.inputs.tokenizer = std::make_shared<const Tokenizer>(Tokenizer::fromVocabulary(words, words));
    return test::analysed(circuits, names, options);
}

bool isGrid(const ResultArray& array, const ModelConfig& config)
{
    return array.shape.size() == 2 && array.shape[0] == static_cast<std::size_t>(config.nLayers)
        && array.shape[1] == static_cast<std::size_t>(config.nHeads);
}

bool isPairs(const ResultArray& array)
{
    return array.shape.size() == 4 && array.axes[0] == "earlier layer" && array.axes[2] == "later layer";
}

/// Dimensions that are left of an array when it is cut at the selected head.
std::size_t leftOver(const ResultArray& array)
{
    if (array.axes.size() >= 2 && array.axes[0] == "layer" && array.axes[1] == "head")
        return array.shape.size() - 2;
    return array.shape.size() - (array.axes[0] == "analysed head" ? 1 : 0);
}

bool fits(const Picture& picture, const ResultArray& array, const ModelConfig& config)
{
    switch (picture.kind) {
    case Picture::Kind::HeadGrid:
    case Picture::Kind::Histogram:
    case Picture::Kind::HeadPlane: return isGrid(array, config);
    case Picture::Kind::HeadPairs:
    case Picture::Kind::Diagram: return isPairs(array);
    case Picture::Kind::Lines:
    case Picture::Kind::Bars: return leftOver(array) == 1 || leftOver(array) == 2;
    case Picture::Kind::Points: return leftOver(array) == 1;
    case Picture::Kind::Table: return leftOver(array) >= 1;
    default: return leftOver(array) == 2;
    }
}

} // namespace

/// What the pages of analyses show is there, and of the shape that their kind needs.
class PicturesTest : public QObject {
    Q_OBJECT

private slots:
    void picturesFindTheirArrays_data()
    {
        QTest::addColumn<QString>("id");
        for (const char* id : {"spectra", "eigenvalues", "copying", "matching", "previous_token",
                               "composition", "tables", "direct_path", "ranks", "diagonal_ranks",
                               "copy_suppression", "name_copying", "relations", "salient_tokens"})
            QTest::newRow(id) << id;
    }
    void picturesFindTheirArrays()
    {
        QFETCH(QString, id);
        const Circuits circuits = test::toyCircuits({});
        const Analysis* analysis = findAnalysis(id.toStdString());
        QVERIFY(analysis);
        QVERIFY(!analysis->pictures.empty());
        // matching is shown against copying, previous_token against the same on random tokens
        const ResultSet results =
            everything({id.toStdString(), "copying", "eigenvalues", "pattern_scores"}, circuits);
        for (const Picture& picture : analysis->pictures) {
            QVERIFY(!picture.title.empty());
            QVERIFY2(!picture.arrays.empty(), picture.title.c_str());
            for (const std::string& path : picture.arrays) {
                const ResultArray* array = results.find(path);
                QVERIFY2(array, path.c_str());
                QVERIFY2(fits(picture, *array, circuits.config()), (picture.title + ": " + path).c_str());
            }
        }
    }
};

QTEST_APPLESS_MAIN(PicturesTest)
#include "pictures_test.moc"
