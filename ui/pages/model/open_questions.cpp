#include "ui/pages/model/open_questions.h"

#include "ui/base/text.h"
#include "ui/document/workspace.h"
#include "ui/pages/model/config_dialog.h"
#include "ui/pages/model/names_dialog.h"
#include "ui/pages/model/tensors_page.h"

#include <QMessageBox>
#include <QPushButton>

#include <utility>

namespace headwise::ui {

OpenQuestions::OpenQuestions(QWidget* parent, Workspace* workspace,
                             std::function<QString(const QString& title)> askForFolder)
    : QObject(parent)
    , m_parent(parent)
    , m_workspace(workspace)
    , m_askForFolder(std::move(askForFolder))
{
    const Opener* opener = workspace->opener();
    connect(opener, &Opener::configMissing, this, &OpenQuestions::askForConfig);
    connect(opener, &Opener::locatedConfigMissing, this, &OpenQuestions::askForLocatedConfig);
    connect(opener, &Opener::configIncomplete, this, &OpenQuestions::askToComplete);
    connect(opener, &Opener::baseMissing, this, &OpenQuestions::askForBase);
    connect(opener, &Opener::tensorsUnknown, this, &OpenQuestions::askToLeaveOut);
}

ConfigDialog* OpenQuestions::ask(const ModelSource& source, const QStringList& keys,
                                 const QStringList& optional, const QString& message)
{
    auto* dialog = new ConfigDialog(source, keys, optional, message, m_parent);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &ConfigDialog::tensorsWanted, this,
            [this, dialog] { TensorsPage::showFileOver(m_workspace, dialog->source().path, dialog); });
    connect(dialog, &ConfigDialog::describeWanted, this, [this, dialog] { describe(dialog); });
    dialog->open();
    return dialog;
}

void OpenQuestions::askForConfig(const ModelSource& source, const QStringList& keys, const QString& message)
{
    ConfigDialog* dialog = ask(source, keys, m_workspace->opener()->optionalKeys(), message);
    connect(dialog, &QDialog::accepted, this,
            [this, dialog] { m_workspace->opener()->openModel(dialog->source()); });
    connect(dialog, &QDialog::rejected, this, [this, message] { emit declined(message); });
}

void OpenQuestions::askForLocatedConfig(const ModelSource& source, const QStringList& keys,
                                        const QString& message)
{
    ConfigDialog* dialog = ask(source, keys, m_workspace->opener()->optionalKeys(), message);
    connect(dialog, &QDialog::accepted, this,
            [this, dialog] { m_workspace->opener()->locateModel(dialog->source()); });
}

void OpenQuestions::askToComplete(const ModelSource& source, const QStringList& keys)
{
    ConfigDialog* dialog = ask(
        source, {}, keys,
        tr("These values of the model are unknown. Results that depend on them are left out. An empty field stays unknown."));
    connect(dialog, &QDialog::accepted, this, [this, dialog] { emit completed(dialog->source()); });
}

void OpenQuestions::askForBase(const ModelSource& source, const QString& message)
{
    auto* box =
        new QMessageBox(QMessageBox::NoIcon, tr("Base model"), message, QMessageBox::Cancel, m_parent);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setTextFormat(Qt::PlainText);
    const QPushButton* choose = box->addButton(tr("Open base…"), QMessageBox::AcceptRole);
    connect(box, &QMessageBox::buttonClicked, this, [=, this](const QAbstractButton* pressed) {
        const QString folder =
            pressed == choose ? m_askForFolder(tr("Where is the adapter's base?")) : QString();
        if (folder.isEmpty())
            return emit declined(message);
        ModelSource complete = source;
        complete.base = folder.toStdString();
        m_workspace->opener()->openModel(complete);
    });
    box->open();
}

void OpenQuestions::askToLeaveOut(const ModelSource& source, const QStringList& tensors,
                                  const QString& message)
{
    constexpr int shown = 6;
    QString names = tensors.mid(0, shown).join(QStringLiteral(", "));
    if (tensors.size() > shown)
        names = tr("%1 and %2 more").arg(names).arg(tensors.size() - shown);
    auto* box = new QMessageBox(
        QMessageBox::NoIcon, tr("Unknown tensors"),
        tr("%1 holds tensors that are not part of the model: %2. Leave them out if the model works without them.")
            .arg(text(source.path.filename().string()), names),
        QMessageBox::Cancel, m_parent);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setTextFormat(Qt::PlainText);
    const QPushButton* leave = box->addButton(tr("Leave out"), QMessageBox::AcceptRole);
    QPushButton* look = box->addButton(tr("Show tensors…"), QMessageBox::ActionRole);
    QObject::disconnect(look, nullptr, box, nullptr); // looking answers nothing
    connect(look, &QAbstractButton::clicked, this,
            [this, box, path = source.path] { TensorsPage::showFileOver(m_workspace, path, box); });
    connect(box, &QMessageBox::buttonClicked, this, [=, this](const QAbstractButton* pressed) {
        if (pressed != leave)
            return emit declined(message);
        ModelSource without = source;
        for (const QString& name : tensors)
            without.ignored.push_back(name.toStdString());
        m_workspace->opener()->openModel(without);
    });
    box->open();
}

void OpenQuestions::describe(ConfigDialog* question)
{
    Result<WeightMap> file = WeightMap::open(question->source().path);
    if (!file)
        return emit failed(text(file.error()));
    auto* dialog =
        new NamesDialog(question->source(), std::make_shared<const WeightMap>(*std::move(file)), question);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, question,
            &QDialog::accept); // its answer opens the model, by the new map
    dialog->open();
}

} // namespace headwise::ui
