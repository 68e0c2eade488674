#include "ui/pages/analyses/direction_input.h"

#include "core/analysis/inputs/direction_source.h"
#include "core/tokenizer/token_text.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"

#include <QComboBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

namespace headwise::ui {

int tokenOf(const Workspace& workspace, const QString& words)
{
    if (words.startsWith(u'#')) {
        bool isNumber = false;
        const int id = words.mid(1).toInt(&isNumber);
        return isNumber ? id : -1;
    }
    const auto tokenizer = workspace.model()->tokenizer();
    const auto ids = tokenizer ? tokenizer->encode(words.toStdString(), Tokenizer::SpecialTokens::None)
                               : Result<std::vector<int>>(std::vector<int>());
    return ids && ids->size() == 1 ? ids->front() : -1;
}

DirectionInput::DirectionInput(Workspace* workspace, QWidget* parent)
    : QWidget(parent)
    , m_workspace(workspace)
    , m_to(new QLineEdit(this))
    , m_from(new QLineEdit(this))
    , m_space(new QComboBox(this))
    , m_file(new QPushButton(tr("File…"), this))
{
    for (QLineEdit* edit : {m_to, m_from}) {
        edit->setFont(tokenFont());
        edit->setFixedWidth(140);
        connect(edit, &QLineEdit::editingFinished, this, &DirectionInput::changed);
    }
    m_to->setAccessibleName(tr("Token the direction goes to"));
    m_to->setToolTip(tr(
        "A token, FILE.npy, neuron:5.123:out (the neuron's output; in: its input) or singular:1.5:ov:out:1 (a head's singular vector; ov or qk, in or out, from 1)"));
    m_from->setAccessibleName(tr("Token the direction comes from"));
    m_from->setPlaceholderText(tr("nothing"));
    m_space->addItems({tr("of W_E"), tr("of W_U")});
    m_space->setAccessibleName(tr("Token vectors"));
    connect(m_space, &QComboBox::activated, this, &DirectionInput::changed);
    m_file->setAccessibleName(tr("Direction from a file"));
    m_file->setToolTip(tr("A NumPy vector with d_model numbers"));
    connect(m_file, &QPushButton::clicked, this, &DirectionInput::chooseFile);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(8);
    const std::initializer_list<QWidget*> fields{m_to, new QLabel(tr("minus"), this), m_from, m_space,
                                                 m_file};
    for (QWidget* field : fields)
        row->addWidget(field);
    row->addStretch();
}

void DirectionInput::setName(const QString& name)
{
    m_to->setText(name);
    emit changed();
}

void DirectionInput::suggest()
{
    if (m_to->text() != m_suggested)
        return;
    const auto tokenizer = m_workspace->model()->tokenizer();
    m_suggested = tokenizer ? text(tokenizer->decode(std::vector<int>{m_workspace->selection()->token()}))
                            : text(shownId(m_workspace->selection()->token()));
    m_to->setText(m_suggested);
}

void DirectionInput::forget()
{
    m_job.cancel();
    m_named = {};
    m_suggested.clear();
    m_to->clear();
    m_from->clear();
}

void DirectionInput::chooseFile()
{
    auto* dialog = new QFileDialog(this, tr("Direction"), {}, tr("NumPy vectors (*.npy);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, &DirectionInput::setName);
    dialog->open();
}

QString DirectionInput::name() const
{
    const QString space =
        m_space->isEnabled() && m_space->currentIndex() == 1 ? QStringLiteral("unembed:") : QString();
    const QString to = m_to->text().isEmpty() ? QString() : space + m_to->text();
    const bool isDifference = m_from->isEnabled() && !m_from->text().isEmpty();
    return isDifference ? to + QStringLiteral(" -- ") + space + m_from->text() : to;
}

std::vector<double> DirectionInput::readNamed(QString& problem)
{
    const std::string name = m_to->text().toStdString();
    const auto circuits = m_workspace->model()->circuits();
    if (m_named.name == name && m_named.circuits == circuits) {
        problem = m_named.problem;
        return m_named.numbers;
    }
    m_job.start(
        tr("Reading %1").arg(m_to->text()),
        [name, circuits](const Task&) { return readDirection(name, *circuits, nullptr); },
        [this, name, circuits](const Result<std::vector<double>>& found) {
            m_named = {name, circuits, found ? *found : std::vector<double>(),
                       found ? QString() : text(found.error())};
            emit changed();
            emit nameRead();
        });
    return {};
}

std::vector<double> DirectionInput::read(QString& problem)
{
    const auto circuits = m_workspace->model()->circuits();
    const bool isNamed = namesNoToken(m_to->text().toStdString());
    m_from->setEnabled(!isNamed);
    m_space->setEnabled(!isNamed);
    if (!circuits || m_to->text().isEmpty())
        return {};
    if (isNamed)
        return readNamed(problem);
    m_job.cancel();
    RowVector<double> direction = RowVector<double>::Zero(circuits->config().dModel);
    for (const QLineEdit* edit : {m_to, m_from}) {
        if (edit->text().isEmpty())
            continue;
        const int id = tokenOf(*m_workspace, edit->text());
        const bool ofW_U = m_space->currentIndex() == 1;
        if (id < 0 || id >= (ofW_U ? circuits->config().dVocabOut : circuits->config().dVocab)) {
            problem = tr("'%1' is not one token of this model.").arg(edit->text());
            return {};
        }
        const double sign = edit == m_to ? 1 : -1;
        if (ofW_U)
            direction += sign * circuits->weights().W_U<double>(id, 1).col(0).transpose();
        else
            direction += sign * circuits->weights().W_E<double>(id, 1).row(0);
    }
    return {direction.begin(), direction.end()};
}

} // namespace headwise::ui
