#include "app/window/page_tabs.h"
#include "tests/support/journey_steps.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"
#include "ui/base/text.h"
#include "ui/document/workspace.h"
#include "ui/pages/findings/finding_row.h"
#include "ui/pages/findings/finding_words.h"
#include "ui/pages/parts/page.h"

#include <QAbstractButton>
#include <QClipboard>

#include <algorithm>

using namespace headwise;
using namespace headwise::test;
using ui::FindingRow;
using ui::text;

namespace {

std::vector<FindingRow*> visibleFindings(Journey& journey)
{
    std::vector<FindingRow*> rows;
    for (FindingRow* row : journey.window()->findChildren<FindingRow*>())
        if (row->isVisible())
            rows.push_back(row);
    return rows;
}

/// Goes to the findings and waits until there is no more to come.
void readFindings(Journey& journey)
{
    journey.openTab(QStringLiteral("Findings"));
    journey.waitForRest();
}

/// Presses a button of a row, by the words on it.
void pressIn(FindingRow* row, const QString& words)
{
    for (auto* button : row->findChildren<QAbstractButton*>())
        if (button->isVisible() && button->text() == words)
            return QTest::mouseClick(button, Qt::LeftButton);
    QFAIL(qPrintable(QStringLiteral("no button is called ") + words));
}

} // namespace

/// From the statements about a model to the pictures behind them, and away with the list.
class FindingsJourneyTest : public QObject {
    Q_OBJECT

private slots:
    void aFindingLeadsToItsPictureAndTheListGoesIntoANotebook()
    {
        Journey journey(QStringLiteral("findings-demo"));
        openModel(journey, folderOf(JourneyModel::Demo));
        journey.waitForRest();
        readFindings(journey);
        journey.waitFor([&] { return !visibleFindings(journey).empty(); }, QStringLiteral("a finding"));
        const std::vector<FindingRow*> rows = visibleFindings(journey);
        const auto first = std::ranges::find_if(rows, [](const FindingRow* row) {
            return row->finding().kind == "previous_token" && row->finding().heads.front() == HeadId{0, 1};
        });
        QVERIFY(first != rows.end()); // truth.json: 0.1 looks one token back
        const Finding finding = (*first)->finding();
        QVERIFY(journey.shows(text(finding.text)));
        QVERIFY(journey.shows(ui::evidenceText(finding)));
        const auto* workspace = journey.window()->findChild<ui::Workspace*>();
        auto* pages = journey.window()->findChild<app::PageTabs*>();
        // To the picture, with the head selected.
        const HeadId before = workspace->selection()->head();
        QVERIFY(before != finding.heads.front());
        wheelTo(journey, *first);
        journey.begin();
        pressIn(*first, QStringLiteral("Show"));
        QVERIFY(journey.tookGestures(1, 500ms));
        QCOMPARE(pages->currentName(), ui::placeOf(finding).page);
        QCOMPARE(workspace->selection()->head(), finding.heads.front());
        QVERIFY(journey.shows(QStringLiteral("L0H1")));
        journey.waitFor([&] { return !pages->currentPage()->figures().isEmpty(); },
                        QStringLiteral("the picture"));
        journey.waitForRest();
        // Back to the head and to the list, which is as it was.
        journey.keys(QStringLiteral("Alt+Left"));
        QCOMPARE(workspace->selection()->head(), before);
        journey.keys(QStringLiteral("Alt+Home"));
        QCOMPARE(pages->currentName(), QStringLiteral("findings"));
        journey.waitForRest();
        QVERIFY(journey.shows(text(finding.text)));
        // Into a notebook.
        journey.click(QStringLiteral("Copy as Markdown"));
        const QStringList lines = QGuiApplication::clipboard()->text().split(u'\n', Qt::SkipEmptyParts);
        QVERIFY(!lines.isEmpty());
        QVERIFY2(lines.front().startsWith(QStringLiteral("## Findings: ")), qPrintable(lines.front()));
        for (const FindingRow* row : visibleFindings(journey))
            QVERIFY2(lines.contains(ui::markdownText(row->finding())),
                     qPrintable(ui::markdownText(row->finding())));
    }

    void randomWeightsHaveNothingToShow()
    {
        ToyOptions toy; // of the sizes for which core's tests find nothing either
        toy.seed = 1;
        toy.dModel = 32;
        toy.nHeads = 4;
        toy.dHead = 8;
        toy.dVocab = 101;
        toy.nCtx = 48;
        const std::filesystem::path folder = std::filesystem::path(m_folder.path().toStdString()) / "random";
        writeToyModel(folder, toy);
        Journey journey(QStringLiteral("findings-random"));
        openModel(journey, folder);
        journey.waitForRest();
        readFindings(journey);
        journey.waitFor([&] { return journey.shows(QStringLiteral("stands out from random weights.")); },
                        QStringLiteral("the answer that there is nothing"));
        QVERIFY(journey.shows(QStringLiteral("Checked: ")));
        QVERIFY(visibleFindings(journey).empty());
        for (const auto* button : journey.window()->findChildren<QAbstractButton*>())
            QVERIFY(!button->isVisible() || button->text() != QStringLiteral("Copy as Markdown"));
        journey.waitForRest();
    }

private:
    QTemporaryDir m_folder;
};

HEADWISE_TEST_MAIN(FindingsJourneyTest, runJourneys<FindingsJourneyTest>)
#include "findings_journey_test.moc"
