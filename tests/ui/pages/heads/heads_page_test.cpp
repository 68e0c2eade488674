#include "ui/pages/heads/heads_page.h"

#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/document/head_metrics.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/widgets/table_figure.h"
#include "ui/widgets/wrapped_header.h"

#include <QComboBox>
#include <QJsonObject>
#include <QScrollBar>
#include <QSignalSpy>
#include <QStyle>
#include <QTableView>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

class HeadsPageTest : public QObject {
    Q_OBJECT

private:
    struct Opened : OpenedPage<HeadsPage> {
        Opened()
            : OpenedPage(HEADWISE_DEMO_MODEL, {300, 800})
        {
            [&] {
                QTRY_VERIFY(workspace.model()->results()->find("scores/matching")
                            && workspace.model()->results()->find("spectra/ov/frobenius_norm")
                            && !workspace.runs()->job()->isRunning() && workspace.runs()->waiting().empty());
            }();
            grid = page.findChild<HeatmapView*>();
        }

        /// As a user does it, in the box.
        void colourBy(const char* path)
        {
            auto* box = page.findChild<QComboBox*>();
            box->setCurrentIndex(box->findData(QString::fromLatin1(path)));
            emit box->activated(box->currentIndex());
        }

        HeatmapView* grid = nullptr;
    };

private slots:
    /// However narrow the page is, and beside a scroll bar.
    void theTitleOfTheScoreIsNeverCut()
    {
        Opened opened;
        auto* table = opened.page.findChild<QTableView*>();
        auto* header = qobject_cast<WrappedHeader*>(table->horizontalHeader());
        QVERIFY(header);
        for (const char* path :
             {"scores/copying", "spectra/ov/participation_ratio", "scores/previous_token"}) {
            opened.colourBy(path);
            opened.page.resize(1, 500);
            const auto isWhole = [&] {
                const int column = header->sortIndicatorSection();
                return header->sectionSize(column) >= header->widthOnLines(column, WrappedHeader::mostLines)
                        + header->style()->pixelMetric(QStyle::PM_HeaderMarkSize, nullptr, header)
                    && header->sectionViewportPosition(column) + header->sectionSize(column)
                    <= header->viewport()->width();
            };
            QTRY_VERIFY2(table->verticalScrollBar()->isVisible(), path);
            QTRY_VERIFY2(isWhole(), path);
        }
    }

    void coloursThatWereChosenStayWithAnotherScore()
    {
        Opened opened;
        QCOMPARE(opened.grid->colors()->scale().map, ColorMap::Signed);
        opened.colourBy("spectra/ov/frobenius_norm"); // never negative: another map, if nobody chose one
        QVERIFY(!isSigned(opened.grid->colors()->scale().map));
        const float high = opened.grid->colors()->scale().high;
        opened.grid->setFocus();
        QTest::keyClick(opened.grid, Qt::Key_I);
        ColorScale grey = opened.grid->colors()->scale();
        grey.map = ColorMap::Gray;
        opened.grid->colors()->setScale(grey);
        opened.colourBy("scores/copying");
        QCOMPARE(opened.grid->colors()->scale().map, ColorMap::Gray);
        QVERIFY(opened.grid->colors()->scale().inverted);
        QCOMPARE(opened.grid->colors()->scale().high, 1.0F); // its range, as nothing is locked
        QTest::keyClick(opened.grid, Qt::Key_L, Qt::ShiftModifier);
        opened.colourBy("spectra/ov/frobenius_norm");
        QCOMPARE(opened.grid->colors()->scale().high, 1.0F);
        QTest::keyClick(opened.grid, Qt::Key_L, Qt::ShiftModifier);
        QCOMPARE(opened.grid->colors()->scale().high, high);
        opened.colourBy("scores/copying");
        QCOMPARE(opened.grid->colors()->scale().low, -1.0F);
    }

    /// The list starts with the top heads; a head selected later is scrolled into view.
    void theListOpensAtItsTop()
    {
        Opened opened;
        auto* list = opened.find<QTableView>(QStringLiteral("Heads by their score"));
        opened.page.resize(300, 420); // a few rows
        const auto isSeen = [list](int row) {
            return list->viewport()->rect().contains(list->visualRect(list->model()->index(row, 0)).center());
        };
        opened.workspace.opener()->openModel({HEADWISE_DEMO_MODEL, {}, {}});
        QTRY_VERIFY(opened.workspace.model()->results()->find("scores/matching")
                    && !opened.workspace.runs()->job()->isRunning()
                    && opened.workspace.runs()->waiting().empty());
        const int selected = list->currentIndex().row();
        QTRY_VERIFY(isSeen(0));
        QVERIFY2(!isSeen(15), "the list is too high for this test");
        QVERIFY(selected > 0);
        const QModelIndex last = list->model()->index(15, 0);
        opened.workspace.selection()->setHead(*parseHeadId(last.data().toString().toStdString()));
        QTRY_VERIFY(isSeen(15));
    }

    void aSessionBringsTheColoursBack()
    {
        Opened opened;
        opened.grid->setFocus();
        ColorScale chosen = opened.grid->colors()->scale();
        chosen.map = ColorMap::HighContrast;
        opened.grid->colors()->setScale(chosen);
        QTest::keyClick(opened.grid, Qt::Key_L, Qt::ShiftModifier);
        opened.colourBy("spectra/ov/frobenius_norm");
        const QJsonObject state = opened.page.viewState();
        Opened another;
        another.page.setViewState(state);
        QCOMPARE(another.grid->colors()->scale(), opened.grid->colors()->scale());
        QCOMPARE(another.page.viewState(), state);
        QVERIFY(another.grid->colors()->isLocked());
        another.colourBy("scores/matching");
        QCOMPARE(another.grid->colors()->scale().map, ColorMap::HighContrast);
        QCOMPARE(another.grid->colors()->scale().high, 1.0F);
    }

    void enterInTheRankingOpensTheHead()
    {
        Opened opened;
        auto* ranking = opened.page.findChild<TableFigure*>();
        QSignalSpy asked(&opened.page, &HeadsPage::pageRequested);
        ranking->setCurrentIndex(ranking->model()->index(2, 0));
        QTest::keyClick(ranking, Qt::Key_Down);
        QVERIFY(asked.isEmpty()); // It only selects.
        QCOMPARE(cellText(ranking, 3, 0), text(opened.workspace.selection()->head()));
        for (const Qt::Key key : {Qt::Key_Return, Qt::Key_Enter})
            QTest::keyClick(ranking, key);
        QCOMPARE(asked.count(), 2);
        QCOMPARE(asked.last().first().toString(), QStringLiteral("tokens"));
    }

    void shiftAndEnterMarkTheReference()
    {
        Opened opened;
        opened.grid->zoom()->setCurrentCell(1, 3);
        QTest::keyClick(opened.grid, Qt::Key_Return, Qt::ShiftModifier);
        QCOMPARE(opened.workspace.selection()->reference(), std::optional(HeadId{1, 3}));
        QTest::keyClick(opened.grid, Qt::Key_Right);
        QCOMPARE(opened.workspace.selection()->head(), (HeadId{1, 4}));
        QCOMPARE(opened.workspace.selection()->reference(), std::optional(HeadId{1, 3}));
    }

    void theRankingIsTakenAwayAsItStands()
    {
        Opened opened;
        opened.colourBy("spectra/ov/frobenius_norm");
        const QList<FigureSource*> figures = opened.page.figures();
        QCOMPARE(figures.size(), 2);
        QCOMPARE(figures[1]->figureTitle().left(9), QStringLiteral("Heads by "));
        const std::vector<QStringList> rows = dataRows(figures[1]);
        QCOMPARE(rows.size(), std::size_t{17});
        const ResultArray& norms = *opened.workspace.model()->results()->find("spectra/ov/frobenius_norm");
        double before = std::numeric_limits<double>::infinity();
        for (std::size_t i = 1; i < rows.size(); ++i) {
            const auto head = parseHeadId(rows[i][0].toStdString());
            QVERIFY(head);
            const double value = rows[i][1].toDouble();
            QVERIFY(std::abs(value - metricAt(norms, *head)) <= 1e-6 * value);
            QVERIFY(value <= before); // the largest first
            before = value;
        }
    }
};

HEADWISE_TEST(HeadsPageTest)
#include "heads_page_test.moc"
