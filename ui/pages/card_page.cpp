#include "ui/pages/card_page.h"

#include "ui/text.h"
#include "ui/theme.h"

#include <QFormLayout>
#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>

namespace headwise::ui {

CardPage::CardPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_title(new QLabel(this))
    , m_rows(new QFormLayout)
    , m_processing(new QLabel(this))
    , m_warnings(new QLabel(this))
{
    makeHeading(m_title);
    m_processing->setWordWrap(true);
    m_processing->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_warnings->setWordWrap(true);
    m_warnings->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_rows->setHorizontalSpacing(24);
    m_rows->setVerticalSpacing(6);
    auto* processingHeading = new QLabel(tr("Processing"), this);
    makeHeading(processingHeading);
    auto* warningsHeading = new QLabel(tr("Notes on this model"), this);
    makeHeading(warningsHeading);
    auto* content = new QWidget;
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(16, 16, 16, 16);
    layout->setSpacing(8);
    layout->addWidget(m_title);
    layout->addLayout(m_rows);
    layout->addSpacing(16);
    layout->addWidget(processingHeading);
    layout->addWidget(m_processing);
    layout->addSpacing(16);
    layout->addWidget(warningsHeading);
    layout->addWidget(m_warnings);
    layout->addStretch();
    auto* scroll = new QScrollArea(this);
    scroll->setWidget(content);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->addWidget(scroll);
    connect(workspace, &Workspace::opened, this, &CardPage::refresh);
    connect(workspace, &Workspace::circuitsChanged, this, &CardPage::refresh);
    connect(workspace, &Workspace::resultsChanged, this, &CardPage::refresh);
}

void CardPage::addRow(const QString& name, const QString& value)
{
    auto* label = new QLabel(name, this);
    makeSecondary(label);
    auto* field = new QLabel(value, this);
    field->setTextInteractionFlags(Qt::TextSelectableByMouse);
    field->setWordWrap(true);
    m_rows->addRow(label, field);
}

void CardPage::refresh()
{
    while (m_rows->rowCount() > 0)
        m_rows->removeRow(0);
    if (!workspace()->isOpen())
        return;
    const ModelCard& card = workspace()->card();
    m_title->setText(text(card.name));
    addRow(tr("Architecture"), text(card.architecture));
    addRow(tr("Layers × heads"), QStringLiteral("%1 × %2").arg(card.nLayers).arg(card.nHeads));
    if (card.nKvHeads != card.nHeads)
        addRow(tr("Key/value heads"),
               tr("%1, each read by %2 query heads").arg(card.nKvHeads).arg(card.nHeads / card.nKvHeads));
    addRow(tr("d_model, d_head"), QStringLiteral("%1, %2").arg(count(card.dModel), count(card.dHead)));
    addRow(tr("d_mlp"), card.dMlp > 0 ? count(card.dMlp) : tr("none: attention only"));
    addRow(tr("Vocabulary, context"),
           tr("%1 tokens, %2 positions").arg(count(card.dVocab), count(card.nCtx)));
    addRow(tr("Positions"), text(card.positional));
    addRow(tr("Normalisation"), text(card.normalization));
    addRow(tr("Tokenizer"), workspace()->tokenizer() ? tr("yes") : tr("none; tokens are shown by their ids"));
    addRow(tr("Source"), text(card.source));
    addRow(tr("Fingerprint"), tr("sha256 %1").arg(text(card.sha256)));
    m_processing->setText(workspace()->processingText());
    const QStringList sentences = workspace()->warnings();
    m_warnings->setText(sentences.isEmpty() ? tr("Nothing was skipped or ignored.") : sentences.join(u'\n'));
}

} // namespace headwise::ui
