#include "tests/support/journey.h"

/// Counts the walks of the whole suite that stalled and needed a second try.
class JourneyStallsTest : public QObject {
    Q_OBJECT

private slots:
    void atMostTwoWalksNeededASecondTry()
    {
        QFile list(QStringLiteral(HEADWISE_JOURNEYS "/stalls.txt"));
        const QByteArray walks = list.open(QIODevice::ReadOnly) ? list.readAll() : QByteArray();
        QVERIFY2(walks.count('\n') <= 2, "these walks stalled at first: " + walks);
    }
};

HEADWISE_TEST(JourneyStallsTest)
#include "journey_stalls_test.moc"
