#include "ui/widgets/view_fields.h"

#include "tests/support/program.h"

#include <QCheckBox>
#include <QComboBox>
#include <QLineEdit>
#include <QTest>

using namespace headwise::ui;

class ViewFieldsTest : public QObject {
    Q_OBJECT

private slots:
    void writesAndRestoresEachField()
    {
        QComboBox box, named;
        box.addItems({QStringLiteral("rows"), QStringLiteral("columns")});
        named.addItem(QStringLiteral("Query"), QStringLiteral("q"));
        named.addItem(QStringLiteral("Key"), QStringLiteral("k"));
        QCheckBox check;
        QLineEdit line;
        QStringList steps;
        ViewFields part;
        part.add("words", &line);
        ViewFields fields;
        fields.add("box", &box).addData("kind", &named).add("on", &check, true).append(part).then([&] {
            steps << line.text();
        });
        const QJsonObject changed{{QStringLiteral("box"), 1},
                                  {QStringLiteral("kind"), QStringLiteral("k")},
                                  {QStringLiteral("on"), false},
                                  {QStringLiteral("words"), QStringLiteral("the cat")}};
        fields.restore(changed);
        QCOMPARE(fields.state(), changed);
        QCOMPARE(steps, QStringList{QStringLiteral("the cat")}); // after the field before it
        fields.restore({});
        QCOMPARE(fields.state(),
                 (QJsonObject{{QStringLiteral("box"), 0},
                              {QStringLiteral("kind"), QStringLiteral("q")},
                              {QStringLiteral("on"), true},
                              {QStringLiteral("words"), QString()}}));
    }

    /// A session of a version with more choices, or a damaged one, must not leave a box without a choice.
    void aChoiceThatIsNotThereIsTheFirst()
    {
        QComboBox box;
        box.addItems({QStringLiteral("rows"), QStringLiteral("columns")});
        ViewFields fields;
        fields.add("box", &box);
        for (const int wrong : {-1, 2, 99}) {
            box.setCurrentIndex(1);
            fields.restore(QJsonObject{{QStringLiteral("box"), wrong}});
            QCOMPARE(box.currentIndex(), 0);
        }
    }

    void aFieldWithNothingToKeepIsLeftOut()
    {
        QString read;
        ViewFields fields;
        fields.add("old", nullptr, [&read](const QJsonValue& value) { read = value.toString(); })
            .add(
                "none", [] { return QJsonValue(QJsonValue::Undefined); }, [](const QJsonValue&) {});
        QCOMPARE(fields.state(), QJsonObject());
        fields.restore(QJsonObject{{QStringLiteral("old"), QStringLiteral("word")}});
        QCOMPARE(read, QStringLiteral("word"));
    }
};

HEADWISE_TEST(ViewFieldsTest)
#include "view_fields_test.moc"
