#include "app/window/export_heads_dialog.h"

#include "core/model/head_list.h"
#include "ui/base/icons.h"
#include "ui/base/text.h"
#include "ui/document/estimate.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

namespace headwise::app {

ExportHeadsDialog::ExportHeadsDialog(const Model& model, const QString& example, const QString& folder,
                                     QWidget* parent)
    : QDialog(parent)
    , m_model(model)
    , m_example(example)
    , m_heads(new QComboBox(this))
    , m_folder(new QLineEdit(folder, this))
    , m_message(new QLabel(this))
{
    setWindowTitle(tr("Export all heads"));
    m_heads->setEditable(true);
    m_heads->addItems({QStringLiteral("*.*"), QStringLiteral("%1.*").arg(model.selected.layer),
                       QStringLiteral("*.%1").arg(model.selected.head)});
    m_heads->setAccessibleName(tr("Heads"));
    m_heads->setToolTip(tr("As in 0.1,2.*: a star means every layer or head"));
    m_folder->setAccessibleName(tr("Folder"));
    m_message->setWordWrap(true);
    auto* choose = new QPushButton(ui::icon("open"), tr("Choose…"), this);
    choose->setAutoDefault(false);
    connect(choose, &QPushButton::clicked, this, &ExportHeadsDialog::chooseFolder);
    auto* folderRow = new QHBoxLayout;
    folderRow->setSpacing(8);
    folderRow->addWidget(m_folder, 1);
    folderRow->addWidget(choose);
    auto* form = new QFormLayout;
    form->setVerticalSpacing(8);
    form->addRow(tr("Heads"), m_heads);
    form->addRow(tr("Folder"), folderRow);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    m_start = buttons->addButton(QString(), QDialogButtonBox::AcceptRole);
    m_start->setDefault(true);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_heads, &QComboBox::currentTextChanged, this, &ExportHeadsDialog::update);
    connect(m_folder, &QLineEdit::textChanged, this, &ExportHeadsDialog::update);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(16, 16, 16, 16);
    layout->setSpacing(12);
    layout->addLayout(form);
    layout->addWidget(m_message, 1);
    layout->addWidget(buttons);
    resize(520, 190);
    update();
}

QString ExportHeadsDialog::folder() const
{
    return m_folder->text();
}

void ExportHeadsDialog::chooseFolder()
{
    auto* dialog = new QFileDialog(this, tr("Folder for the figures"), m_folder->text());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::Directory);
    dialog->setOption(QFileDialog::ShowDirsOnly);
    connect(dialog, &QFileDialog::fileSelected, m_folder, &QLineEdit::setText);
    dialog->open();
}

void ExportHeadsDialog::update()
{
    const Result<std::vector<HeadId>> heads =
        parseHeads(m_heads->currentText().toStdString(), m_model.layers, m_model.heads);
    const bool hasFolder = QFileInfo(folder()).isDir();
    m_chosen = heads ? *heads : std::vector<HeadId>();
    const QString estimate =
        ui::estimateText(m_model.perFigure * static_cast<std::chrono::milliseconds::rep>(m_chosen.size()));
    m_message->setText(
        !heads ? ui::text(heads.error())
            : !hasFolder
            ? tr("There is no folder '%1'; choose one that exists.").arg(folder())
            : tr("Files are named like %1. Existing files with these names are replaced.").arg(m_example)
                + (estimate.isEmpty() ? QString() : tr(" They take %1.").arg(estimate)));
    m_start->setEnabled(!m_chosen.empty() && hasFolder);
    m_start->setText(
        tr("Export %n figure(s)", nullptr, static_cast<int>(m_chosen.size()))
            .replace(QStringLiteral("(s)"), m_chosen.size() == 1 ? QString() : QStringLiteral("s")));
}

} // namespace headwise::app
