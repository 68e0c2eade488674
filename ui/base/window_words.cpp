#include "ui/base/window_words.h"

#include <QHash>
#include <QRegularExpression>

#include <array>
#include <vector>

namespace headwise::ui {

namespace {

struct WordRule {
    const char* pattern;
    const char* words;
};

// Whole clauses, where another word for the option would not make a sentence. The first ones are the most special.
constexpr std::array wordRules{
    WordRule{"name one with --config FILE or say what the model is with --set KEY=VALUE,…",
             "open a folder that holds it beside the weights"},
    WordRule{
        "name a config with --config FILE, say what the model is with --set KEY=VALUE,…, or explain its names with --names MAP.json, for which `headwise names` writes a first proposal",
        "open it again and choose a config file, type the keys of its config, or press “Describe this model…”"},
    WordRule{"say it with --set (.+?), or name a config with --config FILE",
             "open it again and type \\1, or choose a config file"},
    WordRule{"state (it|them) with --set \\S+\\.", "state \\1 with File → Complete config…"},
    WordRule{"give (it|them) with --set KEY=VALUE", "add \\1 there"},
    WordRule{"name the base with --base MODEL", "open its base first, or choose it with “Open base…”"},
    WordRule{"headwise list-models lists those", "File → Open from cache… lists those"},
    WordRule{"choose one with --revision REVISION\\.", "choose one with File → Open from cache…"},
    WordRule{"--set stack=(.+) opens another one of this model",
             "File → Stack opens another one of this model (\\1)"},
    WordRule{"headwise analyze MODEL -o SESSION\\.h5 --analyses (\\S+)(?: --heads \\S+)? makes (?:it|them)",
             "run \\1 on the Analyses page"},
    WordRule{"headwise analyze MODEL -o SESSION\\.h5 makes a session", "File → Save session as… makes one"},
    WordRule{"headwise list-analyses (?:names|lists) them", "the Analyses page lists them"},
    WordRule{"headwise export --list names (?:them|the views)",
             "“Copy provenance” in the export dialog names the view of a picture"},
    WordRule{"name it with --head LAYER\\.HEAD", "give its panel a “head”"},
    WordRule{"leave --head out", "leave “head” out"},
    WordRule{"name another output file, or pass --replace to start it over", "choose another file"},
    WordRule{" To overwrite it, pass --replace\\.", " Choose another file."},
    WordRule{"fix the facts of the map, or --set them", "fix the facts"},
    WordRule{"--no-scale-embedding", "no-scale-embedding"},
    WordRule{"'--set'", "the typed keys"},
    WordRule{"--set ([a-z_]+=[^\\s,;.]+)", "\\1 in config.json"},
    WordRule{"--set(?= changes)", "a config.json beside it"},
    WordRule{"leave (it|them) out with --ignore '[^']*'",
             "open the file again and press “Leave out” to leave \\1 out"},
    WordRule{"--ignore ('[^']*') leaves nothing out", "leaving out \\1 changes nothing"},
    WordRule{"--([a-z-]+) cannot be done", "“\\1” cannot be done"},
    WordRule{"`info --tensors` shows", "“Show tensors…” shows"},
    WordRule{"`headwise compare --match` pairs", "“Compare with…” pairs"},
    WordRule{"\\(Heads in the window, --heads on the command line\\)", "in the field “Heads”"},
    WordRule{", or ask for one with headwise top", ", or look at one on the Tokens page"},
    WordRule{"--one-end takes every pair with one end among them", "choose heads of two layers"},
    WordRule{" --precision f64 holds larger ones\\.", ""},
    WordRule{"--cycle FIRST-LAST names others", "the field “Cycle of ids” names others"},
    WordRule{"\\(--cycle FIRST-LAST\\)", "in the field “Cycle of ids”"},
    WordRule{" \\(--[a-z-]+(?: or --[a-z-]+)*(?: [0-9]+)?\\)", ""},
};

/// Returns the field or button for an option that is named alone.
QString fieldFor(const QString& option)
{
    static const QHash<QString, QString> fields{
        {QStringLiteral("adapter-scale"), QStringLiteral("Adapter strength")},
        {QStringLiteral("base"), QStringLiteral("Open base…")},
        {QStringLiteral("bigram-counts"), QStringLiteral("Bigram counts")},
        {QStringLiteral("config"), QStringLiteral("Choose a config file…")},
        {QStringLiteral("cycle"), QStringLiteral("Cycle of ids")},
        {QStringLiteral("direction"), QStringLiteral("Direction")},
        {QStringLiteral("head"), QStringLiteral("Heads")},
        {QStringLiteral("heads"), QStringLiteral("Heads")},
        {QStringLiteral("ignore"), QStringLiteral("Leave out")},
        {QStringLiteral("key-token"), QStringLiteral("Key token")},
        {QStringLiteral("pair"), QStringLiteral("Reference, head")},
        {QStringLiteral("prompt"), QStringLiteral("Prompt")},
        {QStringLiteral("seed"), QStringLiteral("Seed")},
        {QStringLiteral("set"), QStringLiteral("Other keys")},
        {QStringLiteral("names"), QStringLiteral("Describe this model…")},
        {QStringLiteral("token"), QStringLiteral("Token")},
        {QStringLiteral("token-counts"), QStringLiteral("Token counts")},
        {QStringLiteral("tokenizer"), QStringLiteral("Add tokenizer…")},
        {QStringLiteral("tokens"), QStringLiteral("Prompt")}};
    return fields.value(option, QString(option).replace(u'-', u' '));
}

QString withoutLoneOptions(QString sentence)
{
    // Not after a letter, a path or a quotation mark.
    static const QRegularExpression option(QStringLiteral("(?<![\\w/.'\"“-])--([a-z][a-z0-9-]*)"));
    for (QRegularExpressionMatch found = option.match(sentence); found.hasMatch();
         found = option.match(sentence))
        sentence.replace(found.capturedStart(), found.capturedLength(),
                         QStringLiteral("“%1”").arg(fieldFor(found.captured(1))));
    return sentence;
}

} // namespace

QString windowWords(const QString& sentence)
{
    // Most sentences name no option and no command.
    if (!sentence.contains(QLatin1String("--")) && !sentence.contains(QLatin1String("headwise ")))
        return sentence;
    static const std::vector<QRegularExpression> patterns = [] {
        std::vector<QRegularExpression> made;
        for (const WordRule& rule : wordRules)
            made.emplace_back(QString::fromUtf8(rule.pattern));
        return made;
    }();
    QString words = sentence;
    for (std::size_t i = 0; i < wordRules.size(); ++i)
        words.replace(patterns[i], QString::fromUtf8(wordRules[i].words));
    words = withoutLoneOptions(words);
    if (!words.isEmpty() && sentence.startsWith(QLatin1String("--")))
        words[0] = words[0].toUpper();
    return words;
}

} // namespace headwise::ui
