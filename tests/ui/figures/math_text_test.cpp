#include "ui/figures/math_text.h"

#include "tests/support/program.h"
#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/figures/composed_figure.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/widgets/table_figure.h"

#include <QApplication>
#include <QFontMetricsF>
#include <QImage>
#include <QStandardItemModel>
#include <QTest>

#include <initializer_list>
#include <memory>

using namespace headwise;
using namespace headwise::ui;

namespace {

/// Writes superscripts as ^[…] and subscripts as _[…].
QString marked(const char* words)
{
    QString result;
    for (const MathRun& run : mathRuns(QString::fromUtf8(words)))
        result += run.level == 0
            ? run.text
            : QStringLiteral("%1[%2]").arg(QChar(run.level > 0 ? u'^' : u'_')).arg(run.text);
    return result;
}

} // namespace

class MathTextTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { applyTheme(*qApp, ThemeMode::Light); }

    void scriptsAreFound_data()
    {
        QTest::addColumn<QString>("found");
        const auto row = [](const char* words, const char* found) {
            QTest::newRow(words) << QString::fromUtf8(found);
        };
        row("T^{pp}", "T^[pp]");
        row("T^pp, three queries", "T^[pp], three queries");
        row("T^ep of #0", "T^[ep] of #0");
        row("σ_i", "σ_[i]");
        row("σ_{k−1}", "σ_[k−1]");
        row("E W_V W_O W_U", "E W_[V] W_[O] W_[U]");
        row("cosine of W_QK and W_OV", "cosine of W_[QK] and W_[OV]");
        row("‖W_V W_O‖_F", "‖W_[V] W_[O]‖_[F]");
        row("QK: W_Q W_Kᵀ", "QK: W_[Q] W_[K]ᵀ");
        row("1/√d_model", "1/√d_[model]");
        row("log10 of the condition number", "log_[10] of the condition number");
        row("E W_V, log10", "E W_[V], log_[10]");
        row("log10(σ_i)", "log_[10](σ_[i])");
        row("softmax((T^pp + T^p)/√r)", "softmax((T^[pp] + T^[p])/√r)");
        // Names of files and arrays, and marks without a script, stay as they are.
        for (const char* plain :
             {"attn_out", "my_model.safetensors", "x_1_2", "a_b.gguf", "x_train", "T^{", "T^{}", "^p", "_i",
              "10 ^ 2", "L10H7 full OV", "log10_condition", "catalog10", "log100"})
            row(plain, plain);
    }
    void scriptsAreFound()
    {
        QFETCH(const QString, found);
        QCOMPARE(marked(QTest::currentDataTag()), found);
    }

    /// Scripts are text of their own in an SVG, and not the marks.
    void aTitleStaysText()
    {
        LineChart chart;
        chart.setLook({.xTitle = QStringLiteral("σ_i"), .yTitle = QStringLiteral("T^{pp}")});
        chart.setSeries({{QString(), {{0, 0}, {1, 2}}}});
        chart.setFigureTitle(QStringLiteral("OV: W_V W_O"));
        const auto figure = renderFigure(chart, {.format = FigureFormat::Svg});
        QVERIFY(figure);
        const QString svg = QString::fromUtf8(figure->bytes);
        const QString drawn = svg.mid(svg.indexOf(QStringLiteral("</metadata>")));
        for (const char* words : {">OV: W<", ">V<", ">O<", ">σ<", ">i<", ">T<", ">pp<"})
            QVERIFY2(drawn.contains(QString::fromUtf8(words)), words);
        QVERIFY(!drawn.contains(QStringLiteral("W_V")) && !drawn.contains(u'^'));
    }

    void scriptsAreSetEverywhere_data()
    {
        QTest::addColumn<QString>("words");
        QTest::addColumn<QStringList>("runs");
        const auto row = [](const char* words, const QStringList& runs) {
            QTest::newRow(words) << QString::fromUtf8(words) << runs;
        };
        row("log10 of it", {QStringLiteral(">log<"), QStringLiteral(">10<"), QStringLiteral("> of it<")});
        row("σ_i", {QStringLiteral(">σ<"), QStringLiteral(">i<")});
        row("T^{pp}", {QStringLiteral(">T<"), QStringLiteral(">pp<")});
        row("W_V W_O",
            {QStringLiteral(">W<"), QStringLiteral(">V<"), QStringLiteral("> W<"), QStringLiteral(">O<")});
    }
    /// In titles, axes, legends, colour bars, captions and tables. Tokens stay as they are.
    void scriptsAreSetEverywhere()
    {
        QFETCH(const QString, words);
        QFETCH(const QStringList, runs);
        const QVector<QPointF> points{{0, 0}, {1, 2}}, others{{0, 1}, {1, 1}};
        LineChart x, y, legend;
        x.setLook({.xTitle = words, .yTitle = {}});
        y.setLook({.xTitle = {}, .yTitle = words});
        for (LineChart* chart : {&x, &y})
            chart->setSeries({{QString(), points}});
        legend.setSeries({{words, points}, {QStringLiteral("other"), others}});
        HeatmapView bar, title;
        for (HeatmapView* view : {&bar, &title})
            view->setMatrix(std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Identity(3, 3)));
        bar.content()->setValueTitle(words);
        title.setFigureTitle(words);
        const ComposedFigure::Panel panel{.source = &x, .label = {}, .title = {}};
        const ComposedFigure caption({panel}, {.widths = {1}, .heights = {1}}, words);
        TableFigure table, lists;
        auto* model = new QStandardItemModel(&table);
        model->appendRow({new QStandardItem(words), new QStandardItem(QStringLiteral("x_i"))});
        model->item(0, 1)->setFont(tokenFont());
        model->setHorizontalHeaderLabels({words, QStringLiteral("token")});
        table.setSource(model, Qt::DisplayRole);
        lists.setSource(model, Qt::DisplayRole);
        lists.setLists(ListTitles{QStringLiteral("token"), {words}, 0, false});
        for (const FigureSource* figure : std::initializer_list<const FigureSource*>{
                 &x, &y, &legend, &bar, &title, &caption, &table, &lists}) {
            const auto svg = renderFigure(*figure, {.format = FigureFormat::Svg, .width = 120, .height = 90});
            QVERIFY(svg);
            const QString drawn =
                QString::fromUtf8(svg->bytes.mid(svg->bytes.indexOf("</metadata>"))).simplified();
            for (const QString& run : runs)
                QVERIFY2(drawn.contains(run), qPrintable(run + u'\n' + drawn));
            if (figure != &lists) // whose rows are named by tokens
                QVERIFY2(!drawn.contains(u'>' + words + u'<'), qPrintable(drawn));
            if (figure == &table)
                QVERIFY(drawn.contains(QStringLiteral(">x_i<")));
        }
    }

    void scriptsTakeLessRoomThanTheirMarks()
    {
        const QImage device(10, 10, QImage::Format_RGB32);
        QFont font = qApp->font();
        font.setPointSizeF(12);
        const QString plain = QStringLiteral("no script"), script = QStringLiteral("T^{pp}");
        const QFontMetricsF metrics(font, &device);
        QCOMPARE(mathWidth(plain, font, &device), metrics.horizontalAdvance(plain));
        QVERIFY(mathWidth(script, font, &device) < metrics.horizontalAdvance(QStringLiteral("Tpp")));
        QVERIFY(mathWidth(script, font, &device) > metrics.horizontalAdvance(QStringLiteral("T")));
    }
};

HEADWISE_TEST(MathTextTest)
#include "math_text_test.moc"
