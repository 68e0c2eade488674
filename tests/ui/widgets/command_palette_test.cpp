#include "ui/widgets/command_palette.h"

#include "tests/support/program.h"

#include <QLineEdit>
#include <QListView>
#include <QPointer>
#include <QTest>

using namespace headwise::ui;

class CommandPaletteTest : public QObject {
    Q_OBJECT

private slots:
    void theBestMatchComesFirst()
    {
        const QList<PaletteCommand> found = matchingCommands(commands(), QStringLiteral("comp"));
        QStringList titles;
        for (const PaletteCommand& command : found)
            titles << command.title;
        QCOMPARE(titles,
                 (QStringList{QStringLiteral("Composition"), QStringLiteral("Q-, K- and V-composition"),
                              QStringLiteral("Wiring")}));
    }

    void everyWordMustOccurInTitleOrPath()
    {
        QCOMPARE(matchingCommands(commands(), QStringLiteral("view spec")).size(), 1);
        QCOMPARE(matchingCommands(commands(), QStringLiteral("view nothing")).size(), 0);
        QCOMPARE(matchingCommands(commands(), {}).size(), 5);
    }

    void enterRunsTheChosenOneAndCloses()
    {
        QWidget window;
        window.show();
        auto* palette = new CommandPalette(commands(), &window);
        const QPointer<CommandPalette> alive(palette);
        palette->setAttribute(Qt::WA_DeleteOnClose);
        palette->open();
        auto* line = palette->findChild<QLineEdit*>();
        QTest::keyClicks(line, QStringLiteral("comp"));
        QTest::keyClick(line, Qt::Key_Down);
        QTest::keyClick(line, Qt::Key_Return);
        QCOMPARE(m_ran, QStringLiteral("Q-, K- and V-composition"));
        QTRY_VERIFY(!alive);
    }

    void whatIsNoCommandGoesToTheFallback()
    {
        QWidget window;
        window.show();
        CommandPalette palette(commands(), &window);
        QString asked;
        palette.setFallback([&](const QString& typed) {
            return QList<PaletteCommand>{
                {QStringLiteral("Find ") + typed, {}, {}, [&, typed] { asked = typed; }}};
        });
        palette.open();
        auto* line = palette.findChild<QLineEdit*>();
        QTest::keyClicks(line, QStringLiteral("zebra"));
        QCOMPARE(palette.findChild<QListView*>()->model()->rowCount(), 1);
        QTest::keyClick(line, Qt::Key_Return);
        QCOMPARE(asked, QStringLiteral("zebra"));
    }

private:
    QList<PaletteCommand> commands()
    {
        const QString view = QStringLiteral("View › "),
                      analyses = QStringLiteral("Analyses › Composition › ");
        QList<PaletteCommand> made{{QStringLiteral("Save session"), QStringLiteral("File › "), {}, {}},
                                   {QStringLiteral("Spectrum"), view, {}, {}},
                                   {QStringLiteral("Wiring"), analyses, {}, {}},
                                   {QStringLiteral("Q-, K- and V-composition"), analyses, {}, {}},
                                   {QStringLiteral("Composition"), view, {}, {}}};
        for (PaletteCommand& command : made)
            command.run = [this, title = command.title] { m_ran = title; };
        return made;
    }

    QString m_ran;
};

HEADWISE_TEST(CommandPaletteTest)
#include "command_palette_test.moc"
