#include "app/window/main_bar.h"

#include "app/window/actions.h"
#include "app/window/saving.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/document/workspace.h"
#include "ui/widgets/token_edit.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>

namespace headwise::app {

using namespace headwise::ui;

MainBar::MainBar(Workspace* workspace, Saving* saving, QWidget* parent)
    : QToolBar(tr("Main"), parent)
    , m_workspace(workspace)
    , m_headEdit(new QLineEdit(this))
    , m_search(new TokenEdit(this))
    , m_embedding(new QComboBox(this))
    , m_processing(new QComboBox(this))
{
    setObjectName(QStringLiteral("main"));
    setMovable(false);
    setIconSize({16, 16});
    m_headEdit->setFixedWidth(64);
    m_headEdit->setAlignment(Qt::AlignCenter);
    m_headEdit->setToolTip(tr("Layer.head, as in 1.5 or L1H5 (Ctrl+L)"));
    m_headEdit->setAccessibleName(tr("Head"));
    m_search->setMinimumWidth(260);
    m_search->setMaximumWidth(360);
    m_search->setAccessibleName(tr("Find a token"));
    m_search->setToolTip(tr("Find a token (Ctrl+F) or a head; put a regular expression between slashes"));
    m_search->follow(m_workspace);
    m_search->offerHeads();
    for (const auto& [kind, name] :
         {std::pair(Embedding::Raw, tr("raw")), std::pair(Embedding::Effective, tr("effective")),
          std::pair(Embedding::Mlp0, tr("mlp0")), std::pair(Embedding::Unembed, tr("unembed"))})
        m_embedding->addItem(name, static_cast<int>(kind));
    m_embedding->setAccessibleName(tr("Embedding"));
    m_embedding->setToolTip(tr("Embedding used for the tokens of full circuits"));
    connect(m_embedding, &QComboBox::activated, this, [this, saving] {
        saving->whenResultsAreSafe(
            [this, chosen = static_cast<Embedding>(m_embedding->currentData().toInt())] {
                m_workspace->model()->setEmbedding(chosen);
            });
    });
    m_processing->addItems({tr("processed"), tr("raw")});
    m_processing->setAccessibleName(tr("Weights"));
    m_processing->setToolTip(tr(
        "Processed: norms and value biases folded, writing weights and unembedding centred, as far as the model's function allows"));
    connect(m_processing, &QComboBox::activated, this, [this, saving](int index) {
        ProcessingWish wish;
        if (index == 1)
            wish = {StepWish::Off, StepWish::Off, StepWish::Off, StepWish::Off, StepWish::Off};
        wish.headChanges = m_workspace->model()->processingWish().headChanges;
        saving->whenResultsAreSafe([this, wish] { m_workspace->model()->setProcessingWish(wish); });
    });
}

void MainBar::arrange(const Actions& actions)
{
    const auto label = [this](const QString& words) {
        auto* made = new QLabel(words, this);
        made->setContentsMargins(8, 0, 4, 0);
        makeSecondary(made);
        addWidget(made);
    };
    addActions({actions.find("open-folder"), actions.find("save")});
    addSeparator();
    label(tr("head"));
    addWidget(m_headEdit);
    addActions({actions.find("back"), actions.find("forward")});
    addSeparator();
    addWidget(m_search);
    auto* space = new QWidget(this);
    space->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    addWidget(space);
    label(tr("E"));
    addWidget(m_embedding);
    label(tr("weights"));
    addWidget(m_processing);
    addAction(actions.find("export-figure"));
}

void MainBar::refresh()
{
    const bool open = m_workspace->model()->isOpen();
    m_headEdit->setEnabled(open);
    m_search->setEnabled(open);
    m_embedding->setEnabled(open && m_workspace->model()->hasModel());
    m_processing->setEnabled(open && m_workspace->model()->hasModel());
    m_headEdit->setText(open ? text(dottedHead(m_workspace->selection()->head())) : QString());
    if (!open)
        return;
    const QSignalBlocker quietProcessing(m_processing);
    m_processing->setCurrentIndex(isProcessed(m_workspace->model()->processing()) ? 0 : 1);
    const QSignalBlocker quietEmbedding(m_embedding);
    m_embedding->setCurrentIndex(m_embedding->findData(static_cast<int>(m_workspace->model()->embedding())));
}

} // namespace headwise::app
