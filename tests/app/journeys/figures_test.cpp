#include "core/circuits/singular_search.h"
#include "core/circuits/token_table.h"
#include "core/model/merges.h"
#include "core/results/color_scale.h"
#include "tests/support/figure_files.h"
#include "tests/support/journey_core.h"
#include "tests/support/journey_export.h"
#include "tests/support/journey_steps.h"
#include "tests/support/pdf_page.h"
#include "tests/support/program.h"

#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDialog>
#include <QDoubleSpinBox>
#include <QFile>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QRegularExpression>
#include <QScreen>

using namespace headwise;
using namespace headwise::test;
using ui::HeatmapView;
using ui::text;

namespace {

constexpr int zooms = 3; // zoom steps into the matrix, by key

/// "name: value" as a PDF holds it.
QByteArray utf16(const QString& words)
{
    QByteArray bytes;
    for (const QChar c : words)
        bytes.append(static_cast<char>(c.row())).append(static_cast<char>(c.cell()));
    return bytes;
}

/// Removes spaces and line ends, because a long title is wrapped.
QString joined(QString words)
{
    return words.remove(QRegularExpression(QStringLiteral("\\s")));
}

} // namespace

class FiguresTest : public QObject {
    Q_OBJECT

private slots:
    void singularDirectionsAreBrowsedAndSearched_data() { addJourneyModels(); }
    void singularDirectionsAreBrowsedAndSearched()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        Journey journey(QStringLiteral("j7-") + QLatin1String(QTest::currentDataTag()));
        openModelOrSession(journey, which);
        // J7: one click on the tab, then only keys.
        journey.begin();
        journey.openTab(QStringLiteral("Vectors"));
        auto* tokens = journey.named<QTableView>(QStringLiteral("Tokens, first side"));
        journey.waitFor([&] { return tokens->model()->rowCount() > 0; }, QStringLiteral("the tokens"));
        QVERIFY(journey.tookGestures(1, 300ms));
        journey.keys(QStringLiteral("Right"));
        journey.keys(QStringLiteral("Right"));
        journey.keys(QStringLiteral("Space"));
        const Circuits& circuits = *coreModel(which).circuits;
        const auto expected = singularDirections(circuits, CircuitKind::Ov, {0, 0});
        QVERIFY(isOk(expected));
        QVERIFY(reads(numberAfter(journey.labelWith(QStringLiteral("direction 3 ")), QStringLiteral("σ")),
                      expected->S(2)));
        QVERIFY(tokens->model()->headerData(3, Qt::Horizontal).toString().startsWith(QStringLiteral("−3")));
        exportDirections(journey, *expected, which);
        // Ctrl+F finds every direction of every head that has the token among its strongest.
        const QString word = which == JourneyModel::Demo ? QStringLiteral("with") : QStringLiteral("doctor");
        journey.keys(QStringLiteral("Ctrl+F"));
        journey.type(word);
        journey.keys(QStringLiteral("Return"));
        auto* found = journey.named<QTableView>(QStringLiteral("Directions with the token"));
        journey.waitFor([&] { return found->model()->rowCount() > 0; }, QStringLiteral("the directions"));
        const auto head = parseHeadId(cell(found, 0, 0).toStdString());
        QVERIFY(head);
        const auto token = tokenizerIn(folderOf(which)).find(word.toStdString());
        QVERIFY(isOk(token));
        const auto hits =
            findInDirections(circuits, *coreModel(which).matrices(), {*token, 20, {*head}, {}}, Task{});
        QVERIFY(isOk(hits));
        QVERIFY(reads(numberIn(found, 0, 4), hits->front().score));
        QVERIFY(reads(numberIn(found, 0, 5), hits->front().sigma));
        clickRow(found, 0);
        QVERIFY(journey.shows(text(*head)));
        const QString title = QStringLiteral("direction %1 ").arg(hits->front().direction + 1);
        journey.waitFor([&] { return journey.shows(title); }, title);
        QVERIFY(reads(numberAfter(journey.labelWith(title), QStringLiteral("σ")), hits->front().sigma));
        journey.waitForRest();
    }

    void aFigureIsTakenAwayForAPaper_data() { addJourneyModels(); }
    void aFigureIsTakenAwayForAPaper()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        Journey journey(QStringLiteral("j13-") + QLatin1String(QTest::currentDataTag()));
        openComputed(journey, which);
        journey.openTab(QStringLiteral("Matrix"));
        auto* matrix = journey.named<HeatmapView>(QStringLiteral("Matrix of the circuit"));
        journey.waitFor([&] { return matrix->scene().rowCount() > 0; }, QStringLiteral("the matrix"));
        const Eigen::MatrixXf ov = dense(coreModel(which).circuits->ov({0, 0})).cast<float>();
        const QString said = readOut(journey, matrix, 5, 2);
        QVERIFY2(said.contains(QStringLiteral("row")) && said.contains(QStringLiteral("col")),
                 qPrintable(said));
        const int row = static_cast<int>(numberAfter(said, QStringLiteral("row")));
        const int column = static_cast<int>(numberAfter(said, QStringLiteral("col")));
        QVERIFY(reads(numberAfter(said, QStringLiteral("%1 → %2").arg(row).arg(column)),
                      double{ov(row, column)}));
        QTest::mouseClick(matrix, Qt::LeftButton, {}, matrix->rect().center());
        for (int i = 0; i < zooms; ++i)
            journey.keys(QStringLiteral("+"));
        // J13: a key, the choices, a click.
        const QTemporaryDir folder;
        journey.keys(QStringLiteral("Ctrl+E"));
        choose(journey.named<QComboBox>(QStringLiteral("Format")), QStringLiteral("PDF"));
        choose(journey.named<QComboBox>(QStringLiteral("Size")), QStringLiteral("Single column"));
        QCOMPARE(journey.named<QDoubleSpinBox>(QStringLiteral("Font size"))->value(), 8.0);
        QCOMPARE(journey.named<QDoubleSpinBox>(QStringLiteral("Width"))->value(), 85.0);
        journey.waitFor([&] { return journey.shows(QStringLiteral("100 %, true size on this screen")); },
                        QStringLiteral("the preview"));
        const auto* sheet = journey.named<QLabel>(QStringLiteral("Preview of the figure"));
        QVERIFY(std::abs(sheet->pixmap().deviceIndependentSize().width()
                         - 85 / 25.4 * sheet->screen()->physicalDotsPerInch())
                < 1);
        const QString also = QStringLiteral("Also write the numbers"); // remembered from the last time
        for (const QWidget* widget : QApplication::allWidgets())
            if (const auto* box = qobject_cast<const QCheckBox*>(widget);
                box && box->isVisible() && box->text().contains(also) && !box->isChecked()) {
                journey.click(also);
                break;
            }
        const QString caption = journey.named<QPlainTextEdit>(QStringLiteral("Caption"))->toPlainText();
        journey.click(QStringLiteral("Copy caption"));
        QCOMPARE(QGuiApplication::clipboard()->text(), caption);
        const QString title = QStringLiteral("L0H0 OV: W_V W_O, no scale, no bias, ") + name(which);
        QVERIFY2(caption.startsWith(title + QStringLiteral(". Norms folded")), qPrintable(caption));
        journey.click(QStringLiteral("Copy provenance"));
        const QStringList provenance = QGuiApplication::clipboard()->text().split(u'\n');
        QVERIFY(provenance.contains(QStringLiteral("model: ") + name(which)));
        QVERIFY(provenance.contains(QStringLiteral("head: L0H0")));
        const QString first = folder.filePath(QStringLiteral("ov.pdf"));
        exportTo(journey, first);
        const QByteArray pdf = contents(first);
        for (const QString& line : provenance)
            QVERIFY2(pdf.contains(utf16(line)), qPrintable(line));
        const QString words = textOf(pdf);
        const QString set =
            joined(QString(title).replace(QStringLiteral("W_V W_O"), QStringLiteral("WV WO")));
        QVERIFY2(joined(words).contains(set), qPrintable(words));
        // The visible part with a pixel for each cell, and the same numbers beside it.
        const Table numbers = readTable(folder.filePath(QStringLiteral("ov.csv")));
        const auto rows = std::ssize(numbers.rows), columns = std::ssize(numbers.columns) - 1;
        QVERIFY2(
            rows > 8 && rows < ov.rows() && columns > 8 && columns < ov.cols(),
            qPrintable(
                QStringLiteral("%1 × %2 of %3 × %4").arg(rows).arg(columns).arg(ov.rows()).arg(ov.cols())));
        QVERIFY(pdf.contains("/Width " + QByteArray::number(qsizetype{columns}) + "\n/Height "
                             + QByteArray::number(qsizetype{rows}) + '\n'));
        QCOMPARE(pdf.count("/Subtype /Image"), 1);
        const float tolerance = 1e-5F * ov.cwiseAbs().maxCoeff();
        for (const std::vector<std::string>& line : numbers.rows)
            for (std::size_t i = 1; i < line.size(); ++i) {
                const float expected = ov(std::stoi(line.front()), std::stoi(numbers.columns[i]));
                QVERIFY(std::abs(std::stof(line[i]) - expected) <= tolerance);
            }
        // Exports again without a dialog.
        journey.begin();
        journey.keys(QStringLiteral("Ctrl+Shift+E"));
        const QString second = folder.filePath(QStringLiteral("ov-2.pdf"));
        journey.waitFor([&] { return QFile::exists(second); }, second);
        QVERIFY(!QApplication::activeModalWidget());
        QVERIFY(journey.tookGestures(0, 1s));
        // Exports the same as SVG, with other remembered settings.
        journey.begin();
        journey.keys(QStringLiteral("Ctrl+E"));
        QVERIFY(journey.named<QComboBox>(QStringLiteral("Size"))
                    ->currentText()
                    .startsWith(QStringLiteral("Single")));
        choose(journey.named<QComboBox>(QStringLiteral("Format")), QStringLiteral("SVG"));
        const QString third = folder.filePath(QStringLiteral("ov.svg"));
        exportTo(journey, third);
        QVERIFY(journey.tookGestures(2, 1s));
        const Svg svg = readSvg(contents(third));
        QVERIFY2(joined(svg.texts.join(u' ')).contains(set), qPrintable(svg.texts.join(u'|')));
        QCOMPARE(svg.images.size(), 1);
        QVERIFY(svg.images[0].value(QStringLiteral("style")).contains(u"pixelated")
                || svg.images[0].value(QStringLiteral("image-rendering")) == u"pixelated");
        QVERIFY(contents(third).contains("<metadata>"));
        // The ticks of the colour bar; the last is close to its end.
        double last = 0;
        for (const QString& each : svg.texts)
            if (each.contains(u'.') && !each.contains(u' '))
                last = std::max(last, numberAfter(each, {}));
        const double end = double{fitted({.map = ColorMap::Signed, .fit = ColorFit::Robust}, ov).high};
        QVERIFY2(last > 0.4 * end && last <= end, qPrintable(svg.texts.join(u'|')));
        journey.waitForRest();
    }

    void aSkiplessMergeSaysWhatItWouldSave_data() { addJourneyModels(); }
    void aSkiplessMergeSaysWhatItWouldSave()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        Journey journey(QStringLiteral("j14-") + QLatin1String(QTest::currentDataTag()));
        openComputed(journey, which);
        journey.begin();
        journey.trigger(QStringLiteral("Skipless merge")); // J14: Model, Skipless merge: two clicks
        const auto* table = journey.named<QTableView>(QStringLiteral("Savings from removing a pair"));
        QTRY_VERIFY(table->model()->rowCount() == 3);
        QVERIFY(journey.tookGestures(2, 10s));
        // Well conditioned, so that only the sizes matter.
        const std::array<Merge, 3> expected = mergesOf(loaded(folderOf(which))->config());
        const QStringList names{QStringLiteral("Q, P"), QStringLiteral("K, P"), QStringLiteral("V, P")};
        for (int pair = 0; pair < 3; ++pair) {
            const Merge& merge = expected[static_cast<std::size_t>(pair)];
            QCOMPARE(cell(table, pair, 0), names[pair]);
            QVERIFY(reads(numberIn(table, pair, columnOf(table, QStringLiteral("Saving"))),
                          100 * merge.saving)); // percent
            QVERIFY(reads(numberIn(table, pair, columnOf(table, QStringLiteral("Speed-up"))), merge.speedup));
        }
        QVERIFY(journey.shows(QStringLiteral("Exact only for models without skip connections")));
        journey.waitForRest();
        // The condition number of the inverted matrix, in the table and in the map of layers.
        auto* conditions = wheelTo<HeatmapView>(journey, table->parentWidget(),
                                                QStringLiteral("log₁₀ of the condition number"));
        QVERIFY(conditions);
        const auto source = loaded(folderOf(which));
        const double condition =
            std::log10(conditionNumber(sideBySide(*source, TensorKind::W_K, 1, source->config().nHeads)));
        QVERIFY(reads(numberAfter(readOut(journey, conditions, 1, 1), QStringLiteral("   ")), condition));
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("merges.csv"));
        QTest::mouseClick(table->viewport(), Qt::LeftButton);
        journey.keys(QStringLiteral("Ctrl+E"));
        choose(journey.named<QComboBox>(QStringLiteral("Format")), QStringLiteral("CSV"));
        exportTo(journey, file);
        const Table written = readTable(file);
        QCOMPARE(std::ssize(written.rows), 3);
        const auto at =
            std::find(written.columns.begin(), written.columns.end(), "Saving") - written.columns.begin();
        for (std::size_t pair = 0; pair < 3; ++pair)
            QCOMPARE(std::stod(written.rows[pair].at(static_cast<std::size_t>(at))), expected[pair].saving);
        journey.waitForRest();
    }

private:
    static QString name(JourneyModel model)
    {
        return model == JourneyModel::Demo ? QStringLiteral("demo-attn-2l")
                                           : text(folderOf(model).filename().string());
    }

    /// J7's table of tokens with their scores, as LaTeX.
    static void exportDirections(Journey& journey, const SingularDirections& directions, JourneyModel which)
    {
        journey.click(QStringLiteral("scores"));
        auto* tokens = journey.named<QTableView>(QStringLiteral("Tokens, first side"));
        journey.waitFor([&] { return columnOf(tokens, QStringLiteral("score 1")) > 0; },
                        QStringLiteral("the scores"));
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("directions.tex"));
        QTest::mouseClick(tokens->viewport(), Qt::LeftButton, {},
                          tokens->visualRect(tokens->model()->index(0, 0)).center());
        journey.keys(QStringLiteral("Ctrl+E"));
        choose(journey.named<QComboBox>(QStringLiteral("Format")), QStringLiteral("LaTeX"));
        exportTo(journey, file);
        const QStringList lines = QString::fromUtf8(contents(file)).split(u'\n');
        const auto header = std::find_if(lines.begin(), lines.end(), [](const QString& line) {
            return line.contains(QStringLiteral("score 1"));
        });
        QVERIFY(header != lines.end() && lines.end() - header > 2);
        // Direction 1 with the sign that makes its strongest token positive.
        const DirectionSide& side = directionSides[0];
        const auto scores =
            directionScores(*coreModel(which).matrices(), side, 0, directions.U.leftCols(1), Task{});
        QVERIFY(isOk(scores));
        const double sign = jointSign(scores->col(0), {});
        const TokenEntry best = ends(scores->col(0).transpose() * sign, 1, {}).top.front();
        const QStringList first = (header + 2)->split(u'&');
        QVERIFY(reads(numberAfter(first.value(2), {}), best.value));
        QVERIFY(
            reads(numberAfter(header->section(u'&', 1, 1), QStringLiteral("$\\sigma$")), directions.S(0)));
    }
};

HEADWISE_TEST_MAIN(FiguresTest, runJourneys<FiguresTest>)
#include "figures_test.moc"
