#include "ui/pages/position/offset_table.h"

#include "core/analysis/position/rotary_tables.h"
#include "core/circuits/token_table.h"
#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"
#include "ui/base/text.h"
#include "ui/widgets/table_figure.h"

#include <QSlider>
#include <QTemporaryDir>

#include <cmath>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

class OffsetTableTest : public QObject {
    Q_OBJECT

private:
    using Opened = OpenedPage<OffsetTable>;
    QTemporaryDir m_folder;
    std::filesystem::path m_model;

    /// e_q W_Q turned by Δ, against e_j W_K, number by number.
    static RowVector<double> expected(Opened& opened, HeadId head, int token, int offset)
    {
        const TokenSide& tokens = *opened.workspace.model()->tokens();
        const HeadWeights<double> w = opened.workspace.model()->circuits()->weights().head<double>(head);
        const RowVector<double> q = tokens.E.vector(token) * w.W_Q;
        RowVector<double> turned = q;
        for (int m = 0; m < 2; ++m) { // rotary_dim 4, halves: components m and m + 2
            const double angle = offset * std::pow(10000.0, -2.0 * m / 4);
            turned(m) = q(m) * std::cos(angle) - q(m + 2) * std::sin(angle);
            turned(m + 2) = q(m) * std::sin(angle) + q(m + 2) * std::cos(angle);
        }
        return turned * (*tokens.E.whole<double>() * w.W_K).transpose();
    }

private slots:
    void initTestCase()
    {
        m_model = std::filesystem::path(m_folder.path().toStdString()) / "rotary";
        writeToyModel(m_model, rotaryOptions());
    }

    void theSliderSortsTheKeysAnew()
    {
        Opened opened(m_model);
        opened.workspace.selection()->setHead({1, 2});
        opened.workspace.selection()->setToken(3);
        auto* slider = opened.find<QSlider>(QStringLiteral("Offset of the key"));
        auto* table = opened.find<TableFigure>(QStringLiteral("Keys at the offset"));
        QSet<QString> orders;
        for (const int offset : {0, 1, 7}) {
            slider->setFocus();
            while (slider->value() < offset)
                QTest::keyClick(slider, Qt::Key_Right);
            const RowVector<double> line = expected(opened, {1, 2}, 3, offset);
            const TokenEnds found = ends(line, 11, {});
            QTRY_COMPARE(cellText(table, 0, 2), signedNumber(found.top[0].value));
            QString order;
            for (int row = 0; row < 11; ++row) {
                QCOMPARE(cellText(table, row, 1),
                         opened.workspace.model()->tokenText(found.top[std::size_t(row)].id));
                QCOMPARE(cellText(table, row, 4), signedNumber(found.bottom[std::size_t(row)].value));
                order += cellText(table, row, 1);
            }
            orders.insert(order);
        }
        QVERIFY(orders.size() > 1);
        QCOMPARE(opened.page.figures().size(), 1);
    }

    void atNoDistanceItIsTheRowOfFullQk()
    {
        Opened opened(m_model);
        const auto& circuits = *opened.workspace.model()->circuits();
        const auto line = rotaryTokenLine(circuits, *opened.workspace.model()->tokens(), {0, 1}, 5, 0);
        const auto row = tokenLine(circuits, *opened.workspace.model()->tokens(),
                                   {CircuitKind::FullQk, {0, 1}}, TableSide::Row, 5);
        QVERIFY(line && row);
        QVERIFY((*line - *row).norm() < 1e-9 * row->norm());
        QVERIFY(!rotaryTokenLine(circuits, *opened.workspace.model()->tokens(), {0, 1}, 11, 0));
        Opened learned(HEADWISE_DEMO_MODEL);
        QVERIFY(!rotaryTokenLine(*learned.workspace.model()->circuits(), *learned.workspace.model()->tokens(),
                                 {0, 1}, 5, 0));
    }
};

HEADWISE_TEST(OffsetTableTest)
#include "offset_table_test.moc"
