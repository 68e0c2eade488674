#include "app/window/help_dialog.h"

#include "app/demo.h"
#include "core/analysis/catalogue.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"

#include <QDialog>
#include <QDialogButtonBox>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QShortcut>
#include <QTextBrowser>
#include <QTextDocument>
#include <QUrl>
#include <QVBoxLayout>

namespace headwise::app {

using namespace headwise::ui;

namespace {

constexpr QSize guidePicture(600, 379); // px

/// The file of a picture of the README, which is beside the demo.
QString pictureFile(const QString& name)
{
    return QFileInfo(demoModelFolder()).path() + QStringLiteral("/screenshots/%1.png").arg(name);
}

/// A part of the guide.
struct GuidePart {
    QString title, words;
    QStringList pictures; // names of resources/screenshots
};

QList<GuidePart> guideParts()
{
    return {
        {QDialog::tr("Findings"),
         QDialog::tr(
             "A model opens on its findings: statements about its heads, strongest first, each with its value, null and z. Show opens the picture behind a statement, and ? explains its rule. Nothing that random weights would also show is listed."),
         {QStringLiteral("findings")}},
        {QDialog::tr("Heads"),
         QDialog::tr(
             "The grid at the left holds every head, layer 0 at the top, coloured by the score above it. Click a head to select it; every page follows. Shift+click marks a reference head to compare with. Right-click a head, pair or token anywhere to see what you can do with it. Overview shows the head at a glance."),
         {QStringLiteral("overview")}},
        {QDialog::tr("Reads and writes"),
         QDialog::tr(
             "Tokens lists what the head writes when it attends to a token, and what it attends to. Vectors shows its singular directions as tokens. Matrix and Spectrum show the circuits themselves. Relations finds heads that turn one word of a pair into the other."),
         {QStringLiteral("tokens"), QStringLiteral("vectors")}},
        {QDialog::tr("Where it looks"),
         QDialog::tr(
             "Position shows the offsets that a head prefers regardless of the tokens. Scores splits its scores into terms of tokens and positions. Prompt runs a text and shows the attention of every head on it."),
         {QStringLiteral("prompt")}},
        {QDialog::tr("Who talks to whom"),
         QDialog::tr(
             "Composition shows which later heads read what earlier heads write: as a map of all pairs, as wiring, or as a table. Click a pair to see its shared directions."),
         {QStringLiteral("composition")}},
        {QDialog::tr("Compare and keep"),
         QDialog::tr(
             "Two heads, All heads, Two models and Training compare heads, models and checkpoints. Press N to write a note on a head. Ctrl+S saves results, notes and the view as a session, which opens without the model. Ctrl+E exports a picture and its numbers."),
         {}},
    };
}

QString guideText()
{
    QString lines;
    for (const GuidePart& part : guideParts()) {
        lines += QStringLiteral("<h3>%1</h3><p>%2</p>").arg(part.title, part.words);
        for (const QString& name : part.pictures)
            if (QFileInfo::exists(pictureFile(name)))
                lines += QStringLiteral("<p><img src='%1' width='%2' height='%3'></p>")
                             .arg(name)
                             .arg(guidePicture.width())
                             .arg(guidePicture.height());
    }
    return lines;
}

/// Shows the guide. Reads its pictures when they are drawn first, in the pixels of the screen.
class GuideBrowser : public QTextBrowser {
public:
    using QTextBrowser::QTextBrowser;

protected:
    QVariant loadResource(int type, const QUrl& name) override
    {
        if (type != QTextDocument::ImageResource)
            return {};
        const QImage whole(pictureFile(name.toString()));
        QImage shown =
            whole.scaled(guidePicture * devicePixelRatioF(), Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
        shown.setDevicePixelRatio(devicePixelRatioF());
        document()->addResource(type, name, shown);
        return shown;
    }
};

QString keysText()
{
    return QDialog::tr(
        "<h3>Keys</h3><table cellspacing='6'><tr><td>Ctrl+O, Ctrl+Shift+O</td><td>open a model folder; a file or session</td></tr>"
        "<tr><td>Ctrl+S, Ctrl+Shift+S</td><td>save the session; under another name</td></tr><tr><td>Ctrl+W, Ctrl+Q</td><td>close the model; quit</td></tr>"
        "<tr><td>F5</td><td>read the model or session from disk again, keeping the view</td></tr><tr><td>Ctrl+E</td><td>export a picture and its numbers</td></tr><tr><td>right click, Menu key</td><td>a menu for a head, pair, token or picture, with export</td></tr><tr><td>Ctrl+Shift+E</td><td>export the current picture again: the same settings, its own name or the next free one, no "
        "dialog</td></tr><tr><td>Ctrl+C</td><td>copy the selected rows of a table, the current cell of a matrix, or a chart or diagram with its numbers</td></tr>"
        "<tr><td>Ctrl and drag a picture or table</td><td>take it into another program: an image, a drawing, its numbers, or files of them</td></tr>"
        "<tr><td>Ctrl+K</td><td>find any command, head or token by a few letters</td></tr><tr><td>Ctrl+L, Ctrl+F</td><td>go to a head; find a token (on Vectors: in all directions)</td></tr>"
        "<tr><td>Esc</td><td>clears a filter; else stops the page's computation, a comparison, or a running or waiting analysis; else goes back to the head before Ctrl+L or Ctrl+K</td></tr><tr><td>N</td><td>write a note on this head</td></tr><tr><td>Ctrl+Z, Ctrl+Shift+Z</td><td>undo a change to notes and bookmarks; redo it</td></tr>"
        "<tr><td>Tab, F6</td><td>the next field or picture; the next pane</td></tr><tr><td>Ctrl+arrows</td><td>next and previous head and layer; plain arrows or hjkl in "
        "the grid, PgUp and PgDn a layer, Home and End the first and last head of it; in a matrix the ends of the row</td></tr>"
        "<tr><td>Enter</td><td>on a head in the grid or ranking, opens it; on a matrix cell or table row, does what a click or double click does there</td></tr><tr><td>L, I, Z in a matrix</td><td>lock its limits (Shift+L in a grid of heads), invert its "
        "colours, centre them on zero</td></tr><tr><td>Alt+Left, Alt+Right</td><td>back and forward through visited heads and tokens</td></tr><tr><td>Alt+Home; 1 … 9, 0, also with Alt</td><td>Findings; the other pages; 0 is Analyses; Ctrl+Tab goes through all of them</td></tr>"
        "<tr><td>Ctrl+,</td><td>preferences</td></tr><tr><td>F11</td><td>full screen</td></tr><tr><td>Shift+F1</td><td>explain the thing you click next</td></tr><tr><td>click; Shift+click or Shift+Enter on a head</td><td>select it; mark it as the reference head, like Set as reference in its menu and Model → Use as reference head; Model → Clear reference removes the mark</td></tr>"
        "<tr><td>hold Shift, D on Two heads</td><td>show the reference instead of the head; show the difference</td></tr><tr><td>B on Composition</td><td>subtract the baseline or not</td></tr>"
        "<tr><td>Left, Right, Space on Vectors</td><td>next and previous direction; flip its sign</td></tr><tr><td>Ctrl+M</td><td>colour the heads by another score; type a part of its name</td></tr>"
        "<tr><td>drop a .csv of pairs, Alt and drop a model</td><td>find heads that know the relation; compare with a newer model</td></tr>"
        "<tr><td>Ctrl+D</td><td>bookmark this head</td></tr><tr><td>Ctrl+Shift+C</td><td>copy the address of this view, for headwise --goto</td></tr><tr><td>Tab, then arrows, Enter, + − 0 on a chart</td><td>from point to point; choose it; zoom</td></tr>"
        "<tr><td>wheel, drag, double click</td><td>zoom, move, show everything; Ctrl+wheel columns, Shift+wheel rows; + − 0 by keyboard; F centres the current cell</td></tr></table>");
}

QString conventionsText()
{
    return QDialog::tr(
        "<h3>What is shown</h3><p>QK = W_Q W_Kᵀ: rows are queries, columns keys. OV = W_V W_O: rows are the source, columns the output. The full circuits map tokens to tokens: E W_Q W_Kᵀ Eᵀ and E W_V W_O W_U. They leave out the attention scale and biases. With rotary positions, QK is shown at offset Δ = 0.</p><p>Processed weights have norms and value biases folded and writing weights and unembedding centred, as far "
        "as the model's function stays the same; raw weights are as stored. E holds the token vectors: the embedding, the embedding after layer 0's MLP, that MLP's output alone, or the unembedding.</p>"
        "<p>The Folding page compares the selected token's row for the weights in use and for the ticked processing steps; Use as ticked applies those steps. Model → This head changed replaces the selected head on every page: by its W_OV without the selected singular component, or by the virtual head W_OV W_OV after the reference head. A line above the pages says so and undoes it.</p><p>The Training page follows a series of checkpoints. File → Open series folder… computes it, and so does headwise series FOLDER -o SERIES.h5. The slider goes through the steps, a click on a change selects its head, and any step can be opened or compared with the open model.</p><p>The Tensors page shows the file itself: every tensor as stored, before any processing. Mean "
        "and standard deviation (divisor: the count) are over the finite numbers; histograms have 64 equal bins from the smallest to the largest. In a picture of a big matrix each cell shows the entry of "
        "largest magnitude that it covers. The badges at the upper right name what the plain products of this head leave out: rotary positions, QK-norm, soft caps, windows, ALiBi. The "
        "Model page explains them and lists the tensors that loading used and ignored.</p><p>On the Prompt page a double click on a query and its key, or Enter, splits their score: "
        "the contributions of the embedding, the positions, and the earlier heads and MLPs. Value-weighted "
        "attention counts the norm of what the head moves from each key.</p><p>The Scores page splits the scores of a layer-0 head: T^p and T^pp are the contributions of positions, "
        "averaged over the vocabulary's norms; T^ep is the token at the query scoring positions. Sliders change the query's position and token.</p>"
        "<p>Matrices: where cells are smaller than pixels, the corner says what each pixel shows: the strongest or the mean of several cells. For a circuit of all tokens the strongest are at "
        "first estimates, never too large, until the scan has covered every cell. ▲ and ▼ mark cells beyond the limits; cells too small for a mark get a distinct colour. L locks the limits (Shift+L in a grid of heads), I "
        "inverts the colours, Z centres them on zero; a right click on the colour bar offers colour maps, percentiles, scales (also by rank) and sharing "
        "with other pictures. View → Simulate colour blindness applies to matrices and figure previews; exported files do not change.</p>");
}

QString analysesText()
{
    QString lines = QDialog::tr(
        "<h3>Scores and analyses</h3><p>The Analyses page lists them all: ● is computed, ○ can be computed, – does not apply to this model, and its tooltip says why. Run computes one with the inputs in the fields above its pictures: a prompt, the "
        "selected token, the reference and the selected head, a direction, a seed. Pictures follow the selected head; clicks in them select heads and tokens. Every score names its null: the value for heads of "
        "random weights. The session keeps the results and shows them without the model.</p>");
    for (const Analysis& analysis : catalogue())
        lines += QStringLiteral("<p><b>%1</b><br>%2<br><i>%3</i></p>")
                     .arg(text(analysis.title).toHtmlEscaped(), text(analysis.formula).toHtmlEscaped(),
                          text(analysis.citation).toHtmlEscaped());
    return lines;
}

/// The guide beside the window, so that one can try what one reads. A search marks every place of the words and goes to
/// the first; Enter goes on to the next.
class HelpDialog : public QDialog {
public:
    explicit HelpDialog(QWidget* window);

private:
    void search();
    void goTo(qsizetype place); ///< The first after the last.

    QLineEdit* m_words;
    QLabel* m_count;
    QTextBrowser* m_text;
    QList<QTextCursor> m_places;
    qsizetype m_place = 0;
};

HelpDialog::HelpDialog(QWidget* window)
    : QDialog(window)
    , m_words(new QLineEdit(this))
    , m_count(new QLabel(this))
    , m_text(new GuideBrowser(this))
{
    setAttribute(Qt::WA_DeleteOnClose);
    setWindowTitle(tr("Guide"));
    m_words->setPlaceholderText(tr("Search the guide"));
    m_words->setAccessibleName(tr("Search the guide"));
    m_words->setToolTip(tr("Enter finds the next match"));
    m_words->setClearButtonEnabled(true);
    m_count->setObjectName(QStringLiteral("matches"));
    makeSecondary(m_count);
    m_count->hide();
    m_text->setFrameShape(QFrame::NoFrame);
    m_text->setHtml(guideText() + keysText() + conventionsText() + analysesText());
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    buttons->button(QDialogButtonBox::Close)->setAutoDefault(false); // Enter searches
    auto* top = new QHBoxLayout;
    top->addWidget(m_words, 1);
    top->addWidget(m_count);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->addLayout(top);
    layout->addWidget(m_text);
    layout->addWidget(buttons);
    resize(680, 620);
    m_words->setFocus();
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_words, &QLineEdit::textChanged, this, [this] { search(); });
    connect(m_words, &QLineEdit::returnPressed, this, [this] { goTo(m_place + 1); });
    connect(new QShortcut(QKeySequence::Find, this), &QShortcut::activated, m_words, [this] {
        m_words->setFocus();
        m_words->selectAll();
    });
}

void HelpDialog::search()
{
    const QString words = m_words->text().trimmed();
    m_places.clear();
    const QTextDocument* document = m_text->document();
    if (!words.isEmpty())
        for (QTextCursor at = document->find(words); !at.isNull(); at = document->find(words, at))
            m_places << at;
    QTextCharFormat format;
    QColor soft = themeColors(palette()).accent;
    soft.setAlphaF(0.25F);
    format.setBackground(soft);
    QList<QTextEdit::ExtraSelection> marks;
    for (const QTextCursor& place : m_places)
        marks << QTextEdit::ExtraSelection{place, format};
    m_text->setExtraSelections(marks);
    m_count->setText(words.isEmpty() ? QString() : tr("not found"));
    m_count->setVisible(!words.isEmpty());
    goTo(0);
}

void HelpDialog::goTo(qsizetype place)
{
    if (m_places.isEmpty())
        return;
    m_place = place % m_places.size();
    m_text->setTextCursor(m_places[m_place]);
    m_text->ensureCursorVisible();
    m_count->setText(tr("%1 of %2").arg(m_place + 1).arg(m_places.size()));
}

} // namespace

void showHelp(QWidget* window)
{
    const QString name = QStringLiteral("help");
    if (auto* shown = window->findChild<QDialog*>(name)) {
        shown->raise();
        return shown->activateWindow();
    }
    auto* dialog = new HelpDialog(window);
    dialog->setObjectName(name);
    dialog->show();
}

} // namespace headwise::app
