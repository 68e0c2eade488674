#include "ui/pages/model/tensors_page.h"

#include "tests/support/numpy_file.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/models/tensor_table_model.h"
#include "ui/pages/model/tensor_detail.h"

#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>

using namespace headwise;
using namespace headwise::ui;

namespace {
}

class TensorsPageTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_temporary;
    std::unique_ptr<Workspace> m_workspace;
    std::unique_ptr<TensorsPage> m_page;
    test::ToyModel m_toy;

    QAbstractItemModel* table() { return m_page->findChild<QTableView*>()->model(); }
    QString cell(int row, int column) { return table()->index(row, column).data().toString(); }
    HeatmapView* picture() { return m_page->findChild<HeatmapView*>(); }
    bool isFilled()
    {
        for (int row = 0; row < table()->rowCount(); ++row)
            if (cell(row, TensorTableModel::MeanColumn) == QStringLiteral("…"))
                return false;
        return table()->rowCount() > 0;
    }
    bool showsText(const QString& part)
    {
        for (const QLabel* label : m_page->findChildren<QLabel*>())
            if (label->text().contains(part))
                return true;
        return false;
    }
    void find(const QString& name)
    {
        m_page->findChild<QLineEdit*>()->setText(name);
        QTRY_COMPARE(table()->rowCount(), 1);
        m_page->findChild<QTableView*>()->setCurrentIndex(table()->index(0, 0));
        QTRY_VERIFY(showsText(QStringLiteral(" infinite")) && showsText(name));
    }

private slots:
    void initTestCase()
    {
        m_toy = test::writeToyModel(m_temporary.filePath(QStringLiteral("toy")).toStdString(),
                                    test::gpt2Options());
        auto tensors = m_toy.tensors;
        tensors["transformer.h.0.attn.bias"] = {{1, 1, 17, 0}, {}};
        tensors["transformer.h.1.attn.bias"] = {{1, 1, 2, 2}, {1, NAN, INFINITY, 0}};
        test::writeSafetensors(m_toy.folder / "model.safetensors", tensors, false);
        m_workspace = std::make_unique<Workspace>();
        m_page = std::make_unique<TensorsPage>(m_workspace.get());
        m_page->resize(1000, 700);
        m_page->show();
        m_workspace->opener()->openModel({m_toy.folder, std::nullopt, {}});
        QTRY_VERIFY(m_workspace->model()->isOpen());
        QTRY_VERIFY(isFilled());
    }

    void showsAFileOfWhichNoModelIsOpen()
    {
        const auto path = m_toy.folder.parent_path() / "strange.safetensors";
        test::writeSafetensors(path, {{"first.of.all", {{2, 3}, {1, 2, 3, 4, 5, 6}}}}, false);
        Workspace empty;
        TensorsPage lone(&empty);
        lone.resize(1000, 700);
        lone.show();
        lone.showLoneFile(path);
        QAbstractItemModel* rows = lone.findChild<QTableView*>()->model();
        const auto shown = [&](int column) { return rows->index(0, column).data().toString(); };
        QTRY_COMPARE(rows->rowCount(), 1);
        QCOMPARE(shown(TensorTableModel::NameColumn), QStringLiteral("first.of.all"));
        QVERIFY(shown(TensorTableModel::UseColumn).contains(QStringLiteral("unknown")));
        QTRY_VERIFY(shown(TensorTableModel::MeanColumn).startsWith(QStringLiteral("3.5")));
        QVERIFY(lone.figures().isEmpty());
    }

    void cleanupTestCase()
    {
        m_page.reset();
        m_workspace.reset();
        QVERIFY(waitForJobs(std::chrono::seconds(20)));
    }

    void fillsInEveryRowByItself()
    {
        QCOMPARE(table()->rowCount(), static_cast<int>(m_toy.tensors.size()) + 2);
        QVERIFY(!m_workspace->opener()->job()->isRunning());
    }

    void showsTheSelectedTensorAsItIsStored()
    {
        find(QStringLiteral("transformer.wpe.weight"));
        QTRY_VERIFY(picture()->matrix() && picture()->matrix()->rows() == 17);
        const test::StoredTensor& stored = m_toy.tensors.at("transformer.wpe.weight");
        for (Eigen::Index r = 0; r < 17; ++r)
            for (Eigen::Index c = 0; c < 15; ++c)
                QCOMPARE((*picture()->matrix())(r, c),
                         static_cast<float>(stored.values[static_cast<std::size_t>(r * 15 + c)]));
        QCOMPARE(m_page->figures().size(), 3);
        QVERIFY(m_page->figures().first()->figureTitle().contains(
            QStringLiteral("transformer.wpe.weight as stored")));
        for (const auto& [key, value] : m_page->figures().first()->provenance())
            QVERIFY(key != QStringLiteral("processing") && key != QStringLiteral("head"));
        // The table, as it is filtered now: the one tensor with its mean.
        double sum = 0;
        for (const double value : stored.values)
            sum += value;
        std::vector<QStringList> rows;
        const FigureSource* numbers = m_page->figures().last();
        numbers->forEachDataRow([&](const QStringList& row) { rows.push_back(row); });
        QCOMPARE(rows.size(), std::size_t{2});
        QCOMPARE(rows[1][TensorTableModel::NameColumn], QStringLiteral("transformer.wpe.weight"));
        const double mean = rows[1][TensorTableModel::MeanColumn].toDouble();
        QVERIFY(std::abs(mean - sum / static_cast<double>(stored.values.size())) < 1e-7);
        for (const auto& [key, value] : numbers->provenance())
            QVERIFY(key != QStringLiteral("tensor"));
    }

    void marksWhatIsNoNumberAndWhatIsEmpty()
    {
        find(QStringLiteral("h.1.attn.bias"));
        QCOMPARE(cell(0, TensorTableModel::NanColumn), QStringLiteral("1"));
        QCOMPARE(cell(0, TensorTableModel::InfinityColumn), QStringLiteral("1"));
        QVERIFY(cell(0, TensorTableModel::UseColumn).startsWith(QStringLiteral("ignored: causal mask")));
        QTRY_COMPARE(picture()->content()->notFiniteCount(), 2);
        find(QStringLiteral("h.0.attn.bias"));
        QTRY_VERIFY(!picture()->matrix());
        QCOMPARE(cell(0, TensorTableModel::MeanColumn), QStringLiteral("–"));
        QCOMPARE(m_page->figures().size(), 1); // the table
    }

    void sortsNumbersAsNumbers()
    {
        m_page->findChild<QLineEdit*>()->clear();
        m_page->findChild<QTableView*>()->sortByColumn(TensorTableModel::BytesColumn, Qt::DescendingOrder);
        double last = INFINITY;
        for (int row = 0; row < table()->rowCount(); ++row) {
            const double bytes = table()
                                     ->index(row, TensorTableModel::BytesColumn)
                                     .data(TensorTableModel::SortRole)
                                     .toDouble();
            QVERIFY(bytes <= last);
            last = bytes;
        }
        QCOMPARE(last, 0.0);
    }

    void savesTheSelectedTensorForNumpy()
    {
        find(QStringLiteral("transformer.wpe.weight"));
        const QString file = m_temporary.filePath(QStringLiteral("wpe.npy"));
        m_page->findChild<TensorDetail*>()->saveAsNpy(file);
        QTRY_VERIFY(showsText(QStringLiteral("Saved ")));
        QFile saved(file);
        QVERIFY(saved.open(QIODevice::ReadOnly));
        const auto numpy = test::readNumpyFile(saved.readAll());
        QVERIFY(numpy);
        QCOMPARE(numpy->shape, (QList<qint64>{17, 15}));
        const std::vector<float> numbers = numpy->numbers<float>();
        const std::vector<double>& expected = m_toy.tensors.at("transformer.wpe.weight").values;
        QVERIFY(std::equal(numbers.begin(), numbers.end(), expected.begin(), expected.end(),
                           [](float a, double b) { return double{a} == b; }));
        m_page->findChild<TensorDetail*>()->saveAsNpy(m_temporary.filePath(QStringLiteral("absent/wpe.npy")));
        QTRY_VERIFY(showsText(QStringLiteral("absent/wpe.npy")));
    }

    void remembersWhatWasLookedAt()
    {
        find(QStringLiteral("transformer.wte.weight"));
        const QJsonObject state = m_page->viewState();
        find(QStringLiteral("transformer.wpe.weight"));
        m_page->setViewState(state);
        QTRY_VERIFY(picture()->matrix() && picture()->matrix()->rows() == 11);
        QCOMPARE(m_page->viewState()[QStringLiteral("tensor")].toString(),
                 QStringLiteral("transformer.wte.weight"));
    }

    void saysWhatToDoWithoutAModel()
    {
        m_workspace->opener()->close();
        QTRY_COMPARE(table()->rowCount(), 0);
        QVERIFY(m_page->figures().isEmpty());
    }
};

HEADWISE_TEST(TensorsPageTest)
#include "tensors_page_test.moc"
