#include "tests/support/journey.h"

using namespace headwise;

/// Prepares the shared state of all journeys: the large model, its session, and an empty list of stalled walks.
class JourneyModelsTest : public QObject {
    Q_OBJECT

private slots:
    void theLargeModelIsThere()
    {
        QFile::remove(QStringLiteral(HEADWISE_JOURNEYS "/stalls.txt"));
        QVERIFY(test::makeJourneyModel(HEADWISE_JOURNEYS "/gpt2-small"));
    }

    /// Anew, since an earlier build may have computed or written something else.
    void itsSessionIsOfThisBuild()
    {
        QFile::remove(QStringLiteral(HEADWISE_JOURNEYS "/gpt2-small.h5"));
        QVERIFY(std::filesystem::exists(test::largeSession()));
    }
};

HEADWISE_TEST(JourneyModelsTest)
#include "journey_models_test.moc"
