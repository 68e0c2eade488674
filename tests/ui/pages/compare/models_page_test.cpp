#include "ui/pages/compare/models_page.h"
#include "ui/pages/parts/figure_subject.h"

#include "tests/support/loaded.h"
#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "tests/support/toy_adapter.h"
#include "ui/base/text.h"
#include "ui/document/compared_model.h"
#include "ui/document/head_metrics.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/pages/heads/heads_page.h"
#include "ui/widgets/table_figure.h"

#include <QComboBox>
#include <QLabel>
#include <QSignalSpy>
#include <QSlider>
#include <QTemporaryDir>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

class ModelsPageTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    std::filesystem::path m_older, m_newer;

private slots:
    void initTestCase()
    {
        m_older = std::filesystem::path(m_folder.path().toStdString()) / "older";
        m_newer = std::filesystem::path(m_folder.path().toStdString()) / "newer";
        ToyModel model = writeToyModel(m_older, ToyOptions());
        writeToyModel(m_newer, ToyOptions());
        // Training made the values of one head twice as large.
        test::StoredTensor& values = model.tensors.at("blocks.1.attn.W_V");
        const std::size_t size = values.values.size() / 3;
        for (std::size_t i = 2 * size; i < 3 * size; ++i)
            values.values[i] *= 2;
        writeSafetensors(m_newer / "model.safetensors", model.tensors, false);
    }

    /// An adapter changes the open model, as far as the slider says.
    void anAdaptersStrengthIsASlider()
    {
        const std::filesystem::path folder(m_folder.path().toStdString());
        const ToyModel base = writeToyModel(folder / "base", llamaOptions());
        writeAdapter(folder / "adapter", ToyAdapter{{"model.layers.1.self_attn.v_proj"}}, base);
        OpenedPage<ModelsPage> opened(folder / "base");
        auto* slider = opened.find<QSlider>(QStringLiteral("Adapter strength"));
        QVERIFY(!slider->isVisible());
        ComparedModel* newer = ComparedModel::of(&opened.workspace);
        const auto changed = [&] {
            const ResultArray* change =
                opened.workspace.model()->results()->find("comparison/ov/relative_change");
            return change ? metricAt(*change, {1, 2}) : -1;
        };
        newer->compare({folder / "adapter", std::nullopt, {}});
        QTRY_VERIFY(changed() > 0.1);
        QTRY_VERIFY(slider->isVisible());
        QCOMPARE(slider->value(), 100);
        QCOMPARE(newer->name(), QStringLiteral("base + adapter"));
        const double whole = changed();
        slider->setValue(50);
        QTRY_VERIFY(std::abs(changed() - whole / 2) < 1e-4 * whole);
        slider->setValue(20); // the newest wish wins
        slider->setValue(0);
        QTRY_COMPARE(changed(), 0.0);
        QCOMPARE(newer->adapterStrength().value_or(-1), 0.0);
        newer->compare({m_newer, std::nullopt, {}}); // no adapter
        QTRY_VERIFY(!slider->isVisible());
    }

    void theHeadThatChangedStandsFirst()
    {
        OpenedPage<ModelsPage> opened(m_older);
        HeadsPage heads(&opened.workspace);
        auto* table = opened.find<TableFigure>(QStringLiteral("Heads by change"));
        QVERIFY(!table->isVisible());
        QVERIFY(opened.page.figures().isEmpty());
        ComparedModel::of(&opened.workspace)->compare({m_newer, std::nullopt, {}});
        QTRY_COMPARE(table->model()->rowCount(), 6);
        const auto results = opened.workspace.model()->results();
        const ResultArray* change = results->find("comparison/ov/relative_change");
        QVERIFY(std::abs(metricAt(*change, {1, 2}) - 1) < 1e-5); // (2 W − W)/W
        QCOMPARE(cellText(table, 0, 0), QStringLiteral("L1H2"));
        QCOMPARE(cellText(table, 0, 1), number(metricAt(*change, {1, 2})));
        QCOMPARE(cellText(table, 1, 1), number(0));
        QCOMPARE(comparedWith(*opened.workspace.model()->results()),
                 QStringLiteral("toy")); // as its config calls it
        // The grid of heads shows it, and so does the picture of the page.
        QCOMPARE(heads.findChild<QComboBox*>()->currentData().toString(),
                 QStringLiteral("comparison/ov/relative_change"));
        auto* grid = opened.find<HeatmapView>(metricTitle(*change));
        QTRY_VERIFY(grid->matrix());
        QCOMPARE((*grid->matrix())(1, 2), static_cast<float>(metricAt(*change, {1, 2})));
        QTest::mouseClick(table->viewport(), Qt::LeftButton, {},
                          table->visualRect(table->model()->index(0, 0)).center());
        QCOMPARE(opened.workspace.selection()->head(), (HeadId{1, 2}));
        QVERIFY(opened.page.figures().size() > 5);
        const ResultArray* values = results->find("comparison/projection_kernel/v");
        auto* kept = opened.find<HeatmapView>(metricTitle(*values));
        QVERIFY(kept->matrix());
        QCOMPARE((*kept->matrix())(1, 2), static_cast<float>(metricAt(*values, {1, 2})));
        QVERIFY(metricAt(*values, {1, 2}) > 0.999); // twice as large, in the same subspace
        QVERIFY(dataRows(opened.page.figures().first()).size() == 7);
    }

    /// Each picture says under which name, and with which choices, `headwise export` draws the same.
    void picturesHaveTheNamesOfExport()
    {
        OpenedPage<ModelsPage> opened(m_older);
        ComparedModel::of(&opened.workspace)->compare({m_newer, std::nullopt, {}});
        const auto names = [&opened] {
            QStringList all;
            for (const FigureSource* figure : opened.page.figures())
                for (const auto& [key, value] : figure->provenance())
                    if (key == QLatin1String("view"))
                        all << value;
            return all;
        };
        const QString lines =
            QStringLiteral("comparison: Best match of each new direction among the old ones");
        QTRY_VERIFY(names().contains(lines));
        QVERIFY(names().contains(QStringLiteral("comparison/ov/left_cosines")));
        for (QComboBox* box : opened.page.findChildren<QComboBox*>())
            if (box->itemText(0) == QStringLiteral("This head"))
                box->setCurrentIndex(box->count() - 1);
        for (const FigureSource* figure : opened.page.figures())
            if (figureViewName(*figure) == lines)
                QCOMPARE(figureChoices(*figure), QStringList{QStringLiteral("heads=2")});
        QVERIFY(names().contains(lines));
        QVERIFY(names().contains(QStringLiteral("comparison/ov/relative_change")));
    }

    void headsOfAModelOfAnotherSizeAreMatched()
    {
        const std::filesystem::path demo = HEADWISE_DEMO_MODEL;
        const std::filesystem::path other = m_older.parent_path() / "other";
        ToyOptions options;
        options.nLayers = 5;
        options.dVocab = test::loaded(demo)->config().dVocab;
        writeToyModel(other, options);
        std::filesystem::copy_file(demo / "tokenizer.json", other / "tokenizer.json");
        OpenedPage<ModelsPage> opened(demo);
        HeadsPage heads(&opened.workspace);
        auto* table = opened.find<TableFigure>(QStringLiteral("Heads by change"));
        ComparedModel::of(&opened.workspace)->compare({other, std::nullopt, {}});
        QTRY_COMPARE(table->model()->rowCount(), 16);
        const auto results = opened.workspace.model()->results();
        const ResultArray* best = results->find("comparison/match/best");
        QVERIFY(best && !results->find("comparison/ov/relative_change"));
        const auto first = parseHeadId(cellText(table, 0, 0).toStdString());
        QVERIFY(first);
        QCOMPARE(cellText(table, 0, 2), number(metricAt(*best, *first)));
        QCOMPARE(cellText(table, 0, 3), number(zScore(*best, metricAt(*best, *first))));
        QCOMPARE(heads.findChild<QComboBox*>()->currentData().toString(),
                 QStringLiteral("comparison/match/best"));
        // The selected head beside each of the other model's 5 × 3.
        opened.workspace.selection()->setHead(*first);
        auto* grid = opened.find<HeatmapView>(QStringLiteral("Shared outputs of the heads of two models"));
        QTRY_VERIFY(grid->matrix() && grid->matrix()->rows() == 5);
        QCOMPARE(grid->matrix()->cols(), 3);
        QCOMPARE(grid->matrix()->maxCoeff(), static_cast<float>(metricAt(*best, *first)));
        QVERIFY(opened.page.figures().size() >= 3);
    }

    void modelsThatShareNoTokensAreSaid()
    {
        OpenedPage<ModelsPage> opened(m_older); // which has no tokenizer
        QSignalSpy failed(&opened.workspace, &Workspace::failed);
        ComparedModel::of(&opened.workspace)->compare({HEADWISE_DEMO_MODEL, std::nullopt, {}});
        QTRY_COMPARE(failed.size(), 1);
        QVERIFY(failed[0][0].toString().contains(QStringLiteral("share only 0 tokens")));
        QVERIFY(comparedWith(*opened.workspace.model()->results()).isEmpty());
    }
};

HEADWISE_TEST(ModelsPageTest)
#include "models_page_test.moc"
