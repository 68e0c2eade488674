#include "ui/figures/figure_export.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "ui/base/theme.h"
#include "ui/heatmaps/color_bar_painter.h"
#include "ui/heatmaps/heatmap_view.h"

#include <QApplication>
#include <QDir>
#include <QFile>
#include <QPainter>
#include <QSvgRenderer>
#include <QTemporaryDir>
#include <QTest>
#include <QXmlStreamReader>

using namespace headwise;
using namespace headwise::ui;

namespace {

std::unique_ptr<HeatmapView> view(int rows, int columns)
{
    auto result = std::make_unique<HeatmapView>();
    auto matrix = std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Zero(rows, columns));
    (*matrix)(0, 0) = 1;
    (*matrix)(rows - 1, columns - 1) = -1;
    result->setMatrix(matrix);
    result->content()->setRowAxis(
        labelledAxis(QStringLiteral("source token"), {QStringLiteral("a,\"b\""), QStringLiteral("␣Paris")}));
    result->setFigureTitle(QStringLiteral("L1H2 <OV> & more"));
    result->setProvenance({{QStringLiteral("model"), QStringLiteral("demo")},
                           {QStringLiteral("head"), QStringLiteral("L1H2")}});
    return result;
}

QByteArray contents(const QString& fileName)
{
    QFile file(fileName);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

QByteArray exported(const FigureSource& source, FigureSettings settings, FigureFormat format,
                    const QString& name)
{
    static QTemporaryDir directory;
    settings.format = format;
    const QString fileName = directory.filePath(name);
    return test::isOk(exportFigure(source, fileName, settings)) ? contents(fileName) : QByteArray();
}

// All text and attribute values of an XML document; empty if it is not well formed.
struct Xml {
    QStringList texts;
    QMap<QString, QStringList> attributes; // "svg/width"
    int images = 0;
};

Xml parsed(const QByteArray& bytes)
{
    Xml xml;
    QXmlStreamReader reader(bytes);
    while (!reader.atEnd()) {
        reader.readNext();
        if (reader.isCharacters() && !reader.isWhitespace())
            xml.texts << reader.text().toString().trimmed();
        if (!reader.isStartElement())
            continue;
        xml.images += reader.name() == u"image" ? 1 : 0;
        for (const QXmlStreamAttribute& attribute : reader.attributes())
            xml.attributes[QStringLiteral("%1/%2").arg(reader.name(), attribute.name())]
                << attribute.value().toString();
    }
    return reader.hasError() ? Xml{} : xml;
}

int count(const QImage& image, QRgb color)
{
    int found = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            found += image.pixel(x, y) == color ? 1 : 0;
    return found;
}

/// Counts the pixels of an end's colour on the colour bar, which is at the right of the cells.
int countOnBar(const QImage& image, QRgb color, double dpi)
{
    int last = -1;
    for (int y = 0; y < image.height(); ++y)
        for (int x = last + 1; x < image.width(); ++x)
            last = image.pixel(x, y) == color ? x : last;
    const int left = last - static_cast<int>(colorBarThickness * dpi / 72);
    return last < 0 ? 0 : count(image.copy(left, 0, last + 1 - left, image.height()), color);
}

const QRgb fullRed = colorOf(1, ColorScale{});

} // namespace

class FigureExportTest : public QObject {
    Q_OBJECT

private slots:
    // Figures are light whatever the window's theme.
    void initTestCase() { applyTheme(*qApp, ThemeMode::Dark); }

    void aPngHasItsSizeItsResolutionAndItsProvenance()
    {
        const FigureSettings settings{.width = 50.8, .height = 25.4, .dpi = 200};
        const QImage image =
            QImage::fromData(exported(*view(2, 2), settings, FigureFormat::Png, QStringLiteral("a.png")));
        QCOMPARE(image.size(), QSize(400, 200));
        QCOMPARE(image.dotsPerMeterX(), 7874);
        QCOMPARE(image.text(QStringLiteral("model")), QStringLiteral("demo"));
        QCOMPARE(image.text(QStringLiteral("Title")), QStringLiteral("L1H2 <OV> & more"));
        QCOMPARE(image.pixel(399, 199), qRgb(255, 255, 255));
        QVERIFY(count(image, fullRed) > 1000); // A quarter of the cells, in the light map.
    }

    void anSvgHasItsSizeTextAsTextAndItsProvenance()
    {
        const FigureSettings settings{.width = 85, .height = 70};
        const Xml svg = parsed(exported(*view(2, 2), settings, FigureFormat::Svg, QStringLiteral("a.svg")));
        QCOMPARE(svg.attributes[QStringLiteral("svg/width")].first(), QStringLiteral("85mm"));
        QCOMPARE(svg.attributes[QStringLiteral("svg/height")].first(), QStringLiteral("70mm"));
        const QStringList box = svg.attributes[QStringLiteral("svg/viewBox")].first().split(u' ');
        QVERIFY(std::abs(box[2].toDouble() - 85 / 25.4 * 72) < 0.01);
        QVERIFY(svg.texts.contains(QStringLiteral("␣Paris")));
        QVERIFY(svg.texts.contains(QStringLiteral("L1H2 <OV> & more")));
        QVERIFY(!svg.texts.filter(QStringLiteral("\"model\": \"demo\"")).isEmpty());
        QCOMPARE(svg.images, 0); // Few cells are rectangles one can edit.
    }

    void aLargeHeatmapIsOnePixelatedPictureInSvg()
    {
        const Xml svg = parsed(exported(*view(200, 300), {}, FigureFormat::Svg, QStringLiteral("b.svg")));
        QCOMPARE(svg.images, 1);
        QCOMPARE(svg.attributes[QStringLiteral("image/style")].first(),
                 QStringLiteral("image-rendering:pixelated"));
    }

    void anSvgShowsWhatThePngShows()
    {
        const FigureSettings settings{.width = 60, .height = 60, .dpi = 127};
        const auto source = view(2, 2);
        const QImage png = figureImage(*source, settings, settings.dpi);
        QSvgRenderer renderer(exported(*source, settings, FigureFormat::Svg, QStringLiteral("c.svg")));
        QVERIFY(renderer.isValid());
        QImage image(png.size(), QImage::Format_RGB32);
        image.fill(Qt::black);
        QPainter painter(&image);
        renderer.render(&painter);
        painter.end();
        const int red = count(png, fullRed);
        QVERIFY(red > 1000);
        QVERIFY(std::abs(count(image, fullRed) - red) < red / 20);
        QCOMPARE(image.pixel(image.width() - 1, 0), qRgb(255, 255, 255));
    }

    void aPdfHasItsPageItsTitleAndItsProvenance()
    {
        const QByteArray pdf =
            exported(*view(2, 2), {.width = 85, .height = 70}, FigureFormat::Pdf, QStringLiteral("a.pdf"));
        QVERIFY(pdf.startsWith("%PDF-1."));
        QVERIFY(pdf.contains("/MediaBox [0 0 241"));
        QVERIFY(pdf.contains("provenance.json")
                || pdf.contains(QByteArray::fromHex("00700072006f00760065006e")));
        // Strings of the document information are UTF-16, big endian.
        QByteArray wanted;
        for (const QChar c : QStringLiteral("head: L1H2"))
            wanted += QByteArray(1, char(c.row())) + QByteArray(1, char(c.cell()));
        QVERIFY(pdf.contains(wanted));
        QVERIFY(pdf.contains("/Font"));
    }

    void theTableIsRfc4180WithoutComments()
    {
        const QByteArray csv = exported(*view(2, 3), {}, FigureFormat::Csv, QStringLiteral("a.csv"));
        QCOMPARE(QString::fromUtf8(csv),
                 QStringLiteral("source token,0,1,2\r\n\"a,\"\"b\"\"\",1,0,0\r\n␣Paris,0,0,-1\r\n"));
        FigureSettings commented;
        commented.provenanceInData = true;
        const QByteArray tsv = exported(*view(2, 3), commented, FigureFormat::Tsv, QStringLiteral("a.tsv"));
        QVERIFY(tsv.startsWith("# creator: Headwise "));
        QVERIFY(tsv.contains("# head: L1H2\n"));
        QVERIFY(tsv.contains("\t0\t0\t-1\n"));
    }

    void theNumbersCanLieBesideThePicture()
    {
        QTemporaryDir directory;
        FigureSettings settings{.format = FigureFormat::Svg, .dataBeside = true};
        QVERIFY(
            test::isOk(exportFigure(*view(2, 2), directory.filePath(QStringLiteral("fig.1.svg")), settings)));
        QVERIFY(contents(directory.filePath(QStringLiteral("fig.1.csv"))).startsWith("source token,"));
    }

    void titleAndColorBarCanBeLeftOut()
    {
        FigureSettings settings;
        settings.style.title = false;
        settings.style.colorBar = false;
        const Xml without =
            parsed(exported(*view(2, 2), settings, FigureFormat::Svg, QStringLiteral("d.svg")));
        const Xml with = parsed(exported(*view(2, 2), {}, FigureFormat::Svg, QStringLiteral("e.svg")));
        QCOMPARE(without.texts.count(QStringLiteral("L1H2 <OV> & more")) + 1,
                 with.texts.count(QStringLiteral("L1H2 <OV> & more"))); // One is the document's own title.
        // The bar's own tick; the limits are also numbers in cells.
        QVERIFY(with.texts.contains(QStringLiteral("0.5")));
        QVERIFY(!without.texts.contains(QStringLiteral("0.5")));
    }

    /// Values below the low limit are marked at the lower end, which is not at the edge of the page, because there are no
    /// column names.
    void bothEndsOfTheColorBarAreOnThePage()
    {
        const auto source = view(2, 2);
        ColorScale scale;
        scale.fit = ColorFit::Percentiles;
        source->colors()->setScale(scale);
        const QRgb ends[] = {colorOf(1, scale), colorOf(-1, scale)};
        for (const bool isAll : {true, false}) {
            FigureSettings settings;
            settings.style.title = isAll;
            settings.style.axes = isAll;
            source->colors()->setScale({.fit = ColorFit::Full}); // no value can be beyond these limits
            const QImage plain = figureImage(*source, settings, settings.dpi);
            source->colors()->setScale(scale);
            const QImage image = figureImage(*source, settings, settings.dpi);
            int tips[2];
            for (int i = 0; i < 2; ++i) {
                tips[i] = countOnBar(image, ends[i], settings.dpi) - countOnBar(plain, ends[i], settings.dpi);
                QVERIFY2(tips[i] > 50, qPrintable(QString::number(tips[i])));
            }
            QVERIFY(std::abs(tips[0] - tips[1]) < tips[0] / 5);
        }
    }

    void theFormatFollowsFromTheName()
    {
        QCOMPARE(*figureFormatOf(QStringLiteral("/a/b.PDF")), FigureFormat::Pdf);
        QVERIFY(test::failsWith(figureFormatOf(QStringLiteral("a.gif")), ErrorCode::InvalidArgument, "gif"));
    }

    void refusesWhatCannotBeDrawnOrWrittenAndNamesIt()
    {
        const auto source = view(2, 2);
        QVERIFY(test::failsWith(exportFigure(*source, QStringLiteral("x.png"), {.width = 0}),
                                ErrorCode::InvalidArgument, "0 ×"));
        const FigureSettings huge{.format = FigureFormat::Png, .width = 5000, .height = 5000, .dpi = 1200};
        QVERIFY(test::failsWith(exportFigure(*source, QStringLiteral("x.png"), huge),
                                ErrorCode::InvalidArgument, "1200 dpi"));
        QTemporaryDir directory;
        const QString nowhere = directory.filePath(QStringLiteral("no/such/x.pdf"));
        QVERIFY(test::failsWith(exportFigure(*source, nowhere, {}), ErrorCode::Io, nowhere.toStdString()));
        QVERIFY(!QFile::exists(nowhere));
    }

    void settingsReadBackAsTheSame()
    {
        const FigureSettings settings{.format = FigureFormat::Tsv,
                                      .width = 178,
                                      .height = 99.5,
                                      .dpi = 150,
                                      .dataBeside = true,
                                      .provenanceInData = true,
                                      .style = {"Noto Serif", 7.5, 0.75, false, false, false},
                                      .transparent = true,
                                      .unit = LengthUnit::Inches};
        QVERIFY(parseFigureSettings(text(settings)) == settings);
        QVERIFY(isFigureSettings(text(settings)));
        // The names are those that earlier versions wrote.
        QCOMPARE(
            text(FigureSettings{}),
            QStringLiteral(
                R"({"axes":true,"colorBar":true,"dataBeside":false,"dpi":300,"fontFamily":"","fontSize":8,"format":"pdf","height":70,)"
                R"("lineWidth":1,"provenanceInData":false,"title":true,"transparent":false,"unit":"mm","width":85})"));
        QVERIFY(parseFigureSettings(QStringLiteral("nonsense")) == FigureSettings{});
        QVERIFY(!isFigureSettings(QStringLiteral("nonsense")) && !isFigureSettings(QStringLiteral("{}")));
    }
};

HEADWISE_TEST(FigureExportTest)
#include "figure_export_test.moc"
