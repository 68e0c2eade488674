#include "ui/pages/model/names_dialog.h"

#include "tests/support/loaded.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/pages/model/answer_button.h"
#include "ui/pages/model/names_table.h"
#include "ui/pages/model/names_tree.h"

#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QPushButton>
#include <QTemporaryDir>

#include <algorithm>
#include <cmath>
#include <numeric>

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

    QLineEdit* line(const char* name) const
    {
        for (QLineEdit* edit : dialog->findChildren<QLineEdit*>())
            if (edit->accessibleName() == QLatin1String(name))
                return edit;
        return nullptr;
    }
    void runPrompt(const char* prompt) const
    {
        line("Prompt")->setText(QLatin1String(prompt));
        QTest::keyClick(line("Prompt"), Qt::Key_Return);
    }

    QList<AnswerButton*> buttons() const
    {
        QList<AnswerButton*> shown;
        for (AnswerButton* button : dialog->findChildren<AnswerButton*>())
            if (!button->isHidden())
                shown << button;
        return shown;
    }
    AnswerButton* button(const char* words) const
    {
        for (AnswerButton* button : buttons())
            if (button->text() == QLatin1String(words))
                return button;
        qFatal("there is no answer '%s'", words);
    }
    QString answer() const
    {
        for (const QLabel* label : dialog->findChildren<QLabel*>())
            if (label->text().startsWith(QLatin1String("Most likely next")))
                return label->text();
        return {};
    }

private:
    QTemporaryDir m_folder;

public:
    test::ToyModel toy;
    std::unique_ptr<NamesDialog> dialog;
    NamesTable* table;
    NamesTree* tree;
};

/// Saves pictures in both themes for a person to look at, where one asks for them.
void takeScreenshot(NamesDialog& dialog, const char* name)
{
    const QString folder = qEnvironmentVariable("HEADWISE_SCREENSHOTS");
    if (folder.isEmpty())
        return;
    for (const auto mode : {ThemeMode::Dark, ThemeMode::Light}) {
        applyTheme(*qApp, mode);
        dialog.grab().save(
            folder + u'/' + QLatin1String(name)
            + (mode == ThemeMode::Dark ? QStringLiteral("-dark.png") : QStringLiteral(".png")));
    }
}

} // namespace

class NamesDialogTest : public QObject {
    Q_OBJECT

private slots:
    void titlesOfColumnsAreWhole()
    {
        const DescribedToy described;
        const QHeaderView* header = described.table->horizontalHeader();
        for (int column = 0; column < header->count(); ++column)
            QVERIFY2(header->sectionSize(column) >= header->sectionSizeHint(column),
                     qPrintable(QString::number(column)));
    }

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

    void aPromptGivesTheTokensOfTheForwardPass()
    {
        const DescribedToy described; // its config tells the reference what the user has to type
        described.dialog->show();
        const auto weights = test::raw(test::loaded(described.toy.folder));
        const auto run = test::ran<float>(weights, {3, 5, 8});
        const RowVector<float> logits = run.logits.row(2);
        const double sum = logits.cast<double>().array().exp().sum();
        std::vector<int> ids(11);
        std::iota(ids.begin(), ids.end(), 0);
        std::ranges::sort(ids, [&](int a, int b) { return logits(a) > logits(b); });
        QStringList tokens;
        for (const int id : {ids[0], ids[1], ids[2], ids[3], ids[4]})
            tokens << QStringLiteral("#%1 %2").arg(id).arg(percent(std::exp(double(logits(id))) / sum));
        const QByteArray expected =
            (QStringLiteral("Most likely next: ") + tokens.join(QStringLiteral(" · "))).toUtf8();
        described.runPrompt("3 5 8");
        QTRY_VERIFY(described.says("Most likely next: #"));
        QVERIFY(!described.says(expected)); // by the assumed ReLU
        described.line("Facts that the tensors do not show")->setText(QStringLiteral("act_fn=gelu_new"));
        QVERIFY(!described.says("Most likely next")); // of another description
        described.runPrompt("3 5 8");
        QTRY_VERIFY(described.says("Most likely next: #"));
        QVERIFY2(described.says(expected), expected);
        QVERIFY(described.dialog->isVisible()); // Enter did not save it
    }

    void aPromptThatCannotRunSaysWhy()
    {
        const DescribedToy described;
        described.dialog->show();
        described.runPrompt("3 11");
        QTRY_VERIFY(described.says("'11' is not a token id."));
        described.runPrompt("3 4 3 4 3 4 3 4 3 4 3 4 3 4 3 4 3 4");
        QTRY_VERIFY(described.says("18 tokens do not fit into this model's context of 17."));
        const int values = described.row("blocks.{layer}.attn.W_V");
        described.table->answer(values, unknownPart, QString());
        described.runPrompt("3 5");
        QVERIFY(described.says("Choose a part for blocks.{layer}.attn.W_V, or “Not a weight”."));
        described.table->answer(values, QStringLiteral("blocks.{layer}.attn.W_V"),
                                QStringLiteral("heads, d_model, d_head"));
        described.line("Facts that the tensors do not show")
            ->setText(QStringLiteral("positional_embedding_type=none"));
        described.runPrompt("3 5");
        QTRY_VERIFY(described.says("is W_pos according to the names map 'this description', but"));
        described.line("Facts that the tensors do not show")->setText(QStringLiteral("hidden_size=7"));
        QVERIFY(described.says("unknown config key 'hidden_size'"));
    }

    void theOrderOfFusedPartsIsAskedWithPictures()
    {
        const DescribedToy described(test::gpt2Options());
        const int fused = described.row("transformer.h.{layer}.attn.c_attn.weight");
        QVERIFY(fused >= 0);
        described.table->selectRows({fused});
        QVERIFY(described.says("c_attn.weight: In which order are the parts?"));
        QCOMPARE(described.buttons().size(), 7); // six orders, and one head after the other
        QVERIFY(described.button("all Q, K, V")->isChecked());
        takeScreenshot(*described.dialog, "describe-fused");
        described.button("Q, K, V of each head")->click();
        QCOMPARE(described.table->axes(fused), QStringLiteral("d_model, heads*parts*d_head"));
        QVERIFY(described.button("Q, K, V of each head")->isChecked());
        described.button("K, Q, V of each head")->click();
        QCOMPARE(described.table->roles(fused).left(24), QStringLiteral("blocks.{layer}.attn.W_K "));
        QCOMPARE(described.table->axes(fused), QStringLiteral("d_model, heads*parts*d_head"));
        described.table->selectRows({described.row("transformer.wte.weight")});
        QVERIFY(described.buttons().isEmpty()); // its shape leaves nothing open
    }

    void thePlaceOfANormIsAskedWithPictures()
    {
        const DescribedToy described;
        described.dialog->show();
        described.line("Facts that the tensors do not show")->setText(QStringLiteral("act_fn=gelu_new"));
        described.runPrompt("3 5 8");
        QTRY_VERIFY(described.says("Most likely next"));
        const QString before = described.answer();
        for (const char* norm : {"blocks.{layer}.ln1.w", "blocks.{layer}.ln2.w"}) {
            described.table->selectRows({described.row(norm)});
            QVERIFY(described.says("Where is the norm?"));
            takeScreenshot(*described.dialog, "describe-norm");
            described.button("after the addition")->click();
            QVERIFY(described.button("after the addition")->isChecked());
        }
        const ThemeColors& colors = themeColors(described.dialog->palette());
        for (const char* role : {"ln1_post.w", "ln1_post.b", "ln2_post.w", "ln2_post.b"})
            QVERIFY2(described.color(role) == colors.good, role); // the bias goes with its weight
        described.runPrompt("3 5 8");
        QTRY_VERIFY(described.says("Most likely next"));
        QVERIFY(described.answer() != before);
    }

    void everyPictureOfAQuestionDiffers()
    {
        for (const auto& [roles, shape] :
             {std::pair("blocks.{layer}.attn.W_Q + blocks.{layer}.attn.W_K", std::vector<std::int64_t>{8, 4}),
              std::pair("blocks.{layer}.attn.W_O", std::vector<std::int64_t>{2, 4, 4}),
              std::pair("blocks.{layer}.attn.W_Q", std::vector<std::int64_t>{4, 4}),
              std::pair("blocks.{layer}.ln1.w", std::vector<std::int64_t>{4})}) {
            const NamesQuestion question = questionOf(QLatin1String(roles), {}, shape);
            QVERIFY(question.answers.size() >= 2);
            QList<QImage> pictures;
            for (const NamesAnswer& answer : question.answers)
                for (const ThemeColors* colors : {&lightColors(), &darkColors()}) {
                    QImage image(168, 92, QImage::Format_RGB32);
                    image.fill(colors->window);
                    QPainter painter(&image);
                    paintAnswer(painter, image.rect(), answer.picture, *colors);
                    painter.end();
                    QVERIFY2(!pictures.contains(image), qPrintable(answer.words));
                    pictures << image;
                }
        }
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
