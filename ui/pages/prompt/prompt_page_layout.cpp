// Layout of the prompt page.

#include "ui/base/theme.h"
#include "ui/charts/pattern_grid.h"
#include "ui/charts/prompt_text.h"
#include "ui/heatmaps/heatmap_panel.h"
#include "ui/pages/parts/head_grid.h"
#include "ui/pages/parts/token_filter_button.h"
#include "ui/pages/prompt/prompt_page.h"
#include "ui/widgets/job_bar.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QVBoxLayout>

namespace headwise::ui {

void PromptPage::createLayout()
{
    m_prompt->setAccessibleName(tr("Prompt"));
    m_prompt->setFont(tokenFont());
    m_prompt->setTextMargins(4, 0, 4, 0);
    makeSecondary(m_summary);
    makeSecondary(m_logit);
    m_logit->setWordWrap(true);
    m_heads->setAccessibleName(tr("Attention of every head"));
    m_heads->setToolTip(tr("Attention of every head; a click shows one large, Shift+click compares"));
    m_panel->view()->setAccessibleName(tr("Attention of the head"));
    m_panel->view()->setCellShape(HeatmapView::CellShape::Square);
    m_panel->view()->colors()->proposeScale({ColorMap::Attention, 0, 1, ColorFit::Fixed});
    m_hidesFirst->setToolTip(
        tr("Hides position 0 (the attention sink) and rescales the colours to the rest"));
    m_weighs->setAccessibleName(tr("weigh by values"));
    m_weighs->setToolTip(tr(
        "Attention times ‖v W_O‖, the norm of the head's output from that position. Attention that moves nothing looks faint"));
    m_import->setAccessibleName(tr("Import attention"));
    m_import->setToolTip(tr(
        "Attention from another program for these tokens: a NumPy file or HDF5 dataset of shape [layers, heads, tokens, tokens], or of one layer"));
    auto* controls = new QHBoxLayout;
    controls->setSpacing(8);
    controls->addWidget(m_prompt, 1);
    controls->addWidget(m_run);
    controls->addWidget(m_import);
    controls->addWidget(m_hidesFirst);
    controls->addWidget(m_weighs);
    auto* effects = new QWidget(this);
    auto* below = new QVBoxLayout(effects);
    below->setContentsMargins(0, 0, 0, 0);
    below->setSpacing(4);
    below->addWidget(m_logit);
    below->addWidget(m_effects, 1);
    auto* all = new QSplitter(Qt::Vertical, this);
    all->setChildrenCollapsible(false);
    all->addWidget(m_heads);
    all->addWidget(effects);
    auto* parts = new QSplitter(this);
    parts->setChildrenCollapsible(false);
    parts->setHandleWidth(16);
    parts->addWidget(all);
    parts->addWidget(createPattern());
    parts->setSizes({280, 520});
    parts->setStretchFactor(1, 1);
    auto* bottom = new QHBoxLayout;
    bottom->addWidget(m_summary, 1);
    bottom->addWidget(new TokenFilterButton(workspace(), TokenFilterButton::Role::Notice, this));
    bottom->addWidget(new JobBar(&m_job, this));
    bottom->addWidget(new JobBar(&m_importJob, this));
    bottom->addWidget(new JobBar(&m_attribution, this));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addLayout(controls);
    layout->addWidget(parts, 1);
    layout->addLayout(bottom);
}

QWidget* PromptPage::createPattern()
{
    m_text->setAccessibleName(tr("The prompt, coloured by the attention of one token"));
    m_text->setToolTip(
        tr("Each token's colour shows how much the framed token attends to it. Click a token to frame it"));
    auto* scroll = new QScrollArea(this);
    scroll->setWidget(m_text);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setMinimumHeight(QFontMetrics(tokenFont()).height() * 2);
    auto* pattern = new QSplitter(Qt::Vertical, this);
    pattern->setChildrenCollapsible(false);
    pattern->addWidget(scroll);
    pattern->addWidget(m_panel);
    pattern->setSizes({96, 520});
    pattern->setStretchFactor(1, 1);
    return pattern;
}

} // namespace headwise::ui
