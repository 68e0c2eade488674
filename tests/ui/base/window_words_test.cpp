#include "ui/base/window_words.h"

#include "tests/support/program.h"
#include "ui/base/text.h"

#include <QDirIterator>
#include <QFile>
#include <QRegularExpression>
#include <QTest>

using namespace headwise;
using namespace headwise::ui;

class WindowWordsTest : public QObject {
    Q_OBJECT

private slots:
    void sentencesNameTheFieldsAndButtons_data()
    {
        QTest::addColumn<QString>("core");
        QTest::addColumn<QString>("window");
        const auto add = [](const char* name, const char* core, const char* window) {
            QTest::newRow(name) << QString::fromUtf8(core) << QString::fromUtf8(window);
        };
        add("no config",
            "There is no config.json in 'a'; name one with --config FILE or say what the model is with --set KEY=VALUE,….",
            "There is no config.json in 'a'; open a folder that holds it beside the weights.");
        add("unknown names",
            "'a' has no config; name a config with --config FILE, say what the model is with --set KEY=VALUE,…, or explain its names with --names MAP.json, for which `headwise names` writes a first proposal.",
            "'a' has no config; open it again and choose a config file, type the keys of its config, or press “Describe this model…”.");
        add("answers",
            "They do not tell 'n_ctx'; say it with --set n_ctx=…,act_fn=…, or name a config with --config FILE.",
            "They do not tell 'n_ctx'; open it again and type n_ctx=…,act_fn=…, or choose a config file.");
        add("unknown fields",
            "It needs the activation, which is unknown; state it with --set act_fn=gelu,eps=1e-5.",
            "It needs the activation, which is unknown; state it with File → Complete config…");
        add("missing key", "In '--set' the key 'n_ctx' is missing; give it with --set KEY=VALUE.",
            "In the typed keys the key 'n_ctx' is missing; add it there.");
        add("a base", "'a' is a LoRA adapter; name the base with --base MODEL.",
            "'a' is a LoRA adapter; open its base first, or choose it with “Open base…”.");
        add("a value", "minGPT's later versions need --set activation_function=gelu_new.",
            "minGPT's later versions need activation_function=gelu_new in config.json.");
        add("unknown tensors",
            "If the function does not need them, leave them out with --ignore 'h.0.*,h.1.*'.",
            "If the function does not need them, open the file again and press “Leave out” to leave them out.");
        add("a cached model",
            "'a' does not exist, and the cache holds no model of this name; headwise list-models lists those that it holds.",
            "'a' does not exist, and the cache holds no model of this name; File → Open from cache… lists those that it holds.");
        add("a revision", "There are several revisions; choose one with --revision REVISION.",
            "There are several revisions; choose one with File → Open from cache…");
        add("a stack",
            "The decoder stack is open; --set stack=encoder or cross opens another one of this model.",
            "The decoder stack is open; File → Stack opens another one of this model (encoder or cross).");
        add("missing results",
            "The session has no 'composition/q'; headwise analyze MODEL -o SESSION.h5 --analyses composition makes it.",
            "The session has no 'composition/q'; run composition on the Analyses page.");
        add("missing tables",
            "The tables leave out head 1.5; headwise analyze MODEL -o SESSION.h5 --analyses tables --heads 1.5 makes them.",
            "The tables leave out head 1.5; run tables on the Analyses page.");
        add("a missing session", "There is no 'b.h5'; headwise analyze MODEL -o SESSION.h5 makes a session.",
            "There is no 'b.h5'; File → Save session as… makes one.");
        add("an analysis", "There is no analysis 'a'; headwise list-analyses names them.",
            "There is no analysis 'a'; the Analyses page lists them.");
        add("a view", "There is no view 'a'; headwise export --list names them.",
            "There is no view 'a'; “Copy provenance” in the export dialog names the view of a picture.");
        add("a head of a view", "The view 'a' shows one head; name it with --head LAYER.HEAD.",
            "The view 'a' shows one head; give its panel a “head”.");
        add("another series",
            "The series 'a' is about models of another shape; name another output file, or pass --replace to start it over.",
            "The series 'a' is about models of another shape; choose another file.");
        add("threads", "raise the limit (ulimit -v) or use fewer threads (--threads 1).",
            "raise the limit (ulimit -v) or use fewer threads.");
        add("in brackets", "It needs a prompt (--prompt or --tokens).", "It needs a prompt.");
        add("heads",
            "choose fewer (Heads in the window, --heads on the command line) or a source token (--token).",
            "choose fewer in the field “Heads” or a source token.");
        add("a cycle", "name the ids of one (--cycle FIRST-LAST).",
            "name the ids of one in the field “Cycle of ids”.");
        add("alone", "Another one is chosen by --key-token.", "Another one is chosen by “Key token”.");
        add("first", "--fold-layer-norm cannot be done on this model: it has no norms.",
            "“fold-layer-norm” cannot be done on this model: it has no norms.");
        add("a file's name", "'--heads' is not one token; 'a/--set.gguf' is a file; 1 -- 2.",
            "'--heads' is not one token; 'a/--set.gguf' is a file; 1 -- 2.");
        add("nothing to say", "File 'a.gguf' is empty.", "File 'a.gguf' is empty.");
    }

    void sentencesNameTheFieldsAndButtons()
    {
        QFETCH(QString, core);
        QFETCH(QString, window);
        QCOMPARE(windowWords(core), window);
        QCOMPARE(text(Error{ErrorCode::NotFound, core.toStdString()}), window);
    }

    // Every string of core that names an option, so that a new one cannot reach the window either.
    void noOptionIsLeftInAnySentenceOfCore()
    {
        static const QRegularExpression literal(QStringLiteral("\"((?:[^\"\\\\]|\\\\.)*)\"")),
            option(QStringLiteral("(?<![\\w/.'\"“-])--[a-z]"));
        int looked = 0;
        QStringList left;
        QDirIterator files(QStringLiteral(HEADWISE_DEMO_MODEL "/../../core"), {QStringLiteral("*.cpp")},
                           QDir::Files, QDirIterator::Subdirectories);
        while (files.hasNext()) {
            QFile file(files.next());
            QVERIFY(file.open(QIODevice::ReadOnly));
            const QString source = QString::fromUtf8(file.readAll());
            for (auto found = literal.globalMatch(source); found.hasNext();) {
                const QString sentence = found.next().captured(1);
                if (!sentence.contains(option))
                    continue;
                ++looked;
                if (windowWords(sentence).contains(option))
                    left << file.fileName() + QStringLiteral(": ") + windowWords(sentence);
            }
        }
        QVERIFY(looked > 20);
        QVERIFY2(left.isEmpty(), qPrintable(left.join(u'\n')));
    }
};

HEADWISE_TEST(WindowWordsTest)
#include "window_words_test.moc"
