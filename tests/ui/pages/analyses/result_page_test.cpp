#include "ui/pages/analyses/result_page.h"

#include "core/analysis/inputs/token_counts.h"
#include "core/session/session_file.h"
#include "tests/support/analysed.h"
#include "tests/support/chart_legend_names.h"
#include "tests/support/program.h"
#include "tests/support/result_page_driver.h"
#include "ui/base/text.h"
#include "ui/charts/diagram_view.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/document/array_part.h"
#include "ui/document/head_metrics.h"
#include "ui/document/questions.h"
#include "ui/document/workspace_state.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/pages/analyses/analysis_form.h"
#include "ui/pages/analyses/analysis_head.h"
#include "ui/pages/analyses/analysis_list.h"
#include "ui/pages/analyses/question_panels.h"
#include "ui/pages/analyses/text_inputs.h"
#include "ui/widgets/table_figure.h"

#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScopeGuard>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalSpy>
#include <QStyle>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <QTreeWidget>
#include <QWhatsThis>

using namespace headwise;
using namespace headwise::ui;
using test::dataRows;
using Kind = Picture::Kind;

class ResultPageTest : public QObject, test::ResultPageDriver {
    Q_OBJECT

private:
    /// Every number of a grid on screen equals the array's.
    void checkGrid(const ResultArray& grid)
    {
        auto* shown = view<HeatmapView>(metricTitle(grid));
        QVERIFY2(shown && shown->matrix(), grid.path.c_str());
        const Eigen::MatrixXf expected = metricGrid(grid);
        QCOMPARE(shown->matrix()->rows(), expected.rows());
        QCOMPARE(shown->matrix()->cols(), expected.cols());
        for (Eigen::Index i = 0; i < expected.size(); ++i) {
            const float want = expected(i);
            const float have = (*shown->matrix())(i);
            QVERIFY2(have == want || (std::isnan(have) && std::isnan(want)), grid.path.c_str());
        }
    }

    static bool hasNumbers(const ArrayPart& part)
    {
        for (std::size_t i = 0; i < part.size(); ++i)
            if (std::isfinite(part.at(i)))
                return true;
        return false;
    }

    void checkPicture(const Picture& picture)
    {
        std::vector<const ResultArray*> there;
        for (const std::string& path : picture.arrays)
            if (const ResultArray* found = array(path))
                there.push_back(found);
        if (!canBeDrawn(picture, *m_workspace->model()->results()))
            return; // of another kind of model; checked over all of them below
        const bool isChart = picture.kind == Kind::Lines || picture.kind == Kind::Bars;
        const auto part = isChart ? cutAtHeads(*there.front(), pictureContext(*m_workspace)) : std::nullopt;
        const auto titled = [&](FigureSource* source) {
            return source->figureTitle().contains(text(picture.title));
        };
        const QList<FigureSource*> figures = m_page->figures();
        const auto figure = std::find_if(figures.begin(), figures.end(), titled);
        if (part && !hasNumbers(*part)) { // its null alone would look like the result
            QVERIFY(figure == figures.end());
            return;
        }
        QVERIFY2(figure != figures.end(), ("nothing is drawn of " + picture.title).c_str());
        QVERIFY(!(*figure)->provenance().isEmpty());
        QVERIFY2(dataRows(*figure).size() > 1, picture.title.c_str());
        if (picture.kind == Kind::HeadGrid)
            for (const ResultArray* grid : there)
                checkGrid(*grid);
        if (isChart)
            checkChart(dynamic_cast<LineChart*>(*figure), picture.kind, part);
    }

    QPushButton* runButton() { return m_page->findChild<AnalysisHead*>()->findChild<QPushButton*>(); }

    void checkChart(const LineChart* chart, Kind kind, const std::optional<ArrayPart>& part)
    {
        QVERIFY(chart && !chart->series().empty());
        const QStringList undrawn = test::namesWithoutCurve(*chart);
        QVERIFY2(undrawn.isEmpty(), qPrintable(undrawn.join(u'\n')));
        if (!part || part->shape.empty())
            return;
        // Bars of layers stand side by side.
        const bool isTurned = kind == Kind::Bars && part->shape.size() == 2 && part->axis(0) == Axis::Layer;
        const QVector<QPointF>& points = chart->series().front().points;
        QCOMPARE(points.size(), static_cast<qsizetype>(isTurned ? part->shape.front() : part->shape.back()));
        const std::size_t step = isTurned ? part->shape.back() : 1;
        for (qsizetype i = 0; i < points.size(); ++i) {
            const double want = measuredAt(*part, static_cast<std::size_t>(i) * step);
            QVERIFY(points[i].y() == want || std::isnan(want));
        }
    }

private slots:
    void everyAnalysisIsDrawnFromItsArrays_data()
    {
        QTest::addColumn<QString>("id");
        for (const Analysis& analysis : catalogue())
            QTest::newRow(std::string(analysis.id).c_str()) << text(analysis.id);
        openDemo();
    }
    void everyAnalysisIsDrawnFromItsArrays()
    {
        QFETCH(QString, id);
        m_page->showAnalysis(id.toStdString());
        const Analysis& analysis = m_page->analysis();
        QCOMPARE(text(analysis.id), id);
        const std::string never = analysis.whyNot(m_workspace->model()->circuits()->config(),
                                                  m_workspace->runs()->analysisOptions());
        if (!never.empty()) {
            QVERIFY(!runButton()->isEnabled());
            return;
        }
        QCOMPARE(whyNotNow(analysis, *m_workspace), QString());
        run(analysis.id);
        const auto pictures =
            picturesOf(analysis, *m_workspace->model()->results(), m_workspace->model()->card());
        const auto isMissing = [&](const Picture& picture) {
            return canBeDrawn(picture, *m_workspace->model()->results())
                && isOfMissingHead(picture, pictureContext(*m_workspace));
        };
        if (std::any_of(pictures.begin(), pictures.end(), isMissing)) { // layer 0 only, as the page says
            QVERIFY(says(QStringLiteral("It has no result for L1H5")));
            m_workspace->selection()->setHead({0, 1});
            QCoreApplication::processEvents(); // draws what is in sight
        }
        QVERIFY(!m_page->figures().isEmpty());
        for (const Picture& picture : pictures)
            if (!isMissing(picture))
                checkPicture(picture);
        m_page->resize(742, 560);          // as in a window of 1280 × 800
        QCoreApplication::processEvents(); // draws the pictures that became visible
        const auto* scroll = m_page->findChild<QScrollArea*>();
        QVERIFY2(scroll->widget()->width() <= scroll->viewport()->width(),
                 qPrintable(QStringLiteral("%1 of %2 px")
                                .arg(scroll->viewport()->width())
                                .arg(scroll->widget()->width())));
        if (const QString folder = qEnvironmentVariable("HEADWISE_SCREENSHOTS"); !folder.isEmpty())
            scroll->widget()->grab().save(QStringLiteral("%1/analysis-%2.png").arg(folder, id));
        m_page->resize(1100, 800);
        m_workspace->selection()->setReference(HeadId{0, 1});
        m_workspace->selection()->setHead({1, 5});
    }

    void whatIsFoundIsChosenByEnterOrDown()
    {
        openDemo();
        m_page->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(m_page.get()));
        auto* search = field<QLineEdit>(QStringLiteral("Find an analysis"));
        auto* list = field<QTreeWidget>(QStringLiteral("Analyses"));
        const auto id = [&] { return text(m_page->analysis().id); };
        search->setFocus();
        QTest::keyClicks(search, QStringLiteral("token prior"));
        QVERIFY(id() != QLatin1String("token_prior"));
        QTest::keyClick(search, Qt::Key_Return);
        QCOMPARE(id(), QStringLiteral("token_prior"));
        search->clear();
        QTest::keyClicks(search, QStringLiteral("six terms"));
        QTest::keyClick(search, Qt::Key_Down);
        QCOMPARE(id(), QStringLiteral("six_terms"));
        QVERIFY(list->hasFocus());
        QVERIFY(!search->text().isEmpty());
        m_page->showAnalysis("token_prior"); // selected from a menu: it must be in the list
        QVERIFY(search->text().isEmpty());
        QVERIFY(list->currentItem() && !list->currentItem()->isHidden());
    }

    void aClickOnAGridSelectsThatHeadAndChartsAreCutAgain()
    {
        openDemo();
        m_page->resize(1100, 2000); // pictures are made when visible
        run("spectra");
        HeatmapView* grid = nullptr;
        QTRY_VERIFY(grid = view<HeatmapView>(metricTitle(*array("spectra/qk/frobenius_norm"))));
        QTest::mouseClick(grid, Qt::LeftButton, Qt::NoModifier, grid->cells().rect(0, 3).center().toPoint());
        QCOMPARE(m_workspace->selection()->head(), (HeadId{0, 3}));
        QTest::mouseClick(grid, Qt::LeftButton, Qt::ShiftModifier,
                          grid->cells().rect(1, 2).center().toPoint());
        QCOMPARE(m_workspace->selection()->reference(), std::optional(HeadId{1, 2}));
        const ResultArray& values = *array("spectra/qk/singular_values");
        const auto drawsHead = [&](HeadId head) {
            m_page->figures();
            for (const LineChart* chart : m_page->findChildren<LineChart*>())
                for (const ChartSeries& series : chart->series())
                    if (!series.points.isEmpty()
                        && series.points.front().y() == headSeries(&values, head).front())
                        return true;
            return false;
        };
        QVERIFY(drawsHead({0, 3}));
        m_workspace->selection()->setHead({1, 7});
        QVERIFY(drawsHead({1, 7}) && !drawsHead({0, 3}));
    }

    void aGridIsReadBackFromItsCsv()
    {
        openDemo();
        run("copying");
        const QList<FigureSource*> figures = m_page->figures();
        QVERIFY(!figures.isEmpty());
        const QString file = m_folder.filePath(QStringLiteral("copying.csv"));
        FigureSettings settings;
        settings.format = FigureFormat::Csv;
        QVERIFY(test::isOk(exportFigure(*figures.first(), file, settings)));
        QFile read(file);
        QVERIFY(read.open(QIODevice::ReadOnly));
        const QString all = QString::fromUtf8(read.readAll());
        const ResultArray& scores = *array("scores/copying");
        for (const float score : std::get<std::vector<float>>(scores.values))
            QVERIFY2(all.contains(exactNumber(score)), qPrintable(exactNumber(score)));
    }

    void aSessionShowsItsPicturesWithoutTheModel()
    {
        openDemo();
        run("ranks");
        const auto file = std::filesystem::path(m_folder.filePath(QStringLiteral("s.h5")).toStdString());
        QSignalSpy saved(m_workspace->session(), &SessionFile::saved);
        m_workspace->session()->save(file, {});
        QTRY_COMPARE(saved.count(), 1);
        auto read = readSession(file, Task{});
        QVERIFY(test::isOk(read));
        Session session = std::move(read).value();
        session.model.source = "/nowhere";
        QVERIFY(test::isOk(writeSession(file, session, Task{})));
        open(file);
        m_page->showAnalysis("ranks");
        QTRY_VERIFY(!m_page->figures().isEmpty());
        QPushButton* button = runButton();
        QVERIFY(!button->isEnabled());
        QVERIFY(button->toolTip().contains(QStringLiteral("Locate model")));
    }

    void theListFindsAndMarks()
    {
        openDemo();
        auto* list = m_page->findChild<AnalysisList*>();
        auto* tree = list->findChild<QTreeWidget*>();
        list->findChild<QLineEdit*>()->setText(QStringLiteral("copying"));
        int shown = 0;
        QTreeWidgetItem* copying = nullptr;
        for (int i = 0; i < tree->topLevelItemCount(); ++i)
            for (int k = 0; k < tree->topLevelItem(i)->childCount(); ++k) {
                QTreeWidgetItem* item = tree->topLevelItem(i)->child(k);
                shown += item->isHidden() ? 0 : 1;
                if (item->data(0, Qt::UserRole) == QStringLiteral("copying"))
                    copying = item;
            }
        QVERIFY(shown > 0 && shown < static_cast<int>(catalogue().size()));
        QVERIFY(copying && !copying->isHidden());
        QTRY_COMPARE(copying->text(1), QStringLiteral("●"));
        // The number of the catalogue is in the tooltip; it finds the analysis, too.
        QCOMPARE(copying->text(0), text(findAnalysis("copying")->title));
        QVERIFY(copying->toolTip(0).contains(QStringLiteral("B1 in the catalogue")));
        list->findChild<QLineEdit*>()->setText(QStringLiteral("b1"));
        QVERIFY(!copying->isHidden());
        QCOMPARE(copying->parent()->text(0), QStringLiteral("Reads and writes"));
        tree->setCurrentItem(copying);
        QCOMPARE(m_page->analysis().id, std::string_view("copying"));
    }

    /// An analysis that is selected before the list is shown is in sight afterwards.
    void theSelectedAnalysisIsInSight()
    {
        openDemo();
        auto* tree = field<QTreeWidget>(QStringLiteral("Analyses"));
        m_page->hide();
        m_page->showAnalysis("induction");
        m_page->resize(742, 560);
        m_page->show();
        QTRY_VERIFY(tree->viewport()->rect().contains(tree->visualItemRect(tree->currentItem())));
        QCOMPARE(m_page->analysis().id, std::string_view("induction"));
    }

    void everyAnalysisStandsUnderOneQuestion()
    {
        std::size_t listed = 0;
        QStringList titles;
        for (const auto& [title, analyses] : analysesByQuestion()) {
            titles << title;
            listed += analyses.size();
        }
        QCOMPARE(listed, catalogue().size());
        QCOMPARE(titles,
                 QStringList({QStringLiteral("Reads and writes"), QStringLiteral("Where it looks"),
                              QStringLiteral("Who talks to whom"), QStringLiteral("Compare"),
                              QStringLiteral("The model")}));
        QVERIFY(questionOf(*findAnalysis("induction")) == Question::WhoTalksToWhom);
        QVERIFY(questionOf(*findAnalysis("folding")) == Question::TheModel);
        QVERIFY(questionOf(*findAnalysis("skipless")) == Question::TheModel);
    }

    void theViewIsKept()
    {
        openDemo();
        m_page->showAnalysis("ranks");
        const QJsonObject state = m_page->viewState();
        m_page->showAnalysis("copying");
        m_page->setViewState(state);
        QCOMPARE(m_page->analysis().id, std::string_view("ranks"));
    }

    void theErrorsOfSkiplessMergesStandByPrecision()
    {
        openDemo();
        m_page->resize(1100, 4000); // pictures are made when visible
        run("skipless");
        TableFigure* table = nullptr;
        QTRY_VERIFY(table = view<TableFigure>(QStringLiteral("Savings from removing a pair")));
        QString columns;
        for (int column = 0; column < table->model()->columnCount(); ++column)
            columns += table->model()->headerData(column, Qt::Horizontal).toString().simplified() + u';';
        QVERIFY2(columns.contains(QLatin1String("merge float64;Error of the merge float32;")),
                 qPrintable(columns));
    }

    // One row for every direction of the selected head's MLP, on the screen and in the export.
    void directionsOfMlpsAreThoseOfTheSelectedLayer()
    {
        open(HEADWISE_TEST_DATA "/models/stories260k");
        m_page->resize(1100, 4000); // pictures are made when visible
        run("mlp_directions");
        const ResultArray& ids = *array("analyses/mlp_directions/in_ids");
        const ResultArray& sigma = *array("analyses/mlp_directions/in_sigma");
        for (const int layer : {3, 0}) {
            m_workspace->selection()->setHead({layer, 2});
            TableFigure* table = nullptr;
            QTRY_VERIFY(table = view<TableFigure>(QStringLiteral("What MLPs read")));
            const ArrayPart lists = entryOf(wholeArray(ids), static_cast<std::size_t>(layer));
            const ArrayPart values = entryOf(wholeArray(sigma), static_cast<std::size_t>(layer));
            const auto shows = [&](int direction) {
                const auto at = static_cast<std::size_t>(direction);
                return test::cellText(table, direction, 1) == number(values.at(at))
                    && test::cellText(table, direction, 3)
                    == m_workspace->model()->tokenText(static_cast<int>(lists.at(at * lists.shape[1])));
            };
            QTRY_VERIFY(shows(0));
            QCOMPARE(table->model()->rowCount(), 10);
            QVERIFY(shows(7) && shows(9));
            QCOMPARE(table->model()->columnCount(),
                     3 + 20); // direction, σ, block; ten tokens and their scores
            QVERIFY(says(QStringLiteral("Layer %1").arg(layer)));
            QCOMPARE(dataRows(table).size(), 11U);
            QVERIFY(dataRows(table).at(10).contains(exactNumber(values.at(9))));
        }
    }

    void aDiagramDrawsItsStrongestEdgesAndAClickSelects()
    {
        DiagramView diagram;
        diagram.resize(600, 300);
        diagram.setHeads(2, 8);
        diagram.setEdges({{{0, 1}, {1, 5}, 0.9}, {{0, 2}, {1, 3}, 0.5}});
        QSignalSpy clicked(&diagram, &DiagramView::headClicked);
        QTest::mouseClick(&diagram, Qt::LeftButton, Qt::NoModifier, diagram.positionOf({1, 5}).toPoint());
        QCOMPARE(clicked.count(), 1);
        QCOMPARE(clicked.first().first().value<HeadId>(), (HeadId{1, 5}));
        QCOMPARE(dataRows(&diagram).at(1),
                 (QStringList{QStringLiteral("L0H1"), QStringLiteral("L1H5"), QStringLiteral("0.9")}));
    }

    /// The answer stands beside the button, and the row that raised the question stays selected and in sight.
    void theVerificationIsAnsweredInSightAndKeepsTheRow()
    {
        openDemo();
        run("induction");
        TableFigure* table = nullptr;
        QTRY_VERIFY((table = view<TableFigure>(QStringLiteral("Candidates")))
                    && table->model()->rowCount() > 3);
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                          table->visualRect(table->model()->index(2, 0)).center());
        const auto chosen = [&] {
            table = view<TableFigure>(QStringLiteral("Candidates"));
            const QModelIndexList rows = table ? table->selectionModel()->selectedRows() : QModelIndexList();
            return rows.isEmpty() ? -1 : rows.front().row();
        };
        QCOMPARE(chosen(), 2);
        const HeadId head = m_workspace->selection()->head();
        QPushButton* verify = button(QStringLiteral("Verify on random tokens"));
        QVERIFY(verify);
        QTest::mouseClick(verify, Qt::LeftButton);
        QTRY_VERIFY(array("analyses/pattern_scores/induction"));
        const QString answer =
            QStringLiteral("%1 on random tokens: %2, from the weights: %3")
                .arg(text(head), number(metricAt(*array("analyses/pattern_scores/induction"), head)),
                     number(metricAt(*array("analyses/induction/as_induction_head"), head)));
        const QLabel* label = nullptr;
        QTRY_VERIFY((label = labelThatSays(answer)) && isInSight(label));
        QCoreApplication::processEvents(); // draws what is in sight
        QCOMPARE(chosen(), 2);
        QCOMPARE(m_workspace->selection()->head(), head);
        const QRect row = table->visualRect(table->model()->index(2, 0));
        QVERIFY(table->viewport()->visibleRegion().contains(row.center()));
    }

    /// In a small window, too, wherever the user has scrolled to.
    void theVerificationIsAnsweredInSightInASmallWindow_data()
    {
        QTest::addColumn<QSize>("place");
        QTest::newRow("smallest") << QSize(640, 300);
        QTest::newRow("window of 1,024 x 640") << QSize(590, 460);
    }
    void theVerificationIsAnsweredInSightInASmallWindow()
    {
        QFETCH(QSize, place);
        openDemo();
        run("induction");
        QScrollArea area; // as the window's places of pages
        area.setFrameShape(QFrame::NoFrame);
        area.setWidgetResizable(true);
        area.setWidget(m_page.get());
        const auto keepPage = qScopeGuard([&area] { area.takeWidget(); });
        area.resize(place);
        area.show();
        QVERIFY(QTest::qWaitForWindowExposed(&area));
        const auto scrollDown = [&area] {
            QList<QScrollArea*> all = area.findChildren<QScrollArea*>();
            all << &area;
            for (const QScrollArea* one : std::as_const(all))
                one->verticalScrollBar()->setValue(one->verticalScrollBar()->maximum());
        };
        scrollDown();
        QCoreApplication::processEvents(); // draws what is in sight
        scrollDown();
        QPushButton* verify = button(QStringLiteral("Verify on random tokens"));
        QVERIFY(verify && verify->visibleRegion() == QRegion(verify->rect()));
        QTest::mouseClick(verify, Qt::LeftButton);
        QTRY_VERIFY(array("analyses/pattern_scores/induction"));
        const QLabel* label = nullptr;
        QTRY_VERIFY((label = labelThatSays(QStringLiteral("on random tokens: "))) && isInSight(label));
    }

    /// Every analysis is a panel of its question: its first picture, or the button that computes it.
    void everyAnalysisIsAPanelOfItsQuestion()
    {
        openDemo();
        run("similarity"); // "Compare" has one analysis with results and one without
        const auto* panels = m_page->findChild<QuestionPanels*>();
        std::size_t titles = 0;
        for (const auto& [question, analyses] : analysesByQuestion()) {
            m_page->showQuestion(question);
            QCOMPARE(panels->question(), question);
            QVERIFY(panels->isVisible());
            for (const Analysis* analysis : analyses)
                for (const QToolButton* title : panels->findChildren<QToolButton*>())
                    titles += title->text() == text(analysis->title) ? 1 : 0;
        }
        QCOMPARE(titles, catalogue().size());
        m_page->showQuestion(QStringLiteral("Compare"));
        QCOMPARE(m_page->viewState()[QStringLiteral("question")].toString(), QStringLiteral("Compare"));
        QVERIFY(!m_page->figures().isEmpty());
        QPushButton* compute = nullptr;
        const auto isOffered = [&] {
            for (auto* one : panels->findChildren<QPushButton*>())
                if (one->isVisible() && one->accessibleName().contains(text(findAnalysis("head_map")->title)))
                    compute = one;
            return compute != nullptr;
        };
        QTRY_VERIFY(isOffered());
        const qsizetype before = m_page->figures().size();
        compute->click();
        QTRY_VERIFY(m_page->figures().size() > before);
        for (auto* title : panels->findChildren<QToolButton*>())
            if (title->text() == text(findAnalysis("head_map")->title))
                title->click();
        QVERIFY(!panels->isVisible());
        QCOMPARE(m_page->analysis().id, std::string_view("head_map"));
    }

    void titlesOfPanelsWrap()
    {
        openDemo();
        m_page->resize(590, 460); // as in a window of 1024 × 640
        m_page->showQuestion(QStringLiteral("Where it looks"));
        const auto* panels = m_page->findChild<QuestionPanels*>();
        const auto* bar = panels->findChild<QScrollArea*>()->horizontalScrollBar();
        auto* title = panels->findChild<QToolButton*>();
        QTRY_COMPARE(bar->maximum(), 0);
        const int oneLine = title->height();
        title->setText(
            QStringLiteral("A title of more words than have room beside the list of the analyses"));
        QTRY_VERIFY(title->height() >= oneLine + title->fontMetrics().lineSpacing());
        QCOMPARE(bar->maximum(), 0);
    }

    void rowsOfTheListAreAsHighAsTheirNames()
    {
        openDemo();
        auto* list = m_page->findChild<AnalysisList*>();
        auto* tree = list->findChild<QTreeWidget*>();
        const int margin = tree->style()->pixelMetric(QStyle::PM_FocusFrameHMargin, nullptr, tree) + 1;
        for (const int width : {172, 180, 190, 204, 220}) {
            list->setFixedWidth(width);
            const QTreeWidgetItem* group = tree->topLevelItem(0);
            for (int i = 0; i < group->childCount(); ++i) {
                const QTreeWidgetItem* row = group->child(i);
                const QRect place = tree->visualItemRect(row);
                const QRect room(0, 0, tree->columnWidth(0) - place.left() - 2 * margin, 1000);
                const int height =
                    tree->fontMetrics().boundingRect(room, Qt::TextWordWrap, row->text(0)).height() + 6;
                QTRY_COMPARE(tree->visualItemRect(row).height(), height);
            }
        }
    }

    /// Formula and source stand behind the button of the analysis.
    void theFormulaStandsBehindAButton()
    {
        openDemo();
        m_page->showAnalysis("copying");
        const Analysis& analysis = m_page->analysis();
        QVERIFY(!says(text(analysis.formula)) && !says(text(analysis.citation)));
        auto* explain = field<QToolButton>(QStringLiteral("Explain: %1").arg(text(analysis.title)));
        QVERIFY(explain && explain->isVisible());
        explain->click();
        const auto isExplained = [] {
            for (const QWidget* top : QApplication::topLevelWidgets())
                if (top->isVisible() && top->inherits("QWhatsThat"))
                    return true;
            return false;
        };
        QTRY_VERIFY(isExplained());
        QWhatsThis::hideText();
        QTRY_VERIFY(!isExplained());
    }
};

HEADWISE_TEST(ResultPageTest)
#include "result_page_test.moc"
