#include "ui/figures/animated_svg.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/figures/figure_export.h"

#include <QImage>
#include <QPainter>
#include <QSet>
#include <QSvgRenderer>
#include <QTest>
#include <QXmlStreamReader>

#include <cmath>

using namespace headwise;
using namespace headwise::ui;
using namespace headwise::test;

namespace {

/// Facts of an animation.
struct ReadAnimation {
    QStringList frames, ids, references, values, times, durations, titles;
    bool isWellFormed = false, hasScript = false;

    explicit ReadAnimation(const QByteArray& svg)
    {
        QXmlStreamReader reader(svg);
        while (!reader.atEnd()) {
            reader.readNext();
            if (!reader.isStartElement())
                continue;
            const QXmlStreamAttributes attributes = reader.attributes();
            if (const auto id = attributes.value(QLatin1String("id")); !id.isEmpty())
                ids << id.toString();
            for (const QXmlStreamAttribute& one : attributes)
                if (const qsizetype at = one.value().indexOf(u"url(#"); at >= 0)
                    references << one.value().mid(at + 5).toString().section(u')', 0, 0);
                else if (one.name() == u"href" && one.value().startsWith(u'#'))
                    references << one.value().mid(1).toString();
            if (attributes.hasAttribute(QLatin1String("visibility")))
                frames << attributes.value(QLatin1String("visibility")).toString();
            hasScript |= reader.name() == u"script";
            if (reader.name() == u"animate") {
                values << attributes.value(QLatin1String("values")).toString();
                times << attributes.value(QLatin1String("keyTimes")).toString();
                durations << attributes.value(QLatin1String("dur")).toString();
            } else if (reader.name() == u"title") {
                titles << reader.readElementText();
            }
        }
        isWellFormed = !reader.hasError();
    }
};

} // namespace

/// Figures joined into an animation.
class AnimatedSvgTest : public QObject {
    Q_OBJECT

private slots:
    void framesOfTheProgramsOwnFiguresPlayInTurn()
    {
        std::vector<SvgFrame> frames;
        for (const int step : {1, 10, 100}) {
            LineChart chart;
            chart.setSeries({{QStringLiteral("a < \"b\""), {{0, 1.0 * step}, {1, 2}}}});
            chart.setFigureTitle(QStringLiteral("chart at %1").arg(step));
            const auto figure = renderFigure(chart, {.format = FigureFormat::Svg});
            QVERIFY(isOk(figure));
            frames.push_back({figure->bytes, QStringLiteral("step %1").arg(step)});
        }
        const auto svg = animatedSvg(frames);
        QVERIFY(isOk(svg));
        const ReadAnimation read(*svg);
        QVERIFY(read.isWellFormed && !read.hasScript);
        // The last frame is what a viewer without animations shows.
        const QString hidden = QStringLiteral("hidden"), visible = QStringLiteral("visible");
        QCOMPARE(read.frames, (QStringList{hidden, hidden, visible}));
        QCOMPARE(read.titles,
                 (QStringList{QStringLiteral("chart at 100"), QStringLiteral("step 1"),
                              QStringLiteral("step 10"), QStringLiteral("step 100")}));
        QCOMPARE(read.durations, QStringList(3, QStringLiteral("3s"))); // ½ + ½ + 2
        QCOMPARE(read.values,
                 (QStringList{QStringLiteral("visible;hidden"), QStringLiteral("hidden;visible;hidden"),
                              QStringLiteral("hidden;visible")}));
        QCOMPARE(
            read.times,
            (QStringList{QStringLiteral("0.000000;0.166667"), QStringLiteral("0.000000;0.166667;0.333333"),
                         QStringLiteral("0.000000;0.333333")}));
        QVERIFY(svg->contains("a &lt; &quot;b&quot;"));
    }

    void idsAreUniqueAndReferencesFollowThem()
    {
        const QByteArray one = "<svg xmlns=\"http://www.w3.org/2000/svg\" "
                               "xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"9mm\"><title>t</title>"
                               "<defs><clipPath id=\"c\"><rect/></clipPath></defs>"
                               "<g clip-path=\"url(#c)\"><use xlink:href=\"#c\"/><image "
                               "xlink:href=\"data:x#c\"/></g></svg>";
        const auto svg = animatedSvg({{one, QStringLiteral("1")}, {one, QStringLiteral("2")}});
        QVERIFY(isOk(svg));
        const ReadAnimation read(*svg);
        QVERIFY(read.isWellFormed);
        QCOMPARE(QSet<QString>(read.ids.begin(), read.ids.end()).size(), read.ids.size());
        QCOMPARE(read.ids,
                 (QStringList{QStringLiteral("frame1"), QStringLiteral("frame1-c"), QStringLiteral("frame2"),
                              QStringLiteral("frame2-c")}));
        QCOMPARE(read.references,
                 (QStringList{QStringLiteral("frame1-c"), QStringLiteral("frame1-c"),
                              QStringLiteral("frame2-c"), QStringLiteral("frame2-c")}));
        QVERIFY(svg->contains("data:x#c"));
    }

    void oneFrameStandsStill()
    {
        const auto svg = animatedSvg({{"<svg><rect/></svg>", QStringLiteral("step 0")}});
        QVERIFY(isOk(svg));
        const ReadAnimation read(*svg);
        QCOMPARE(read.frames, QStringList{QStringLiteral("visible")});
        QVERIFY(read.durations.isEmpty());
    }

    /// A viewer without animations draws the last frame and nothing of those before.
    void withoutAnimationTheLastFrameIsSeen()
    {
        std::vector<SvgFrame> frames;
        for (const char* colour : {"#ff0000", "#0000ff", "#00ff00"})
            frames.push_back({QByteArray("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 8 8\">"
                                         "<rect width=\"8\" height=\"8\" fill=\"")
                                  + colour + "\"/></svg>",
                              QLatin1String(colour)});
        frames.back().svg.replace("width=\"8\" height", "width=\"4\" height"); // covers one side alone
        const auto svg = animatedSvg(frames);
        QVERIFY(isOk(svg));
        QSvgRenderer renderer(*svg);
        QVERIFY(renderer.isValid());
        QImage image(8, 8, QImage::Format_RGB32);
        image.fill(Qt::white);
        QPainter painter(&image);
        renderer.render(&painter);
        painter.end();
        QCOMPARE(image.pixelColor(1, 4), QColor(Qt::green));
        QCOMPARE(image.pixelColor(6, 4), QColor(Qt::white));
    }

    void otherFilesAreRefused()
    {
        QVERIFY(failsWith(animatedSvg({}), ErrorCode::InvalidArgument, "at least one"));
        QVERIFY(failsWith(animatedSvg({{"<html/>", {}}}), ErrorCode::InvalidArgument, "SVG"));
        QVERIFY(failsWith(animatedSvg({{"<svg><g>", {}}}), ErrorCode::InvalidArgument, "SVG"));
    }
};

HEADWISE_TEST(AnimatedSvgTest)
#include "animated_svg_test.moc"
