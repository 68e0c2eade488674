#include "core/analysis/inputs/token_counts.h"
#include "tests/support/analysed.h"
#include "tests/support/program.h"
#include "tests/support/result_page_driver.h"
#include "ui/document/array_part.h"
#include "ui/document/workspace_state.h"
#include "ui/pages/analyses/analysis_form.h"

#include <QFile>
#include <QLineEdit>
#include <QPushButton>
#include <QToolButton>

using namespace headwise;
using namespace headwise::ui;

/// Inputs of an analysis, chosen on its page: files, heads, tokens.
class ResultInputsTest : public QObject, test::ResultPageDriver {
    Q_OBJECT

private slots:
    void relationsAreReadFromAFileAndAFaultIsSaid()
    {
        openDemo();
        auto* form = m_page->findChild<AnalysisForm*>();
        QFile file(m_folder.filePath(QStringLiteral("capitals.csv")));
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write("France,Paris\nItaly,Rome\n") > 0);
        file.close();
        auto* texts = m_page->findChild<TextInputs*>();
        texts->load(TextInputs::Relations, file.fileName());
        QTRY_COMPARE(m_workspace->runs()->inputs().relations.size(), std::size_t{1});
        QCOMPARE(m_workspace->runs()->inputs().relations[0].pairs.size(), std::size_t{2});
        texts->load(TextInputs::Relations, m_folder.filePath(QStringLiteral("nowhere.csv")));
        QTRY_VERIFY(m_workspace->runs()->inputs().relations.empty());
        bool said = false;
        for (const QLabel* label : form->findChildren<QLabel*>())
            said = said || label->text().contains(QStringLiteral("nowhere.csv"));
        QVERIFY(said);
    }

    // Counts come from a file and survive another reading of the fields. They make earlier results outdated, and a click
    // removes them.
    void countsOfATextAreReadFromAFile()
    {
        openDemo();
        m_page->showAnalysis("diagonal_ranks");
        auto* texts = m_page->findChild<TextInputs*>();
        QLabel* tokens = labelled(QStringLiteral("Token counts"));
        QLabel* bigrams = labelled(QStringLiteral("Bigram counts"));
        QVERIFY(texts && tokens && tokens->isVisible() && bigrams && !bigrams->isVisible());
        QCOMPARE(tokens->text(), QStringLiteral("unknown"));
        m_workspace->runs()->runAnalysis("diagonal_ranks");
        QTRY_VERIFY(m_workspace->model()->results()->find("analyses/diagonal_ranks/sample"));
        QVERIFY(!says(QStringLiteral("Run the analysis again")));
        QFile file(m_folder.filePath(QStringLiteral("counts.csv")));
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write("token,count\n#5,7\n#6,3\nno such,1\n") > 0);
        file.close();
        texts->load(TextInputs::Tokens, file.fileName());
        QTRY_VERIFY(m_workspace->runs()->inputs().tokenCounts);
        QCOMPARE(m_workspace->runs()->inputs().tokenCounts->of(5), 7.0);
        QCOMPARE(tokens->text(), QStringLiteral("counts.csv: 10 occurrences"));
        QVERIFY(says(QStringLiteral("1 of the 3 words")));
        m_page->findChild<AnalysisForm*>()->setSeed(3);
        m_page->findChild<AnalysisForm*>()->setSeed(0);
        QVERIFY(m_workspace->runs()->inputs().tokenCounts);
        m_page->showAnalysis("copying");
        QVERIFY(!tokens->isVisible());
        m_page->showAnalysis("diagonal_ranks");
        QTRY_VERIFY(says(QStringLiteral("Run the analysis again")));
        texts->load(TextInputs::Tokens, m_folder.filePath(QStringLiteral("nowhere.csv")));
        QTRY_VERIFY(!m_workspace->runs()->inputs().tokenCounts);
        QVERIFY(says(QStringLiteral("nowhere.csv")));
        QCOMPARE(tokens->text(), QStringLiteral("unknown"));
        texts->load(TextInputs::Tokens, file.fileName());
        QTRY_VERIFY(m_workspace->runs()->inputs().tokenCounts);
        for (auto* button : m_page->findChildren<QPushButton*>())
            if (button->accessibleName() == QLatin1String("Token counts: none"))
                button->click();
        QVERIFY(!m_workspace->runs()->inputs().tokenCounts);
    }

    void pairsAndWordsAreReadFromFiles()
    {
        openDemo();
        m_page->showAnalysis("detokenization");
        auto* texts = m_page->findChild<TextInputs*>();
        QLabel* bigrams = labelled(QStringLiteral("Bigram counts"));
        QVERIFY(bigrams->isVisible());
        const auto written = [this](const char* name, const QByteArray& text) {
            QFile file(m_folder.filePath(QLatin1String(name)));
            return file.open(QIODevice::WriteOnly) && file.write(text) > 0 ? file.fileName() : QString();
        };
        texts->load(TextInputs::Bigrams, written("pairs.csv", "#5,#6,2\n#7,#6,1\n"));
        texts->load(TextInputs::Names, written("words.txt", "Anna\nOtto\n"));
        QTRY_VERIFY(m_workspace->runs()->inputs().bigramCounts
                    && !m_workspace->runs()->inputs().names.empty());
        QCOMPARE(m_workspace->runs()->inputs().bigramCounts->of(7, 6), 1.0);
        QCOMPARE(bigrams->text(), QStringLiteral("pairs.csv: 2 pairs"));
        QCOMPARE(m_workspace->runs()->inputs().names, (std::vector<std::string>{"Anna", "Otto"}));
        QCOMPARE(labelled(QStringLiteral("Words"))->text(), QStringLiteral("words.txt: 2 words"));
        open(HEADWISE_DEMO_MODEL); // another workspace knows none
        QVERIFY(!m_workspace->runs()->inputs().bigramCounts);
    }

    void headsKnownToAttendToThePreviousTokenAreMarked()
    {
        openDemo();
        m_page->showAnalysis("induction");
        auto* form = m_page->findChild<AnalysisForm*>();
        QLineEdit* marked = nullptr;
        for (auto* edit : form->findChildren<QLineEdit*>())
            if (edit->accessibleName() == QLatin1String("Heads known to attend to the previous token"))
                marked = edit;
        QVERIFY(marked && marked->isVisible());
        QTest::keyClicks(marked, QStringLiteral("0.1, 0.4"));
        QTest::keyClick(marked, Qt::Key_Return);
        QCOMPARE(m_workspace->runs()->inputs().previousTokenHeads, (std::vector<HeadId>{{0, 1}, {0, 4}}));
        marked->selectAll();
        QTest::keyClicks(marked, QStringLiteral("0.1 7.7"));
        QTest::keyClick(marked, Qt::Key_Return);
        QVERIFY(m_workspace->runs()->inputs().previousTokenHeads.empty());
        bool said = false;
        for (const QLabel* label : form->findChildren<QLabel*>())
            said = said || label->text().contains(QStringLiteral("'7.7' is not a head"));
        QVERIFY(said);
        m_page->showAnalysis("copying");
        QVERIFY(!marked->isVisible());
    }

    void headsAreChosenAndTheOthersAreNotShown()
    {
        openDemo();                               // L1H5
        const auto listed = [this](HeadId head) { // by the core, asked about that head alone
            AnalysisContext context{*m_workspace->model()->circuits(), m_workspace->model()->tokens(),
                                    m_workspace->runs()->analysisOptions()};
            context.options.heads = {head};
            auto found = findAnalysis("largest_entries")->run(context, Task{});
            return headSeries(found->find("analyses/largest_entries/full_ov_values"), head);
        };
        const auto shown = [this](HeadId head) {
            return headSeries(array("analyses/largest_entries/full_ov_values"), head);
        };
        const auto isMissing = [](const std::vector<double>& series) {
            return std::ranges::all_of(series, [](double value) { return std::isnan(value); });
        };
        m_page->showAnalysis("largest_entries");
        auto* which = field<QComboBox>(QStringLiteral("Selected or listed heads"));
        auto* list = field<QLineEdit>(QStringLiteral("Heads to analyse"));
        QVERIFY(which && which->isVisible() && list && !list->isVisible());
        QCOMPARE(which->currentText(), QStringLiteral("all"));
        choose(which, QStringLiteral("the selected one, L1H5"));
        run("largest_entries");
        const std::vector<double> own = listed({1, 5});
        QCOMPARE(own.size(), 100U);
        QVERIFY(own.front() > own.back() && shown({1, 5}) == own && isMissing(shown({0, 3})));
        const auto pictures = m_page->figures().size();
        QVERIFY(pictures >= 3);
        m_workspace->selection()->setHead({0, 3});
        QVERIFY(says(QStringLiteral("These results do not include L0H3.")));
        QVERIFY(m_page->figures().size() < pictures);
        QCOMPARE(which->currentText(), QStringLiteral("the selected one, L0H3"));

        choose(which, QStringLiteral("these:"));
        QCOMPARE(list->text(), QStringLiteral("0.3"));
        list->selectAll();
        QTest::keyClicks(list, QStringLiteral("0.3, 9.9"));
        QTest::keyClick(list, Qt::Key_Return);
        QVERIFY(says(QStringLiteral("There is no head 9.9")));
        list->selectAll();
        QTest::keyClicks(list, QStringLiteral("0.3, 1.2"));
        QTest::keyClick(list, Qt::Key_Return);
        run("largest_entries");
        QVERIFY(shown({0, 3}) == listed({0, 3}) && shown({1, 2}) == listed({1, 2}));
        QVERIFY(isMissing(shown({1, 5}))); // replaced, not added to
        QCOMPARE(m_page->figures().size(), pictures);
        m_page->showAnalysis("copying");
        QCOMPARE(which->currentText(), QStringLiteral("all"));
        const QJsonObject state = questionState(*m_workspace);
        open(HEADWISE_DEMO_MODEL);
        restoreQuestion(*m_workspace, state);
        QCOMPARE(m_workspace->runs()->headChoice(*findAnalysis("largest_entries")),
                 (HeadChoice{HeadChoice::Which::Listed, {{0, 3}, {1, 2}}}));
    }

    void aFilterOfTokensHoldsForWhatIsRun()
    {
        openDemo();
        auto* notice = field<QToolButton>(QStringLiteral("Token filter"));
        QVERIFY(notice && !notice->isVisible());
        m_workspace->runs()->setHeadChoice(*findAnalysis("largest_entries"), {HeadChoice::Which::Selected});
        run("largest_entries");
        const std::string path = "analyses/largest_entries/full_ov_row_ids";
        QVERIFY(filterOf(*array(path)).empty());
        m_workspace->filteredTokens()->setFilter({.firstId = 500});
        QTRY_VERIFY(m_workspace->filteredTokens()->filter().isOn());
        QVERIFY(notice->isVisible());
        QVERIFY(says(QStringLiteral("computed with another token filter")));
        QCOMPARE(m_workspace->runs()->analysisOptions().unusedTokens,
                 m_workspace->filteredTokens()->unused());
        run("largest_entries");
        QCOMPARE(filterOf(*array(path)), std::string("--first-id 500"));
        QVERIFY(!says(QStringLiteral("Run the analysis again")));
        const std::vector<double> ids = headSeries(array(path), {1, 5});
        QVERIFY(ids.size() == 100 && std::ranges::all_of(ids, [](double id) { return id >= 500; }));
        QVERIFY(filterOf(*array("scores/copying")).empty()); // of all tokens, whatever is left out
        m_workspace->filteredTokens()->setFilter({});
        QVERIFY(!notice->isVisible());
        QVERIFY(says(QStringLiteral("for filtered tokens")));
    }

    void whatFollowsTheEmbeddingsCovarianceIsComputedAgainForOtherTokens()
    {
        openDemo();
        AnalysisInputs inputs = m_workspace->runs()->inputs();
        inputs.metric = ResidualMetric::Embedding;
        m_workspace->runs()->setInputs(inputs);
        m_workspace->runs()->runAnalysis("composition");
        const auto metric = [this] { return array("composition/k")->attributes.contains("metric"); };
        QTRY_VERIFY(metric() && !m_workspace->runs()->isUnderWay("composition"));
        const auto score = [this] { // of L0H1 and L1H5
            return std::get<std::vector<float>>(array("composition/k")->values)[(1 * 2 + 1) * 8 + 5];
        };
        const float before = score();
        m_workspace->filteredTokens()->setFilter({.firstId = 500});
        const auto filtered = [this] { return filterOf(*array("composition/k")) == "--first-id 500"; };
        QTRY_VERIFY(filtered() && !m_workspace->runs()->isUnderWay("composition"));
        QVERIFY(before > 0 && score() > 0 && score() != before);
    }

    void aTokenThatIsChosenIsAskedAboutAgain()
    {
        openDemo();
        const auto found = std::find_if(catalogue().begin(), catalogue().end(),
                                        [](const Analysis& analysis) { return analysis.needs.token; });
        if (found == catalogue().end())
            return;
        run(found->id);
        const int token = m_workspace->selection()->token() + 7;
        m_workspace->selection()->setToken(token);
        QTRY_VERIFY(m_workspace->runs()->inputsOf(found->id)->token == token);
    }
};

HEADWISE_TEST(ResultInputsTest)
#include "result_inputs_test.moc"
