#include "ui/base/bidi.h"

#include "tests/support/program.h"

#include <QTest>
#include <QTextLayout>

using namespace headwise::ui;

namespace {

const QString king = QStringLiteral("␣מלך");

/// Returns where `part` of `line` begins on the screen.
qreal leftOf(const QString& line, const QString& part)
{
    QTextLayout layout(line);
    layout.beginLayout();
    QTextLine drawn = layout.createLine();
    drawn.setLineWidth(10000);
    layout.endLayout();
    const auto from = static_cast<int>(line.indexOf(part));
    return std::min(drawn.cursorToX(from), drawn.cursorToX(from + static_cast<int>(part.size())));
}

} // namespace

class BidiTest : public QObject {
    Q_OBJECT

private slots:
    void wordsFromRightToLeftAreIsolatedAndNoOthers()
    {
        QCOMPARE(isolated(QStringLiteral("␣king → ␣queen   logit +4.31")),
                 QStringLiteral("␣king → ␣queen   logit +4.31"));
        QCOMPARE(isolated(king + QStringLiteral(" → ␣queen")),
                 QChar(0x2068) + king + QChar(0x2069) + QStringLiteral(" → ␣queen"));
        QCOMPARE(isolated(QStringLiteral("ملك 12")), QStringLiteral("\u2068ملك\u2069 12"));
        QCOMPARE(isolated({}), QString());
    }

    void aNumberStaysBehindTheHebrewTokenItBelongsTo()
    {
        const QString line = king + QStringLiteral("   4.31   ␣queen");
        QVERIFY(leftOf(line, QStringLiteral("4.31")) < leftOf(line, king)); // the fault to be corrected
        const QString mended = isolated(line);
        QVERIFY(leftOf(mended, QStringLiteral("4.31")) > leftOf(mended, QStringLiteral("מלך")));
        QVERIFY(leftOf(mended, QStringLiteral("␣queen")) > leftOf(mended, QStringLiteral("4.31")));
    }
};

HEADWISE_TEST(BidiTest)
#include "bidi_test.moc"
