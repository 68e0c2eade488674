#include "ui/figures/figure_export_formats.h"
#include "ui/pages/relations/relations_page.h"

#include "core/analysis/tokens/relation_pairs.h"
#include "core/tokenizer/token_search.h"
#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/document/array_part.h"
#include "ui/document/head_metrics.h"
#include "ui/document/relation_store.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/pages/heads/heads_page.h"
#include "ui/widgets/table_figure.h"

#include <QComboBox>
#include <QDropEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMimeData>
#include <QPushButton>
#include <QStandardPaths>
#include <QTabWidget>
#include <QTemporaryDir>

#include <algorithm>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

class RelationsPageTest : public QObject {
    Q_OBJECT

private:
    using Opened = OpenedPage<RelationsPage>;
    QTemporaryDir m_folder;

    static HeatmapView* hits(Opened& opened)
    {
        return opened.find<HeatmapView>(QStringLiteral("Share of pairs raised"));
    }

    /// Words of one token each, the next one being the target.
    QString file(Opened& opened) const
    {
        const std::vector<int> words = sampleOfWords(*opened.workspace.model()->tokenizer(), 41);
        QFile csv(m_folder.filePath(QStringLiteral("next word.csv")));
        if (!csv.open(QIODevice::WriteOnly))
            qFatal("no file");
        const auto word = [&](int id) {
            return QString::fromStdString(opened.workspace.model()->tokenizer()->decode(std::vector<int>{id}))
                .trimmed();
        };
        // L1H5 copies, so a word is often its own strongest output: every other pair uses that.
        for (std::size_t i = 0; i + 1 < words.size(); ++i)
            csv.write(QStringLiteral("%1,%2\n").arg(word(words[i]), word(words[i % 2 ? i : i + 1])).toUtf8());
        return csv.fileName();
    }

    static void drop(QWidget* onto, const QString& path)
    {
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(path)});
        QDragEnterEvent enter(QPoint(5, 5), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(onto, &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent event(QPointF(5, 5), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(onto, &event);
    }

    static bool says(Opened& opened, const QString& words)
    {
        const QList<QLabel*> labels = opened.page.findChildren<QLabel*>();
        return std::any_of(labels.begin(), labels.end(), [&](const QLabel* label) {
            return label->isVisible() && label->text().contains(words);
        });
    }

private slots:
    void initTestCase() { QStandardPaths::setTestModeEnabled(true); }

    void aFileDroppedOnTheGridColoursItByTheAnswer()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        HeadsPage heads(&opened.workspace);
        heads.resize(300, 700);
        heads.show();
        drop(&heads, file(opened));
        QTRY_VERIFY(hits(opened)->matrix());
        const auto results = opened.workspace.model()->results();
        const ResultArray* scores = results->find("analyses/relations/by_head");
        QCOMPARE((*hits(opened)->matrix())(1, 5), static_cast<float>(headSeries(scores, {1, 5})[0]));
        QVERIFY(hits(opened)->matrix()->maxCoeff() > 0);
        const ResultArray* best = results->find("analyses/relations/best");
        HeatmapView* grid = nullptr;
        for (HeatmapView* view : heads.findChildren<HeatmapView*>())
            grid = view;
        QTRY_COMPARE((*grid->matrix())(1, 5), static_cast<float>(metricAt(*best, {1, 5})));
        // Suppression is in the second tab.
        opened.page.findChild<QTabWidget*>()->setCurrentIndex(1);
        auto* lowered = opened.find<HeatmapView>(QStringLiteral("Share of pairs lowered"));
        QVERIFY(lowered->isVisible());
        const ResultArray* suppression = results->find("analyses/relations/suppression");
        QCOMPARE((*lowered->matrix())(0, 2), static_cast<float>(headSeries(suppression, {0, 2})[0]));
    }

    void aNameBeingTypedOutlivesAScoreThatArrives()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        HeadsPage heads(&opened.workspace);
        heads.resize(300, 700);
        heads.show();
        heads.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&heads));
        auto* metric = heads.findChild<QComboBox*>();
        metric->setFocus();
        metric->lineEdit()->selectAll();
        QTest::keyClicks(metric->lineEdit(), QStringLiteral("best rel"));
        emit opened.workspace.model()->resultsChanged();
        QCOMPARE(metric->lineEdit()->text(), QStringLiteral("best rel"));
    }

    void thePairsOfTheBestHeadSayWhatBecameOfThem()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        HeadsPage heads(&opened.workspace);
        heads.askRelations(file(opened));
        auto* pairs = opened.find<TableFigure>(QStringLiteral("Pairs of the head"));
        QTRY_COMPARE(pairs->model()->rowCount(), 20);
        QVERIFY(says(opened, QStringLiteral("(the best head)")));
        QVERIFY(!says(opened, QStringLiteral("(no head hits any pair)")));
        // Another head: every pair, counted, is what the analysis counts.
        AnalysisContext context{*opened.workspace.model()->circuits(), opened.workspace.model()->tokens(),
                                opened.workspace.runs()->analysisOptions()};
        const auto results = opened.workspace.model()->results();
        const ResultArray* counted = results->find("analyses/relations/hits");
        for (const HeadId head : {HeadId{1, 5}, HeadId{0, 3}}) {
            const auto all = relationPairs(context, 0, head, 1000, Task{});
            QVERIFY(all);
            const auto count =
                std::count_if(all->begin(), all->end(), [](const RelationPair& pair) { return pair.isHit; });
            QCOMPARE(double(count), headSeries(counted, head)[0]);
            opened.workspace.selection()->setHead(head);
            QTRY_COMPARE(cellText(pairs, 1, 4), signedNumber((*all)[1].value));
            for (int row = 0; row < 20; ++row)
                QCOMPARE(cellText(pairs, row, 2),
                         (*all)[std::size_t(row)].isHit ? QStringLiteral("✓") : QStringLiteral("✗"));
        }
        const QList<FigureSource*> figures = opened.page.figures();
        QCOMPARE(figures.size(), 3);
        // The grids are about all heads, the pairs about one.
        QVERIFY2(figureCaption(*figures[0]).startsWith(QStringLiteral("Share of pairs raised, ")),
                 qPrintable(figureCaption(*figures[0])));
        QVERIFY(!provenanceLine(*figures[1]).contains(QStringLiteral("head: ")));
        QVERIFY(provenanceLine(*figures[2]).contains(QStringLiteral("head: L0H3")));
    }

    void pairsThatAreLeftOutAreNamedWithTheReason()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        QFile csv(file(opened));
        QVERIFY(csv.open(QIODevice::Append) && csv.write("qqzzqqzz,xxjjxxjj\n") > 0);
        csv.close();
        HeadsPage heads(&opened.workspace);
        heads.askRelations(csv.fileName());
        auto* pairs = opened.find<TableFigure>(QStringLiteral("Pairs of the head"));
        QTRY_COMPARE(pairs->model()->rowCount(), 20);
        QString title;
        for (const QLabel* label : opened.page.findChildren<QLabel*>())
            if (label->text().contains(QStringLiteral("at k = ")))
                title = label->text();
        const auto results = opened.workspace.model()->results();
        const auto number = [&](const char* name) {
            return wholeArray(*results->find(std::string("analyses/relations/") + name)).at(0);
        };
        QVERIFY2(title.contains(QStringLiteral(" of %1 pairs hit at k = %2; the first 20 are listed")
                                    .arg(number("pairs_used"))
                                    .arg(number("k"))),
                 qPrintable(title));
        const QString reason = QStringLiteral("qqzzqqzz → xxjjxxjj (qqzzqqzz is not a single token)");
        QVERIFY2(title.contains(reason), qPrintable(title));
        QVERIFY2(title.contains(QStringLiteral("Left out %1 of %2 pairs")
                                    .arg(number("pairs_given") - number("pairs_used"))
                                    .arg(number("pairs_given"))),
                 qPrintable(title));
        // The score on the heads page names the list.
        QTRY_COMPARE(heads.findChild<QComboBox*>()->currentText(),
                     QStringLiteral("Best relation score: next word"));
    }

    void noHeadIsTheBestWhereAllScoresAreZero()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        // One pair of words without a relation: no head raises its target.
        const std::vector<int> words = sampleOfWords(*opened.workspace.model()->tokenizer(), 3);
        const auto word = [&](std::size_t at) {
            return QString::fromStdString(
                       opened.workspace.model()->tokenizer()->decode(std::vector<int>{words[at]}))
                .trimmed()
                .toStdString();
        };
        AnalysisInputs inputs = opened.workspace.runs()->inputs();
        inputs.relations = {{"one", {{word(0), word(1)}}}};
        opened.workspace.runs()->setInputs(inputs);
        opened.workspace.runs()->runAnalysis("relations");
        auto* pairs = opened.find<TableFigure>(QStringLiteral("Pairs of the head"));
        QTRY_COMPARE(pairs->model()->rowCount(), 1);
        QCOMPARE(hits(opened)->matrix()->minCoeff(), 0.0F);
        QCOMPARE(hits(opened)->matrix()->maxCoeff(), 0.0F);
        QVERIFY(says(opened, QStringLiteral("(no head hits any pair)")));
        QVERIFY(!says(opened, QStringLiteral("(the best head)")));
    }

    void aListIsKeptForTheNextTime()
    {
        for (const QString& old : QDir(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation)
                                       + QStringLiteral("/relations"))
                                      .entryList(QDir::Files))
            QFile::remove(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation)
                          + QStringLiteral("/relations/") + old);
        Opened opened(HEADWISE_DEMO_MODEL);
        HeadsPage heads(&opened.workspace);
        auto* list = opened.find<QListWidget>(QStringLiteral("Relations"));
        QCOMPARE(list->count(), 21); // the built-in ones and all of them
        heads.askRelations(file(opened));
        QTRY_COMPARE(list->count(), 22);
        QVERIFY(list->item(21)->text().contains(QStringLiteral("not saved")));
        for (QPushButton* button : opened.page.findChildren<QPushButton*>())
            if (button->text() == QLatin1String("Save as relation"))
                QTest::mouseClick(button, Qt::LeftButton);
        QCOMPARE(list->item(21)->text(), QStringLiteral("next word"));
        QCOMPARE(savedRelations().size(), 1U);
        QCOMPARE(savedRelations().front(), opened.workspace.runs()->inputs().relations.front());
        RelationsPage again(&opened.workspace);
        QCOMPARE(again.findChild<QListWidget*>()->count(), 22);
    }

    void aListIsAskedAboutByAClickOrEnterAlone()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        auto* list = opened.find<QListWidget>(QStringLiteral("Relations"));
        const auto asked = [&] { return opened.workspace.runs()->inputs().relations; };
        opened.page.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&opened.page));
        list->setFocus(Qt::TabFocusReason); // which makes its first row the current one
        QTest::keyClick(list, Qt::Key_Down);
        QTest::keyClick(list, Qt::Key_Down);
        QCoreApplication::processEvents(); // A question would be under way by now.
        QVERIFY(list->currentRow() > 0);
        QVERIFY(asked().empty() && !opened.workspace.model()->results()->find("analyses/relations/by_head"));
        QVERIFY(!opened.workspace.model()->revision().isUnsaved());
        QTest::keyClick(list, Qt::Key_Return);
        QCOMPARE(asked().size(), 1U);
        const Relation second = asked().front();
        QTRY_VERIFY(opened.workspace.model()->results()->find("analyses/relations/by_head"));
        QTest::mouseClick(list->viewport(), Qt::LeftButton, Qt::NoModifier,
                          list->visualItemRect(list->item(4)).center());
        QCOMPARE(asked().size(), 1U);
        QVERIFY(!(asked().front() == second));
        QTest::mouseClick(list->viewport(), Qt::LeftButton, Qt::NoModifier,
                          list->visualItemRect(list->item(0)).center());
        QVERIFY(asked().empty());
    }

    void whatIsNoRelationIsSaid()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        HeadsPage heads(&opened.workspace);
        QString said;
        connect(&heads, &HeadsPage::problemFound, this, [&](const QString& message) { said = message; });
        QFile csv(m_folder.filePath(QStringLiteral("three.csv")));
        QVERIFY(csv.open(QIODevice::WriteOnly) && csv.write("a,b,c\n") > 0);
        csv.close();
        heads.askRelations(csv.fileName());
        QVERIFY(said.contains(QStringLiteral("three.csv")));
        QVERIFY(!isRelationFile(QStringLiteral("/m/config.json")) && isRelationFile(QStringLiteral("x.CSV")));
    }
};

HEADWISE_TEST(RelationsPageTest)
#include "relations_page_test.moc"
