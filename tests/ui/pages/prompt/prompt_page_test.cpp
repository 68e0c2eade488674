#include "ui/pages/prompt/prompt_page.h"

#include "core/analysis/catalogue.h"
#include "core/checkpoint/npy.h"
#include "core/model/families/layer_parts.h"
#include "core/model/forward.h"
#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "ui/base/theme.h"
#include "ui/charts/pattern_grid.h"
#include "ui/charts/prompt_text.h"
#include "ui/pages/parts/head_grid.h"

#include <QApplication>
#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>

#include <cstring>
#include <fstream>

using namespace headwise;
using namespace headwise::ui;
using namespace headwise::test;

namespace {

/// Writes the attention of one layer, all numbers different. \returns [heads, n, n]
std::vector<float> writePatterns(const QString& file, int heads, Eigen::Index n)
{
    std::vector<float> values(static_cast<std::size_t>(heads * n * n));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i % 97) / 97;
    std::string bytes = npyHeader("<f4", {heads, n, n});
    const std::size_t begin = bytes.size();
    bytes.resize(begin + values.size() * sizeof(float));
    std::memcpy(bytes.data() + begin, values.data(), values.size() * sizeof(float));
    std::ofstream(file.toStdString(), std::ios::binary) << bytes;
    return values;
}

} // namespace

class PromptPageTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { applyTheme(*qApp, ThemeMode::Light); }

    void everyHeadIsShownSmallAndTheChosenOneLarge()
    {
        OpenedPage<PromptPage> opened(HEADWISE_DEMO_MODEL);
        auto* heads = opened.find<PatternGrid>(QStringLiteral("Attention of every head"));
        auto* large = opened.find<HeatmapView>(QStringLiteral("Attention of the head"));
        QTRY_VERIFY(large->matrix());
        QTest::mouseClick(heads, Qt::LeftButton, {}, heads->tileRect({1, 5}).center().toPoint());
        QCOMPARE(opened.workspace.selection()->head(), (HeadId{1, 5}));
        const auto tokens = opened.workspace.model()->tokenizer()->encode(
            opened.find<QLineEdit>(QStringLiteral("Prompt"))->text().toStdString());
        QVERIFY(tokens);
        const auto run = forward<float>(opened.workspace.model()->circuits()->weights(), *tokens, Task{});
        QVERIFY(run);
        QCOMPARE(*large->matrix(), run->patterns[1][5]);
        QTest::keyClick(heads, Qt::Key_Left);
        QCOMPARE(opened.workspace.selection()->head(), (HeadId{1, 4}));
        QCOMPARE(*large->matrix(), run->patterns[1][4]);
        QTest::mouseClick(heads, Qt::RightButton, {}, heads->tileRect({0, 6}).center().toPoint());
        QVERIFY(!opened.workspace.selection()->reference());
        QTest::mouseClick(heads, Qt::LeftButton, Qt::ShiftModifier,
                          heads->tileRect({0, 7}).center().toPoint());
        QCOMPARE(opened.workspace.selection()->reference(), std::optional(HeadId{0, 7}));
        // Its numbers: layer, head, query, key, attention.
        const auto rows = dataRows(heads);
        const std::size_t n = tokens->size();
        QCOMPARE(rows.size(), 1 + 16 * n * n);
        QCOMPARE(rows[1 + (8 + 5) * n * n + 3 * n + 2].last().toFloat(), run->patterns[1][5](3, 2));
    }

    void theFirstTokenCanBeHidden()
    {
        OpenedPage<PromptPage> opened(HEADWISE_DEMO_MODEL);
        auto* large = opened.find<HeatmapView>(QStringLiteral("Attention of the head"));
        QTRY_VERIFY(large->matrix());
        opened.workspace.selection()->setHead({1, 5});
        const Eigen::MatrixXf all = *large->matrix();
        const Eigen::Index n = all.rows();
        auto* hide = opened.page.findChild<QCheckBox*>();
        hide->click();
        QCOMPARE(*large->matrix(), Eigen::MatrixXf(all.bottomRightCorner(n - 1, n - 1)));
        QCOMPARE(large->colors()->scale().high, all.bottomRightCorner(n - 1, n - 1).maxCoeff());
        const QString second = axisLabel(large->scene().rows, 0);
        QSignalSpy said(&opened.page, &Page::readOutChanged);
        QTest::mouseMove(large, large->cells().rect(0, 0).center().toPoint());
        QTRY_VERIFY(!said.isEmpty());
        QVERIFY2(said.last()[0].toString().startsWith(QStringLiteral("query 1 ") + second),
                 qPrintable(said.last()[0].toString()));
        const QJsonObject state = opened.page.viewState();
        hide->click();
        QCOMPARE(*large->matrix(), all);
        QCOMPARE(large->colors()->scale().high, 1.0F);
        opened.page.setViewState(state);
        QVERIFY(hide->isChecked());
    }

    // By hand for one head: α_ij ‖(x_j W_V + b_V) W_O‖, in everything that shows it.
    void attentionIsWeighedByValues()
    {
        OpenedPage<PromptPage> opened(HEADWISE_DEMO_MODEL);
        auto* large = opened.find<HeatmapView>(QStringLiteral("Attention of the head"));
        QTRY_VERIFY(large->matrix());
        opened.workspace.selection()->setHead({1, 5});
        const Eigen::MatrixXf plain = *large->matrix();
        auto* weigh = opened.find<QCheckBox>(QStringLiteral("value-weighted"));
        weigh->click();
        QTRY_VERIFY(*large->matrix() != plain);
        const ProcessedWeights& weights = opened.workspace.model()->circuits()->weights();
        const auto tokens = opened.workspace.model()->tokenizer()->encode(
            opened.find<QLineEdit>(QStringLiteral("Prompt"))->text().toStdString());
        const auto run = forward<double>(weights, *tokens, Task{});
        QVERIFY(run);
        const auto head = weights.head<double>({1, 5});
        for (Eigen::Index j = 0; j < plain.cols(); ++j) {
            const RowVector<double> x = normalized(weights.ln1<double>(1), run->residuals[1]).row(j);
            const RowVector<double> written = (x * head.W_V + head.b_V) * head.W_O;
            for (Eigen::Index i = 0; i < plain.rows(); ++i)
                QVERIFY(std::abs((*large->matrix())(i, j) - run->patterns[1][5](i, j) * written.norm())
                        < 1e-4 * (1 + written.norm()));
        }
        QCOMPARE(large->colors()->scale().high, large->matrix()->maxCoeff());
        QVERIFY(opened.page.figures().front()->figureTitle().startsWith(
            QStringLiteral("L1H5 value-weighted attention")));
        const QJsonObject state = opened.page.viewState();
        weigh->click();
        QTRY_COMPARE(*large->matrix(), plain);
        QCOMPARE(large->colors()->scale().high, 1.0F);
        opened.page.setViewState(state);
        QTRY_VERIFY(*large->matrix() != plain);
        QVERIFY(weigh->isChecked());
    }

    void aScoreIsAskedAboutByEnter()
    {
        OpenedPage<PromptPage> opened(HEADWISE_DEMO_MODEL);
        auto* large = opened.find<HeatmapView>(QStringLiteral("Attention of the head"));
        QTRY_VERIFY(large->matrix());
        QSignalSpy wanted(&opened.page, &PromptPage::scoreWanted);
        large->zoom()->setCurrentCell(5, 2);
        QTest::keyClick(large, Qt::Key_Return);
        QCOMPARE(wanted.count(), 1);
        QCOMPARE(wanted.last(),
                 (QVariantList{opened.find<QLineEdit>(QStringLiteral("Prompt"))->text(), 5, 2}));
        large->zoom()->setCurrentCell(2, 5); // a key that the query does not see
        QTest::keyClick(large, Qt::Key_Return);
        QCOMPARE(wanted.count(), 1);
        opened.page.findChild<QCheckBox*>()->click();
        QTest::mouseDClick(large, Qt::LeftButton, {}, large->cells().rect(3, 1).center().toPoint());
        QCOMPARE(wanted.count(), 2);
        QCOMPARE(wanted.last()[1].toInt(), 4);
        QCOMPARE(wanted.last()[2].toInt(), 2);
    }

    void theTextIsColouredByTheAttentionOfOneToken()
    {
        OpenedPage<PromptPage> opened(HEADWISE_DEMO_MODEL);
        auto* large = opened.find<HeatmapView>(QStringLiteral("Attention of the head"));
        auto* words =
            opened.find<PromptText>(QStringLiteral("The prompt, coloured by the attention of one token"));
        QTRY_VERIFY(large->matrix());
        opened.workspace.selection()->setHead({1, 5});
        const auto tokens = opened.workspace.model()->tokenizer()->encode(
            opened.find<QLineEdit>(QStringLiteral("Prompt"))->text().toStdString());
        const auto run = forward<float>(opened.workspace.model()->circuits()->weights(), *tokens, Task{});
        QVERIFY(run);
        const Eigen::MatrixXf& pattern = run->patterns[1][5];
        const int last = static_cast<int>(tokens->size()) - 1;
        QCOMPARE(words->tokens().size(), last + 1);
        QCOMPARE(words->tokens()[last], opened.workspace.model()->tokenText(tokens->back()));
        QCOMPARE(words->query(), last);
        QTest::mouseClick(words, Qt::LeftButton, {}, words->tokenRect(4).center().toPoint());
        QCOMPARE(words->query(), 4);
        QCOMPARE(large->zoom()->state().row, 4);
        QTest::mouseMove(words, words->tokenRect(6).center().toPoint());
        QTRY_COMPARE(words->query(), 6); // as long as the mouse is there
        QEvent leave(QEvent::Leave);
        QCoreApplication::sendEvent(words, &leave);
        QCOMPARE(words->query(), 4);
        const auto rows = dataRows(words);
        const QImage image = words->grab().toImage();
        for (int key = 0; key <= last; ++key) {
            QCOMPARE(rows[static_cast<std::size_t>(key) + 1].last().toFloat(), pattern(4, key));
            // The background, left of the letters.
            const QPointF place = words->tokenRect(key).topLeft() + QPointF(1.5, 8);
            if (key != 4) // it is framed
                QCOMPARE(image.pixel(place.toPoint()), colorOf(pattern(4, key), large->colors()->scale()));
        }
        QTest::keyClick(words, Qt::Key_Right);
        QCOMPARE(large->zoom()->state().row, 5);
        large->zoom()->setCurrentCell(2, 1);
        QCOMPARE(words->query(), 2);
        // A later token is not attended to, and the row of the matrix is that of the text.
        QCOMPARE(words->attention(2), pattern(2, 2));
        QCOMPARE(words->attention(last), 0.0F);
        opened.page.findChild<QCheckBox*>()->click();
        QCOMPARE(words->tokens().size(), last);
        QVERIFY(words->heightForWidth(200) > words->heightForWidth(2000));
    }

    void attentionOfAnotherProgramIsShown()
    {
        OpenedPage<PromptPage> opened(HEADWISE_DEMO_MODEL);
        auto* large = opened.find<HeatmapView>(QStringLiteral("Attention of the head"));
        QTRY_VERIFY(large->matrix());
        opened.workspace.selection()->setHead({1, 5});
        const Eigen::MatrixXf own = *large->matrix();
        const auto n = static_cast<std::size_t>(own.rows());
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("attention.npy"));
        const std::vector<float> values = writePatterns(file, 8, own.rows());
        opened.page.importPatterns(file);
        QTRY_VERIFY(*large->matrix() != own);
        auto* weigh = opened.find<QCheckBox>(QStringLiteral("value-weighted"));
        QVERIFY(!weigh->isEnabled()); // It was imported without values.
        QSignalSpy wanted(&opened.page, &PromptPage::scoreWanted);
        large->zoom()->setCurrentCell(5, 2);
        QTest::keyClick(large, Qt::Key_Return); // nor does it come from this model's scores
        QVERIFY(wanted.isEmpty());
        for (std::size_t query = 0; query < n; ++query)
            for (std::size_t key = 0; key < n; ++key)
                QCOMPARE((*large->matrix())(static_cast<int>(query), static_cast<int>(key)),
                         values[(5 * n + query) * n + key]);
        const QString title = opened.page.figures().first()->figureTitle();
        QVERIFY2(title.endsWith(QStringLiteral(", imported from attention.npy")), qPrintable(title));
        QCOMPARE(opened.page.figures().first()->provenance().back().second,
                 QStringLiteral("imported from attention.npy"));
        opened.workspace.selection()->setHead({0, 5}); // a layer that the file has not
        QVERIFY(large->matrix()->array().isNaN().all());
        const auto says = [&](const QString& words) {
            for (const QLabel* label : opened.page.findChildren<QLabel*>())
                if (label->text().contains(words))
                    return true;
            return false;
        };
        opened.page.importPatterns(folder.filePath(QStringLiteral("absent.npy")));
        QTRY_VERIFY(says(QStringLiteral("absent.npy")));
        opened.workspace.selection()->setHead({1, 5});
        for (QPushButton* button : opened.page.findChildren<QPushButton*>())
            if (button->text() == QStringLiteral("Run"))
                button->click();
        QTRY_COMPARE(*large->matrix(), own); // the model's own again
        QVERIFY(weigh->isEnabled());
    }

    /// Imported attention is saved in the session, and shown again without the file it came from.
    void importedAttentionIsKeptInTheSession()
    {
        const QTemporaryDir folder;
        const QString session = folder.filePath(QStringLiteral("kept.h5"));
        Eigen::MatrixXf imported;
        QJsonObject state;
        {
            OpenedPage<PromptPage> opened(HEADWISE_DEMO_MODEL);
            auto* large = opened.find<HeatmapView>(QStringLiteral("Attention of the head"));
            QTRY_VERIFY(large->matrix());
            opened.workspace.selection()->setHead({1, 5});
            const Eigen::MatrixXf own = *large->matrix();
            const QString file = folder.filePath(QStringLiteral("attention.npy"));
            writePatterns(file, 8, own.rows());
            QVERIFY(!opened.workspace.session()->isModified());
            opened.page.importPatterns(file);
            QTRY_VERIFY(*large->matrix() != own);
            QVERIFY(opened.workspace.model()->revision().isUnsaved());
            imported = *large->matrix();
            QVERIFY(QFile::remove(file));
            state = opened.page.viewState();
            QSignalSpy saved(opened.workspace.session(), &SessionFile::saved);
            opened.workspace.session()->save(session.toStdString(), {});
            QTRY_COMPARE(saved.size(), 1);
        }
        Workspace workspace;
        PromptPage page(&workspace);
        page.show();
        workspace.opener()->openSession(session.toStdString());
        QTRY_VERIFY(workspace.model()->circuits() && workspace.model()->tokens());
        const ResultArray* array = workspace.model()->results()->find("imported/attention");
        QVERIFY(array);
        const auto n = static_cast<std::size_t>(imported.rows());
        QCOMPARE(array->shape, (std::vector<std::size_t>{2, 8, n, n}));
        QCOMPARE(std::get<std::string>(array->attributes.at("file")), std::string("attention.npy"));
        workspace.selection()->setHead({1, 5});
        page.setViewState(state);
        const auto* large = page.findChild<HeatmapView*>();
        for (const auto* view : page.findChildren<HeatmapView*>())
            if (view->accessibleName() == QStringLiteral("Attention of the head"))
                large = view;
        QTRY_VERIFY(large->matrix() && *large->matrix() == imported);
        QVERIFY(
            page.figures().first()->figureTitle().endsWith(QStringLiteral(", imported from attention.npy")));
        // Run shows the model's own attention, which is then saved.
        for (QPushButton* button : page.findChildren<QPushButton*>())
            if (button->text() == QStringLiteral("Run"))
                button->click();
        QTRY_VERIFY(*large->matrix() != imported);
        QVERIFY(!workspace.session()->snapshot(QString())().results.find("imported/attention"));
    }

    void smallPatternsCanLeaveOutTheBeginning()
    {
        Eigen::MatrixXf pattern = Eigen::MatrixXf::Zero(5, 5);
        pattern.col(0).setConstant(0.9F);
        pattern(3, 2) = 0.4F;
        const Patterns small = smallPatterns({{pattern}}, 2, 1);
        QCOMPARE(small[0][0], (Eigen::MatrixXf(2, 2) << 0, 0, 0.4F, 0).finished());
        QCOMPARE(smallPatterns({{pattern}}, 2)[0][0](0, 0), 0.9F);
    }

    void theHeadsShareTheLogitOfTheLikeliestToken()
    {
        OpenedPage<PromptPage> opened(HEADWISE_DEMO_MODEL);
        auto* effects = opened.find<HeatmapView>(QStringLiteral("Effect of every head on the logit"));
        QTRY_VERIFY(effects->matrix());
        AnalysisOptions options;
        options.inputs.prompt = *opened.workspace.model()->tokenizer()->encode(
            opened.find<QLineEdit>(QStringLiteral("Prompt"))->text().toStdString());
        const auto results = findAnalysis("logit_attribution")
                                 ->run({*opened.workspace.model()->circuits(), nullptr, options}, Task{});
        QVERIFY(results);
        const auto& values =
            std::get<std::vector<float>>(results->find("analyses/logit_attribution/head")->values);
        for (int i = 0; i < 16; ++i)
            QCOMPARE((*effects->matrix())(i / 8, i % 8), values[static_cast<std::size_t>(i)]);
        QCOMPARE(opened.page.figures().size(), 4);
    }

    void aSmallPatternKeepsTheStrongestOfEveryBlock()
    {
        Eigen::MatrixXf pattern = Eigen::MatrixXf::Zero(10, 10);
        pattern(9, 0) = 0.25F;
        pattern(9, 8) = 0.75F;
        pattern(2, 2) = 1;
        const Patterns small = smallPatterns({{pattern}}, 4);
        Eigen::MatrixXf expected = Eigen::MatrixXf::Zero(4, 4);
        expected(3, 0) = 0.25F;
        expected(3, 3) = 0.75F;
        expected(0, 0) = 1;
        QCOMPARE(small[0][0], expected);
        QCOMPARE(smallPatterns({{pattern}}, 64)[0][0], pattern);
    }

    void withoutATokenizerAPromptIsIds()
    {
        OpenedPage<PromptPage> opened(HEADWISE_TEST_DATA "/models/stories260k");
        auto* prompt = opened.find<QLineEdit>(QStringLiteral("Prompt"));
        auto* large = opened.find<HeatmapView>(QStringLiteral("Attention of the head"));
        QVERIFY(prompt->isEnabled());
        QCOMPARE(prompt->text(), QStringLiteral("1 2 3 4 1 2 3 4")); // runs by itself
        QTRY_VERIFY(large->matrix() && large->matrix()->rows() == 8);
        const HeadId head = opened.workspace.selection()->head();
        for (const char* words : {"#3 #5 #113", "3, 5,113"}) {
            prompt->setText(QString::fromUtf8(words));
            const auto before = large->matrix();
            QTest::keyClick(prompt, Qt::Key_Return);
            QTRY_VERIFY(large->matrix() && large->matrix() != before);
            const std::vector<int> tokens{3, 5, 113};
            const auto run = forward<float>(opened.workspace.model()->circuits()->weights(), tokens, Task{});
            QVERIFY(run);
            QCOMPARE(
                *large->matrix(),
                run->patterns[static_cast<std::size_t>(head.layer)][static_cast<std::size_t>(head.head)]);
            QCOMPARE(axisLabel(large->scene().rows, 2), QStringLiteral("#113"));
        }
        // The message names the word at fault and the ids there are.
        for (const char* words : {"3 five", "3 512", "3 -1", "3 #"}) {
            prompt->setText(QString::fromUtf8(words));
            QTest::keyClick(prompt, Qt::Key_Return);
            const QString wrong = QString::fromUtf8(words).section(u' ', 1);
            QTRY_COMPARE(
                large->accessibleDescription(),
                QStringLiteral(
                    "'%1' is not a token id. This model has no tokenizer, so write ids from 0 to 511, separated by spaces.")
                    .arg(wrong));
            QVERIFY(opened.page.figures().isEmpty());
        }
    }
};

HEADWISE_TEST(PromptPageTest)
#include "prompt_page_test.moc"
