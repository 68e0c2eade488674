#include "core/circuits/token_table.h"
#include "tests/support/program.h"
#include "tests/support/window_driver.h"
#include "ui/base/text.h"
#include "ui/document/compared_model.h"
#include "ui/figures/figure_export.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/analyses/result_page.h"
#include "ui/pages/findings/finding_row.h"
#include "ui/pages/findings/findings_page.h"
#include "ui/pages/heads/head_header.h"
#include "ui/pages/model/start_page.h"
#include "ui/widgets/command_palette.h"
#include "ui/widgets/token_edit.h"

#include <QAbstractButton>
#include <QDockWidget>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMessageBox>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTableView>
#include <QToolBar>

#include <algorithm>

using namespace headwise;
using namespace headwise::ui;
using test::WindowDriver;

namespace {

/// The rows on the page of findings, the strongest first.
std::vector<const FindingRow*> shownRows(WindowDriver& driver)
{
    std::vector<const FindingRow*> rows;
    for (const FindingRow* row : driver.window.findChildren<FindingRow*>())
        if (row->isVisible())
            rows.push_back(row);
    return rows;
}

/// Opens the demo and waits until its findings are complete.
void waitForFindings(WindowDriver& driver)
{
    driver.openDemo();
    QTRY_VERIFY(dynamic_cast<FindingsPage*>(driver.page()) && driver.page()->isVisible());
    const auto isAtRest = [&driver] {
        QCoreApplication::processEvents(); // One answer asks for more.
        return JobBoard::instance().running().isEmpty() && driver.workspace().runs()->waiting().empty();
    };
    QTRY_VERIFY(isAtRest() && isAtRest() && !shownRows(driver).empty());
}

} // namespace

/// The window with the demo open: moving, selecting, exporting.
class MainWindowTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { test::beginWithOwnSettings(m_folder); }

    void anEmptyWindowInvites()
    {
        WindowDriver driver;
        QVERIFY(driver.window.findChild<StartPage*>()->isVisible());
        for (QDockWidget* dock : driver.window.findChildren<QDockWidget*>())
            QVERIFY(!dock->isVisible());
    }

    void theDemoShowsItsStory()
    {
        WindowDriver driver;
        driver.openDemo();
        auto* ranking =
            driver.window.findChild<QDockWidget*>(QStringLiteral("heads"))->findChild<QTableView*>();
        QCOMPARE(ranking->model()->rowCount(), 16);
        // truth.json: 0.1 looks one token back; 1.5, 1.0 and 1.7 continue what they found.
        const ResultArray* previous = driver.workspace().model()->results()->find("scores/previous_token");
        QVERIFY(previous);
        const auto& scores = std::get<std::vector<float>>(previous->values);
        QCOMPARE(std::max_element(scores.begin(), scores.begin() + 8) - scores.begin(), 1);
    }

    void aFreshModelOpensOnItsFindingsWithTheHeadThatStandsOut()
    {
        WindowDriver driver(test::FirstPage::Findings);
        waitForFindings(driver);
        const std::vector<const FindingRow*> rows = shownRows(driver);
        QVERIFY(!rows.empty());
        const auto strongest =
            std::ranges::find_if(rows, [](const FindingRow* row) { return !row->finding().heads.empty(); });
        QVERIFY(strongest != rows.end());
        QCOMPARE(driver.workspace().selection()->head(), (*strongest)->finding().heads.front());
        QVERIFY(std::ranges::any_of(rows, [](const FindingRow* row) { // truth.json
            return row->finding().kind == "previous_token" && row->finding().heads.front() == HeadId{0, 1};
        }));
        QVERIFY(!driver.workspace().session()->isModified()); // Nobody asked for these results.
        // A model that is read again stays where it is.
        driver.window.showPage(QStringLiteral("spectrum"));
        driver.workspace().selection()->setHead({1, 2});
        QSignalSpy opened(driver.workspace().model(), &OpenModel::opened);
        driver.trigger(QStringLiteral("Reload"));
        QTRY_COMPARE(opened.count(), 1);
        QCOMPARE(driver.tabs()->tabText(driver.tabs()->currentIndex()), QStringLiteral("Spectrum"));
        QCOMPARE(driver.workspace().selection()->head(), (HeadId{1, 2}));
    }

    void aHeadThatIsChosenBeforeTheFindingsStays()
    {
        for (const HeadId head : {HeadId{1, 2}, HeadId{0, 0}}) { // another one, and the one selected anyway
            WindowDriver driver(test::FirstPage::Findings);
            auto* grid =
                driver.window.findChild<QDockWidget*>(QStringLiteral("heads"))->findChild<HeatmapView*>();
            bool isAsked = false; // by a click on the first numbers
            connect(driver.workspace().model(), &OpenModel::resultsChanged, &driver.window, [&, head] {
                if (isAsked || !grid->isVisible() || !grid->matrix())
                    return;
                isAsked = true;
                QTest::mouseClick(grid, Qt::LeftButton, Qt::NoModifier,
                                  grid->cells().rect(head.layer, head.head).center().toPoint());
            });
            waitForFindings(driver);
            QVERIFY(isAsked);
            QCOMPARE(driver.workspace().selection()->head(), head);
        }
    }

    void theHeaderSaysWhatCountsInASmallWindow()
    {
        WindowDriver driver;
        driver.window.resize(1280, 800);
        driver.openDemo();
        QTRY_VERIFY(driver.workspace().runs()->waiting().empty()
                    && !driver.workspace().runs()->job()->isRunning());
        driver.workspace().selection()->setHead({1, 5});
        const QLabel* scores = nullptr;
        for (const QLabel* label : driver.window.findChild<HeadHeader*>()->findChildren<QLabel*>())
            if (label->text().contains(QStringLiteral("copying")))
                scores = label;
        QVERIFY(scores);
        QTRY_VERIFY(scores->text().contains(QStringLiteral("<a href"))); // nearest
        qsizetype last = -1;
        for (const char* name : {">copying<", ">‖OV‖<", ">eff.&nbsp;rank&nbsp;OV<", ">nearest<", ">‖QK‖<"}) {
            const qsizetype at = scores->text().indexOf(QString::fromUtf8(name));
            QVERIFY2(at > last, name);
            last = at;
        }
        const auto isOnlyInOnePlace = [scores](const char* shown, const char* hovered) {
            const bool isHovered = scores->toolTip().contains(QRegularExpression(QLatin1String(hovered)));
            return scores->text().contains(QLatin1String(shown)) != isHovered;
        };
        QVERIFY(isOnlyInOnePlace(">matching</span>", "matching [+\\x{2212}\\d]"));
        QVERIFY(isOnlyInOnePlace(">previous&nbsp;token</span>", "previous token [+\\x{2212}\\d]"));
        QTRY_VERIFY(scores->height() >= scores->heightForWidth(scores->width()));
        QVERIFY(scores->heightForWidth(scores->width()) < 3 * scores->fontMetrics().height());
    }

    void arrowKeysMoveThroughTheGridAndEveryViewFollows()
    {
        WindowDriver driver;
        driver.openDemo();
        auto* grid =
            driver.window.findChild<QDockWidget*>(QStringLiteral("heads"))->findChild<HeatmapView*>();
        grid->setFocus();
        QTest::keyClick(grid, Qt::Key_Down);
        QTest::keyClick(grid, Qt::Key_Right);
        QCOMPARE(driver.workspace().selection()->head(), (HeadId{1, 1}));
        QVERIFY(driver.window.findChild<QLabel*>()->window());
        driver.trigger(QStringLiteral("Back"));
        QCOMPARE(driver.workspace().selection()->head(), (HeadId{1, 0}));
    }

    void aClickOnTheGridChoosesThatHead()
    {
        WindowDriver driver;
        driver.openDemo();
        auto* grid =
            driver.window.findChild<QDockWidget*>(QStringLiteral("heads"))->findChild<HeatmapView*>();
        QTest::mouseClick(grid, Qt::LeftButton, Qt::NoModifier, grid->cells().rect(1, 3).center().toPoint());
        QCOMPARE(driver.workspace().selection()->head(), (HeadId{1, 3}));
    }

    void aTokenIsFoundByItsTextAndItsTablesAreShown()
    {
        WindowDriver driver;
        driver.openDemo();
        auto* search = driver.window.findChild<QToolBar*>()->findChild<TokenEdit*>();
        search->setFocus();
        QTest::keyClicks(search, QStringLiteral(" king"));
        QTest::keyClick(search, Qt::Key_Return);
        QCOMPARE(driver.workspace().model()->tokenText(driver.workspace().selection()->token()),
                 QStringLiteral("␣king"));
        auto tables = driver.page()->findChildren<QTableView*>();
        erase_if(tables, [&](const QTableView* table) { return !table->isVisibleTo(driver.page()); });
        QCOMPARE(tables.size(), 2); // the largest entries over all pairs are a separate list
        QTRY_VERIFY(tables.first()->model()->rowCount() > 0);
        // The first row on the screen is core's first.
        const auto line =
            tokenLine(*driver.workspace().model()->circuits(), *driver.workspace().model()->tokens(),
                      {CircuitKind::FullOv, driver.workspace().selection()->head()}, TableSide::Row,
                      driver.workspace().selection()->token());
        QVERIFY(line);
        const TokenEntry best = ends(*line, 1, {}).top.front();
        QCOMPARE(tables.first()->model()->index(0, TokenTableModel::IdColumn).data().toString(),
                 QString::number(best.id));
    }

    void thePaletteOffersThePiecesOfAWord()
    {
        WindowDriver driver;
        driver.openDemo();
        const auto ids =
            driver.workspace().model()->tokenizer()->encode(" Parisian", Tokenizer::SpecialTokens::None);
        QVERIFY(ids && ids->size() > 1);
        driver.trigger(QStringLiteral("Find a command…"));
        auto* palette = driver.window.findChild<CommandPalette*>();
        QVERIFY(palette);
        auto* line = palette->findChild<QLineEdit*>();
        line->setText(QStringLiteral(" Parisian"));
        const auto* list = palette->findChild<QListView*>()->model();
        QStringList shown;
        for (int row = 0; row < list->rowCount(); ++row)
            shown << list->index(row, 0).data().toString();
        const auto pieces = static_cast<int>(ids->size());
        QVERIFY2(shown.size() > pieces, qPrintable(shown.join(u'|')));
        for (int i = 0; i < pieces; ++i) // after the search for the whole
            QCOMPARE(shown[shown.size() - pieces + i],
                     driver.workspace().model()->tokenText((*ids)[static_cast<std::size_t>(i)]));
        QTest::keyClick(line, Qt::Key_Down); // from the search to the first piece
        QTest::keyClick(line, Qt::Key_Return);
        QTRY_COMPARE(driver.workspace().selection()->token(), ids->front());
    }

    void everyPageHasPicturesThatExport()
    {
        WindowDriver driver;
        driver.openDemo();
        driver.workspace().selection()->setHead({1, 5});
        driver.workspace().selection()->setReference(HeadId{0, 1});
        driver.workspace().runs()->runAnalysis("relations");
        ComparedModel::of(&driver.workspace())->compare({HEADWISE_DEMO_MODEL, std::nullopt, {}});
        for (int i = 0; i < driver.tabs()->count(); ++i) {
            driver.tabs()->setCurrentIndex(i);
            const QString name = driver.tabs()->tabText(i);
            if (name == QLatin1String("Model") || name == QLatin1String("Findings")
                || name == QLatin1String("Training"))
                continue; // words, no picture; no series is open
            driver.workspace().selection()->setHead(name == QLatin1String("Scores") ? HeadId{0, 1}
                                                                                    : HeadId{1, 5});
            if (name == QLatin1String("Prompt"))
                driver.page()->findChild<QAbstractButton*>()->click();
            QTRY_VERIFY2(!driver.page()->figures().isEmpty(), qPrintable(name));
            for (FigureSource* source : driver.page()->figures()) {
                QVERIFY(!source->figureTitle().isEmpty());
                QVERIFY(!source->provenance().isEmpty());
                for (const char* type : {"png", "svg", "pdf", "csv"}) {
                    const QString file = m_folder.filePath(QStringLiteral("figure.") + QLatin1String(type));
                    FigureSettings settings;
                    settings.format = *figureFormatOf(file);
                    const auto exported = exportFigure(*source, file, settings);
                    QVERIFY2(exported, exported ? "" : exported.error().message.c_str());
                    QVERIFY(QFileInfo(file).size() > (settings.format == FigureFormat::Csv ? 20 : 200));
                }
            }
        }
    }

    void rawWeightsAndOtherEmbeddingsAreComputedAnew()
    {
        WindowDriver driver;
        driver.openDemo();
        const auto copying = [&driver] {
            return std::get<std::vector<float>>(
                driver.workspace().model()->results()->find("scores/copying")->values);
        };
        const std::vector<float> processed = copying();
        QVERIFY(isProcessed(driver.workspace().model()->processing()));
        driver.workspace().model()->setProcessingWish(
            {StepWish::Off, StepWish::Off, StepWish::Off, StepWish::Off, StepWish::Off});
        QTRY_VERIFY(!isProcessed(driver.workspace().model()->processing()) && driver.isComplete());
        QVERIFY(copying() != processed);
        driver.workspace().model()->setProcessingWish({});
        QTRY_VERIFY(isProcessed(driver.workspace().model()->processing()) && driver.isComplete());
        QCOMPARE(copying(), processed);
        driver.workspace().model()->setEmbedding(Embedding::Unembed);
        QTRY_VERIFY(driver.isComplete() && copying() != processed);
        // The demo has no MLP: that embedding does not exist, and the one in use stays.
        driver.workspace().model()->setEmbedding(Embedding::Mlp0);
        QCOMPARE(driver.workspace().model()->embedding(), Embedding::Unembed);
        QTRY_VERIFY(driver.window.findChild<QMessageBox*>());
        driver.window.findChild<QMessageBox*>()->close();
    }

    void theAnalysesMenuRunsOneAndItsPicturesHaveAMenu()
    {
        WindowDriver driver;
        driver.openDemo();
        driver.trigger(QStringLiteral("Components for 90 % of the energy, numerical rank"));
        auto* page = dynamic_cast<ResultPage*>(driver.page());
        QVERIFY(page);
        QCOMPARE(page->analysis().id, std::string_view("ranks"));
        QTRY_VERIFY(!page->figures().isEmpty());
        for (FigureSource* source : page->figures())
            QCOMPARE(dynamic_cast<QWidget*>(source)->contextMenuPolicy(), Qt::CustomContextMenu);
    }

private:
    QTemporaryDir m_folder;
};

HEADWISE_TEST(MainWindowTest)
#include "main_window_test.moc"
