#include "core/analysis/comparison/direction_match.h"
#include "core/base/decompositions.h"
#include "core/circuits/singular_directions.h"
#include "core/circuits/subspace.h"
#include "tests/support/dense_algebra.h"
#include "tests/support/figure_files.h"
#include "tests/support/journey_export.h"
#include "tests/support/journey_steps.h"
#include "tests/support/patched_model.h"
#include "tests/support/program.h"
#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"

#include <QSlider>

#include <algorithm>
#include <cstdlib>

using namespace headwise;
using namespace headwise::test;
using ui::HeatmapView;
using ui::text;

namespace {

/// Copies a model with the sign of a part of one head's W_O flipped, as training might change it.
bool copyWithOtherHead(const std::filesystem::path& from, const QString& to, const char* tensor, HeadId head,
                       int headsInLayer)
{
    return copyPatched(text(from.string()), to, QLatin1String(tensor), [&](QByteArray& bytes) {
        const qsizetype ofHead = bytes.size() / headsInLayer, first = head.head * ofHead;
        // the sign bytes of little-endian floats
        for (qsizetype i = first + 3; i < first + ofHead / 4; i += 4)
            bytes[i] = static_cast<char>(bytes[i] ^ '\x80');
    });
}

} // namespace

class CircuitQuestionsTest : public QObject {
    Q_OBJECT

private slots:
    void compositionLeadsFromTheMapToTwoHeads_data() { addJourneyModels(); }
    void compositionLeadsFromTheMapToTwoHeads()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        Journey journey(QStringLiteral("j8-") + QLatin1String(QTest::currentDataTag()));
        openModel(journey, folderOf(which));
        // J8: one click on the tab, which shows keys first. The scores are computed without a request.
        journey.begin();
        journey.openTab(QStringLiteral("Composition"));
        auto* map = journey.named<HeatmapView>(QStringLiteral("K-composition minus the baseline 1/√d_model"));
        journey.waitFor([&] { return map->scene().rowCount() > 0; }, QStringLiteral("the scores"));
        QVERIFY(journey.tookGestures(2, 8s));
        const QString link = QStringLiteral("L0H2 → L1H5");
        const QString words = readOut(journey, map, 2, 5);
        QVERIFY2(words.contains(link), qPrintable(words));
        const Circuits circuits = circuitsIn(folderOf(which));
        const Matrix<double> writes = dense(circuits.ov({0, 2})), reading = dense(circuits.qk({1, 5}));
        const double expected = (writes * reading.transpose()).norm() / (writes.norm() * reading.norm());
        QVERIFY(reads(numberAfter(words, link), expected));
        // Lines separate the layers.
        const int heads = which == JourneyModel::Demo ? 8 : 12;
        if (map->scene().rowCount() > heads) {
            const QRectF next = map->cells().rect(heads, heads);
            const QImage drawn = map->grab().toImage();
            // In a row that the mouse did not light.
            const QPoint onLine(static_cast<int>(next.left()),
                                static_cast<int>(map->cells().rect(6, 5).center().y()));
            const QPoint around(3, 0);
            const auto fromLine =
                [&](int x) { // how far a pixel is from a line's colour, which fades where lines are dense
                    const QColor color = drawn.pixelColor(x, onLine.y()), line = ui::lightColors().muted;
                    return std::abs(color.red() - line.red()) + std::abs(color.green() - line.green())
                        + std::abs(color.blue() - line.blue());
                };
            const int nearest = std::min(fromLine(onLine.x() - 1), fromLine(onLine.x()));
            QVERIFY(nearest < fromLine((onLine + around).x()) && nearest < fromLine((onLine - around).x()));
        }
        // B: with and without subtracting the score of random heads.
        const double baseline = 1 / std::sqrt(static_cast<double>(writes.rows()));
        QVERIFY(reads(static_cast<double>(map->scene().at(2, 5)), expected - baseline));
        journey.click(QStringLiteral("minus the baseline"));
        QVERIFY(reads(static_cast<double>(map->scene().at(2, 5)), expected));
        QTest::keyClick(journey.named<QSlider>(QStringLiteral("Percentile cutoff")), Qt::Key_End);
        QVERIFY(journey.shows(QStringLiteral("the strongest 1 %")));
        QTest::keyClick(journey.named<QSlider>(QStringLiteral("Percentile cutoff")), Qt::Key_Home);
        journey.openTab(QStringLiteral("Wiring"));
        journey.named(QStringLiteral("K-composition, strongest pairs"));
        const QString drawn = journey.labelWith(QStringLiteral("pairs of at least"));
        QVERIFY2(numberAfter(drawn, QStringLiteral("at least")) > 0, qPrintable(drawn));
        journey.openTab(QStringLiteral("Map"));
        journey.click(QStringLiteral("Against chance")); // z of every pair
        journey.waitForRest();
        const double z = zOf(circuits, {0, 2}, {1, 5});
        const QString withZ = readOut(journey, map, 2, 5);
        QVERIFY2(std::abs(numberAfter(withZ, QStringLiteral("   z")) - z) < 0.006 * std::abs(z) + 1e-3,
                 qPrintable(withZ + QString::number(z)));
        readThePair(journey, map, circuits);
        exportMap(journey, map);
        // A double click shows both heads side by side.
        QTest::mouseDClick(map, Qt::LeftButton, {}, placeOf(map, 2, 5));
        journey.waitFor([&] { return journey.shows(QStringLiteral("cosine of")); },
                        QStringLiteral("the pair"));
        QVERIFY(journey.shows(QStringLiteral("L1H5")) && journey.shows(QStringLiteral("L0H2")));
        const Matrix<double> other = dense(circuits.ov({1, 5}));
        const double cosine = writes.cwiseProduct(other).sum() / (writes.norm() * other.norm());
        const QString numbers = journey.labelWith(QStringLiteral("cosine of"));
        QVERIFY(reads(numberAfter(numbers, QStringLiteral("cosine of OV")), cosine));
        journey.waitForRest();
    }

    void aFineTunedModelIsComparedHeadByHead_data() { addJourneyModels(); }
    void aFineTunedModelIsComparedHeadByHead()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        const bool isDemo = which == JourneyModel::Demo;
        const HeadId changed = isDemo ? HeadId{1, 3} : HeadId{7, 4};
        const QTemporaryDir newer;
        QVERIFY(copyWithOtherHead(folderOf(which), newer.path(),
                                  isDemo ? "blocks.1.attn.W_O" : "h.7.attn.c_proj.weight", changed,
                                  isDemo ? 8 : 12));
        Journey journey(QStringLiteral("j12-") + QLatin1String(QTest::currentDataTag()));
        openModelOrSession(journey, which);
        journey.begin();
        journey.drop(journey.window(), {newer.path()}, Qt::AltModifier); // J12: one gesture
        auto* heads = journey.named<QTableView>(QStringLiteral("Heads by change"));
        QVERIFY(journey.tookGestures(2, 5s));
        QCOMPARE(cell(heads, 0, 0), text(changed));
        const Circuits older = circuitsIn(folderOf(which)), later = circuitsIn(newer.path().toStdString());
        const Matrix<double> before = dense(older.ov(changed)), after = dense(later.ov(changed));
        QVERIFY(reads(numberIn(heads, 0, 1), (after - before).norm() / before.norm()));
        QCOMPARE(numberIn(heads, 1, 1), 0.0); // the others are unchanged
        clickRow(heads, 0);
        const auto* tokens = journey.named<QTableView>(QStringLiteral("Tokens that left and entered"));
        QVERIFY(journey.shows(text(changed) + QStringLiteral(": tokens that left and entered")));
        QVERIFY(!cell(tokens, 0, 2).isEmpty());
        showIntruders(journey, changed, older, later);
        journey.waitForRest();
    }

private:
    /// (s² − 1/d) over its deviation for random singular vectors of both circuits.
    static double zOf(const Circuits& circuits, HeadId earlier, HeadId later)
    {
        const auto squaresOf = [](const FactoredMatrix<double>& circuit) {
            const auto sigma = circuit.singularValues();
            Eigen::VectorXd squares(std::ssize(*sigma));
            for (Eigen::Index i = 0; i < squares.size(); ++i)
                squares(i) = std::pow((*sigma)[static_cast<std::size_t>(i)], 2);
            return squares;
        };
        const Eigen::VectorXd a = squaresOf(circuits.ov(earlier)), b = squaresOf(circuits.qk(later));
        const Matrix<double> writes = dense(circuits.ov(earlier)), reading = dense(circuits.qk(later));
        const double score = (writes * reading.transpose()).norm() / (writes.norm() * reading.norm());
        const Moments null = overlapMoments(a.squaredNorm() / std::pow(a.sum(), 2),
                                            b.squaredNorm() / std::pow(b.sum(), 2), writes.rows());
        return (score * score - null.mean) / null.deviation;
    }

    /// A click on a cell shows both heads, the angles between the written and the read subspace, and the rank-1 parts.
    static void readThePair(Journey& journey, HeatmapView* map, const Circuits& circuits)
    {
        QTest::mouseClick(map, Qt::LeftButton, {}, placeOf(map, 2, 5));
        const QString title = QStringLiteral("L0H2 → L1H5, K-composition");
        journey.waitFor([&] { return journey.shows(title); }, title);
        const HeadWeights<double> from = circuits.weights().head<double>({0, 2});
        const HeadWeights<double> to = circuits.weights().head<double>({1, 5});
        const Matrix<double> written = from.W_O.transpose();
        const Matrix<double> q = orthonormalBasis(written);
        const Matrix<double> k = orthonormalBasis(to.W_K);
        const auto cosines = singularValues(q.transpose() * k);
        QVERIFY(isOk(cosines));
        const double smallest = std::acos((*cosines)(0)) * 180 / std::acos(-1.0);
        const QString words = journey.labelWith(title);
        QVERIFY2(reads(numberAfter(words, QStringLiteral("smallest angle")), smallest), qPrintable(words));
        const auto product = circuits.ov({0, 2}).times(circuits.qk({1, 5}).transposed());
        QVERIFY(isOk(product));
        const auto sigma = product->singularValues();
        QVERIFY(isOk(sigma));
        const double norm = product->frobeniusNorm();
        const auto share = [&](std::size_t part) { return std::pow((*sigma)[part] / norm, 2); };
        QVERIFY(reads(numberAfter(words, QStringLiteral("first rank-1 part is")), 100 * share(0)));
        auto* parts = journey.named<ui::LineChart>(QStringLiteral("Rank-1 parts of the pair"));
        QVERIFY(parts);
        journey.waitForRest(); // and for the text above it, which moves
        const QString second = readOutAt(journey, parts, parts->positionOf({2, share(1)}).toPoint());
        QVERIFY2(reads(numberAfter(second, QStringLiteral("part 2")), 100 * share(1)), qPrintable(second));
    }

    static void exportMap(Journey& journey, HeatmapView* map)
    {
        QTest::mouseClick(map, Qt::LeftButton, {}, placeOf(map, 2, 5));
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("map.svg"));
        journey.keys(QStringLiteral("Ctrl+E"));
        choose(journey.named<QComboBox>(QStringLiteral("Format")), QStringLiteral("SVG"));
        exportTo(journey, file);
        const Svg svg = readSvg(contents(file));
        const QString words = svg.texts.join(u' ');
        QVERIFY2(words.contains(QStringLiteral("K-composition")), qPrintable(words));
        QVERIFY2(words.contains(QStringLiteral("earlier head, writes")), qPrintable(words));
        // Few cells are exported as rectangles, many as one picture with a pixel for each.
        QCOMPARE(svg.images.size(), map->scene().rowCount() * map->scene().columnCount() > 1600 ? 1 : 0);
        for (const auto& image : svg.images)
            QVERIFY(image.value(QStringLiteral("style")).contains(u"pixelated")
                    || image.value(QStringLiteral("image-rendering")) == u"pixelated");
    }

    /// Compares each new direction with every old one.
    static void showIntruders(Journey& journey, HeadId changed, const Circuits& older, const Circuits& newer)
    {
        auto* matrix =
            wheelTo<HeatmapView>(journey, journey.named<QTableView>(QStringLiteral("Heads by change")),
                                 QStringLiteral("OV, written directions, new and old"));
        QVERIFY(matrix);
        journey.waitFor([&] { return matrix->scene().rowCount() > 0; }, QStringLiteral("the cosines"));
        const auto a = singularDirections(older, CircuitKind::Ov, changed);
        const auto b = singularDirections(newer, CircuitKind::Ov, changed);
        QVERIFY(isOk(a) && isOk(b));
        QCOMPARE(matrix->scene().columnCount(), a->V.cols());
        const auto blocksOf = [&](const auto& svd) {
            const std::vector<double> sigma(svd.S.begin(), svd.S.end());
            return degenerateBlocks(sigma, numericalRank(sigma, static_cast<int>(svd.V.rows())));
        };
        const Matrix<double> cosines = directionMatches(b->V.transpose() * a->V, blocksOf(*b), blocksOf(*a));
        Eigen::Index best = 0;
        cosines.row(1).maxCoeff(&best);
        const QString words = readOut(journey, matrix, 1, static_cast<int>(best));
        QVERIFY2(reads(numberAfter(words, QStringLiteral("   ")), cosines(1, best)), qPrintable(words));
    }
};

HEADWISE_TEST_MAIN(CircuitQuestionsTest, runJourneys<CircuitQuestionsTest>)
#include "circuit_questions_test.moc"
