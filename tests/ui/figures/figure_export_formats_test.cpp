#include "tests/support/delimited_table.h"
#include "tests/support/figure_files.h"
#include "tests/support/matchers.h"
#include "tests/support/pdf_page.h"
#include "tests/support/program.h"
#include "ui/base/theme.h"
#include "ui/charts/diagram_view.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/figures/figure_export.h"
#include "ui/figures/figure_export_formats.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/widgets/table_figure.h"

#include <QApplication>
#include <QClipboard>
#include <QFile>
#include <QStandardItemModel>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <cstring>

using namespace headwise;
using namespace headwise::ui;
using namespace headwise::test;

namespace {

const QString title = QStringLiteral("L1H2 full OV: source → output tokens, no scale, no bias, demo");

void describe(FigureSource& source)
{
    source.setFigureTitle(title);
    source.setProvenance({{QStringLiteral("model"), QStringLiteral("demo")},
                          {QStringLiteral("sha256"), QStringLiteral("0123456789abcdef").repeated(4)},
                          {QStringLiteral("head"), QStringLiteral("L1H2")},
                          {QStringLiteral("processing"), QStringLiteral("norms folded")},
                          {QStringLiteral("embedding"), QStringLiteral("raw")}});
}

std::unique_ptr<HeatmapView> heatmap(int rows, int columns)
{
    auto view = std::make_unique<HeatmapView>();
    auto matrix = std::make_shared<Eigen::MatrixXf>(rows, columns);
    for (int row = 0; row < rows; ++row)
        for (int column = 0; column < columns; ++column)
            (*matrix)(row, column) = std::sin(static_cast<float>(row * columns + column));
    view->setMatrix(matrix);
    describe(*view);
    return view;
}

std::unique_ptr<LineChart> chart()
{
    auto view = std::make_unique<LineChart>();
    view->setLook({QStringLiteral("index"), QStringLiteral("σ")});
    view->setSeries({{QStringLiteral("OV"), {{0, 3}, {1, 2.5}, {2, 0.125}}}});
    describe(*view);
    return view;
}

std::unique_ptr<DiagramView> diagram()
{
    auto view = std::make_unique<DiagramView>();
    view->setHeads(2, 3);
    view->setEdges({{{0, 1}, {1, 2}, 0.5}, {{0, 0}, {1, 2}, -0.25}});
    describe(*view);
    return view;
}

/// Two columns: a token that needs every escape, and a number.
std::unique_ptr<TableFigure> table()
{
    auto view = std::make_unique<TableFigure>();
    auto* model = new QStandardItemModel(view.get());
    model->setHorizontalHeaderLabels({QStringLiteral("token"), QStringLiteral("value")});
    const QList<std::pair<QString, double>> rows{{QStringLiteral("a&b_%"), 1.0 / 3},
                                                 {QStringLiteral("c,\"d\""), -2}};
    for (const auto& [token, value] : rows) {
        auto* number = new QStandardItem(QString::number(value, 'g', 3));
        number->setData(value, Qt::UserRole);
        number->setData(QVariant::fromValue(Qt::AlignRight | Qt::AlignVCenter), Qt::TextAlignmentRole);
        model->appendRow({new QStandardItem(token), number});
    }
    view->setSource(model, Qt::UserRole);
    describe(*view);
    return view;
}

QByteArray written(const FigureSource& source, FigureSettings settings, FigureFormat format)
{
    static QTemporaryDir directory;
    settings.format = format;
    const QString name = directory.filePath(QStringLiteral("f.") + suffixOf(format));
    if (!test::isOk(exportFigure(source, name, settings)))
        return {};
    QFile file(name);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// One of every kind of picture, none with more cells than an SVG draws as rectangles.
std::vector<std::unique_ptr<FigureSource>> oneOfEach()
{
    std::vector<std::unique_ptr<FigureSource>> all;
    all.push_back(heatmap(5, 5));
    all.push_back(chart());
    all.push_back(diagram());
    all.push_back(table());
    return all;
}

} // namespace

class FigureExportFormatsTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { applyTheme(*qApp, ThemeMode::Dark); }

    void aHeatmapInSvgHasAPixelPerCellAndNoOtherPicture()
    {
        const auto source = heatmap(60, 90);
        const Svg svg = readSvg(written(*source, {}, FigureFormat::Svg));
        QCOMPARE(svg.images.size(), 1);
        QCOMPARE(svg.images.first().value(QStringLiteral("style")), u"image-rendering:pixelated");
        const QString data =
            svg.images.first()
                .value(QStringLiteral("http://www.w3.org/1999/xlink"), QStringLiteral("href"))
                .toString();
        const QImage image =
            QImage::fromData(QByteArray::fromBase64(data.section(QStringLiteral("base64,"), 1).toLatin1()));
        QCOMPARE(image.size(), QSize(90, 60));
        for (const auto& [row, column] : {std::pair(0, 0), std::pair(59, 89), std::pair(17, 40)})
            QCOMPARE(image.pixel(column, row),
                     colorOf((*source->matrix())(row, column), source->colors()->scale()));
        for (const auto& other : oneOfEach())
            QCOMPARE(readSvg(written(*other, {}, FigureFormat::Svg)).images.size(), 0);
    }

    void aZoomedHeatmapIsCutAtWholeCells()
    {
        const auto source = heatmap(100, 100);
        source->zoom()->setState({.zoomX = 2.3, .zoomY = 2.3, .centerX = 0.4, .centerY = 0.6});
        const std::optional<FigureArray> array = source->figureArray();
        const Svg svg = readSvg(written(*source, {}, FigureFormat::Svg));
        const QString data =
            svg.images.first()
                .value(QStringLiteral("http://www.w3.org/1999/xlink"), QStringLiteral("href"))
                .toString();
        const QImage image =
            QImage::fromData(QByteArray::fromBase64(data.section(QStringLiteral("base64,"), 1).toLatin1()));
        QCOMPARE(image.size(), QSize(static_cast<int>(array->shape[1]), static_cast<int>(array->shape[0])));
        QVERIFY(image.width() < 60);
        QCOMPARE(image.pixel(image.width() - 1, 0),
                 colorOf(array->values[array->shape[1] - 1], source->colors()->scale()));
    }

    void textIsTextWithFontsToFallBackOn()
    {
        const Svg svg = readSvg(written(*table(), {}, FigureFormat::Svg));
        QVERIFY(svg.texts.contains(QStringLiteral("a&b_%")));
        QVERIFY(svg.texts.contains(QStringLiteral("-2")));
        for (const QString& family : svg.families)
            QVERIFY2(family.endsWith(QStringLiteral("sans-serif"))
                         || family.endsWith(QStringLiteral("monospace")),
                     qPrintable(family));
        const QString pdf = textOf(written(*table(), {}, FigureFormat::Pdf));
        QVERIFY2(pdf.contains(QStringLiteral("a&b_%")), qPrintable(pdf));
        const QString bar = textOf(written(*heatmap(5, 5), {}, FigureFormat::Pdf));
        QVERIFY2(bar.contains(QStringLiteral("0.5")), qPrintable(bar)); // The colour bar's tick.
        QVERIFY(bar.contains(QStringLiteral("L1H2")));
    }

    void aHeatmapInPdfHasAPixelPerCellAndNoInterpolation()
    {
        const QByteArray pdf = written(*heatmap(60, 90), {}, FigureFormat::Pdf);
        QCOMPARE(pdf.count("/Subtype /Image"), 1);
        QVERIFY(pdf.contains("/Width 90") && pdf.contains("/Height 60"));
        QVERIFY(!pdf.contains("/Interpolate true"));
        QCOMPARE(written(*heatmap(5, 5), {}, FigureFormat::Pdf).count("/Subtype /Image"), 0);
    }

    void aLongTitleWrapsInsideThePage()
    {
        FigureSettings settings;
        settings.width = 40;
        for (const auto& source : oneOfEach()) {
            const Svg svg = readSvg(written(*source, settings, FigureFormat::Svg));
            // Its lines come first.
            QString joined = svg.texts.first();
            qsizetype lines = 1;
            while (joined.size() < title.size())
                joined += u' ' + svg.texts.value(lines++);
            QCOMPARE(joined, title);
            QVERIFY(lines > 1);
            for (const QString& line : svg.texts.first(lines))
                QVERIFY(line.size() < 40);
        }
    }

    void linesGrowWithTheirWidth()
    {
        FigureSettings thick;
        thick.style.lineWidth = 3;
        for (const auto& source : oneOfEach()) {
            const std::set<double> thin = readSvg(written(*source, {}, FigureFormat::Svg)).strokes;
            const std::set<double> three = readSvg(written(*source, thick, FigureFormat::Svg)).strokes;
            QVERIFY(!thin.empty());
            QCOMPARE(thin.size(), three.size());
            for (auto one = thin.begin(), other = three.begin(); one != thin.end(); ++one, ++other)
                QVERIFY2(std::abs(*other - 3 * *one) < 0.01, qPrintable(QString::number(*one)));
        }
    }

    void theBackgroundIsAsChosen()
    {
        FigureSettings clear;
        clear.transparent = true;
        const auto source = chart();
        const QImage white = QImage::fromData(written(*source, {}, FigureFormat::Png));
        const QImage through = QImage::fromData(written(*source, clear, FigureFormat::Png));
        const QPoint corner(white.width() - 1, white.height() - 1);
        QCOMPARE(white.pixel(corner), qRgba(255, 255, 255, 255));
        QCOMPARE(qAlpha(through.pixel(corner)), 0);
        const auto pages = [](const Svg& svg) {
            return std::ranges::count_if(svg.rects, [](const QXmlStreamAttributes& rect) {
                return rect.value(QStringLiteral("width")).toDouble() > 240;
            });
        };
        QCOMPARE(pages(readSvg(written(*source, {}, FigureFormat::Svg))), 1);
        QCOMPARE(pages(readSvg(written(*source, clear, FigureFormat::Svg))), 0);
        QVERIFY(written(*source, clear, FigureFormat::Pdf).size() > 0);
    }

    void axesCanBeLeftOut()
    {
        FigureSettings bare;
        bare.style.axes = false;
        bare.style.title = false;
        bare.style.colorBar = false;
        QVERIFY(readSvg(written(*chart(), {}, FigureFormat::Svg)).texts.contains(QStringLiteral("index")));
        QCOMPARE(readSvg(written(*chart(), bare, FigureFormat::Svg)).texts,
                 QStringList{QStringLiteral("OV")});
        QCOMPARE(readSvg(written(*diagram(), bare, FigureFormat::Svg)).texts, QStringList{});
    }

    void pngHasItsProvenanceInPlainTextChunks()
    {
        const auto source = chart();
        const QByteArray png = written(*source, {}, FigureFormat::Png);
        QVERIFY(
            png.contains("tEXtsha256" + QByteArray(1, '\0') + QByteArray("0123456789abcdef").repeated(4)));
        const QImage image = QImage::fromData(png); // Its reader checks the sums.
        for (const auto& [name, value] : source->provenance())
            QCOMPARE(image.text(name), value);
        QCOMPARE(image.text(QStringLiteral("Title")), title); // An arrow is not Latin-1.
    }

    /// The offsets of the objects hold after the entry was added to the pictures.
    void picturesAreNotInterpolated()
    {
        const QByteArray svg = written(*heatmap(60, 90), {}, FigureFormat::Svg);
        QCOMPARE(svg.count("image-rendering:pixelated"), svg.count("<image "));
        const QByteArray pdf = written(*heatmap(60, 90), {}, FigureFormat::Pdf);
        QVERIFY(pdf.contains("/Subtype /Image"));
        QCOMPARE(pdf.count("/Interpolate false"), pdf.count("/Subtype /Image"));
        const qsizetype table = pdf.lastIndexOf("\nxref\n") + 1;
        const qsizetype named = pdf.lastIndexOf("startxref\n") + 10;
        QCOMPARE(pdf.mid(named, pdf.indexOf('\n', named) - named).toLongLong(), table);
        int object = -1;
        for (const QByteArray& line : pdf.mid(table).split('\n')) {
            if (line.size() < 18 || !line.at(0) || !QChar::fromLatin1(line.at(0)).isDigit())
                continue;
            ++object;
            if (object > 0 && line.contains(" n"))
                QVERIFY2(
                    pdf.mid(line.left(10).toLongLong()).startsWith(QByteArray::number(object) + " 0 obj"),
                    line.constData());
        }
        QVERIFY(object > 5);
    }

    void everyFormatOfFiguresNamesWhatItShows()
    {
        const auto source = chart();
        const QByteArray svg = written(*source, {}, FigureFormat::Svg);
        const QByteArray pdf = written(*source, {}, FigureFormat::Pdf);
        for (const auto& [name, value] : source->provenance()) {
            QVERIFY(svg.contains(value.toUtf8()));
            QByteArray utf16;
            for (const QChar c : name + QStringLiteral(": ") + value)
                utf16 +=
                    QByteArray(1, static_cast<char>(c.row())) + QByteArray(1, static_cast<char>(c.cell()));
            QVERIFY2(pdf.contains(utf16), qPrintable(name));
        }
        QVERIFY(svg.contains("<metadata>") && svg.contains("<desc>"));
    }

    void theCaptionIsASentenceForThePaper()
    {
        const QString caption = figureCaption(*chart());
        QVERIFY2(caption.startsWith(
                     title
                     + QStringLiteral(
                         ". Norms folded; raw embedding; file with SHA-256 0123456789ab…; Headwise ")),
                 qPrintable(caption));
        QVERIFY(caption.endsWith(u'.'));
        LineChart untitled;
        untitled.setFigureTitle(QStringLiteral("Spectrum"));
        untitled.setProvenance({{QStringLiteral("head"), QStringLiteral("L1H2")}});
        QVERIFY(figureCaption(untitled).startsWith(QStringLiteral("L1H2: Spectrum. Headwise ")));
        // A model that the title does not name.
        untitled.setProvenance({{QStringLiteral("model"), QStringLiteral("demo")}});
        QVERIFY(figureCaption(untitled).startsWith(QStringLiteral("Spectrum, demo. Headwise ")));
        untitled.setProvenance({{QStringLiteral("tokens"), QStringLiteral("--first-id 9")},
                                {QStringLiteral("view"), QStringLiteral("spectrum")},
                                {QStringLiteral("baseline"), QStringLiteral("minus 1/√d")}});
        QVERIFY(figureCaption(untitled).startsWith(
            QStringLiteral("Spectrum. Minus 1/√d; tokens --first-id 9; view spectrum; Headwise ")));
        untitled.setColorWords(QStringLiteral("Colour: rank, from 1 (blue) to 9 (orange)."));
        QVERIFY(figureCaption(untitled).startsWith(
            QStringLiteral("Spectrum. Colour: rank, from 1 (blue) to 9 (orange). Minus 1/√d; ")));
    }

    void csvAndNpyReadBackAsTheMatrix()
    {
        const auto source = heatmap(7, 11);
        const auto read =
            readDelimited(written(*source, {}, FigureFormat::Csv).toStdString(), Delimiter::Comma);
        QVERIFY(test::isOk(read));
        const QByteArray npy = written(*source, {}, FigureFormat::Npy);
        QVERIFY(npy.contains("'descr': '<f4', 'fortran_order': False, 'shape': (7, 11), "));
        const char* numbers = npy.constData() + npy.size() - 7 * 11 * 4;
        for (int row = 0; row < 7; ++row)
            for (int column = 0; column < 11; ++column) {
                const float wanted = (*source->matrix())(row, column);
                float stored = 0;
                std::memcpy(&stored, numbers + 4 * (row * 11 + column), 4);
                QCOMPARE(stored, wanted);
                QCOMPARE(QString::fromStdString(
                             read->rows[static_cast<std::size_t>(row)][static_cast<std::size_t>(column) + 1])
                             .toFloat(),
                         wanted);
            }
        QVERIFY(written(*chart(), {}, FigureFormat::Npy)
                    .contains("[('series', '<U2'), ('index', '<i8'), ('σ', '<f8'), ]"));
    }

    void tablesAreSetInLatexAndMarkdown()
    {
        const QByteArray latex = written(*table(), {}, FigureFormat::Latex);
        QVERIFY(latex.startsWith("% " + title.toUtf8() + ". Norms folded"));
        QVERIFY2(
            latex.contains("\\begin{tabular}{lr}\n\\toprule\ntoken & value \\\\\n\\midrule\n"
                           "a\\&b\\_\\% & 0.333 \\\\\nc,\"d\" & $-2$ \\\\\n\\bottomrule\n\\end{tabular}\n"),
            latex.constData());
        QCOMPARE(written(*table(), {}, FigureFormat::Markdown),
                 QByteArray("| token | value |\n| --- | ---: |\n| a\\&b\\_% | 0.333 |\n| c,\"d\" | -2 |\n"));
        FigureSettings settings;
        settings.format = FigureFormat::Latex;
        QVERIFY(
            test::failsWith(renderFigure(*heatmap(400, 400), settings), ErrorCode::InvalidArgument, "NPY"));
    }

    void theNumbersAreTextForTheClipboard()
    {
        QCOMPARE(*dataText(*table(), FigureFormat::Tsv),
                 QStringLiteral("token\tvalue\na&b_%\t0.3333333333333333\n\"c,\"\"d\"\"\"\t-2\n"));
        QVERIFY(dataText(*table(), FigureFormat::Latex)->contains(QStringLiteral("\\toprule")));
    }

    void ctrlCCopiesTheSelectedRows()
    {
        const auto view = table();
        view->show();
        view->selectRow(1);
        QTest::keyClick(view.get(), Qt::Key_C, Qt::ControlModifier);
        QCOMPARE(QApplication::clipboard()->text(), QStringLiteral("c,\"d\"\t-2\n"));
        view->selectAll();
        view->setColumnHidden(0, true);
        QTest::keyClick(view.get(), Qt::Key_C, Qt::ControlModifier);
        QCOMPARE(QApplication::clipboard()->text(), QStringLiteral("0.3333333333333333\n-2\n"));
    }

    void theNextFreeNameIsCounted()
    {
        QTemporaryDir folder;
        const QString first = folder.filePath(QStringLiteral("fig.1.pdf"));
        QCOMPARE(nextFreeFileName(first), first);
        for (const char* name : {"fig.1.pdf", "fig.1-2.pdf"}) {
            QFile file(folder.filePath(QLatin1StringView(name)));
            QVERIFY(file.open(QIODevice::WriteOnly));
        }
        QCOMPARE(nextFreeFileName(first), folder.filePath(QStringLiteral("fig.1-3.pdf")));
    }
};

HEADWISE_TEST(FigureExportFormatsTest)
#include "figure_export_formats_test.moc"
