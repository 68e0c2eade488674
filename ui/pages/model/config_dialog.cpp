#include "ui/pages/model/config_dialog.h"

#include "ui/base/text.h"

#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>

#include <algorithm>

namespace headwise::ui {

namespace {

/// Returns the choices for such a key, or an example.
QString hint(const QString& key)
{
    static const QHash<QString, QString> choices{
        {QStringLiteral("normalization_type"),
         ConfigDialog::tr("null (no norms), LNPre or RMSPre (norms folded)")},
        {QStringLiteral("attention_dir"), ConfigDialog::tr("causal or bidirectional")}};
    static const QHash<QString, QString> examples{
        {QStringLiteral("act_fn"), QStringLiteral("gelu_new")},
        {QStringLiteral("activation_function"), QStringLiteral("gelu_new")},
        {QStringLiteral("eps"), QStringLiteral("1e-5")},
        {QStringLiteral("max_position_embeddings"), QStringLiteral("2048")},
        {QStringLiteral("n_ctx"), QStringLiteral("1024")},
        {QStringLiteral("n_head"), QStringLiteral("12")},
        {QStringLiteral("n_heads"), QStringLiteral("12")},
        {QStringLiteral("positional_embedding_type"), QStringLiteral("rotary")},
        {QStringLiteral("rms_norm_eps"), QStringLiteral("1e-6")},
        {QStringLiteral("rope_theta"), QStringLiteral("10000")},
        {QStringLiteral("rotary_base"), QStringLiteral("10000")}};
    if (choices.contains(key))
        return choices.value(key);
    return examples.contains(key) ? ConfigDialog::tr("for example %1").arg(examples.value(key)) : QString();
}

} // namespace

ConfigDialog::ConfigDialog(const ModelSource& source, const QStringList& keys, const QStringList& optional,
                           const QString& message, QWidget* parent)
    : QDialog(parent)
    , m_source(source)
    , m_needed(keys.size())
    , m_others(new QPlainTextEdit(this))
    , m_open(new QPushButton(tr("&Open"), this))
{
    setWindowTitle(tr("What is %1?").arg(text(source.path.filename().string())));
    // At first the message mentions the command line; after an answer it says what is wrong with that.
    const bool isOpen = keys.isEmpty() && !optional.isEmpty();
    auto* why = new QLabel(
        source.overrides.empty() && !isOpen
            ? tr("%1 has no config beside its weights, and the weights alone do not define the model.")
                  .arg(text(source.path.filename().string()))
            : message,
        this);
    why->setWordWrap(true);
    why->setMinimumWidth(500); // A minimum of the dialog would keep its buttons from widening it.
    why->setMinimumHeight(why->heightForWidth(500)); // or the rows below would cover the buttons
    QFormLayout* rows = createRows(keys, optional);

    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    m_open->setDefault(true);
    buttons->addButton(m_open, QDialogButtonBox::AcceptRole);
    QPushButton* file = buttons->addButton(tr("Choose a &config file…"), QDialogButtonBox::ActionRole);
    file->setAutoDefault(false);
    connect(file, &QPushButton::clicked, this, &ConfigDialog::chooseFile);
    if (keys.isEmpty()) { // its names tell nothing
        QPushButton* describe = buttons->addButton(tr("&Describe this model…"), QDialogButtonBox::ActionRole);
        describe->setAutoDefault(false);
        connect(describe, &QPushButton::clicked, this, &ConfigDialog::describeWanted);
    }
    QPushButton* tensors = buttons->addButton(tr("Show &tensors…"), QDialogButtonBox::ActionRole);
    tensors->setAutoDefault(false);
    connect(tensors, &QPushButton::clicked, this, &ConfigDialog::tensorsWanted);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);

    auto* layout = new QVBoxLayout(this);
    layout->setSpacing(12);
    layout->addWidget(why);
    layout->addLayout(rows);
    layout->addWidget(buttons);
    if (m_answers.isEmpty())
        m_others->setFocus();
    else
        m_answers.first()->setFocus();
    updateState();
}

QFormLayout* ConfigDialog::createRows(const QStringList& keys, const QStringList& optional)
{
    auto* rows = new QFormLayout;
    const QStringList asked = keys + optional;
    for (const QString& key : asked) {
        auto* answer = new QLineEdit(this);
        const bool isNeeded = m_answers.size() < m_needed;
        answer->setObjectName(key);
        answer->setAccessibleName(key);
        answer->setPlaceholderText(hint(key));
        if (const auto said = m_source.overrides.find(key.toStdString()); said != m_source.overrides.end())
            answer->setText(text(said->second));
        connect(answer, &QLineEdit::textChanged, this, &ConfigDialog::updateState);
        rows->addRow(isNeeded ? key : tr("%1 (optional)").arg(key), answer);
        m_answers << answer;
    }
    QString others;
    for (const auto& [key, value] : m_source.overrides)
        if (!asked.contains(text(key)))
            others += text(key) + u'=' + text(value) + u'\n';
    m_others->setPlainText(others);
    m_others->setPlaceholderText(
        asked.isEmpty() ? QStringLiteral("model_type=llama\nhidden_size=2048\nnum_attention_heads=32")
                        : QStringLiteral("eps=1e-5"));
    m_others->setAccessibleName(tr("Other keys of the config, one KEY=VALUE a line"));
    m_others->setTabChangesFocus(true);
    m_others->setFixedHeight(m_others->fontMetrics().lineSpacing() * 5);
    rows->addRow(asked.isEmpty() ? tr("Keys of config.json") : tr("Other keys"), m_others);
    connect(m_others, &QPlainTextEdit::textChanged, this, &ConfigDialog::updateState);
    return rows;
}

ModelSource ConfigDialog::source() const
{
    ModelSource source = m_source;
    if (source.configFile)
        return source;
    source.overrides.clear();
    for (const QString& line : m_others->toPlainText().split(u'\n'))
        if (const auto equals = line.indexOf(u'='); equals > 0)
            source.overrides[line.left(equals).trimmed().toStdString()] =
                line.mid(equals + 1).trimmed().toStdString();
    for (const QLineEdit* answer : m_answers)
        if (const QString value = answer->text().trimmed(); !value.isEmpty())
            source.overrides[answer->objectName().toStdString()] = value.toStdString();
    return source;
}

void ConfigDialog::chooseFile()
{
    const QString file = QFileDialog::getOpenFileName(this, tr("The model's config"),
                                                      text(m_source.path.parent_path().string()),
                                                      tr("Configs (*.json);;All files (*)"));
    if (file.isEmpty())
        return;
    m_source.configFile = std::filesystem::path(file.toStdString());
    m_source.overrides.clear();
    accept();
}

void ConfigDialog::updateState()
{
    const auto isGiven = [](const QLineEdit* answer) { return !answer->text().trimmed().isEmpty(); };
    const bool isEnough = std::all_of(m_answers.cbegin(), m_answers.cbegin() + m_needed, isGiven);
    const bool isAny = std::ranges::any_of(m_answers, isGiven) || m_others->toPlainText().contains(u'=');
    m_open->setEnabled(isEnough && isAny);
}

} // namespace headwise::ui
