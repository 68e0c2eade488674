#include "ui/figures/figure_presets.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace headwise;
using namespace headwise::ui;

class FigurePresetsTest : public QObject {
    Q_OBJECT

private slots:
    void theStandardOnesAreFour()
    {
        QCOMPARE(FigurePresets().names(),
                 QStringList({QStringLiteral("single"), QStringLiteral("double"), QStringLiteral("slide"),
                              QStringLiteral("poster")}));
    }

    void eachKeepsItsLastSettings()
    {
        FigurePresets presets;
        FigureSettings slide{.format = FigureFormat::Png, .width = 254, .height = 142.9, .dpi = 150};
        slide.style.fontSize = 20;
        slide.style.edits.title = "of one figure";
        presets.remember(QStringLiteral("slide"), slide);
        const FigureSettings now{.format = FigureFormat::Svg};
        const FigureSettings again = presets.settingsOf(QStringLiteral("slide"), now);
        QVERIFY(again.format == FigureFormat::Png && again.dpi == 150 && again.style.fontSize == 20);
        QVERIFY(again.style.edits == FigureEdits{}); // they belong to one figure
        const FigureSettings poster = presets.settingsOf(QStringLiteral("poster"), now);
        QVERIFY(poster.format == FigureFormat::Svg && poster.width == 420 && poster.style.fontSize == 24);
        QVERIFY(parseFigurePresets(text(presets)) == presets);
        QCOMPARE(parseFigurePresets(text(presets)).current(), QStringLiteral("slide"));
        QVERIFY(parseFigurePresets(QStringLiteral("nonsense")) == FigurePresets{});
    }

    void ownOnesAreSavedRenamedAndRemoved()
    {
        FigurePresets presets;
        const FigureSettings thesis{.width = 140, .height = 90};
        QVERIFY(test::isOk(presets.save(QStringLiteral(" Thesis "), thesis)));
        QCOMPARE(presets.names().last(), QStringLiteral("Thesis"));
        QCOMPARE(presets.nameFor(thesis, {}), QStringLiteral("Thesis"));
        QCOMPARE(presets.nameFor({.width = 33, .height = 44}, QStringLiteral("Thesis")),
                 QLatin1StringView(FigurePresets::custom));
        for (const char* refused : {"", "single", "Double Column", "custom"})
            QVERIFY(test::failsWith(presets.save(QLatin1StringView(refused), thesis),
                                    ErrorCode::InvalidArgument, ""));
        QVERIFY(test::isOk(presets.save(QStringLiteral("Talk"), thesis)));
        QVERIFY(test::failsWith(presets.rename(QStringLiteral("Talk"), QStringLiteral("Thesis")),
                                ErrorCode::InvalidArgument, "already"));
        presets.remember(QStringLiteral("Talk"), {.width = 140, .height = 90, .dpi = 96});
        QVERIFY(test::isOk(presets.rename(QStringLiteral("Talk"), QStringLiteral("Poster talk"))));
        QCOMPARE(presets.settingsOf(QStringLiteral("Poster talk"), {}).dpi, 96);
        QVERIFY(parseFigurePresets(text(presets)) == presets);
        presets.remove(QStringLiteral("Poster talk"));
        QVERIFY(!presets.has(QStringLiteral("Poster talk")));
    }

    void aFileIsReadAsItWasWritten()
    {
        FigureSettings settings{.format = FigureFormat::Png, .width = 140, .height = 90, .dpi = 600};
        settings.style.axes = false;
        const std::vector<OwnFigurePreset> own{{QStringLiteral("Thesis"), settings},
                                               {QStringLiteral("Blog ü"), {.width = 200, .height = 120}}};
        const QString file = m_folder.filePath(QStringLiteral("presets.json"));
        QVERIFY(test::isOk(writePresetFile(file, own)));
        const auto read = readPresetFile(file);
        QVERIFY(test::isOk(read));
        QVERIFY(*read == own);
        QVERIFY(test::failsWith(readPresetFile(m_folder.filePath(QStringLiteral("none.json"))),
                                ErrorCode::NotFound, "none.json"));
        QVERIFY(test::failsWith(writePresetFile(m_folder.filePath(QStringLiteral("no/such/p.json")), own),
                                ErrorCode::Io, "no/such/p.json"));
    }

    void aDamagedFileIsRefusedWithItsFault_data()
    {
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<QByteArray>("fault");
        const auto preset = [](const QByteArray& settings, const QByteArray& name = "A") {
            return "{\"schema\": \"headwise-figure-presets-1\", \"presets\": [{\"name\": \"" + name
                + "\", \"settings\": " + settings + "}]}";
        };
        QTest::newRow("cut") << QByteArray("{\"schema\": ") << QByteArray("damaged.json");
        QTest::newRow("other schema") << QByteArray(R"({"schema": "x", "presets": []})")
                                      << QByteArray("its schema is not 'headwise-figure-presets-1'");
        QTest::newRow("twice a name")
            << QByteArray(R"({"schema": "headwise-figure-presets-1", "presets": [], "presets": []})")
            << QByteArray("presets");
        QTest::newRow("unknown setting") << preset(R"({"width": 80, "height": 60, "colour": 1})")
                                         << QByteArray("preset 1: there is no setting 'colour'");
        QTest::newRow("wrong kind") << preset(R"({"width": "80", "height": 60})")
                                    << QByteArray("the value of 'width' cannot be used");
        QTest::newRow("out of range") << preset(R"({"width": 80, "height": 60000})")
                                      << QByteArray("'height' is 60000, but must be 10 to 5000");
        QTest::newRow("no size") << preset("{}") << QByteArray("'width' is missing");
        QTest::newRow("standard name") << preset(R"({"width": 80, "height": 60})", "single")
                                       << QByteArray("its name 'single' cannot be used");
    }
    void aDamagedFileIsRefusedWithItsFault()
    {
        QFETCH(const QByteArray, content);
        QFETCH(const QByteArray, fault);
        const QString name = m_folder.filePath(QStringLiteral("damaged.json"));
        QFile file(name);
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write(content) == content.size());
        file.close();
        QVERIFY(test::failsWith(readPresetFile(name), ErrorCode::Corrupt, fault.toStdString()));
    }

private:
    QTemporaryDir m_folder;
};

HEADWISE_TEST(FigurePresetsTest)
#include "figure_presets_test.moc"
