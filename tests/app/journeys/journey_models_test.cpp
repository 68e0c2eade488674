#include "tests/support/journey.h"

using namespace headwise;

/// Prepares what all journeys share: the large model, and an empty list of walks that stalled.
class JourneyModelsTest : public QObject {
    Q_OBJECT

private slots:
    void theLargeModelIsThere()
    {
        QFile::remove(QStringLiteral(HEADWISE_JOURNEYS "/stalls.txt"));
        QVERIFY(test::makeJourneyModel(HEADWISE_JOURNEYS "/gpt2-small"));
    }
};

HEADWISE_TEST(JourneyModelsTest)
#include "journey_models_test.moc"
