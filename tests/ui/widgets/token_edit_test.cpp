#include "ui/widgets/token_edit.h"

#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/models/token_table_model.h"
#include "ui/pages/parts/subject_menu.h"
#include "ui/widgets/subject.h"
#include "ui/widgets/table_cells.h"
#include "ui/widgets/table_figure.h"

#include <QAbstractItemView>
#include <QClipboard>
#include <QCompleter>
#include <QGuiApplication>
#include <QMenu>
#include <QSignalSpy>
#include <QStandardItemModel>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

namespace {

std::shared_ptr<const Tokenizer> vocabulary()
{
    return std::make_shared<const Tokenizer>(Tokenizer::fromVocabulary({"␣the", "the", "1.5", "<0xE2>", "⏎"},
                                                                       {" the", "the", "1.5", "\xE2", "\n"}));
}

} // namespace

class TokenEditTest : public QObject {
    Q_OBJECT

private:
    /// Returns the list under the line once it shows the results for `query`.
    static QStringList offered(TokenEdit& edit, const QString& query)
    {
        edit.setFocus();
        edit.clear();
        auto* lines = edit.findChild<QCompleter*>()->model();
        lines->removeRows(0, lines->rowCount());
        QTest::keyClicks(&edit, query);
        [&] { QTRY_VERIFY(edit.findChild<QCompleter*>()->popup()->isVisible()); }();
        QStringList shown;
        for (int row = 0; row < lines->rowCount(); ++row)
            shown << lines->index(row, 0).data().toString();
        edit.findChild<QCompleter*>()->popup()->hide();
        return shown;
    }

    struct Line {
        Line()
        {
            edit.offerHeads();
            edit.follow(&workspace);
            edit.show();
            edit.activateWindow();
            workspace.opener()->openModel({HEADWISE_DEMO_MODEL, {}, {}});
            [&] { QTRY_VERIFY(workspace.model()->tokenizer() && workspace.model()->tokens()); }();
            edit.setTokenizer(vocabulary());
        }
        Workspace workspace;
        TokenEdit edit;
    };

private slots:
    void aHeadComesFirst()
    {
        Line line;
        QCOMPARE(offered(line.edit, QStringLiteral("1.5")),
                 (QStringList{QStringLiteral("Go to L1H5"), QStringLiteral("1.5   #2")}));
        QSignalSpy heads(&line.edit, &TokenEdit::headChosen);
        QSignalSpy tokens(&line.edit, &TokenEdit::tokenChosen);
        QTest::keyClick(&line.edit, Qt::Key_Return);
        QCOMPARE(heads.size(), 1);
        QCOMPARE(heads.front().front().value<HeadId>(), (HeadId{1, 5}));
        QCOMPARE(tokens.size(), 0);
        // The model has no such head: a token alone, or nothing.
        QCOMPARE(offered(line.edit, QStringLiteral("the")).first(), QStringLiteral("the   #1"));
        line.edit.setText(QStringLiteral("99.5"));
        QSignalSpy missed(&line.edit, &TokenEdit::notFound);
        QTest::keyClick(&line.edit, Qt::Key_Return);
        QCOMPARE(missed.size(), 1);
    }

    void aPatternFindsTokens()
    {
        Line line;
        QCOMPARE(offered(line.edit, QStringLiteral("/^.the$/")), QStringList{QStringLiteral("␣the   #0")});
        QSignalSpy tokens(&line.edit, &TokenEdit::tokenChosen);
        QTest::keyClick(&line.edit, Qt::Key_Return);
        QTRY_COMPARE(tokens.size(), 1);
        QCOMPARE(tokens.front().front().toInt(), 0);
        // An error is shown in place of a result and cannot be chosen.
        const QStringList wrong = offered(line.edit, QStringLiteral("/(the/"));
        QCOMPARE(wrong.size(), 1);
        QVERIFY2(wrong.front().startsWith(QStringLiteral("Pattern '(the' is not a regular expression")),
                 qPrintable(wrong.front()));
        QSignalSpy missed(&line.edit, &TokenEdit::notFound);
        QTest::keyClick(&line.edit, Qt::Key_Return);
        QTRY_COMPARE(missed.size(), 1);
        QCOMPARE(missed.front().front().toString(), wrong.front());
    }

    void textOfSeveralTokensOffersItsPieces()
    {
        Line line;
        const auto tokenizer = line.workspace.model()->tokenizer();
        line.edit.setTokenizer(tokenizer);
        const auto ids = tokenizer->encode(" Parisian", Tokenizer::SpecialTokens::None);
        QVERIFY(ids && ids->size() > 1);
        QStringList shown, choices;
        for (const int id : *ids) {
            shown << text(tokenizer->shown(id));
            choices << QStringLiteral("%1   #%2").arg(shown.last()).arg(id);
        }
        choices.removeDuplicates();
        const QString pieces = shown.join(QStringLiteral(", "));
        QCOMPARE(offered(line.edit, QStringLiteral(" Parisian")),
                 QStringList(QStringLiteral("pieces of ' Parisian': %1").arg(pieces)) + choices);
        auto* lines = line.edit.findChild<QCompleter*>()->model();
        QVERIFY(!(lines->flags(lines->index(0, 0)) & Qt::ItemIsEnabled)); // the heading is no choice
        for (const char* query : {" Parisian", "␣Parisian"}) {
            const QString typed = QString::fromUtf8(query);
            line.edit.setText(typed);
            QSignalSpy missed(&line.edit, &TokenEdit::notFound);
            QTest::keyClick(&line.edit, Qt::Key_Return);
            QCOMPARE(missed.size(), 1);
            QCOMPARE(missed.front().front().toString(),
                     QStringLiteral("'%1' is not one token; its pieces are %2.").arg(typed, pieces));
        }
        // A single token has none.
        const QString word = text(tokenizer->shown(ids->back()));
        for (const QString& one : offered(line.edit, word))
            QVERIFY2(!one.startsWith(QStringLiteral("pieces of")), qPrintable(one));
    }

    void aTokenIsCopiedAsItIsOrByItsId()
    {
        Workspace workspace;
        workspace.opener()->openModel({HEADWISE_DEMO_MODEL, {}, {}});
        QTRY_VERIFY(workspace.model()->tokenizer());
        const int token = *workspace.model()->tokenizer()->find("␣the");
        QStandardItemModel model;
        model.appendRow({tokenCell(workspace, token), numberCell(1.5)});
        TableFigure table;
        table.setSource(&model, TokenTableModel::SortRole);
        table.resize(300, 200);
        table.show();
        const auto at = [&](int column) {
            return subjectAt(&table, table.visualRect(table.model()->index(0, column)).center());
        };
        SubjectMenu subjects(&workspace);
        QMenu menu;
        subjects.addTo(&menu, at(0));
        const auto choose = [&menu](const QString& words) {
            for (QAction* each : menu.actions())
                if (each->text() == words)
                    each->trigger();
        };
        choose(QStringLiteral("Copy token"));
        QCOMPARE(QGuiApplication::clipboard()->text(), QStringLiteral(" the"));
        choose(QStringLiteral("Copy token #%1").arg(token));
        QCOMPARE(QGuiApplication::clipboard()->text(), QStringLiteral("#%1").arg(token));
        QCOMPARE(at(0).value, QString());
        QCOMPARE(at(1).value, QStringLiteral("1.5")); // a number of the same row
        QCOMPARE(at(1).token, std::optional(token));
        const QString hover = model.item(0)->toolTip();
        QVERIFY2(hover.endsWith(QStringLiteral("\" the\"")), qPrintable(hover));
    }
};

HEADWISE_TEST(TokenEditTest)
#include "token_edit_test.moc"
