#include "ui/pages/findings/findings_page.h"

#include "core/results/array_spec.h"
#include "core/runs/plan.h"
#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "tests/support/shown_series.h"
#include "ui/base/text.h"
#include "ui/document/array_part.h"
#include "ui/pages/findings/finding_row.h"
#include "ui/pages/findings/finding_words.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

namespace {

/// Previous-token scores of two layers of four heads: `planted` in L0H1, 0.03 elsewhere, as for random weights.
ResultSet previousTokenScores(float planted)
{
    ResultArray scores;
    scores.path = "scores/previous_token";
    scores.title = "Previous token";
    scores.shape = {2, 4};
    scores.axes = headAxes();
    std::vector<float> values(8, 0.03F);
    values[1] = planted;
    scores.values = std::move(values);
    scores.nullMean = 0.03;
    scores.nullDeviation = 0.002;
    ResultSet results;
    results.arrays = {std::move(scores)};
    return results;
}

/// The page with a session that has no model files, so that nothing is computed.
struct FindingsOfSession {
    Workspace workspace;
    FindingsPage page{&workspace};

    FindingsOfSession()
    {
        page.resize(700, 500);
        page.show();
        open("first");
    }

    void open(const char* name)
    {
        Session session;
        session.model.name = name;
        session.model.nLayers = 2;
        session.model.nHeads = session.model.nKvHeads = 4;
        session.model.dModel = 16;
        session.model.dHead = 4;
        session.model.dVocab = 10;
        session.model.nCtx = 32;
        session.model.positional = "learned";
        OpenedSession opened;
        opened.session = std::make_shared<const Session>(std::move(session));
        opened.results = std::make_shared<const ResultSet>();
        workspace.model()->setSession(opened);
        workspace.selection()->start(0);
        emit workspace.model()->opened();
    }

    std::vector<FindingRow*> rows() const
    {
        std::vector<FindingRow*> shown;
        for (auto* row : page.findChildren<FindingRow*>())
            if (row->isVisible())
                shown.push_back(row);
        return shown;
    }

    /// Whether a visible label of the page has these words.
    bool says(const QString& words) const
    {
        for (const auto* label : page.findChildren<QLabel*>())
            if (label->isVisible() && label->text().contains(words))
                return true;
        return false;
    }

    QPushButton* button(const QString& words) const
    {
        for (auto* button : page.findChildren<QPushButton*>())
            if (button->isVisible() && button->text() == words)
                return button;
        return nullptr;
    }
};

QString titleOfPreviousToken()
{
    for (const FindingRule& rule : findingRules())
        if (rule.kind == "previous_token")
            return text(rule.title);
    return QStringLiteral("there is no such rule");
}

} // namespace

class FindingsPageTest : public QObject {
    Q_OBJECT

private slots:
    void aPlantedScoreBecomesASentenceWithItsNumbers()
    {
        FindingsOfSession opened;
        opened.workspace.model()->setResults(previousTokenScores(0.93F));
        QTRY_COMPARE(opened.rows().size(), 1U);
        const FindingRow* row = opened.rows().front();
        QVERIFY2(row->accessibleName().startsWith(QStringLiteral("L0H1")), qPrintable(row->accessibleName()));
        QVERIFY(opened.says(row->accessibleName()));
        QVERIFY(opened.says(QStringLiteral("value 0.930  ·  null 0.0300  ·  z 450")));
        QVERIFY(opened.says(titleOfPreviousToken()));
        QVERIFY(opened.says(QStringLiteral("1 finding")));
    }

    void showSelectsTheHeadAndAsksForItsPage()
    {
        FindingsOfSession opened;
        opened.workspace.model()->setResults(previousTokenScores(0.93F));
        QTRY_COMPARE(opened.rows().size(), 1U);
        QCOMPARE(opened.workspace.selection()->head(), (HeadId{0, 0})); // The window asked for no head.
        QSignalSpy asked(&opened.page, &FindingsPage::pageRequested);
        QTest::mouseClick(opened.button(QStringLiteral("Show")), Qt::LeftButton);
        QCOMPARE(opened.workspace.selection()->head(), (HeadId{0, 1}));
        QCOMPARE(asked.count(), 1);
        QCOMPARE(asked.first().first().toString(), QStringLiteral("position"));
        FindingRow* row = opened.rows().front();
        QVERIFY(row->focusPolicy() & Qt::TabFocus);
        QTest::keyClick(row, Qt::Key_Return);
        QCOMPARE(asked.count(), 2);
    }

    void aSentenceAndTheWholeListAreCopied()
    {
        FindingsOfSession opened;
        opened.page.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&opened.page));
        opened.workspace.model()->setResults(previousTokenScores(0.93F));
        QTRY_COMPARE(opened.rows().size(), 1U);
        FindingRow* row = opened.rows().front();
        row->setFocus();
        QTest::keyClick(row, Qt::Key_C, Qt::ControlModifier);
        QCOMPARE(QGuiApplication::clipboard()->text(), text(row->finding().text));
        QTest::mouseClick(opened.button(QStringLiteral("Copy as Markdown")), Qt::LeftButton);
        const QString list = QGuiApplication::clipboard()->text();
        QVERIFY2(list.startsWith(QStringLiteral("## Findings: first\n\n- L0H1 ")), qPrintable(list));
        QVERIFY2(list.endsWith(QStringLiteral("; value 0.930; null 0.0300; z 450)\n")), qPrintable(list));
    }

    void nothingIsFoundWithoutResultsAndTheRulesAreNamed()
    {
        FindingsOfSession opened;
        QTRY_VERIFY(opened.says(QStringLiteral("Not computed: ")));
        QVERIFY(opened.says(titleOfPreviousToken()));
        QVERIFY(opened.rows().empty());
        QVERIFY(!opened.says(QStringLiteral("stands out from random weights"))); // Nothing was checked.
        QVERIFY(!opened.button(QStringLiteral("Compute")));                      // without the model's files
        QVERIFY(!opened.button(QStringLiteral("Copy as Markdown")));
    }

    void scoresOfRandomWeightsGiveNoFinding()
    {
        FindingsOfSession opened;
        opened.workspace.model()->setResults(previousTokenScores(0.03F));
        QTRY_VERIFY(opened.says(QStringLiteral("stands out from random weights")));
        QVERIFY(opened.says(QStringLiteral("Checked: ") + titleOfPreviousToken()));
        QVERIFY(!opened.says(QStringLiteral("ALiBi"))); // This model has none, whatever was computed.
        QVERIFY(opened.rows().empty());
    }

    /// Without one of its checkpoints, a series has its changes, in the order of steps.
    void theChangesOfASeriesAreFindings()
    {
        FindingsOfSession opened;
        opened.workspace.opener()->showSeries(shownSeries("series.h5"));
        QTRY_COMPARE(opened.rows().size(), 2U);
        QVERIFY(opened.says(QStringLiteral("2 findings, in the order of steps")));
        QVERIFY(opened.says(QStringLiteral("value 0.900  ·  null 0.100")));
        QVERIFY(!opened.says(QStringLiteral("Not computed")));
        const QString sentence =
            QStringLiteral("Between steps 100 and 512 L1H2 became a previous-token head (0.0500 to 0.900).");
        QCOMPARE(opened.rows().front()->accessibleName(), sentence);
        QSignalSpy asked(&opened.page, &FindingsPage::pageRequested);
        QTest::keyClick(opened.rows().front(), Qt::Key_Return);
        QCOMPARE(asked.count(), 1);
        QCOMPARE(asked.first().first().toString(), QStringLiteral("training"));
        QCOMPARE(opened.workspace.selection()->head(), (HeadId{1, 2}));
        QCOMPARE(TrainingSeries::of(&opened.workspace)->step(), 4); // 512
        opened.open("a session");
        QVERIFY(opened.rows().empty());
    }

    void anotherModelTakesTheFindingsAway()
    {
        FindingsOfSession opened;
        opened.workspace.model()->setResults(previousTokenScores(0.93F));
        QTRY_COMPARE(opened.rows().size(), 1U);
        opened.open("second");
        QVERIFY(opened.rows().empty());
        QTRY_VERIFY(opened.says(QStringLiteral("Not computed: ")));
        QVERIFY(opened.rows().empty());
        opened.workspace.model()->setResults(previousTokenScores(0.93F));
        QTRY_COMPARE(opened.rows().size(), 1U);
        opened.workspace.opener()->close();
        QVERIFY(opened.rows().empty());
        QVERIFY(opened.says(QStringLiteral("Nothing is open.")));
    }

    void theStrongestHeadIsSelectedUnlessTheUserMoves()
    {
        const QJsonObject preselect{{QStringLiteral("preselect"), true}};
        FindingsOfSession opened;
        opened.page.setViewState(preselect);
        opened.workspace.model()->setResults(previousTokenScores(0.93F));
        QTRY_COMPARE(opened.workspace.selection()->head(), (HeadId{0, 1}));
        opened.workspace.selection()->goBack();
        QCOMPARE(opened.workspace.selection()->head(), (HeadId{0, 1})); // There is nothing to go back to.
        QVERIFY(!opened.page.viewState().contains(QStringLiteral("preselect")));

        FindingsOfSession moved;
        moved.page.setViewState(preselect);
        moved.workspace.selection()->setHead({1, 0});
        moved.workspace.model()->setResults(previousTokenScores(0.93F));
        QTRY_COMPARE(moved.rows().size(), 1U);
        QCOMPARE(moved.workspace.selection()->head(), (HeadId{1, 0}));

        // The head that was selected before anybody asked, too.
        FindingsOfSession asked;
        asked.page.setViewState(preselect);
        asked.workspace.selection()->askForHead({0, 0});
        asked.workspace.model()->setResults(previousTokenScores(0.93F));
        QTRY_COMPARE(asked.rows().size(), 1U);
        QCOMPARE(asked.workspace.selection()->head(), (HeadId{0, 0}));

        // An address that is shown before the page hears that it may choose.
        FindingsOfSession early;
        early.workspace.selection()->setHead({1, 0});
        early.page.setViewState(preselect);
        early.workspace.model()->setResults(previousTokenScores(0.93F));
        QTRY_COMPARE(early.rows().size(), 1U);
        QCOMPARE(early.workspace.selection()->head(), (HeadId{1, 0}));

        FindingsOfSession left;
        left.page.setViewState(preselect);
        left.page.hide();
        left.workspace.model()->setResults(previousTokenScores(0.93F));
        left.page.show();
        QTRY_COMPARE(left.rows().size(), 1U);
        QCOMPARE(left.workspace.selection()->head(), (HeadId{0, 0}));
    }

    void wordsOfAFileStayWords()
    {
        Finding finding;
        finding.kind = "from a newer version";
        finding.heads = {{1, 2}};
        finding.text = "L1H2 writes <img src='x'> after *star*.";
        FindingRow row;
        row.setFinding(finding, true);
        row.show();
        int labels = 0;
        for (const QLabel* label : row.findChildren<QLabel*>()) {
            QCOMPARE(label->textFormat(), Qt::PlainText);
            labels += label->text() == text(finding.text) ? 1 : 0;
        }
        QCOMPARE(labels, 1);
        QCOMPARE(markdownText(finding), QStringLiteral("- L1H2 writes \\<img src='x'\\> after \\*star\\*."));
        QCOMPARE(placeOf(finding), (FindingPlace{QStringLiteral("overview"), {}}));
    }

    void viewsLeadToTheirPages_data()
    {
        QTest::addColumn<QString>("view");
        QTest::addColumn<QString>("page");
        QTest::addColumn<QString>("analysis");
        QTest::newRow("score") << "copying"
                               << "spectrum" << QString();
        QTest::newRow("underscore") << "previous_token"
                                    << "position" << QString();
        QTest::newRow("named") << "composition-k"
                               << "composition" << QString();
        QTest::newRow("norms") << "norm-ov"
                               << "all_heads" << QString();
        QTest::newRow("tokens") << "tokens-ov"
                                << "tokens" << QString();
        QTest::newRow("array") << text(findAnalysis("induction")->arrays.front().path) << "analyses"
                               << "induction";
    }
    void viewsLeadToTheirPages()
    {
        QFETCH(QString, view);
        QFETCH(QString, page);
        QFETCH(QString, analysis);
        Finding finding;
        finding.view = view.toStdString();
        QCOMPARE(placeOf(finding).page, page);
        QCOMPARE(placeOf(finding).analysis, analysis);
    }

    void theCheapAnalysesAreAskedForAndDoNotCountAsWork()
    {
        OpenedPage<FindingsPage> opened(HEADWISE_DEMO_MODEL);
        const OpenModel* model = opened.workspace.model();
        QTRY_VERIFY(isComputed(*findAnalysis("induction"), *model->results()));
        QVERIFY(!findAnalysis("induction")->isDefault);
        QVERIFY(!opened.workspace.session()->isModified());
        QPushButton* verify = nullptr;
        const auto isOffered = [&] {
            for (auto* button : opened.page.findChildren<QPushButton*>()) {
                if (button->isVisible() && button->text().startsWith(QLatin1String("Show all ")))
                    button->click(); // The row may be further down.
                if (button->isVisible() && button->text() == QLatin1String("Verify on random tokens"))
                    verify = button;
            }
            return verify != nullptr;
        };
        QTRY_VERIFY(isOffered());
        QSignalSpy asked(&opened.page, &FindingsPage::analysisRequested);
        QTest::mouseClick(verify, Qt::LeftButton);
        QCOMPARE(asked.count(), 1);
        QCOMPARE(asked.first().first().toString(), QStringLiteral("induction"));
        QTRY_VERIFY(isComputed(*findAnalysis("pattern_scores"), *model->results()));
    }
};

HEADWISE_TEST(FindingsPageTest)
#include "findings_page_test.moc"
