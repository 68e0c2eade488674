#include "ui/pages/model/names_dialog.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"
#include "ui/base/theme.h"
#include "ui/pages/model/names_table.h"
#include "ui/pages/model/names_tree.h"

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QTemporaryDir>

#include <algorithm>

using namespace headwise;
using namespace headwise::ui;

namespace {

/// The dialog for a toy model in a folder of its own.
class DescribedToy {
public:
    explicit DescribedToy(const test::ToyOptions& options = {})
        : toy(test::writeToyModel(m_folder.path().toStdString(), options))
    {
        auto file = WeightMap::open(toy.folder);
        if (!file)
            qFatal("%s", test::printed(file.error()).constData());
        dialog = std::make_unique<NamesDialog>(ModelSource{toy.folder, std::nullopt, {}},
                                               std::make_shared<const WeightMap>(std::move(file).value()));
        wearTheme(*dialog);
        table = dialog->findChild<NamesTable*>();
        tree = dialog->findChild<NamesTree*>();
    }

    QTreeWidgetItem* item(const char* name) const
    {
        const auto found = tree->findItems(QLatin1String(name), Qt::MatchExactly | Qt::MatchRecursive);
        return found.size() == 1 ? found.front() : nullptr;
    }
    QColor color(const char* name) const { return item(name)->foreground(0).color(); }
    int row(const char* tensors) const
    {
        for (int at = 0; at < table->rowCount(); ++at)
            if (table->tensors(at) == QLatin1String(tensors))
                return at;
        return -1;
    }
    bool says(const char* words) const
    {
        return std::ranges::any_of(dialog->findChildren<QLabel*>(), [words](const QLabel* label) {
            return label->text().contains(QString::fromUtf8(words));
        });
    }

private:
    QTemporaryDir m_folder;

public:
    test::ToyModel toy;
    std::unique_ptr<NamesDialog> dialog;
    NamesTable* table;
    NamesTree* tree;
};

} // namespace

class NamesDialogTest : public QObject {
    Q_OBJECT

private slots:
    void assignedPartsAreGreenInTheTree()
    {
        const DescribedToy described;
        const ThemeColors& colors = themeColors(described.dialog->palette());
        for (const char* role : {"W_E", "W_pos", "W_Q", "W_K", "W_V", "W_O", "W_in", "W_out", "ln1.w", "W_U",
                                 "Layers", "Attention", "MLP", "Unembedding"})
            QVERIFY2(described.item(role) && described.color(role) == colors.good, role);
        QCOMPARE(described.item("W_Q")->text(1), QStringLiteral("blocks.{layer}.attn.W_Q"));
        QCOMPARE(described.color("W_gate"), colors.muted); // an MLP may have no gate
        QCOMPARE(described.item("W_gate")->text(1), QStringLiteral("none"));
    }

    void aMissingPartIsMarkedAndNamed()
    {
        const DescribedToy described;
        const ThemeColors& colors = themeColors(described.dialog->palette());
        const int values = described.row("blocks.{layer}.attn.W_V");
        QVERIFY(values >= 0);
        const QString role = described.table->roles(values), axes = described.table->axes(values);
        described.table->answer(values, notAWeight, axes);
        QCOMPARE(described.item("W_V")->text(1), QStringLiteral("missing"));
        for (const char* marked : {"W_V", "Attention", "Layers"})
            QVERIFY2(described.color(marked) == colors.bad, marked);
        QCOMPARE(described.color("W_K"), colors.good);
        QVERIFY(described.says("Missing: blocks.{layer}.attn.W_V."));
        described.table->answer(values, role, axes);
        QCOMPARE(described.color("Layers"), colors.good);
        QVERIFY(!described.says("Missing"));
        described.table->answer(values, role, QStringLiteral("d_head, heads, d_model")); // of [3, 7, 5]
        QCOMPARE(described.color("W_V"), colors.bad);
        QCOMPARE(described.item("W_V")->text(1), QStringLiteral("blocks.{layer}.attn.W_V"));
    }

    void aPartSelectsItsTensorsAndTheseTheirPart()
    {
        const DescribedToy described;
        const auto selectAlone = [&](const char* name) {
            described.tree->clearSelection();
            described.item(name)->setSelected(true);
        };
        const int out = described.row("blocks.{layer}.attn.W_O"), words = described.row("embed.W_E");
        selectAlone("W_O");
        QCOMPARE(described.table->selectedRows(), QList<int>{out});
        selectAlone("Embedding");
        QCOMPARE(described.table->selectedRows().size(), 2);
        QVERIFY(described.item("Embedding")->isSelected());
        described.table->selectRows({words});
        QCOMPARE(described.tree->selectedItems(), QList<QTreeWidgetItem*>{described.item("W_E")});
        described.table->answer(words, notAWeight, QString());
        selectAlone("W_E"); // nothing has this part now
        QVERIFY(described.table->selectedRows().isEmpty());
    }
};

HEADWISE_TEST(NamesDialogTest)
#include "names_dialog_test.moc"
