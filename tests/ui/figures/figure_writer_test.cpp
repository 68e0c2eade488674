#include "ui/figures/figure_writer.h"

#include "tests/support/figure_files.h"
#include "tests/support/matchers.h"
#include "tests/support/pdf_page.h"
#include "tests/support/program.h"
#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/figures/figure_recording.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/widgets/table_figure.h"

#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QFile>
#include <QMimeData>
#include <QPainter>
#include <QSignalSpy>
#include <QStandardItemModel>
#include <QSvgRenderer>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>

#include <atomic>
#include <ctime>
#include <memory>
#include <thread>

using namespace headwise;
using namespace headwise::ui;

namespace {

using test::patience;

const QStringList tokens{QStringLiteral("␣Paris"), QStringLiteral("a,\"b\""), QStringLiteral("日本"),
                         QStringLiteral("שלום"),   QStringLiteral("é<&>"),    QStringLiteral("<0xE2>")};

QByteArray writtenContents(const QString& fileName)
{
    QFile file(fileName);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

double cpuOfThisThread() // ms
{
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

std::unique_ptr<HeatmapView> writtenHeatmap(int size)
{
    auto view = std::make_unique<HeatmapView>();
    auto matrix = std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Random(size, size));
    (*matrix)(0, 1) = std::nanf("");
    view->setMatrix(matrix);
    view->content()->setRowAxis(labelledAxis(QStringLiteral("source token"), tokens));
    view->content()->setColumnAxis({QStringLiteral("output token"), {}});
    view->content()->setNormBars(true);
    view->setFigureTitle(QStringLiteral("L1H2 <OV> & ␣Paris"));
    view->setProvenance({{QStringLiteral("model"), QStringLiteral("demo")}});
    return view;
}

std::unique_ptr<LineChart> writtenChart()
{
    auto view = std::make_unique<LineChart>();
    view->setLook({.xTitle = QStringLiteral("k"), .yTitle = QStringLiteral("σ")});
    view->setSeries({{QStringLiteral("OV"), {{0, 3}, {1, 2}, {2, 0.5}}},
                     {QStringLiteral("QK"), {{0, 1}, {1, 2.5}, {2, 2}}, SeriesStyle::Points},
                     {QStringLiteral("bars"), {{0, 1}, {1, -2}}, SeriesStyle::Bars}});
    view->setBaselines({{QStringLiteral("null"), 0.3}});
    view->setFigureTitle(QStringLiteral("Spectrum"));
    return view;
}

/// A matrix whose numbers stay unfinished until released.
class SlowRows : public DetachableRows {
public:
    void paintFigure(QPainter& /*painter*/, const QSizeF& /*size*/,
                     const FigureStyle& /*style*/) const override
    {
    }
    DataRows detachedRows() const override
    {
        return [mayEnd = mayEnd](const std::function<void(const QStringList&)>& writeRow) {
            while (!*mayEnd)
                std::this_thread::yield();
            writeRow({QStringLiteral("x")});
        };
    }

    std::shared_ptr<std::atomic<bool>> mayEnd = std::make_shared<std::atomic<bool>>(false);
};

} // namespace

class FigureWriterTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    QStandardItemModel m_model;

    std::unique_ptr<TableFigure> table(int rows)
    {
        m_model.clear();
        m_model.setHorizontalHeaderLabels({QStringLiteral("token"), QStringLiteral("value")});
        for (int row = 0; row < rows; ++row)
            m_model.appendRow(
                {new QStandardItem(tokens[row % tokens.size()]), new QStandardItem(QString::number(row))});
        auto view = std::make_unique<TableFigure>();
        view->setSource(&m_model, Qt::DisplayRole);
        view->setFigureTitle(QStringLiteral("Tokens"));
        return view;
    }

    /// Compares all but groups without drawing.
    static void compareSvg(const QByteArray& recorded, const QByteArray& direct)
    {
        const test::Svg one = test::readSvg(recorded);
        const test::Svg other = test::readSvg(direct);
        QVERIFY(!other.texts.isEmpty());
        QCOMPARE(one.texts, other.texts);
        QCOMPARE(one.families, other.families);
        QCOMPARE(one.images, other.images);
        QCOMPARE(one.rects, other.rects);
        QCOMPARE(one.strokes, other.strokes);
        QVERIFY(drawn(recorded) == drawn(direct));
    }

    static QImage drawn(const QByteArray& svg)
    {
        QImage image(850, 700, QImage::Format_RGB32);
        image.fill(Qt::gray);
        QPainter painter(&image);
        QSvgRenderer(svg).render(&painter);
        return image;
    }

    void compareInEveryFormat(const FigureSource& source)
    {
        for (const FigureFormat format : {FigureFormat::Svg, FigureFormat::Png, FigureFormat::Pdf,
                                          FigureFormat::Csv, FigureFormat::Npy}) {
            FigureSettings settings{.format = format, .dpi = 200, .dataBeside = true};
            settings.style.lineWidth = 1.5;
            const auto direct = renderFigure(source, settings);
            const RecordedFigure recording(source, settings);
            const auto recorded = renderFigure(recording, settings);
            QVERIFY(test::isOk(direct) && test::isOk(recorded));
            QCOMPARE(recorded->data, direct->data);
            QCOMPARE(recorded->texts, direct->texts);
            if (format == FigureFormat::Pdf) {
                // Compares the page content, without the date and the document's id.
                QVERIFY(!test::textOf(direct->bytes).isEmpty());
                QCOMPARE(test::textOf(recorded->bytes), test::textOf(direct->bytes));
                QCOMPARE(recorded->bytes.count("/Subtype /Image"), direct->bytes.count("/Subtype /Image"));
            } else if (format == FigureFormat::Svg) {
                compareSvg(recorded->bytes, direct->bytes);
            } else {
                QCOMPARE(recorded->bytes, direct->bytes);
                QVERIFY(recorded->picture == direct->picture);
            }
        }
    }

private slots:
    void initTestCase()
    {
        applyTheme(*qApp, ThemeMode::Light);
        QVERIFY(m_folder.isValid());
    }

    void aRecordingIsThePicture()
    {
        compareInEveryFormat(*writtenHeatmap(6));  // cells as rectangles, marks, values
        compareInEveryFormat(*writtenHeatmap(60)); // one image
        compareInEveryFormat(*writtenChart());
        compareInEveryFormat(*table(40));
    }

    void aRecordingDoesNotNeedItsView()
    {
        auto view = writtenHeatmap(6);
        const FigureSettings settings{.format = FigureFormat::Svg, .dataBeside = true};
        const auto direct = renderFigure(*view, settings);
        const RecordedFigure recording(*view, settings);
        view.reset();
        compareSvg(renderFigure(recording, settings)->bytes, direct->bytes);
        QCOMPARE(renderFigure(recording, settings)->data, direct->data);
    }

    void clipsAndTurnsAreRecorded()
    {
        const auto paint = [](QPainter& painter) {
            painter.save();
            painter.setClipRect(QRectF(10, 10, 60.5, 60));
            painter.fillRect(QRectF(0, 0, 200, 200), QColor(200, 30, 30));
            painter.save();
            painter.translate(40, 40);
            painter.rotate(-90);
            painter.setClipRect(QRectF(-20, -20, 10, 50), Qt::IntersectClip);
            painter.fillRect(QRectF(-50, -50, 100, 100), QColor(30, 30, 200));
            painter.restore();
            painter.drawText(QPointF(3, 15), QStringLiteral("clipped"));
            painter.restore();
            painter.setOpacity(0.5);
            painter.setPen(QPen(Qt::black, 2));
            painter.setBrush(Qt::green);
            painter.drawEllipse(QPointF(80, 80), 9, 5);
            painter.drawText(QPointF(3, 95), QStringLiteral("under"));
        };
        const auto sheet = [] {
            QImage image(200, 200, QImage::Format_RGB32);
            image.fill(Qt::white);
            return image;
        };
        QImage direct = sheet();
        QImage again = sheet();
        PaintRecording recording({100, 100}, 2);
        QPainter recorder(&recording);
        paint(recorder);
        recorder.end();
        for (QImage* image : {&direct, &again}) {
            image->setDotsPerMeterX(2835); // 72 dpi, as the recording's rulers
            image->setDotsPerMeterY(2835);
        }
        QPainter first(&direct);
        first.scale(2, 2);
        paint(first);
        first.end();
        QPainter second(&again);
        second.scale(2, 2);
        recording.replay(second, {});
        second.end();
        QVERIFY(direct != sheet());
        QVERIFY(again == direct);
    }

    void writesWhatTheWindowWouldHaveWritten()
    {
        const auto view = writtenHeatmap(60);
        FigureWriter writer;
        const QSignalSpy written(&writer, &FigureWriter::written);
        for (const char* name : {"a.png", "a.svg", "a.csv"}) {
            FigureSettings settings;
            settings.format = *figureFormatOf(QString::fromLatin1(name));
            const QString direct = m_folder.filePath(QStringLiteral("direct-") + QLatin1StringView(name));
            QVERIFY(test::isOk(exportFigure(*view, direct, settings)));
            const auto before = written.count();
            writer.write(*view, m_folder.filePath(QLatin1StringView(name)), settings);
            QTRY_COMPARE(written.count(), before + 1);
            const QByteArray file = writtenContents(m_folder.filePath(QLatin1StringView(name)));
            if (settings.format == FigureFormat::Svg)
                compareSvg(file, writtenContents(direct));
            else
                QCOMPARE(file, writtenContents(direct));
        }
    }

    void oneAfterAnotherUnderTheNextFreeName()
    {
        const auto view = writtenHeatmap(6);
        const QString name = m_folder.filePath(QStringLiteral("again.svg"));
        FigureWriter writer;
        const QSignalSpy written(&writer, &FigureWriter::written);
        for (int time = 0; time < 3; ++time)
            writer.write(*view, name, {.format = FigureFormat::Svg}, FigureWriter::Naming::NextFree);
        QTRY_COMPARE(written.count(), 3);
        for (const char* each : {"again.svg", "again-2.svg", "again-3.svg"})
            QVERIFY2(QFile::exists(m_folder.filePath(QLatin1StringView(each))), each);
    }

    void whatIsCancelledLeavesNoFileAndTheNextIsWritten()
    {
        QDir(m_folder.path()).mkdir(QStringLiteral("cancelled"));
        const QDir folder(m_folder.filePath(QStringLiteral("cancelled")));
        const SlowRows slow;
        FigureWriter writer;
        const QSignalSpy written(&writer, &FigureWriter::written);
        const QSignalSpy failed(&writer, &FigureWriter::failed);
        writer.write(slow, folder.filePath(QStringLiteral("slow.csv")), {.format = FigureFormat::Csv});
        writer.write(*writtenHeatmap(6), folder.filePath(QStringLiteral("next.csv")),
                     {.format = FigureFormat::Csv});
        QVERIFY(writer.job()->isRunning());
        QCOMPARE(writer.job()->title(), QStringLiteral("Export of slow.csv"));
        writer.job()->cancel();
        QTRY_COMPARE(written.count(), 1); // while the other still runs
        *slow.mayEnd = true;
        QVERIFY(waitForJobs(std::chrono::milliseconds(patience)));
        QCOMPARE(folder.entryList(QDir::Files), QStringList{QStringLiteral("next.csv")});
        QCOMPARE(failed.count(), 0);
    }

    void anErrorIsOneSentenceAndAnOldFileStays()
    {
        const auto view = writtenHeatmap(6);
        FigureWriter writer;
        QSignalSpy failed(&writer, &FigureWriter::failed);
        const QString nowhere = m_folder.filePath(QStringLiteral("no/such/fig.pdf"));
        writer.write(*view, nowhere, {});
        QTRY_COMPARE(failed.count(), 1);
        const QString said = failed.takeFirst().first().toString();
        QVERIFY2(said.contains(nowhere) && said.endsWith(u'.') && !said.contains(u'\n'), qPrintable(said));
        writer.write(*view, m_folder.filePath(QStringLiteral("x.png")),
                     {.format = FigureFormat::Png, .width = 5000, .height = 5000, .dpi = 2400});
        QTRY_COMPARE(failed.count(), 1);
        QVERIFY(failed.first().first().toString().contains(QStringLiteral("million pixels")));
        QVERIFY(!QFile::exists(m_folder.filePath(QStringLiteral("x.png"))));
    }

    void aLongTableIsReadInTurns()
    {
        const auto rows = table(30000);
        const FigureSettings settings{.format = FigureFormat::Csv};
        const QString direct = m_folder.filePath(QStringLiteral("direct-long.csv"));
        QVERIFY(test::isOk(exportFigure(*rows, direct, settings)));
        FigureWriter writer;
        const QSignalSpy written(&writer, &FigureWriter::written);
        QSignalSpy failed(&writer, &FigureWriter::failed);
        const QString file = m_folder.filePath(QStringLiteral("long.csv"));
        int turns = 0;
        QTimer other;
        connect(&other, &QTimer::timeout, this, [&turns] { ++turns; });
        other.start(0);
        writer.write(*rows, file, settings);
        QTRY_COMPARE(written.count(), 1);
        QVERIFY(turns >= 2);
        QCOMPARE(writtenContents(file), writtenContents(direct));
        // A table that changes during the export is not written.
        const QString changing = m_folder.filePath(QStringLiteral("changing.csv"));
        writer.write(*rows, changing, settings);
        m_model.removeRow(7);
        QTRY_COMPARE(failed.count(), 1);
        QVERIFY(failed.takeFirst().first().toString().contains(QStringLiteral("changed")));
        QVERIFY(!QFile::exists(changing));
        {
            auto gone = std::make_unique<TableFigure>();
            gone->setSource(&m_model, Qt::DisplayRole);
            writer.write(*gone, changing, settings);
        }
        QTRY_COMPARE(failed.count(), 1);
        QVERIFY(!QFile::exists(changing));
    }

    void copiesThePictureAndTheNumbers()
    {
        const auto view = writtenHeatmap(6);
        FigureWriter writer;
        const QSignalSpy copied(&writer, &FigureWriter::copied);
        writer.copy(*view, {});
        QTRY_COMPARE(copied.count(), 1);
        const QMimeData* data = QApplication::clipboard()->mimeData();
        QVERIFY(data->hasImage());
        compareSvg(data->data(QStringLiteral("image/svg+xml")),
                   renderFigure(*view, {.format = FigureFormat::Svg})->bytes);
        writer.copyData(*view, FigureFormat::Tsv);
        QTRY_COMPARE(copied.count(), 2);
        QVERIFY(QApplication::clipboard()->text().startsWith(QStringLiteral("source token\t0\t1")));
    }

    void theWindowsThreadDoesLittleOfTheWork()
    {
        const auto view = writtenHeatmap(768);
        const auto rows = table(4000);
        FigureWriter writer;
        const QSignalSpy written(&writer, &FigureWriter::written);
        const auto share = [&](const FigureSource& source, const FigureSettings& settings, const char* name) {
            const QString file = m_folder.filePath(QLatin1StringView(name));
            const double begin = cpuOfThisThread();
            [&] { QVERIFY(test::isOk(exportFigure(source, file, settings))); }();
            const double direct = cpuOfThisThread() - begin;
            const auto before = written.count();
            const double start = cpuOfThisThread();
            writer.write(source, file, settings);
            const double own = cpuOfThisThread() - start;
            [&] { QTRY_COMPARE(written.count(), before + 1); }();
            qInfo("%s: %.0f ms at once, %.1f ms of the window's thread by a job", name, direct, own);
            return own / direct;
        };
        QVERIFY(share(*view, {.format = FigureFormat::Pdf}, "m.pdf") < 0.5);
        QVERIFY(share(*view, {.format = FigureFormat::Csv}, "m.csv") < 0.5);
        QVERIFY(share(*rows, {.format = FigureFormat::Png, .width = 178, .height = 100, .dpi = 600}, "t.png")
                < 0.5);
    }
};

HEADWISE_TEST(FigureWriterTest)
#include "figure_writer_test.moc"
