#include "tests/support/journey.h"

using namespace headwise;

/// Prepares the shared state of all journeys: the large model, and an empty list of stalled walks.
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
