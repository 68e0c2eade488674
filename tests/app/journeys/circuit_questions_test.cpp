#include "tests/support/journey_steps.h"

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSlider>

using namespace headwise;
using namespace headwise::test;
using ui::HeatmapView;
using ui::text;

namespace {

/// A copy of a model whose W_O of one head is turned round in part, as training might.
bool copyWithOtherHead(const std::filesystem::path& from, const QString& to, const char* tensor, HeadId head,
                       int headsInLayer)
{
    const QDir folder(text(from.string()));
    for (const QString& name : folder.entryList(QDir::Files))
        if (!QFile::copy(folder.filePath(name), to + u'/' + name))
            return false;
    QFile file(to + QStringLiteral("/model.safetensors"));
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner);
    if (!file.open(QIODevice::ReadWrite))
        return false;
    quint64 length = 0;
    file.read(reinterpret_cast<char*>(&length), sizeof length);
    const QJsonObject header = QJsonDocument::fromJson(file.read(static_cast<qint64>(length))).object();
    const auto offsets = header[QLatin1String(tensor)].toObject()[QStringLiteral("data_offsets")].toArray();
    const qint64 first = offsets[0].toInteger(), size = offsets[1].toInteger() - first;
    if (size <= 0)
        return false;
    const qint64 ofHead = size / headsInLayer;
    file.seek(8 + static_cast<qint64>(length) + first + head.head * ofHead);
    QByteArray bytes = file.read(ofHead / 4);
    for (qsizetype i = 3; i < bytes.size(); i += 4) // the signs of little-endian floats
        bytes[i] = static_cast<char>(bytes[i] ^ '\x80');
    file.seek(file.pos() - bytes.size());
    return file.write(bytes) == bytes.size();
}

} // namespace

class CircuitQuestionsTest : public QObject {
    Q_OBJECT

private slots:
    void compositionLeadsFromTheMapToTwoHeads_data() { addJourneyModels(); }
    void compositionLeadsFromTheMapToTwoHeads()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        Journey journey(QStringLiteral("j8-") + QLatin1String(QTest::currentDataTag()));
        openModel(journey, folderOf(which));
        // J8: a click on the tab, where keys are what is shown first; the scores are computed unasked.
        journey.openTab(QStringLiteral("Composition"));
        auto* map = journey.named<HeatmapView>(QStringLiteral("Composition of all pairs"));
        journey.waitFor([&] { return map->rowCount() > 0; }, QStringLiteral("the scores"));
        const QString link = QStringLiteral("L0H2 → L1H5");
        const QString words = readOut(journey, map, 2, 5);
        QVERIFY2(words.contains(link), qPrintable(words));
        const Circuits circuits = circuitsIn(folderOf(which));
        const Matrix<double> writes = dense(circuits.ov({0, 2})), reading = dense(circuits.qk({1, 5}));
        const double expected = (writes * reading.transpose()).norm() / (writes.norm() * reading.norm());
        QVERIFY(reads(numberAfter(words, link), expected));
        QTest::keyClick(journey.named<QSlider>(QStringLiteral("Percentile of pairs left out")), Qt::Key_End);
        QVERIFY(journey.shows(QStringLiteral("the strongest 1 %")));
        journey.openTab(QStringLiteral("Wiring"));
        journey.named(QStringLiteral("K-composition, strongest pairs"));
        QVERIFY(journey.shows(QStringLiteral("30 largest, down to")));
        journey.openTab(QStringLiteral("Map"));
        if (which == JourneyModel::Demo) { // z of every pair
            journey.click(QStringLiteral("Against chance"));
            journey.waitForRest();
            QVERIFY(std::isfinite(numberAfter(readOut(journey, map, 2, 5), QStringLiteral("   z"))));
        }
        // A double click: both heads side by side.
        QTest::mouseDClick(map, Qt::LeftButton, {}, placeOf(map, 2, 5));
        journey.waitFor([&] { return journey.shows(QStringLiteral("cosine of")); },
                        QStringLiteral("the pair"));
        QVERIFY(journey.shows(QStringLiteral("L1H5")) && journey.shows(QStringLiteral("L0H2")));
        const Matrix<double> other = dense(circuits.ov({1, 5}));
        const double cosine = writes.cwiseProduct(other).sum() / (writes.norm() * other.norm());
        const QString numbers = journey.labelWith(QStringLiteral("cosine of"));
        QVERIFY(reads(numberAfter(numbers, QStringLiteral("cosine of OV")), cosine));
        journey.waitForRest();
    }

    void aFineTunedModelIsComparedHeadByHead_data() { addJourneyModels(); }
    void aFineTunedModelIsComparedHeadByHead()
    {
        QFETCH(int, model);
        const auto which = static_cast<JourneyModel>(model);
        const bool isDemo = which == JourneyModel::Demo;
        const HeadId changed = isDemo ? HeadId{1, 3} : HeadId{7, 4};
        const QTemporaryDir newer;
        QVERIFY(copyWithOtherHead(folderOf(which), newer.path(),
                                  isDemo ? "blocks.1.attn.W_O" : "h.7.attn.c_proj.weight", changed,
                                  isDemo ? 8 : 12));
        Journey journey(QStringLiteral("j12-") + QLatin1String(QTest::currentDataTag()));
        openModel(journey, folderOf(which));
        journey.drop(journey.window(), {newer.path()}, Qt::AltModifier); // J12: one gesture
        auto* heads = journey.named<QTableView>(QStringLiteral("Heads by how much they changed"));
        QCOMPARE(cell(heads, 0, 0), text(changed));
        const Matrix<double> before = dense(circuitsIn(folderOf(which)).ov(changed));
        const Matrix<double> after = dense(circuitsIn(newer.path().toStdString()).ov(changed));
        QVERIFY(reads(numberIn(heads, 0, 1), (after - before).norm() / before.norm()));
        QCOMPARE(numberIn(heads, 1, 1), 0.0); // the others are as they were
        clickRow(heads, 0);
        const auto* tokens = journey.named<QTableView>(QStringLiteral("Tokens that left and entered"));
        QVERIFY(journey.shows(text(changed) + QStringLiteral(": tokens that left and entered")));
        QVERIFY(!cell(tokens, 0, 2).isEmpty());
        journey.waitForRest();
    }
};

int main(int argc, char** argv)
{
    return runJourneys<CircuitQuestionsTest>(argc, argv);
}
#include "circuit_questions_test.moc"
