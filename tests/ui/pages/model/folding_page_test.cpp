#include "ui/pages/model/folding_page.h"

#include "core/model/processing.h"
#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/models/token_table_model.h"
#include "ui/widgets/table_figure.h"

#include <QCheckBox>
#include <QLabel>
#include <QPushButton>

#include <cmath>
#include <map>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

class FoldingPageTest : public QObject {
    Q_OBJECT

private:
    using Opened = OpenedPage<FoldingPage>;

    static TableFigure* table(Opened& opened, const char* name)
    {
        return opened.find<TableFigure>(QString::fromLatin1(name));
    }

    /// E_t W_V W_O W_U of the file's own weights, dense.
    static RowVector<double> rawRow(Opened& opened)
    {
        const ModelWeights& weights = *opened.workspace.model()->weights();
        const HeadId head = opened.workspace.selection()->head();
        const RowVector<double> x =
            weights.read<double>(TensorKind::W_E).row(opened.workspace.selection()->token());
        return x * weights.read<double>(TensorKind::W_V, head.layer, head.head)
            * weights.read<double>(TensorKind::W_O, head.layer, head.head)
            * weights.read<double>(TensorKind::W_U);
    }

    /// Columns 0 (the token) and 5 (as ticked) of every row.
    static std::map<int, double> asTicked(const TableFigure* table)
    {
        std::map<int, double> values;
        for (int row = 0; row < table->model()->rowCount(); ++row)
            values[table->model()->index(row, 0).data(TokenTableModel::IdRole).toInt()] =
                table->model()->index(row, 5).data(TokenTableModel::SortRole).toDouble();
        return values;
    }

    static void click(Opened& opened, const QString& step)
    {
        for (QCheckBox* box : opened.page.findChildren<QCheckBox*>())
            if (box->text() == step)
                QTest::mouseClick(box, Qt::LeftButton, {}, QPoint(8, box->height() / 2));
    }

private slots:
    void theRowOfTheRawWeightsStandsBesideTheOneInUse()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        TableFigure* second = table(opened, "Only with the ticked steps");
        TableFigure* both = table(opened, "With both weights");
        QTRY_VERIFY(second->model()->rowCount() + both->model()->rowCount() > 0);
        const RowVector<double> row = rawRow(opened);
        std::map<int, double> shown = asTicked(second);
        shown.merge(asTicked(both));
        QCOMPARE(shown.size(), std::size_t(20)); // its top tokens
        double least = 1e300;
        for (const auto& [token, value] : shown) {
            QVERIFY(std::abs(value - row(token)) < 1e-4 * (1 + std::abs(row(token))));
            least = std::min(least, value);
        }
        QVERIFY((row.array() > least + 1e-4).count() <= 20);
    }

    void theSameStepsGiveTheSameRow()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        TableFigure* both = table(opened, "With both weights");
        auto* use = opened.page.findChild<QPushButton*>();
        QVERIFY(use->isEnabled());
        for (const char* step :
             {"Fold norms", "Centre writing weights", "Centre unembedding", "Fold value biases"})
            click(opened, QString::fromLatin1(step));
        QVERIFY(!use->isEnabled()); // they are in use
        QTRY_COMPARE(both->model()->rowCount(), 20);
        for (int row = 0; row < 20; ++row) {
            QCOMPARE(both->model()->index(row, 3).data().toString(), QStringLiteral("="));
            QCOMPARE(both->model()->index(row, 4).data(TokenTableModel::SortRole),
                     both->model()->index(row, 5).data(TokenTableModel::SortRole));
        }
        bool said = false;
        for (const QLabel* label : opened.page.findChildren<QLabel*>())
            said = said || label->text().contains(QStringLiteral(": 1.00."));
        QVERIFY(said);
    }

    void whatIsTickedIsUsed()
    {
        Opened opened(HEADWISE_DEMO_MODEL);
        click(opened, QStringLiteral("Fold norms"));
        QTest::mouseClick(opened.page.findChild<QPushButton*>(), Qt::LeftButton);
        QTRY_VERIFY(!opened.workspace.model()->processing().centerUnembed);
        QVERIFY(opened.workspace.model()->processing().foldLayerNorm);
        QVERIFY(!opened.workspace.model()->processing().centerWritingWeights);
        const QJsonObject state = opened.page.viewState();
        click(opened, QStringLiteral("Centre unembedding"));
        QVERIFY(opened.page.viewState() != state);
        opened.page.setViewState(state);
        QCOMPARE(opened.page.viewState(), state);
    }
};

HEADWISE_TEST(FoldingPageTest)
#include "folding_page_test.moc"
