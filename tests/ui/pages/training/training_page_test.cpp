#include "ui/pages/training/training_page.h"

#include "core/series/series_record.h"
#include "tests/support/opened_page.h"
#include "tests/support/painted_texts.h"
#include "tests/support/program.h"
#include "tests/support/shown_series.h"
#include "tests/support/toy_model.h"
#include "ui/charts/small_multiples.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/pages/training/training_frames.h"
#include "ui/widgets/table_figure.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QSignalSpy>
#include <QSlider>
#include <QTemporaryDir>

#include <cmath>
#include <limits>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

namespace {

/// The page with the planted series and without a model.
struct TrainingSitting {
    Workspace workspace;
    TrainingPage page{&workspace};
    QTemporaryDir folder;

    explicit TrainingSitting(const QSize& size = {1000, 720})
    {
        wearTheme(page);
        page.resize(size);
        page.show();
    }

    std::filesystem::path file() const
    {
        return std::filesystem::path(folder.path().toStdString()) / "series.h5";
    }

    void open() { workspace.opener()->showSeries(shownSeries(file())); }

    template <typename Widget>
    Widget* find(const char* name)
    {
        for (auto* one : page.findChildren<Widget*>())
            if (one->accessibleName() == QLatin1String(name))
                return one;
        qFatal("there is no '%s'", name);
    }

    QPushButton* button(const QString& words)
    {
        for (auto* one : page.findChildren<QPushButton*>())
            if (one->text() == words)
                return one;
        qFatal("there is no '%s'", qPrintable(words));
    }

    bool shows(const QString& words)
    {
        for (const QLabel* label : page.findChildren<QLabel*>())
            if (label->isVisible() && label->text().contains(words))
                return true;
        return false;
    }
};

/// Two steps of a model with two heads, the second of which stays as it is.
SeriesRecord recordWithSpectra()
{
    SeriesRecord record;
    for (const int step : {1, 10}) {
        const float grown = step == 1 ? 2 : 4;
        ResultArray scores;
        scores.path = "scores/copying";
        scores.shape = {1, 2};
        scores.values = std::vector<float>{0.5F, 0.25F};
        scores.axes = {Axis::Layer, Axis::Head};
        ResultArray spectra = scores;
        spectra.path = "spectra/ov/singular_values";
        spectra.shape = {1, 2, 2};
        spectra.values = std::vector<float>{grown, 1, 3, 1.25F};
        spectra.axes = {Axis::Layer, Axis::Head, Axis::SingularValue};
        record.entries.push_back({.step = step,
                                  .name = "step" + std::to_string(step),
                                  .files = {},
                                  .previous = {},
                                  .problem = {},
                                  .arrays = {scores, spectra}});
    }
    record.frame.model.name = record.frame.model.architecture = "toy";
    record.frame.model.nLayers = 1;
    record.frame.model.nHeads = record.frame.model.nKvHeads = 2;
    record.frame.model.dModel = record.frame.model.dHead = record.frame.model.dVocab = 2;
    return record;
}

} // namespace

class TrainingPageTest : public QObject {
    Q_OBJECT

private slots:
    void withoutASeriesItSaysHowToOpenOne()
    {
        TrainingSitting sitting;
        QVERIFY(TrainingPage::whyNot(sitting.workspace).contains(QStringLiteral("File → Open series…")));
        QVERIFY(sitting.shows(QStringLiteral("No series is open.")));
        QVERIFY(!sitting.find<QComboBox>("Score over training")->isVisible());
        QVERIFY(sitting.page.figures().isEmpty());
        sitting.open();
        QVERIFY(TrainingPage::whyNot(sitting.workspace).isEmpty());
        QVERIFY(sitting.find<QComboBox>("Score over training")->isVisible());
        sitting.workspace.opener()->close();
        QVERIFY(sitting.shows(QStringLiteral("No series is open.")));
    }

    void everyHeadHasItsCurveAndItsChangePoint()
    {
        TrainingSitting sitting;
        sitting.open();
        const auto& heads = sitting.find<SmallMultiples>("Every head over training")->curves();
        QCOMPARE(heads.size(), std::size_t{6});
        QCOMPARE(heads[5].head, (HeadId{1, 2}));
        QCOMPARE(heads[5].series[0].points.size(), 6);
        QCOMPARE(heads[5].series[0].points[4], QPointF(512, double{0.9F}));
        QVERIFY(std::isnan(heads[5].series[0].points[2].y())); // damaged
        QCOMPARE(heads[5].series[1].points, (QVector<QPointF>{{512, 0.9}}));
        QVERIFY(heads[4].series[1].points.isEmpty());
        QVERIFY(sitting.shows(QStringLiteral("step10: model.safetensors ends early")));
    }

    void stepsAreWholeNumbers()
    {
        TrainingSitting sitting;
        sitting.open();
        sitting.page.findChild<QCheckBox*>()->setChecked(true); // log steps, from 1 on
        test::TextCollector paper({800, 500});
        QPainter painter(&paper);
        sitting.find<SmallMultiples>("Every head over training")->paintFigure(painter, {800, 500}, {});
        painter.end();
        QStringList words;
        for (const test::PaintedText& text : paper.texts())
            words << text.words.split(u' ');
        QVERIFY2(words.contains(QStringLiteral("1")) && words.contains(QStringLiteral("1000")),
                 qPrintable(words.join(u'|')));
    }

    void theSliderShowsTheGridAtItsStep()
    {
        TrainingSitting sitting;
        sitting.open();
        auto* grid = sitting.find<HeatmapView>("Heads at this step");
        auto* slider = sitting.find<QSlider>("Training step");
        QCOMPARE(slider->value(), 5); // the last one that could be read
        QCOMPARE((*grid->matrix())(1, 2), 0.9F);
        const ColorScale scale = grid->colors()->scale();
        slider->setValue(3);
        QCOMPARE((*grid->matrix())(1, 2), 0.05F);
        QCOMPARE(grid->colors()->scale(), scale); // one for all steps
        QVERIFY(sitting.shows(QStringLiteral("Step 100 (4 of 6)")));
        slider->setValue(2);
        QVERIFY(std::isnan((*grid->matrix())(1, 2)));
        QVERIFY(sitting.shows(QStringLiteral("could not be read")));
        // The panel beside the pages has the same numbers while no checkpoint is open.
        slider->setValue(4);
        const ResultArray* beside = sitting.workspace.model()->results()->find("series/previous_token");
        QVERIFY(beside);
        QCOMPARE(std::get<std::vector<float>>(beside->values)[5], 0.9F);
    }

    void aChangeSelectsItsHeadScoreAndStep()
    {
        TrainingSitting sitting;
        sitting.open();
        auto* changes = sitting.find<TableFigure>("Changes of heads");
        QCOMPARE(changes->model()->rowCount(), 2);
        QCOMPARE(cellText(changes, 0, 3), QStringLiteral("512"));
        QCOMPARE(
            cellText(changes, 0, 0),
            QStringLiteral("between steps 100 and 512 L1H2 became a previous-token head (0.0500 to 0.900)"));
        QTest::mouseClick(changes->viewport(), Qt::LeftButton, {},
                          changes->visualRect(changes->model()->index(0, 0)).center());
        QCOMPARE(sitting.workspace.selection()->head(), (HeadId{1, 2}));
        QCOMPARE(sitting.find<QSlider>("Training step")->value(), 4);
        auto* chart = sitting.find<LineChart>("Selected head over training");
        const QVector<QPointF> points = chart->series().front().points; // without step 0 and the damaged one
        QCOMPARE(points.size(), 4);
        QCOMPARE(points[2], QPointF(512, double{0.9F}));
        QCOMPARE(chart->baselines().front().y, 0.1);
        QTest::mouseClick(changes->viewport(), Qt::LeftButton, {},
                          changes->visualRect(changes->model()->index(1, 0)).center());
        QCOMPARE(sitting.workspace.selection()->head(), (HeadId{0, 1}));
        QCOMPARE(sitting.find<QComboBox>("Score over training")->currentText(), QStringLiteral("Copying"));
        QVERIFY(chart->baselines().empty());
    }

    void singularValuesOfTheHeadAreDrawnOverTheSteps()
    {
        TrainingSitting sitting;
        QVERIFY(writeSeriesRecord(sitting.file(), recordWithSpectra(), Task{}));
        const auto opened = openSeriesFile(sitting.file(), Task{});
        QVERIFY(opened);
        sitting.workspace.opener()->showSeries(*opened);
        auto* chart = sitting.find<LineChart>("Selected head over training");
        auto* shown = sitting.find<QComboBox>("Curves over training");
        auto* tiles = sitting.find<SmallMultiples>("Every head over training");
        const auto choose = [shown](const char* words) {
            shown->setCurrentText(QLatin1String(words));
            emit shown->activated(shown->currentIndex());
        };
        choose("OV spectrum");
        // Nothing changed in them: a sentence, not an empty table.
        QVERIFY(sitting.shows(QStringLiteral("No head rose clearly above its null")));
        QVERIFY(!sitting.find<TableFigure>("Changes of heads")->isVisible());
        QTRY_COMPARE(chart->series().size(), std::size_t{2});
        QCOMPARE(chart->series()[0].points, (QVector<QPointF>{{1, 2}, {10, 4}}));
        QCOMPARE(chart->look().yTitle, QStringLiteral("singular values of OV"));
        // So are those of all heads.
        QCOMPARE(tiles->curves().size(), std::size_t{2});
        QCOMPARE(tiles->curves()[1].series.size(), std::size_t{2});
        QCOMPARE(tiles->curves()[1].series[0].points, (QVector<QPointF>{{1, 3}, {10, 3}}));
        QCOMPARE(sitting.page.figures()[0]->figureTitle(),
                 QStringLiteral("singular values of OV over training, toy"));
        sitting.workspace.selection()->setHead({0, 1});
        QTRY_COMPARE(chart->series().size(), std::size_t{2});
        QCOMPARE(chart->series()[1].points, (QVector<QPointF>{{1, 1.25}, {10, 1.25}}));
        choose("QK spectrum"); // the file has none
        QTRY_VERIFY(chart->series().empty());
        QVERIFY(tiles->curves()[1].series.empty());
        choose("Score");
        QCOMPARE(chart->series()[0].points.size(), 2);
        QCOMPARE(tiles->curves()[1].series[0].points, (QVector<QPointF>{{1, 0.25}, {10, 0.25}}));
        sitting.workspace.opener()->close(); // while nothing is read
    }

    /// Two values that cross from (2, 1) to (1, 4): by index the larger would be 2, then 4.
    void singularVectorsAreFollowedWhereTheyCross()
    {
        TrainingSitting sitting;
        SeriesRecord record = recordWithSpectra();
        const float none = std::numeric_limits<float>::quiet_NaN();
        for (std::size_t step = 0; step < 2; ++step) {
            ResultArray overlaps = record.entries[step].arrays[1];
            overlaps.path = "vector_overlaps/ov_in";
            overlaps.shape = {1, 2, 2, 2};
            overlaps.values = step == 0 ? std::vector<float>(8, none)
                                        : std::vector<float>{0.1F, 0.9F, 0.8F, 0.1F, 0.5F, 0.5F, 0.5F, 0.5F};
            overlaps.axes = {Axis::Layer, Axis::Head, Axis::OldDirection, Axis::NewDirection};
            record.entries[step].arrays.push_back(overlaps);
        }
        QVERIFY(writeSeriesRecord(sitting.file(), record, Task{}));
        const auto opened = openSeriesFile(sitting.file(), Task{});
        QVERIFY(opened);
        sitting.workspace.opener()->showSeries(*opened);
        auto* chart = sitting.find<LineChart>("Selected head over training");
        auto* shown = sitting.find<QComboBox>("Curves over training");
        const auto choose = [shown](const char* words) {
            shown->setCurrentText(QLatin1String(words));
            emit shown->activated(shown->currentIndex());
        };
        choose("OV input vectors");
        QTRY_COMPARE(chart->series().size(), std::size_t{2});
        QCOMPARE(chart->series()[0].points, (QVector<QPointF>{{1, 2}, {10, 1}}));
        QCOMPARE(chart->series()[1].points, (QVector<QPointF>{{1, 1}, {10, 4}}));
        QCOMPARE(chart->series()[0].name, QStringLiteral("σ2 at step 10"));
        QVERIFY(sitting.shows(QStringLiteral("Each line follows one singular vector")));
        QSignalSpy said(&sitting.page, &Page::readOutChanged);
        emit chart->pointHovered(chart->series()[1].name, 1, chart->series()[1].points[1]);
        QVERIFY2(said.back()[0].toString().contains(QStringLiteral("overlap with the step before 0.8")),
                 qPrintable(said.back()[0].toString()));
        sitting.workspace.selection()->setHead({0, 1}); // none of its vectors lasts
        QTRY_VERIFY(chart->series().empty());
        choose("OV output vectors"); // the file does not have them
        QTRY_VERIFY(!sitting.shows(QStringLiteral("Each line follows one singular vector")));
        choose("Score");
        QCOMPARE(chart->series()[0].points.size(), 2);
    }

    void aHeadIsSelectedAndLitInEveryPicture()
    {
        TrainingSitting sitting;
        sitting.open();
        auto* tiles = sitting.find<SmallMultiples>("Every head over training");
        QVERIFY(QTest::qWaitForWindowExposed(&sitting.page));
        QTest::mouseClick(tiles, Qt::LeftButton, {}, tiles->tileRect({1, 1}).center().toPoint());
        QCOMPARE(sitting.workspace.selection()->head(), (HeadId{1, 1}));
        QTest::mouseMove(tiles, tiles->tileRect({0, 2}).center().toPoint());
        QTRY_COMPARE(sitting.workspace.selection()->hovered(), std::optional(HeadId{0, 2}));
    }

    void itsNumbersAreExported()
    {
        TrainingSitting sitting;
        sitting.open();
        const QList<FigureSource*> figures = sitting.page.figures();
        QCOMPARE(figures.size(), 4);
        QCOMPARE(figures[0]->figureTitle(), QStringLiteral("Previous token over training, toy"));
        QVERIFY(figures[0]->provenance().contains({QStringLiteral("series"), QStringLiteral("series.h5")}));
        const std::vector<QStringList> rows = dataRows(figures[0]);
        QCOMPARE(rows.size(), std::size_t{1 + 6 * 6 + 1}); // a header, the curves and the change point
        QCOMPARE(rows[1],
                 (QStringList{QStringLiteral("L0H0"), QString(), QStringLiteral("0"), QStringLiteral("0")}));
        const QString out = sitting.folder.path() + QStringLiteral("/curves.");
        for (const char* ending : {"pdf", "svg", "png", "csv"})
            QVERIFY(exportFigure(*figures[0], out + QLatin1String(ending),
                                 {.format = *figureFormatOf(std::string("x.") + ending)}));
    }

    /// One picture a step that could be read, on one scale of colours.
    void anAnimationHasEveryGoodStep()
    {
        TrainingSitting sitting;
        sitting.open();
        auto* frames = sitting.page.findChild<TrainingFrames*>();
        QSignalSpy said(frames, &TrainingFrames::exported);
        const QString name = sitting.folder.filePath(QStringLiteral("grid.svg"));
        frames->exportAnimation(name);
        QTRY_COMPARE(said.size(), 1);
        QVERIFY2(said[0][0].toString().startsWith(QStringLiteral("Wrote an animation of 5 steps")),
                 qPrintable(said[0][0].toString()));
        QFile file(name);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray svg = file.readAll();
        QCOMPARE(svg.count("<animate "), 5);
        for (const char* frame : {">step 0<", ">step 1<", ">step 100<", ">step 512<"})
            QVERIFY2(svg.contains(frame), frame);
        QVERIFY(!svg.contains(">step 10<"));
    }

    /// The legend of the curves names change points where there are some.
    void theLegendNamesWhatIsDrawn()
    {
        TrainingSitting sitting;
        sitting.open();
        const QString name = sitting.folder.filePath(QStringLiteral("curves.svg"));
        const auto hasName = [&] {
            QFile file(name);
            return exportFigure(*sitting.page.figures()[0], name, {.format = FigureFormat::Svg})
                && file.open(QIODevice::ReadOnly) && file.readAll().contains("change point");
        };
        QVERIFY(hasName());
        auto still = std::make_shared<OpenedSeries>(*shownSeries(sitting.file()));
        still->series.changes.clear();
        sitting.workspace.opener()->showSeries(still);
        QVERIFY(!hasName());
    }

    void framesAreOneFileAStep()
    {
        TrainingSitting sitting;
        sitting.open();
        auto* frames = sitting.page.findChild<TrainingFrames*>();
        QSignalSpy said(frames, &TrainingFrames::exported);
        frames->exportFrames(sitting.folder.filePath(QStringLiteral("grid.svg")));
        QTRY_COMPARE(said.size(), 1);
        QVERIFY(said[0][0].toString().startsWith(QStringLiteral("Wrote 6 frames")));
        QCOMPARE(QDir(sitting.folder.path()).entryList(QDir::Files, QDir::Name),
                 (QStringList{QStringLiteral("grid-step0000.svg"), QStringLiteral("grid-step0001.svg"),
                              QStringLiteral("grid-step0010.svg"), QStringLiteral("grid-step0100.svg"),
                              QStringLiteral("grid-step0512.svg"), QStringLiteral("grid-step1000.svg")}));
        frames->exportFrames(sitting.folder.filePath(QStringLiteral("grid.gif")));
        QCOMPARE(said.size(), 2);
        QVERIFY(said[1][0].toString().contains(QStringLiteral("grid.gif")));
    }

    void aCheckpointOpensAsTheModel()
    {
        TrainingSitting sitting;
        ToyOptions options;
        options.nLayers = 2;
        options.nHeads = 3;
        writeToyModel(sitting.file().parent_path() / "step512", options);
        sitting.open();
        QPushButton *open = sitting.button(QStringLiteral("Open this step")),
                    *compare = sitting.button(QStringLiteral("Compare with this step"));
        QVERIFY(!open->isEnabled()); // step 1000 is not there
        QVERIFY(
            open->toolTip().contains(QStringLiteral("step1000 was found neither where it was nor beside")));
        auto* slider = sitting.find<QSlider>("Training step");
        slider->setValue(4);
        QVERIFY(open->isEnabled() && !compare->isEnabled());
        QSignalSpy wanted(&sitting.page, &TrainingPage::stepWanted);
        open->click();
        QCOMPARE(wanted.size(), 1);
        sitting.workspace.opener()->openModel({wanted[0][0].toString().toStdString(), {}, {}});
        QTRY_VERIFY(sitting.workspace.model()->hasModel());
        QTRY_VERIFY(compare->isEnabled());
        QVERIFY(TrainingSeries::isOpenIn(sitting.workspace)); // the series stays open
        QVERIFY(!sitting.workspace.model()->isSeries());
        QCOMPARE(slider->value(), 4);
        QSignalSpy compared(&sitting.page, &TrainingPage::stepCompared);
        compare->click();
        QCOMPARE(compared.size(), 1);
    }

    /// Names with markup, line breaks and controls that turn the writing, and numbers that have no place.
    void aStrangersWordsAreShownAsText()
    {
        TrainingSitting sitting;
        const std::string hostile = "<img src='x.png'><b>bold</b>\n\u202Eturned\u2066";
        const float infinite = std::numeric_limits<float>::infinity();
        SeriesRecord record = recordWithSpectra();
        for (SeriesEntry& entry : record.entries) {
            entry.name = entry.path = hostile;
            ResultArray& scores = entry.arrays[0];
            scores.path = "scores/" + std::string("\u202E<b>x");
            scores.values = std::vector<float>{infinite, -infinite};
            scores.title.clear();
            scores.unit = scores.definition = hostile;
        }
        record.entries[0].step = -5;
        record.entries[1].step = std::numeric_limits<std::int32_t>::max();
        record.entries[0].problem = hostile;
        record.frame.model.name = hostile;
        record.changes = {{.head = {0, 1},
                           .score = "\u202E<b>x",
                           .before = 0,
                           .after = 1,
                           .valueBefore = -std::numeric_limits<double>::infinity(),
                           .valueAfter = std::numeric_limits<double>::quiet_NaN(),
                           .evidence = std::numeric_limits<double>::quiet_NaN(),
                           .text = hostile}};
        QVERIFY(writeSeriesRecord(sitting.file(), record, Task{}));
        const auto opened = openSeriesFile(sitting.file(), Task{});
        QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
        sitting.workspace.opener()->showSeries(*opened);
        const auto isTurned = [](const QString& words) {
            return words.contains(QChar(0x202E)) || words.contains(QChar(0x2066));
        };
        for (const int step : {0, 1}) {
            sitting.find<QSlider>("Training step")->setValue(step);
            for (const QLabel* label : sitting.page.findChildren<QLabel*>())
                if (label->text().contains(QStringLiteral("<b>")))
                    QVERIFY2(label->textFormat() == Qt::PlainText && !isTurned(label->text()),
                             qPrintable(label->text()));
            for (const QPushButton* button : sitting.page.findChildren<QPushButton*>())
                QVERIFY2(!isTurned(button->toolTip()), qPrintable(button->toolTip()));
        }
        const auto* scores = sitting.find<QComboBox>("Score over training");
        QVERIFY2(!isTurned(scores->currentText()), qPrintable(scores->currentText()));
        auto* changes = sitting.find<TableFigure>("Changes of heads");
        QVERIFY(!isTurned(cellText(changes, 0, 0)));
        QTest::mouseClick(changes->viewport(), Qt::LeftButton, {},
                          changes->visualRect(changes->model()->index(0, 0)).center());
        QCOMPARE(sitting.workspace.selection()->head(), (HeadId{0, 1}));
        sitting.page.grab();
        for (FigureSource* figure : sitting.page.figures())
            QVERIFY(!isTurned(figure->figureTitle()));
    }

    void nothingIsCutOffInASmallWindow()
    {
        TrainingSitting sitting({560, 460}); // the page of a window of 1,024 × 640
        sitting.open();
        QVERIFY(QTest::qWaitForWindowExposed(&sitting.page));
        QTRY_VERIFY(sitting.page.width() <= 560);
        for (const QPushButton* button : sitting.page.findChildren<QPushButton*>())
            QVERIFY2(button->width() >= button->sizeHint().width(), qPrintable(button->text()));
        for (const char* name : {"Every head over training", "Changes of heads", "Heads at this step",
                                 "Selected head over training", "Training step"}) {
            const auto* view = sitting.find<QWidget>(name);
            const QRect place(view->mapTo(&sitting.page, QPoint()), view->size());
            QVERIFY2(view->isVisible() && sitting.page.rect().contains(place),
                     qPrintable(QStringLiteral("%1: %2 px at %3 of %4")
                                    .arg(QLatin1String(name))
                                    .arg(place.height())
                                    .arg(place.bottom())
                                    .arg(sitting.page.height())));
        }
        if (const QByteArray out = qgetenv("HEADWISE_SCREENSHOTS"); !out.isEmpty())
            sitting.page.grab().save(QString::fromLocal8Bit(out) + QStringLiteral("/training-small.png"));
    }

    void itsViewIsRestored()
    {
        TrainingSitting sitting;
        sitting.page.setViewState(
            {{QStringLiteral("score"), QStringLiteral("copying")}, {QStringLiteral("log"), false}});
        sitting.open();
        QCOMPARE(sitting.find<QComboBox>("Score over training")->currentText(), QStringLiteral("Copying"));
        QVERIFY(!sitting.page.findChild<QCheckBox*>()->isChecked());
        QCOMPARE(sitting.page.viewState()[QStringLiteral("score")].toString(), QStringLiteral("copying"));
    }
};

HEADWISE_TEST(TrainingPageTest)
#include "training_page_test.moc"
