#include "ui/models/tensor_table_model.h"

#include "tests/support/loaded.h"
#include "tests/support/printed.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QTemporaryDir>

#include <limits>

using namespace headwise;
using namespace headwise::ui;

class TensorTableModelTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_temporary;
    std::shared_ptr<const ModelWeights> m_weights;

    static QString cell(const TensorTableModel& model, int row, int column, int role = Qt::DisplayRole)
    {
        return model.data(model.index(row, column), role).toString();
    }

private slots:
    void initTestCase()
    {
        const auto toy = test::writeToyModel(m_temporary.filePath(QStringLiteral("toy")).toStdString(),
                                             test::gpt2Options());
        m_weights = test::loaded(toy.folder);
    }

    void keepsTheRulesOfModels()
    {
        TensorTableModel model;
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setWeights(m_weights);
        model.setStatistics(0, TensorStatistics{});
        model.setWeights(nullptr);
        QCOMPARE(model.rowCount(), 0);
    }

    void showsWhatIsStoredAtOnceAndTheNumbersWhenTheyCome()
    {
        TensorTableModel model;
        model.setWeights(m_weights);
        const int row = m_weights->file().find("transformer.wpe.weight");
        QCOMPARE(cell(model, row, TensorTableModel::NameColumn), QStringLiteral("transformer.wpe.weight"));
        QCOMPARE(cell(model, row, TensorTableModel::ShapeColumn), QStringLiteral("[17, 15]"));
        QCOMPARE(cell(model, row, TensorTableModel::DtypeColumn), QStringLiteral("F32"));
        QCOMPARE(cell(model, row, TensorTableModel::UseColumn), QStringLiteral("W_pos"));
        QCOMPARE(cell(model, row, TensorTableModel::MeanColumn), QStringLiteral("…"));
        QVERIFY(!model.isKnown(row));
        const QSignalSpy changed(&model, &QAbstractItemModel::dataChanged);
        TensorStatistics statistics;
        statistics.mean = -0.0123456;
        statistics.minimum = std::numeric_limits<double>::quiet_NaN();
        statistics.nanCount = 12345;
        model.setStatistics(row, statistics);
        QCOMPARE(changed.count(), 1);
        QCOMPARE(cell(model, row, TensorTableModel::MeanColumn), QStringLiteral("−0.0123"));
        QCOMPARE(cell(model, row, TensorTableModel::MeanColumn, Qt::ToolTipRole),
                 QStringLiteral("-0.0123456"));
        QCOMPARE(cell(model, row, TensorTableModel::MinimumColumn), QStringLiteral("–"));
        QCOMPARE(cell(model, row, TensorTableModel::NanColumn), QStringLiteral("12\u2009345"));
        QVERIFY(
            model.data(model.index(row, TensorTableModel::NanColumn), Qt::FontRole).value<QFont>().bold());
        QVERIFY(!model.data(model.index(row, TensorTableModel::InfinityColumn), Qt::FontRole)
                     .value<QFont>()
                     .bold());
        QCOMPARE(
            model.data(model.index(row, TensorTableModel::MeanColumn), TensorTableModel::SortRole).toDouble(),
            -0.0123456);
        QCOMPARE(model.data(model.index(row, TensorTableModel::MinimumColumn), TensorTableModel::SortRole)
                     .toDouble(),
                 -std::numeric_limits<double>::infinity());
    }

    void marksWhatCannotBeDecoded()
    {
        TensorTableModel model;
        model.setWeights(m_weights);
        model.setStatistics(0, std::nullopt);
        QVERIFY(model.isKnown(0));
        QCOMPARE(cell(model, 0, TensorTableModel::NanColumn), QStringLiteral("–"));
        QVERIFY(cell(model, 0, TensorTableModel::NanColumn, Qt::ToolTipRole)
                    .contains(QStringLiteral("cannot read")));
    }
};

HEADWISE_TEST(TensorTableModelTest)
#include "tensor_table_model_test.moc"
