// Another model takes the place of the first one: nothing in the window is still about the first.

#include "tests/support/every_page.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"
#include "ui/charts/pattern_grid.h"
#include "ui/document/compared_model.h"
#include "ui/figures/figure_export.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/pages/analyses/result_page.h"
#include "ui/pages/session/jobs_page.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QRegularExpression>

#include <algorithm>

using namespace headwise;
using namespace headwise::ui;
using test::visitAllPages;
using test::WindowDriver;

namespace {

const QString typedForDemo = QStringLiteral(" of the king");

/// Whether the words can only be about the demo. The other model has the heads 0.0 to 0.2 and no words for its tokens.
bool isAboutDemo(const QString& words)
{
    static const QRegularExpression head(QStringLiteral("L(\\d+)H(\\d+)"));
    for (auto found = head.globalMatch(words); found.hasNext();) {
        const QRegularExpressionMatch match = found.next();
        if (match.captured(1).toInt() > 0 || match.captured(2).toInt() > 2)
            return true;
    }
    return words.contains(u'\u2423') || words.contains(typedForDemo);
}

QString lastHead(Eigen::Index layers, Eigen::Index heads)
{
    return layers > 0 ? QStringLiteral("L%1H%2").arg(layers - 1).arg(heads - 1) : QString();
}

/// The words and numbers of a picture.
QStringList pictureRows(const QWidget* widget)
{
    QStringList shown;
    if (const auto* grid = qobject_cast<const PatternGrid*>(widget))
        shown << lastHead(grid->layers(), grid->heads());
    const auto* view = qobject_cast<const HeatmapView*>(widget);
    if (view && view->isEmpty())
        return shown;
    if (view && view->matrix() && view->scene().rows.title == QLatin1String("layer"))
        shown << lastHead(view->matrix()->rows(), view->matrix()->cols());
    if (const auto* source = dynamic_cast<const FigureSource*>(widget))
        source->forEachDataRow([&shown](const QStringList& row) { shown << row.join(u' '); });
    return shown;
}

QStringList shownWords(const QWidget* widget)
{
    QStringList shown;
    if (const auto* label = qobject_cast<const QLabel*>(widget))
        shown << label->text();
    if (const auto* button = qobject_cast<const QAbstractButton*>(widget))
        shown << button->text();
    if (const auto* choice = qobject_cast<const QComboBox*>(widget))
        shown << choice->currentText();
    if (const auto* field = qobject_cast<const QLineEdit*>(widget))
        shown << field->text();
    if (const auto* field = qobject_cast<const QPlainTextEdit*>(widget))
        shown << field->toPlainText();
    if (const auto* table = qobject_cast<const QAbstractItemView*>(widget); table && table->model())
        for (int row = 0; row < std::min(table->model()->rowCount(), 100); ++row)
            for (int column = 0; column < table->model()->columnCount(); ++column)
                shown << table->model()->index(row, column).data().toString();
    return shown;
}

/// Whatever of the window is about the demo, with the name of the widget that shows it.
QStringList shownOfDemo(const QWidget& window)
{
    QStringList found;
    const auto* jobs = window.findChild<JobsPage*>(); // a log, which tells of work on both
    for (const QWidget* widget : window.findChildren<QWidget*>()) {
        if (!widget->isVisible() || (jobs && jobs->isAncestorOf(widget)))
            continue;
        for (const QString& words : shownWords(widget) + pictureRows(widget))
            if (isAboutDemo(words))
                found << QStringLiteral("%1 '%2': %3")
                             .arg(QLatin1String(widget->metaObject()->className()), widget->accessibleName(),
                                  words.left(200));
    }
    return found;
}

void typeAboutDemo(WindowDriver& driver)
{
    for (auto* field : driver.window.findChildren<QLineEdit*>())
        for (const char* name :
             {"Prompt", "Tokens of the rows and columns", "Tokens to compare", "Words of the map"})
            if (field->accessibleName() == QLatin1String(name))
                field->setText(typedForDemo);
    auto* results = driver.window.findChild<ResultPage*>();
    results->showAnalysis("score_sources"); // asks for a prompt
    for (auto* field : results->findChildren<QPlainTextEdit*>())
        field->setPlainText(typedForDemo);
    emit driver.page()->readOutChanged(QStringLiteral("L1H5   0.1"));
}

} // namespace

class OtherModelTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { test::beginWithOwnSettings(m_folder); }
    void cleanupTestCase() { QVERIFY(waitForJobs(std::chrono::minutes(1))); }

    void nothingOfTheFirstModelIsLeftOnAnyPage()
    {
        const QString other = m_folder.filePath(QStringLiteral("other"));
        test::writeToyModel(other.toStdString(), {.nLayers = 1});
        WindowDriver driver;
        driver.openDemo();
        driver.workspace().selection()->setReference(HeadId{0, 4});
        driver.workspace().selection()->setHead({1, 5});
        driver.workspace().runs()->runAnalysis("relations");
        ComparedModel::of(&driver.workspace())->compare({HEADWISE_DEMO_MODEL, std::nullopt, {}});
        QStringList pagesOfDemo;
        visitAllPages(driver, [&](const QString& page) {
            if (!shownOfDemo(*driver.page()).isEmpty())
                pagesOfDemo << page;
        });
        typeAboutDemo(driver);
        QVERIFY(!shownOfDemo(driver.window).isEmpty()); // the positive control
        for (const char* page : {"Composition Wiring", "Prompt", "Relations", "Two models"})
            QVERIFY2(pagesOfDemo.contains(QLatin1String(page)),
                     qPrintable(pagesOfDemo.join(QStringLiteral(", "))));

        test::discardNotes(driver.window); // or it would ask whether to save the relations
        driver.window.openPath(other);
        const OpenModel* model = driver.workspace().model();
        QTRY_VERIFY(model->isOpen() && model->card().nLayers == 1
                    && driver.workspace().runs()->waiting().empty());
        QStringList left;
        visitAllPages(driver, [&](const QString& page) {
            const auto isClean = [&driver] { return shownOfDemo(driver.window).isEmpty(); };
            if (!QTest::qWaitFor(isClean, 2000))
                left << page + QStringLiteral(": ") + shownOfDemo(driver.window).first();
        });
        QVERIFY2(left.isEmpty(), qPrintable(left.join(u'\n')));
    }

    void aPageThatIsMadeLaterGetsNothingTypedForTheFirstModel()
    {
        const QString other = m_folder.filePath(QStringLiteral("later"));
        test::writeToyModel(other.toStdString(), {.nLayers = 1});
        WindowDriver driver;
        driver.openDemo();
        driver.window.restoreViewState(
            QStringLiteral("{\"pages\": {\"prompt\": {\"prompt\": \"%1\"}}, \"page\": \"overview\"}")
                .arg(typedForDemo));
        driver.window.openPath(other);
        QTRY_VERIFY(driver.workspace().model()->card().nLayers == 1);
        driver.window.showPage(QStringLiteral("prompt"));
        for (const auto* field : driver.page()->findChildren<QLineEdit*>())
            QVERIFY2(field->text() != typedForDemo, qPrintable(field->accessibleName()));
    }

private:
    QTemporaryDir m_folder;
};

HEADWISE_TEST(OtherModelTest)
#include "other_model_test.moc"
