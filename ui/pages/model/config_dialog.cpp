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
         ConfigDialog::tr("null: no norms; LNPre, RMSPre: they were folded")},
        {QStringLiteral("attention_dir"), ConfigDialog::tr("causal or bidirectional")}};
    static const QHash<QString, QString> examples{
        {QStringLiteral("act_fn"), QStringLiteral("gelu_new")},
        {QStringLiteral("n_ctx"), QStringLiteral("1024")},
        {QStringLiteral("n_head"), QStringLiteral("12")},
        {QStringLiteral("n_heads"), QStringLiteral("12")},
        {QStringLiteral("positional_embedding_type"), QStringLiteral("rotary")}};
    if (choices.contains(key))
        return choices.value(key);
    return examples.contains(key) ? ConfigDialog::tr("for example %1").arg(examples.value(key)) : QString();
}

} // namespace

ConfigDialog::ConfigDialog(const ModelSource& source, const QStringList& keys, const QString& message,
                           QWidget* parent)
    : QDialog(parent)
    , m_source(source)
    , m_others(new QPlainTextEdit(this))
    , m_open(new QPushButton(tr("&Open"), this))
{
    setWindowTitle(tr("What is %1?").arg(text(source.path.filename().string())));
    // At first the message mentions the command line; after an answer it says what is wrong with that.
    auto* why = new QLabel(
        source.overrides.empty()
            ? tr("%1 has no config beside its weights, and the weights alone do not define the model.")
                  .arg(text(source.path.filename().string()))
            : message,
        this);
    why->setWordWrap(true);
    auto* rows = new QFormLayout;
    QString others;
    for (const QString& key : keys) {
        auto* answer = new QLineEdit(this);
        answer->setObjectName(key);
        answer->setAccessibleName(key);
        answer->setPlaceholderText(hint(key));
        if (const auto said = source.overrides.find(key.toStdString()); said != source.overrides.end())
            answer->setText(text(said->second));
        connect(answer, &QLineEdit::textChanged, this, &ConfigDialog::updateState);
        rows->addRow(key, answer);
        m_answers << answer;
    }
    for (const auto& [key, value] : source.overrides)
        if (!keys.contains(text(key)))
            others += text(key) + u'=' + text(value) + u'\n';
    m_others->setPlainText(others);
    m_others->setPlaceholderText(
        keys.isEmpty() ? QStringLiteral("model_type=llama\nhidden_size=2048\nnum_attention_heads=32")
                       : QStringLiteral("eps=1e-5"));
    m_others->setAccessibleName(tr("Other keys of the config, one KEY=VALUE a line"));
    m_others->setTabChangesFocus(true);
    m_others->setFixedHeight(m_others->fontMetrics().lineSpacing() * 5);
    rows->addRow(keys.isEmpty() ? tr("Keys of config.json") : tr("Other keys"), m_others);
    connect(m_others, &QPlainTextEdit::textChanged, this, &ConfigDialog::updateState);

    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    m_open->setDefault(true);
    buttons->addButton(m_open, QDialogButtonBox::AcceptRole);
    QPushButton* file = buttons->addButton(tr("Choose a &config file…"), QDialogButtonBox::ActionRole);
    file->setAutoDefault(false);
    connect(file, &QPushButton::clicked, this, &ConfigDialog::chooseFile);
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
    setMinimumWidth(520);
    if (m_answers.isEmpty())
        m_others->setFocus();
    else
        m_answers.first()->setFocus();
    updateState();
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
        source.overrides[answer->objectName().toStdString()] = answer->text().trimmed().toStdString();
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
    const bool answered = std::ranges::none_of(
        m_answers, [](const QLineEdit* answer) { return answer->text().trimmed().isEmpty(); });
    m_open->setEnabled(answered && (!m_answers.isEmpty() || m_others->toPlainText().contains(u'=')));
}

} // namespace headwise::ui
