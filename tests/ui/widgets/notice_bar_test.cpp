#include "ui/widgets/notice_bar.h"

#include "tests/support/program.h"

#include <QLabel>
#include <QPushButton>
#include <QTest>

using namespace headwise::ui;

class NoticeBarTest : public QObject {
    Q_OBJECT

private slots:
    /// A finished export must not hide that a file changed on disk.
    void aPassingNoticeGivesWayToAnyOther()
    {
        NoticeBar bar;
        int chosen = 0;
        bar.post({.id = QStringLiteral("exported"),
                  .text = QStringLiteral("Exported fig.pdf"),
                  .choices = {{QStringLiteral("Copy"), [&chosen] { ++chosen; }}},
                  .isPassing = true});
        QCOMPARE(bar.findChild<QLabel*>()->text(), QStringLiteral("Exported fig.pdf"));
        bar.post({.id = QStringLiteral("changed"),
                  .text = QStringLiteral("model.gguf has changed"),
                  .choices = {}});
        QCOMPARE(bar.findChild<QLabel*>()->text(), QStringLiteral("model.gguf has changed"));
        bar.withdraw(QStringLiteral("changed"));
        QVERIFY(bar.isHidden());
        QCOMPARE(chosen, 0);
    }

    /// The next export replaces the notice of the last one.
    void aNoticeReplacesThatOfTheSameKind()
    {
        NoticeBar bar;
        for (const QString& file : {QStringLiteral("one"), QStringLiteral("two")})
            bar.post({.id = QStringLiteral("exported"), .text = file, .choices = {}, .isPassing = true});
        QCOMPARE(bar.findChild<QLabel*>()->text(), QStringLiteral("two"));
        bar.withdraw(QStringLiteral("exported"));
        QVERIFY(bar.isHidden());
    }
};

HEADWISE_TEST(NoticeBarTest)
#include "notice_bar_test.moc"
