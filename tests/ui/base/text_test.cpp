#include "ui/base/text.h"

#include "tests/support/program.h"

#include <QTest>

#include <cmath>
#include <limits>

using namespace headwise;
using namespace headwise::ui;

class TextTest : public QObject {
    Q_OBJECT

private slots:
    void numbersHaveThreeSignificantDigits_data()
    {
        QTest::addColumn<double>("value");
        QTest::addColumn<QString>("shown");
        QTest::newRow("ordinary") << 4.3125 << QStringLiteral("4.31");
        QTest::newRow("trailing zeros stay") << 0.5 << QStringLiteral("0.500");
        QTest::newRow("real minus") << -0.072 << QStringLiteral("−0.0720");
        QTest::newRow("rounds up a digit") << 9.996 << QStringLiteral("10.0");
        QTest::newRow("hundreds") << 123.456 << QStringLiteral("123");
        QTest::newRow("thousands keep their digits") << 12345.6 << QStringLiteral("12346");
        QTest::newRow("small") << 1.234e-5 << QStringLiteral("1.23e-5").replace(u'-', u'−');
        QTest::newRow("large") << 1.5e7 << QStringLiteral("1.50e7");
        QTest::newRow("zero") << 0.0 << QStringLiteral("0");
        QTest::newRow("minus zero") << -0.0 << QStringLiteral("0");
        QTest::newRow("not a number") << std::nan("") << QStringLiteral("NaN");
        QTest::newRow("infinite") << -std::numeric_limits<double>::infinity() << QStringLiteral("−∞");
    }

    void numbersHaveThreeSignificantDigits()
    {
        QFETCH(double, value);
        QFETCH(QString, shown);
        QCOMPARE(number(value), shown);
    }

    void aSignedNumberSaysItsSign()
    {
        QCOMPARE(signedNumber(4.31), QStringLiteral("+4.31"));
        QCOMPARE(signedNumber(-4.31), QStringLiteral("−4.31"));
        QCOMPARE(signedNumber(0), QStringLiteral("0"));
    }

    void anExactNumberReadsBackAsTheSame()
    {
        for (const float value : {0.1F, 1.0F / 3, -1.17549435e-38F, 3.4028235e38F, 123456.79F, 1e-30F})
            QVERIFY(static_cast<float>(exactNumber(value).toDouble()) == value);
        for (const double value : {0.1, 1.0 / 3, 1e-300})
            QVERIFY(exactNumber(value).toDouble() == value);
        QCOMPARE(exactNumber(0.1F), QStringLiteral("0.1"));
    }

    void headsAndErrorsAndCountsRead()
    {
        QCOMPARE(text(HeadId{10, 7}), QStringLiteral("L10H7"));
        QCOMPARE(text(Error{ErrorCode::NotFound, "No file ‘été’."}), QStringLiteral("No file ‘été’."));
        QCOMPARE(count(50257), QStringLiteral("50\u2009257"));
        QCOMPARE(count(999), QStringLiteral("999"));
        QCOMPARE(count(1234567), QStringLiteral("1\u2009234\u2009567"));
        QCOMPARE(count(-100), QStringLiteral("−100"));
    }

    void durationsReadAsPeopleSayThem()
    {
        using namespace std::chrono_literals;
        QCOMPARE(duration(100ms), QStringLiteral("1 s"));
        QCOMPARE(duration(42400ms), QStringLiteral("42 s"));
        QCOMPARE(duration(150s), QStringLiteral("3 min"));
        QCOMPARE(duration(std::chrono::minutes(65)), QStringLiteral("1 h 5 min"));
    }
};

HEADWISE_TEST(TextTest)
#include "text_test.moc"
