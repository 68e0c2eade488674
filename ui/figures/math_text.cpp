#include "ui/figures/math_text.h"

#include "ui/figures/figure_export_title.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <array>

namespace headwise::ui {

namespace {

constexpr std::array scriptWords{u"QK", u"OV",   u"pp",    u"ee",   u"ep",    u"pe",  u"in",  u"out", u"gate",
                                 u"up", u"down", u"model", u"head", u"vocab", u"ctx", u"mlp", u"pos"};
constexpr qsizetype longestScript = 24; // characters in braces

bool isWordPart(QChar c)
{
    return c.isLetterOrNumber() || c == u'_';
}

/// A script without braces ends before other raised or lowered characters, such as the ᵀ of W_Kᵀ.
bool isScriptPart(QChar c)
{
    return c.isLetterOrNumber() && c.category() != QChar::Letter_Modifier
        && c.category() != QChar::Number_Other;
}

/// Tells whether the character at `at` can carry a script: one letter by itself, or a closing bracket or bar.
bool isBase(const QString& text, qsizetype at)
{
    if (at < 0)
        return false;
    const QChar c = text[at];
    if (c == u')' || c == u']' || c == u'‖' || c == u'⟩')
        return true;
    return c.isLetter() && (at == 0 || !isWordPart(text[at - 1]));
}

/// A script that begins at a place in the text.
struct Script {
    QString text;
    qsizetype end = 0; ///< First character after it.
};

/// Reads the script after the mark ^ or _ at `mark`; empty if the mark is only a character.
Script scriptAt(const QString& text, qsizetype mark)
{
    const qsizetype from = mark + 1;
    if (!isBase(text, mark - 1) || from >= text.size())
        return {};
    if (text[from] == u'{') {
        const qsizetype end = text.indexOf(u'}', from);
        const qsizetype length = end - from - 1;
        return end < 0 || length < 1 || length > longestScript ? Script{}
                                                               : Script{text.mid(from + 1, length), end + 1};
    }
    qsizetype end = from;
    while (end < text.size() && isScriptPart(text[end]))
        ++end;
    const QString word = text.mid(from, end - from);
    const bool isKnown = word.size() == 1
        || std::ranges::any_of(scriptWords, [&word](const char16_t* known) { return word == known; });
    const bool goesOn = end < text.size() && text[end] == u'_';
    const bool isFile = end + 1 < text.size() && text[end] == u'.' && text[end + 1].isLetterOrNumber();
    return isKnown && !goesOn && !isFile ? Script{word, end} : Script{};
}

/// Reads the 10 of a log10 that begins at a place in the text; empty if there is none.
Script logarithmAt(const QString& text, qsizetype at)
{
    constexpr QStringView word = u"log10";
    const qsizetype end = at + word.size();
    const bool isWord = QStringView(text).mid(at).startsWith(word) && (at == 0 || !isWordPart(text[at - 1]))
        && (end == text.size() || !isWordPart(text[end]));
    return isWord ? Script{text.mid(at + 3, 2), end} : Script{};
}

/// Font and height of a run's baseline, relative to the whole text's.
struct RunLook {
    QFont font;
    double rise = 0;
};

RunLook lookOf(const MathRun& run, const QFont& font, const QPaintDevice* device)
{
    if (run.level == 0)
        return {font, 0};
    constexpr double share = 0.75;
    QFont script = font;
    if (font.pointSizeF() > 0)
        script.setPointSizeF(std::max(share * font.pointSizeF(), std::min(font.pointSizeF(), leastType)));
    else
        script.setPixelSize(std::max(1, static_cast<int>(share * font.pixelSize())));
    const double ascent = QFontMetricsF(font, device).ascent();
    return {script, (run.level > 0 ? 0.35 : -0.18) * ascent};
}

} // namespace

std::vector<MathRun> mathRuns(const QString& text)
{
    std::vector<MathRun> runs;
    QString plain;
    for (qsizetype i = 0; i < text.size();) {
        const bool isMark = text[i] == u'^' || text[i] == u'_';
        const Script script = isMark ? scriptAt(text, i) : logarithmAt(text, i);
        if (script.end == 0) {
            plain += text[i++];
            continue;
        }
        if (!isMark)
            plain += QStringView(text).mid(i, 3); // log
        if (!plain.isEmpty())
            runs.push_back({plain, 0});
        plain.clear();
        runs.push_back({script.text, text[i] == u'^' ? 1 : -1}); // the 10 of a logarithm is lowered
        i = script.end;
    }
    if (!plain.isEmpty())
        runs.push_back({plain, 0});
    return runs;
}

double mathWidth(const QString& text, const QFont& font, const QPaintDevice* device)
{
    double width = 0;
    for (const MathRun& run : mathRuns(text))
        width += QFontMetricsF(lookOf(run, font, device).font, device).horizontalAdvance(run.text);
    return width;
}

void drawMath(QPainter& painter, const QPointF& at, const QString& text)
{
    const QFont font = painter.font();
    double x = at.x();
    for (const MathRun& run : mathRuns(text)) {
        const RunLook drawn = lookOf(run, font, painter.device());
        painter.setFont(drawn.font);
        painter.drawText(QPointF(x, at.y() - drawn.rise), run.text);
        x += QFontMetricsF(drawn.font, painter.device()).horizontalAdvance(run.text);
    }
    painter.setFont(font);
}

} // namespace headwise::ui
