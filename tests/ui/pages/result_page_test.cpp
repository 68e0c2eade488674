#include "ui/pages/result_page.h"

#include "core/analysis/token_counts.h"
#include "core/session/session_file.h"
#include "tests/support/analysed.h"
#include "ui/array_part.h"
#include "ui/head_metrics.h"
#include "ui/pages/analysis_form.h"
#include "ui/pages/analysis_list.h"
#include "ui/pages/text_inputs.h"
#include "ui/text.h"
#include "ui/views/diagram_view.h"
#include "ui/views/heatmap_view.h"
#include "ui/views/spectrum_chart.h"
#include "ui/views/table_figure.h"
#include "ui/workspace_state.h"

#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <QTreeWidget>

using namespace headwise;
using namespace headwise::ui;
using Kind = Picture::Kind;

namespace {

constexpr int patience = 60000; // ms, under a loaded machine

std::vector<QStringList> rowsOf(FigureSource* source)
{
    std::vector<QStringList> rows;
    source->forEachDataRow([&](const QStringList& row) { rows.push_back(row); });
    return rows;
}

} // namespace

class ResultPageTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    std::unique_ptr<Workspace> m_workspace;
    std::unique_ptr<ResultPage> m_page;

    QLabel* labelled(const QString& name) const
    {
        for (auto* file : m_page->findChildren<InputFile*>())
            if (file->accessibleName() == name)
                return file->findChild<QLabel*>();
        return nullptr;
    }

    bool says(const QString& words) const
    {
        const auto labels = m_page->findChildren<QLabel*>();
        return std::any_of(labels.begin(), labels.end(), [&](const QLabel* label) {
            return label->isVisible() && label->text().contains(words);
        });
    }

    void open(const std::filesystem::path& path)
    {
        m_page.reset();
        m_workspace = std::make_unique<Workspace>();
        m_page = std::make_unique<ResultPage>(m_workspace.get());
        m_page->resize(1100, 800);
        m_page->show();
        if (path.extension() == ".h5")
            m_workspace->openSession(path);
        else
            m_workspace->openModel({path, {}, {}});
        QTRY_VERIFY_WITH_TIMEOUT(m_workspace->isOpen(), patience);
    }

    void openDemo()
    {
        open(HEADWISE_DEMO_MODEL);
        QTRY_VERIFY_WITH_TIMEOUT(m_workspace->results()->find("composition/k"), patience);
        m_workspace->setReference(HeadId{0, 1});
        m_workspace->setHead({1, 5});
    }

    template <typename Field>
    Field* field(const QString& name) const
    {
        for (Field* one : m_page->findChildren<Field*>())
            if (one->accessibleName() == name)
                return one;
        return nullptr;
    }

    static void choose(QComboBox* box, const QString& words)
    {
        box->setCurrentIndex(box->findText(words));
        emit box->activated(box->currentIndex());
    }

    const ResultArray* array(const std::string& path) { return m_workspace->results()->find(path); }

    template <typename View>
    View* view(const QString& name)
    {
        for (View* one : m_page->findChildren<View*>())
            if (one->accessibleName() == name)
                return one;
        return nullptr;
    }

    void run(std::string_view id)
    {
        m_page->showAnalysis(id);
        m_page->run();
        QTRY_VERIFY_WITH_TIMEOUT(isComputed(m_page->analysis(), *m_workspace->results())
                                     && !m_workspace->analysisJob()->isRunning(),
                                 patience);
        QTest::qWait(10);
    }

    /// Every number of a grid on screen is the array's.
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

    void checkPicture(const Picture& picture)
    {
        std::vector<const ResultArray*> there;
        for (const std::string& path : picture.arrays)
            if (const ResultArray* found = array(path))
                there.push_back(found);
        if (!canBeDrawn(picture, *m_workspace->results()))
            return; // of another kind of model; checked over all of them below
        const auto titled = [&](FigureSource* source) {
            return source->figureTitle().contains(text(picture.title));
        };
        const QList<FigureSource*> figures = m_page->figures();
        const auto figure = std::find_if(figures.begin(), figures.end(), titled);
        QVERIFY2(figure != figures.end(), ("nothing is drawn of " + picture.title).c_str());
        QVERIFY(!(*figure)->provenance().isEmpty());
        QVERIFY2(rowsOf(*figure).size() > 1, picture.title.c_str());
        if (picture.kind == Kind::HeadGrid)
            for (const ResultArray* grid : there)
                checkGrid(*grid);
        if (picture.kind == Kind::Lines || picture.kind == Kind::Bars) {
            auto* chart = dynamic_cast<LineChart*>(*figure);
            QVERIFY(chart && !chart->series().empty());
            const auto part = cutAtHeads(*there.front(), *m_workspace);
            if (part && !part->shape.empty()) {
                const QVector<QPointF>& points = chart->series().front().points;
                QCOMPARE(points.size(), static_cast<qsizetype>(part->shape.back()));
                for (qsizetype i = 0; i < points.size(); ++i) {
                    const double want = part->at(static_cast<std::size_t>(i));
                    QVERIFY(points[i].y() == want || std::isnan(want));
                }
            }
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
        const std::string never =
            analysis.whyNot(m_workspace->circuits()->config(), m_workspace->analysisOptions());
        if (!never.empty()) {
            QVERIFY(!m_page->findChild<QPushButton*>()->isEnabled());
            return;
        }
        QCOMPARE(whyNotNow(analysis, *m_workspace), QString());
        run(analysis.id);
        const auto pictures = picturesOf(analysis, *m_workspace->results(), m_workspace->card());
        const auto isMissing = [&](const Picture& picture) {
            return canBeDrawn(picture, *m_workspace->results()) && isOfMissingHead(picture, *m_workspace);
        };
        if (std::any_of(pictures.begin(), pictures.end(), isMissing)) { // of layer 0, as is said
            QVERIFY(says(QStringLiteral("It says nothing of L1H5")));
            m_workspace->setHead({0, 1});
            QTest::qWait(10);
        }
        QVERIFY(!m_page->figures().isEmpty());
        for (const Picture& picture : pictures)
            if (!isMissing(picture))
                checkPicture(picture);
        m_workspace->setReference(HeadId{0, 1});
        m_workspace->setHead({1, 5});
    }

    void aClickOnAGridSelectsThatHeadAndChartsAreCutAgain()
    {
        openDemo();
        m_page->resize(1100, 2000); // pictures are made where they are seen
        run("spectra");
        HeatmapView* grid = nullptr;
        QTRY_VERIFY(grid = view<HeatmapView>(metricTitle(*array("spectra/qk/frobenius_norm"))));
        QTest::mouseClick(grid, Qt::LeftButton, Qt::NoModifier, grid->cellRect(0, 3).center().toPoint());
        QCOMPARE(m_workspace->head(), (HeadId{0, 3}));
        QTest::mouseClick(grid, Qt::LeftButton, Qt::ShiftModifier, grid->cellRect(1, 2).center().toPoint());
        QCOMPARE(m_workspace->reference(), std::optional(HeadId{1, 2}));
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
        m_workspace->setHead({1, 7});
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
        QSignalSpy saved(m_workspace.get(), &Workspace::sessionSaved);
        m_workspace->saveSession(file, {});
        QTRY_COMPARE_WITH_TIMEOUT(saved.count(), 1, patience);
        auto read = readSession(file, Task{});
        QVERIFY(test::isOk(read));
        Session session = std::move(read).value();
        session.model.source = "/nowhere";
        QVERIFY(test::isOk(writeSession(file, session, Task{})));
        open(file);
        m_page->showAnalysis("ranks");
        QTRY_VERIFY(!m_page->figures().isEmpty());
        auto* button = m_page->findChild<QPushButton*>();
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
        tree->setCurrentItem(copying);
        QCOMPARE(m_page->analysis().id, std::string_view("copying"));
    }

    void relationsAreReadFromAFileAndAFaultIsSaid()
    {
        openDemo();
        auto* form = m_page->findChild<AnalysisForm*>();
        QFile file(m_folder.filePath(QStringLiteral("capitals.csv")));
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write("France,Paris\nItaly,Rome\n") > 0);
        file.close();
        form->loadRelations(file.fileName());
        QCOMPARE(m_workspace->inputs().relations.size(), std::size_t{1});
        QCOMPARE(m_workspace->inputs().relations[0].pairs.size(), std::size_t{2});
        form->loadRelations(m_folder.filePath(QStringLiteral("nowhere.csv")));
        QVERIFY(m_workspace->inputs().relations.empty());
        bool said = false;
        for (const QLabel* label : form->findChildren<QLabel*>())
            said = said || label->text().contains(QStringLiteral("nowhere.csv"));
        QVERIFY(said);
    }

    // Counts come from a file, stay when the fields are read again, make what was computed without them another question, and
    // are gone with a click.
    void countsOfATextAreReadFromAFile()
    {
        openDemo();
        m_page->showAnalysis("diagonal_ranks");
        auto* texts = m_page->findChild<TextInputs*>();
        QLabel* tokens = labelled(QStringLiteral("Token counts"));
        QLabel* bigrams = labelled(QStringLiteral("Bigram counts"));
        QVERIFY(texts && tokens && tokens->isVisible() && bigrams && !bigrams->isVisible());
        QCOMPARE(tokens->text(), QStringLiteral("unknown"));
        m_workspace->runAnalysis("diagonal_ranks");
        QTRY_VERIFY_WITH_TIMEOUT(m_workspace->results()->find("analyses/diagonal_ranks/sample"), patience);
        QVERIFY(!says(QStringLiteral("run it again")));
        QFile file(m_folder.filePath(QStringLiteral("counts.csv")));
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write("token,count\n#5,7\n#6,3\nno such,1\n") > 0);
        file.close();
        texts->load(TextInputs::Tokens, file.fileName());
        QTRY_VERIFY_WITH_TIMEOUT(m_workspace->inputs().tokenCounts, patience);
        QCOMPARE(m_workspace->inputs().tokenCounts->of(5), 7.0);
        QCOMPARE(tokens->text(), QStringLiteral("counts.csv: 10 occurrences"));
        QVERIFY(says(QStringLiteral("1 of the 3 words")));
        m_page->findChild<AnalysisForm*>()->setSeed(3);
        m_page->findChild<AnalysisForm*>()->setSeed(0);
        QVERIFY(m_workspace->inputs().tokenCounts);
        m_page->showAnalysis("copying");
        QVERIFY(!tokens->isVisible());
        m_page->showAnalysis("diagonal_ranks");
        QTRY_VERIFY_WITH_TIMEOUT(says(QStringLiteral("run it again")), patience);
        texts->load(TextInputs::Tokens, m_folder.filePath(QStringLiteral("nowhere.csv")));
        QTRY_VERIFY_WITH_TIMEOUT(!m_workspace->inputs().tokenCounts, patience);
        QVERIFY(says(QStringLiteral("nowhere.csv")));
        QCOMPARE(tokens->text(), QStringLiteral("unknown"));
        texts->load(TextInputs::Tokens, file.fileName());
        QTRY_VERIFY_WITH_TIMEOUT(m_workspace->inputs().tokenCounts, patience);
        for (auto* button : m_page->findChildren<QPushButton*>())
            if (button->accessibleName() == QLatin1String("Token counts: none"))
                button->click();
        QVERIFY(!m_workspace->inputs().tokenCounts);
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
        QTRY_VERIFY_WITH_TIMEOUT(m_workspace->inputs().bigramCounts && !m_workspace->inputs().names.empty(),
                                 patience);
        QCOMPARE(m_workspace->inputs().bigramCounts->of(7, 6), 1.0);
        QCOMPARE(bigrams->text(), QStringLiteral("pairs.csv: 2 pairs"));
        QCOMPARE(m_workspace->inputs().names, (std::vector<std::string>{"Anna", "Otto"}));
        QCOMPARE(labelled(QStringLiteral("Words"))->text(), QStringLiteral("words.txt: 2 words"));
        open(HEADWISE_DEMO_MODEL); // another workspace knows none
        QVERIFY(!m_workspace->inputs().bigramCounts);
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
        QCOMPARE(m_workspace->inputs().previousTokenHeads, (std::vector<HeadId>{{0, 1}, {0, 4}}));
        marked->selectAll();
        QTest::keyClicks(marked, QStringLiteral("0.1 7.7"));
        QTest::keyClick(marked, Qt::Key_Return);
        QVERIFY(m_workspace->inputs().previousTokenHeads.empty());
        bool said = false;
        for (const QLabel* label : form->findChildren<QLabel*>())
            said = said || label->text().contains(QStringLiteral("'7.7' is no head"));
        QVERIFY(said);
        m_page->showAnalysis("copying");
        QVERIFY(!marked->isVisible());
    }

    void headsAreChosenAndTheOthersAreNotShown()
    {
        openDemo();                               // L1H5
        const auto listed = [this](HeadId head) { // by the core, asked about that head alone
            AnalysisContext context{*m_workspace->circuits(), m_workspace->tokens(),
                                    m_workspace->analysisOptions()};
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
        auto* which = field<QComboBox>(QStringLiteral("Which heads"));
        auto* list = field<QLineEdit>(QStringLiteral("Heads asked about"));
        QVERIFY(which && which->isVisible() && list && !list->isVisible());
        QCOMPARE(which->currentText(), QStringLiteral("all"));
        choose(which, QStringLiteral("the selected one, L1H5"));
        run("largest_entries");
        const std::vector<double> own = listed({1, 5});
        QCOMPARE(own.size(), 100U);
        QVERIFY(own.front() > own.back() && shown({1, 5}) == own && isMissing(shown({0, 3})));
        const auto pictures = m_page->figures().size();
        QVERIFY(pictures >= 3);
        m_workspace->setHead({0, 3});
        QVERIFY(says(QStringLiteral("L0H3 is not among the heads")));
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
        QCOMPARE(m_workspace->headChoice(*findAnalysis("largest_entries")),
                 (HeadChoice{HeadChoice::Which::Listed, {{0, 3}, {1, 2}}}));
    }

    void aFilterOfTokensHoldsForWhatIsRun()
    {
        openDemo();
        auto* notice = field<QToolButton>(QStringLiteral("Token filter"));
        QVERIFY(notice && !notice->isVisible());
        m_workspace->setHeadChoice(*findAnalysis("largest_entries"), {HeadChoice::Which::Selected});
        run("largest_entries");
        const std::string path = "analyses/largest_entries/full_ov_row_ids";
        QVERIFY(filterOf(*array(path)).empty());
        m_workspace->setTokenFilter({.firstId = 500});
        QTRY_VERIFY_WITH_TIMEOUT(m_workspace->tokenFilter().isOn(), patience);
        QVERIFY(notice->isVisible());
        QVERIFY(says(QStringLiteral("computed with other tokens than the filter lets pass")));
        QCOMPARE(m_workspace->analysisOptions().unusedTokens, m_workspace->unusedTokens());
        run("largest_entries");
        QCOMPARE(filterOf(*array(path)), std::string("--first-id 500"));
        QVERIFY(!says(QStringLiteral("run it again")));
        const std::vector<double> ids = headSeries(array(path), {1, 5});
        QVERIFY(ids.size() == 100 && std::ranges::all_of(ids, [](double id) { return id >= 500; }));
        QVERIFY(filterOf(*array("scores/copying")).empty()); // of all tokens, whatever is left out
        m_workspace->setTokenFilter({});
        QVERIFY(!notice->isVisible());
        QVERIFY(says(QStringLiteral("computed with a filter of tokens")));
    }

    void whatFollowsTheEmbeddingsCovarianceIsComputedAgainForOtherTokens()
    {
        openDemo();
        AnalysisInputs inputs = m_workspace->inputs();
        inputs.metric = ResidualMetric::Embedding;
        m_workspace->setInputs(inputs);
        m_workspace->runAnalysis("composition");
        const auto metric = [this] { return array("composition/k")->attributes.contains("metric"); };
        QTRY_VERIFY_WITH_TIMEOUT(metric() && !m_workspace->isUnderWay("composition"), patience);
        const auto score = [this] { // of L0H1 and L1H5
            return std::get<std::vector<float>>(array("composition/k")->values)[(1 * 2 + 1) * 8 + 5];
        };
        const float before = score();
        m_workspace->setTokenFilter({.firstId = 500});
        const auto filtered = [this] { return filterOf(*array("composition/k")) == "--first-id 500"; };
        QTRY_VERIFY_WITH_TIMEOUT(filtered() && !m_workspace->isUnderWay("composition"), patience);
        QVERIFY(before > 0 && score() > 0 && score() != before);
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
        QCOMPARE(rowsOf(&diagram).at(1),
                 (QStringList{QStringLiteral("L0H1"), QStringLiteral("L1H5"), QStringLiteral("0.9")}));
    }

    void aTokenThatIsChosenIsAskedAboutAgain()
    {
        openDemo();
        const auto found = std::find_if(catalogue().begin(), catalogue().end(),
                                        [](const Analysis& analysis) { return analysis.needs.token; });
        if (found == catalogue().end())
            return;
        run(found->id);
        const int token = m_workspace->token() + 7;
        m_workspace->setToken(token);
        QTRY_VERIFY_WITH_TIMEOUT(m_workspace->inputsOf(found->id)->token == token, patience);
    }
};

QTEST_MAIN(ResultPageTest)
#include "result_page_test.moc"
