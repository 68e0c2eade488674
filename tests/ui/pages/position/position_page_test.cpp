#include "ui/pages/position/position_page.h"

#include "core/circuits/position_scores.h"
#include "tests/support/family_model.h"
#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"
#include "ui/base/text.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/heatmaps/heatmap_view.h"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QSignalSpy>
#include <QTemporaryDir>

#include <cmath>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

namespace {

constexpr int seenPlaces = 331;

/// s_ij of every pair by its definition, row = query.
Matrix<double> scoresOf(const Workspace& workspace, HeadId head)
{
    const ProcessedWeights& weights = workspace.model()->circuits()->weights(); // norms are folded
    const auto h = weights.head<double>(head);
    Matrix<double> p = weights.W_pos<double>(0, seenPlaces);
    for (Eigen::Index i = 0; i < p.rows(); ++i) {
        p.row(i).array() -= p.row(i).mean();
        p.row(i) /= std::sqrt(p.row(i).array().square().mean() + weights.ln1<double>(head.layer).eps);
    }
    const Matrix<double> q = (p * h.W_Q).rowwise() + h.b_Q, k = (p * h.W_K).rowwise() + h.b_K;
    return q * k.transpose() * workspace.model()->circuits()->config().attentionScaleOf(head.layer);
}

/// Softmax of every row over its first `seen(row)` keys.
template <typename Seen>
Matrix<double> softmaxOf(const Matrix<double>& scores, const Seen& seen)
{
    Matrix<double> out = Matrix<double>::Zero(scores.rows(), scores.cols());
    for (Eigen::Index i = 0; i < scores.rows(); ++i) {
        out.row(i).head(seen(i)) = scores.row(i).head(seen(i)).array().exp();
        out.row(i) /= out.row(i).sum();
    }
    return out;
}

} // namespace

class PositionPageTest : public QObject {
    Q_OBJECT

private:
    using Opened = OpenedPage<PositionPage>;
    QTemporaryDir m_folder;
    std::filesystem::path m_learned, m_rotary;

    static HeatmapView* map(Opened& opened) { return opened.page.findChild<HeatmapView*>(); }

    static QCheckBox* mask(Opened& opened)
    {
        for (auto* box : opened.page.findChildren<QCheckBox*>())
            if (box->text() == QLatin1String("Causal mask"))
                return box;
        qFatal("there is no mask");
    }

    static bool shows(Opened& opened, const Matrix<double>& expected, bool isMasked)
    {
        const auto& cells = map(opened)->matrix();
        if (!cells || cells->rows() != expected.rows() || cells->cols() != expected.cols())
            return false;
        const double size = expected.cwiseAbs().maxCoeff();
        for (Eigen::Index i = 0; i < expected.rows(); ++i)
            for (Eigen::Index j = 0; j < expected.cols(); ++j) {
                const double shown = double{(*cells)(i, j)};
                if (isMasked && j > i ? !std::isnan(shown)
                                      : !(std::abs(shown - expected(i, j)) < 1e-5 * size))
                    return false;
            }
        return true;
    }

    static bool says(Opened& opened, const QString& words)
    {
        const auto labels = opened.page.findChildren<QLabel*>();
        return std::any_of(labels.begin(), labels.end(),
                           [&](const QLabel* label) { return label->text().contains(words); });
    }

private slots:
    void initTestCase()
    {
        m_learned = std::filesystem::path(m_folder.path().toStdString()) / "learned";
        ToyOptions toy;
        toy.nCtx = seenPlaces;
        writeToyModel(m_learned, toy);
        m_rotary = std::filesystem::path(m_folder.path().toStdString()) / "rotary";
        toy.positional = "rotary", toy.rotaryDim = 4, toy.dHead = 6;
        writeToyModel(m_rotary, toy);
    }

    void everyPositionIsOnTheMapAsAScoreOrAsAttention()
    {
        Opened opened(m_learned);
        opened.workspace.selection()->setHead({0, 2});
        const Matrix<double> scores = scoresOf(opened.workspace, {0, 2});
        QTRY_VERIFY(shows(opened, scores, true));
        QCOMPARE(map(opened)->accessibleName(), QStringLiteral("Scores of positions"));
        QVERIFY(says(opened, QStringLiteral("all 331 positions")));
        QSignalSpy readOut(&opened.page, &Page::readOutChanged);
        emit map(opened)->cellHovered(7, 5, map(opened)->scene().at(7, 5));
        QCOMPARE(readOut.last().first().toString(),
                 QStringLiteral("query 7 · key 5   %1").arg(number(map(opened)->scene().at(7, 5))));
        emit map(opened)->cellHovered(5, 7, map(opened)->scene().at(5, 7));
        QVERIFY(readOut.last().first().toString().endsWith(QStringLiteral("no data here")));
        QVERIFY(mask(opened)->isChecked());
        mask(opened)->click();
        QTRY_VERIFY(shows(opened, scores, false));
        auto* shown = opened.find<QComboBox>(QStringLiteral("Values of the map of positions"));
        shown->setCurrentIndex(shown->findText(QStringLiteral("attention (softmax)")));
        const auto all = [](Eigen::Index) { return Eigen::Index(seenPlaces); };
        const auto causal = [](Eigen::Index query) { return query + 1; };
        QTRY_VERIFY(shows(opened, softmaxOf(scores, all), false));
        mask(opened)->click();
        QTRY_VERIFY(shows(opened, softmaxOf(scores, causal), false));
        QCOMPARE(map(opened)->accessibleName(), QStringLiteral("Attention of positions"));
        QVERIFY(opened.page.figures().front()->figureTitle().startsWith(
            QStringLiteral("L0H2 Attention of positions")));
    }

    void theLineHasEveryOffsetItsBandAndItsNull()
    {
        Opened opened(m_learned);
        opened.workspace.selection()->setHead({1, 0});
        auto* chart = opened.find<LineChart>(QStringLiteral("Mean score by offset"));
        Matrix<double> centred = scoresOf(opened.workspace, {1, 0});
        for (Eigen::Index i = 0; i < seenPlaces; ++i)
            centred.row(i).array() -= centred.row(i).head(i + 1).mean();
        const double size = centred.cwiseAbs().maxCoeff();
        QTRY_VERIFY(!chart->series().empty()
                    && std::abs(chart->series()[0].points[0].y() - centred.diagonal().mean()) < 1e-5 * size);
        const ChartSeries& line = chart->series()[0];
        QVERIFY(line.hasBand && line.points.size() == seenPlaces && line.errors.size() == seenPlaces);
        for (int offset = 0; offset < seenPlaces; ++offset) {
            const Eigen::ArrayXd diagonal = centred.diagonal(-offset);
            const double deviation = std::sqrt((diagonal - diagonal.mean()).square().mean());
            QCOMPARE(line.points[offset].x(), double(offset));
            QVERIFY(std::abs(line.points[offset].y() - diagonal.mean()) < 1e-5 * size);
            QVERIFY(std::abs(double{line.errors[static_cast<std::size_t>(offset)]} - deviation)
                    < 1e-5 * size);
        }
        QCOMPARE(chart->baselines().size(), std::size_t(1));
        QCOMPARE(chart->baselines()[0].y, 0.0);
        chart->setRange({0, -1, 20, 2}); // another picture of the same head keeps the visible range
        const auto before = map(opened)->matrix();
        mask(opened)->click();
        QTRY_VERIFY(map(opened)->matrix() != before);
        QCOMPARE(chart->range(), QRectF(0, -1, 20, 2));
    }

    void whatIsShownIsKept()
    {
        Opened opened(m_learned);
        mask(opened)->click();
        opened.find<QComboBox>(QStringLiteral("Values of the map of positions"))->setCurrentIndex(1);
        const QJsonObject state = opened.page.viewState();
        Opened other(m_learned);
        other.page.setViewState(state);
        QCOMPARE(other.page.viewState()[QStringLiteral("shown")].toInt(), 1);
        QVERIFY(!mask(other)->isChecked());
        other.page.setViewState({}); // from a session without this choice
        QVERIFY(mask(other)->isChecked());
    }

    /// The number that a head adds by distance is a map and a line, of T5's encoder also for later keys.
    void aLearnedBiasByDistanceIsShown()
    {
        const auto path = writeFamily(std::filesystem::path(m_folder.path().toStdString()) / "t5",
                                      familyModel("t5, encoder"));
        Opened opened(path);
        opened.workspace.selection()->setHead({1, 2});
        const ModelConfig& config = opened.workspace.model()->circuits()->config();
        const Matrix<double> table =
            opened.workspace.model()->circuits()->weights().original().read<double>(TensorKind::b_rel);
        Matrix<double> bias(config.nCtx, config.nCtx);
        for (int query = 0; query < config.nCtx; ++query)
            for (int key = 0; key < config.nCtx; ++key)
                bias(query, key) = table(relativeBucket(config.relativeBias, true, query - key), 2);
        QTRY_VERIFY(shows(opened, bias, false));
        QVERIFY(bias(0, 5) != bias(5, 0));
        auto* chart = opened.find<LineChart>(QStringLiteral("Mean score by offset"));
        QTRY_COMPARE(chart->series().size(), std::size_t(1));
        QCOMPARE(chart->series()[0].points.size(), config.nCtx);
        QVERIFY(std::abs(chart->series()[0].points[7].y() - bias(7, 0)) < 1e-6);
        QVERIFY(says(opened, QStringLiteral("adds to a score by distance")));
    }

    void rotaryPositionsHaveNoMap()
    {
        Opened opened(m_rotary);
        auto* chart = opened.find<LineChart>(QStringLiteral("Mean score by offset"));
        QTRY_VERIFY(!chart->series().empty());
        QVERIFY(!map(opened)->isVisible() && !mask(opened)->isVisible());
        QVERIFY(chart->series()[0].errors.empty() && chart->baselines().empty());
    }
};

HEADWISE_TEST(PositionPageTest)
#include "position_page_test.moc"
