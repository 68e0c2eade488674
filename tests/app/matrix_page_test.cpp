#include "tests/support/program.h"

// The circuit of all tokens on the Matrix page, from opening the demo to a number under the mouse.

#include "app/window/main_window.h"
#include "app/window/page_tabs.h"
#include "core/analysis/inputs/token_counts.h"
#include "core/circuits/axis_order.h"
#include "core/circuits/block.h"
#include "core/results/entry_statistics.h"
#include "ui/base/job.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/pages/parts/page.h"

#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QSettings>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTest>

#include <algorithm>
#include <cmath>

using namespace headwise;
using namespace headwise::ui;

namespace {

class MatrixDriver {
public:
    app::MainWindow window;

    MatrixDriver()
    {
        window.resize(1360, 860);
        window.show();
        window.openDemo();
        auto* tabs = window.findChild<app::PageTabs*>();
        QTRY_VERIFY(window.workspace()->model()->tokens() != nullptr && tabs->isVisible());
        for (int i = 0; i < tabs->count(); ++i)
            if (tabs->tabText(i) == QLatin1String("Matrix"))
                tabs->setCurrentIndex(i);
        page = tabs->currentWidget()->findChild<Page*>();
        view = page->findChild<HeatmapView*>();
    }

    void choose(const QString& start)
    {
        for (auto* box : page->findChildren<QComboBox*>())
            for (int i = 0; i < box->count(); ++i)
                if (box->itemText(i).startsWith(start))
                    return box->setCurrentIndex(i);
        QFAIL(qPrintable(start));
    }

    void showAllTokens()
    {
        choose(QStringLiteral("full OV"));
        choose(QStringLiteral("all tokens"));
        QTRY_VERIFY(view->scene().tiles != nullptr);
    }

    Page* page = nullptr;
    HeatmapView* view = nullptr;
};

} // namespace

class MatrixPageTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        QStandardPaths::setTestModeEnabled(true);
        QCoreApplication::setOrganizationName(QStringLiteral("headwise-test-matrix"));
        QSettings().clear();
        applyTheme(*qApp, ThemeMode::Light);
    }

    void cleanupTestCase() { QVERIFY(waitForJobs(std::chrono::minutes(1))); }

    void allTokensAreShownAndReadExactly()
    {
        MatrixDriver driver;
        driver.showAllTokens();
        const int V = driver.window.workspace()->model()->card().dVocab;
        QCOMPARE(driver.view->scene().tiles->rows(), Eigen::Index{V});
        (void)driver.window.grab();
        QVERIFY2(driver.view->note().text().startsWith(QStringLiteral("each pixel: strongest of ")),
                 qPrintable(driver.view->note().text()));
        const HeadId head = driver.window.workspace()->selection()->head();
        const int row = 1234;
        const int column = 321;
        QSignalSpy readOut(driver.page, &Page::readOutChanged);
        driver.view->zoom()->setState(
            {.zoomX = 200, .zoomY = 200, .centerX = 321.5 / V, .centerY = 1234.5 / V});
        // Wider numbers at the colour bar leave less space for the picture.
        const auto keepsItsPlace = [&] {
            const QRectF before = driver.view->cells().rect(row, column);
            (void)driver.view->grab();
            return driver.view->cells().rect(row, column) == before;
        };
        QTRY_VERIFY(keepsItsPlace());
        QTest::mouseMove(driver.view, driver.view->cells().rect(row, column).center().toPoint());
        QTRY_VERIFY(!readOut.isEmpty() && !readOut.last().first().toString().isEmpty());
        const auto expected = circuitBlock(*driver.window.workspace()->model()->circuits(),
                                           driver.window.workspace()->model()->tokens().get(),
                                           {CircuitKind::FullOv, head}, {row}, {column});
        QVERIFY(expected);
        const QString shown = readOut.last().first().toString();
        QVERIFY2(shown.contains(signedNumber(double{(*expected)(0, 0)})), qPrintable(shown));
    }

    void theLimitsFitWhatIsShownInAnyWindow()
    {
        for (const QSize size : {QSize(1360, 860), QSize(1200, 700)}) {
            MatrixDriver driver;
            driver.window.resize(size);
            driver.showAllTokens();
            (void)driver.window.grab();
            const QString side = driver.view->note().text().section(u' ', 6, 6);
            const int level = static_cast<int>(std::log2(side.toInt()));
            const ValueStatistics shown =
                driver.view->content()->tileLoader()->statistics(Aggregate::Strongest, level);
            QVERIFY2(level > 1, qPrintable(driver.view->note().text()));
            QCOMPARE(driver.view->colors()->scale().high, fitted(driver.view->colors()->scale(), shown).high);
        }
    }

    void theLineUnderThePictureHasTheNumbersOfAllEntries()
    {
        MatrixDriver driver;
        QTRY_VERIFY(driver.view->matrix() != nullptr);
        const Circuits& circuits = *driver.window.workspace()->model()->circuits();
        const HeadId head = driver.window.workspace()->selection()->head();
        const Matrix<double> dense = circuits.ov(head).dense();
        const double mean = dense.mean(), deviation = std::sqrt((dense.array() - mean).square().mean());
        const auto says = [&](const QString& words) {
            for (const auto* label : driver.page->findChildren<QLabel*>())
                if (label->text().contains(words))
                    return true;
            return false;
        };
        const QString spread = QStringLiteral("deviation ") + number(deviation);
        QVERIFY(std::abs(mean) < 1e-12); // writing weights are centred
        QVERIFY(says(QStringLiteral("mean ") + signedNumber(0)));
        QVERIFY2(says(spread), qPrintable(spread));
        QVERIFY(says(QStringLiteral("from %1 to %2")
                         .arg(signedNumber(dense.minCoeff()), signedNumber(dense.maxCoeff()))));
        // All tokens, from the factors: the extremes are not known yet.
        driver.showAllTokens();
        const auto full = circuits.fullOv<float>(head, *driver.window.workspace()->model()->tokens());
        const double spreadOfAll = entryStatistics(full).deviation;
        QVERIFY(says(QStringLiteral("deviation ") + number(spreadOfAll)));
        QVERIFY(!says(QStringLiteral(", from ")));
    }

    void allTokensStandByClusterAndByCount()
    {
        MatrixDriver driver;
        driver.showAllTokens();
        Workspace& workspace = *driver.window.workspace();
        AnalysisInputs inputs = workspace.runs()->inputs();
        std::vector<double> counts(static_cast<std::size_t>(workspace.model()->card().dVocab), 1.0);
        counts[300] = 7;
        counts[17] = 5;
        inputs.tokenCounts = std::make_shared<const TokenCounts>("counts.csv", std::move(counts));
        workspace.runs()->setInputs(inputs);
        const auto firstRow = [&driver] { return driver.view->scene().rows.label(0); };
        driver.choose(QStringLiteral("by count"));
        QTRY_COMPARE(firstRow(), workspace.model()->tokenText(300));
        QCOMPARE(driver.view->scene().rows.label(1), workspace.model()->tokenText(17));
        driver.choose(QStringLiteral("by cluster"));
        const auto full = workspace.model()->circuits()->fullOv<float>(workspace.selection()->head(),
                                                                       *workspace.model()->tokens());
        const auto expected = axisOrders(full, AxisOrder::ByCluster);
        QVERIFY(expected);
        QTRY_COMPARE(firstRow(), workspace.model()->tokenText(expected->rows[0]));
    }

    void theChoicesOfThePageAreThoseOfThePicture()
    {
        MatrixDriver driver;
        driver.showAllTokens();
        driver.choose(QStringLiteral("mean"));
        QCOMPARE(driver.view->scene().aggregate, Aggregate::Mean);
        for (auto* box : driver.page->findChildren<QCheckBox*>())
            if (box->text() == QLatin1String("norms"))
                box->click();
        QVERIFY(driver.view->content()->hasNormBars());
        const QJsonObject state = driver.page->viewState();
        driver.choose(QStringLiteral("strongest"));
        driver.choose(QStringLiteral("tokens of a text"));
        QTRY_VERIFY(driver.view->matrix() != nullptr);
        driver.page->setViewState(state);
        QTRY_VERIFY(driver.view->scene().tiles != nullptr);
        QCOMPARE(driver.view->scene().aggregate, Aggregate::Mean);
        QVERIFY(driver.view->content()->hasNormBars());
    }

    void anotherHeadTakesItsPlaceWithoutABlankFrame()
    {
        MatrixDriver driver;
        driver.showAllTokens();
        const auto before = driver.view->scene().tiles;
        driver.window.workspace()->selection()->setHead({0, 2});
        QVERIFY(driver.view->scene().tiles == before); // Until the new one is there.
        QTRY_VERIFY(driver.view->scene().tiles && driver.view->scene().tiles != before);
        driver.choose(QStringLiteral("full QK"));
        QTRY_VERIFY(driver.view->scene().tiles && driver.view->scene().tiles != before);
    }

    void theDirectPathIsShownForTheTokensOfAText()
    {
        MatrixDriver driver;
        driver.choose(QStringLiteral("direct path"));
        QTRY_VERIFY(driver.view->matrix() != nullptr);
        const auto tokens = driver.window.workspace()->model()->tokens();
        const auto text = driver.page->findChild<QLineEdit*>();
        text->setText(QStringLiteral(" king the king of"));
        emit text->editingFinished();
        auto ids = *driver.window.workspace()->model()->tokenizer()->encode(" king the of",
                                                                            Tokenizer::SpecialTokens::None);
        const Eigen::MatrixXf expected = tokens->E.of<float>(ids) * tokens->W_U.of<float>(ids);
        QTRY_VERIFY(driver.view->matrix()->isApprox(expected, 1e-5F));
        driver.choose(QStringLiteral("by norm"));
        const auto norms = [&] { return Eigen::VectorXf(driver.view->matrix()->rowwise().norm()); };
        QTRY_VERIFY(norms()(0) >= norms()(1) && norms()(1) >= norms()(2));
        QVERIFY(
            driver.page->figures().front()->figureTitle().startsWith(QStringLiteral("direct path: E W_U")));
        for (const auto& [name, value] : driver.page->figures().front()->provenance())
            QVERIFY(name != QLatin1String("head")); // the direct path belongs to no head
        // The cell reached with the keys is read out, and Enter selects its token as a click does.
        driver.view->zoom()->setCurrentCell(1, 0);
        QSignalSpy readOut(driver.page, &Page::readOutChanged);
        QTest::keyClick(driver.view, Qt::Key_Right);
        QVERIFY(!readOut.isEmpty());
        const QString read = readOut.last().first().toString();
        QVERIFY2(read.contains(signedNumber(double{(*driver.view->matrix())(1, 1)}))
                     && read.endsWith(QStringLiteral("row 1 col 1")),
                 qPrintable(read));
        QTest::keyClick(driver.view, Qt::Key_Return);
        QCOMPARE(
            driver.window.workspace()->model()->tokenText(driver.window.workspace()->selection()->token()),
            driver.view->scene().rows.label(1));
    }

    // The head's attention between four words by their embeddings alone, which includes the scale and b_Q.
    void aSoftmaxOfFullQkIsThatOfTheScores()
    {
        MatrixDriver driver;
        const Workspace& workspace = *driver.window.workspace();
        auto* text = driver.page->findChild<QLineEdit*>();
        driver.choose(QStringLiteral("full QK"));
        text->setText(QStringLiteral(" king the of queen"));
        emit text->editingFinished();
        const auto ids =
            *workspace.model()->tokenizer()->encode(" king the of queen", Tokenizer::SpecialTokens::None);
        const HeadWeights<double> head =
            workspace.model()->circuits()->weights().head<double>(workspace.selection()->head());
        const Matrix<double> E = workspace.model()->tokens()->E.of<double>(ids);
        const auto softmax = [&](double scale, const RowVector<double>& b_Q) {
            const Matrix<double> q = (E * head.W_Q).rowwise() + b_Q;
            Matrix<double> rows =
                (q * (E * head.W_K).transpose() * scale).array().exp(); // b_K: the same for all keys
            for (Eigen::Index i = 0; i < rows.rows(); ++i)
                rows.row(i) /= rows.row(i).sum();
            return rows;
        };
        const double scale = 1 / std::sqrt(static_cast<double>(head.W_Q.cols()));
        const RowVector<double> none = RowVector<double>::Zero(head.b_Q.size());
        const auto shows = [&](const Matrix<double>& expected) {
            const auto& shown = driver.view->matrix();
            return shown && shown->rows() == expected.rows()
                && (shown->cast<double>() - expected).cwiseAbs().maxCoeff() < 1e-4;
        };
        const auto box = [&](const QString& name) {
            for (auto* found : driver.page->findChildren<QCheckBox*>())
                if (found->text() == name)
                    return found;
            return static_cast<QCheckBox*>(nullptr);
        };
        auto *scaled = box(QStringLiteral("scale")), *biased = box(QStringLiteral("biases"));
        QVERIFY(scaled && biased && !scaled->isChecked() && !biased->isChecked());
        driver.choose(QStringLiteral("softmax of rows"));
        QTRY_VERIFY(shows(softmax(scale, head.b_Q)));
        QVERIFY(!shows(softmax(1, none)) && !shows(softmax(scale, none)));
        QVERIFY(scaled->isChecked() && biased->isChecked());
        const auto says = [&](const QString& words) {
            const auto labels = driver.page->findChildren<QLabel*>();
            return std::any_of(labels.begin(), labels.end(),
                               [&](const QLabel* label) { return label->text().contains(words); });
        };
        QVERIFY(says(QStringLiteral("softmax of rows (attention scores")));
        scaled->click(); // the user's own choice stays
        QTRY_VERIFY(shows(softmax(1, head.b_Q)));
        QVERIFY(says(QStringLiteral("scores are not scaled")));
        const QJsonObject left = driver.page->viewState();
        driver.choose(QStringLiteral("z-scores of rows"));
        QVERIFY(!scaled->isChecked() && !biased->isChecked());
        driver.choose(QStringLiteral("full OV"));
        driver.choose(QStringLiteral("softmax of rows"));
        QVERIFY(!scaled->isChecked() && !biased->isChecked());
        driver.choose(QStringLiteral("full QK"));
        QTRY_VERIFY(shows(softmax(scale, head.b_Q)));
        driver.page->setViewState(left); // as saved: without the scale
        QTRY_VERIFY(shows(softmax(1, head.b_Q)));
    }

    void allTokensCanStandInAnotherOrder()
    {
        MatrixDriver driver;
        driver.showAllTokens();
        const auto before = driver.view->scene().tiles;
        driver.choose(QStringLiteral("by norm"));
        QTRY_VERIFY(driver.view->scene().tiles && driver.view->scene().tiles != before);
        const auto norm = [&](Eigen::Index row) {
            double squares = 0;
            for (Eigen::Index column = 0; column < driver.view->scene().tiles->cols(); ++column)
                squares += std::pow(double{driver.view->scene().tiles->at(row, column)}, 2);
            return squares;
        };
        QVERIFY(norm(0) >= norm(1) && norm(1) >= norm(50) && norm(50) > norm(1000));
        // Labels follow the new order.
        const auto inOrder = driver.view->scene().tiles;
        driver.choose(QStringLiteral("by letters"));
        QTRY_VERIFY(driver.view->scene().tiles != inOrder);
        QStringList names; // tokens of letters only
        for (int row = 0; row < 400; ++row) {
            const QString name = driver.view->scene().rows.label(row).remove(QChar(0x2423)).toCaseFolded();
            if (std::ranges::all_of(name, [](QChar letter) { return letter.isLetter(); }))
                names << name;
        }
        QVERIFY(names.size() > 200);
        QVERIFY2(std::ranges::is_sorted(names), qPrintable(names.join(u' ')));
    }
};

HEADWISE_TEST(MatrixPageTest)
#include "matrix_page_test.moc"
