#include "ui/pages/spectrum/spectrum_page.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/pages/parts/compute_button.h"
#include "ui/pages/parts/eigenvalue_panel.h"
#include "ui/pages/parts/spectrum_panel.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>

namespace headwise::ui {

SpectrumPage::SpectrumPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_circuits(new QComboBox(this))
    , m_log(new QCheckBox(tr("Log scale"), this))
    , m_normalized(new QCheckBox(tr("Divide by σ₁"), this))
    , m_plane(new QComboBox(this))
    , m_eigenKind(new QComboBox(this))
    , m_spectrum(new SpectrumPanel(workspace, this))
    , m_eigenvalues(new EigenvaluePanel(workspace, this))
{
    m_circuits->addItem(tr("QK and OV"));
    m_circuits->addItem(tr("full QK and full OV"));
    m_circuits->addItem(tr("all four"));
    m_circuits->setAccessibleName(tr("Circuits shown"));
    m_plane->addItem(tr("complex plane"));
    m_plane->addItem(tr("log polar"));
    m_plane->setToolTip(tr("Imaginary against real part, or angle with |λ| on a logarithmic radius"));
    m_plane->setAccessibleName(tr("Eigenvalue plot"));
    for (const CircuitKind kind :
         {CircuitKind::FullOv, CircuitKind::FullQk, CircuitKind::Ov, CircuitKind::Qk})
        m_eigenKind->addItem(text(circuitTitle(kind)), static_cast<int>(kind));
    m_eigenKind->setAccessibleName(tr("Circuit of the eigenvalues"));
    // Choices of how to draw stand below, because the row of headings fills a small window.
    const auto column = [this](std::initializer_list<QWidget*> controls, const QString& title, Page* panel,
                               std::initializer_list<QWidget*> drawing) {
        auto* box = new QWidget(this);
        auto* heading = new QLabel(title, box);
        makeHeading(heading);
        auto* row = new QHBoxLayout;
        row->setSpacing(8);
        row->addWidget(heading);
        row->addStretch();
        for (QWidget* control : controls)
            row->addWidget(control);
        auto* layout = new QVBoxLayout(box);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setSpacing(8);
        layout->addLayout(row);
        layout->addWidget(panel, 1);
        auto* below = new QHBoxLayout;
        below->addStretch();
        for (QWidget* control : drawing)
            below->addWidget(control);
        layout->addLayout(below);
        connect(panel, &Page::readOutChanged, this, &Page::readOutChanged);
        return box;
    };
    auto* splitter = new QSplitter(this);
    splitter->setChildrenCollapsible(false);
    splitter->setHandleWidth(16);
    splitter->addWidget(column({new ComputeButton(workspace, "spectra", this), m_circuits},
                               tr("Singular values"), m_spectrum, {m_normalized, m_log}));
    splitter->addWidget(column({new ComputeButton(workspace, "eigenvalues", this), m_eigenKind},
                               tr("Eigenvalues"), m_eigenvalues, {m_plane}));
    splitter->setSizes({560, 480});
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->addWidget(splitter);
    constexpr int lowest = 420; // px, for charts above their numbers
    setMinimumHeight(lowest);
    connect(m_circuits, &QComboBox::currentIndexChanged, this, &SpectrumPage::applyChoice);
    connect(m_log, &QCheckBox::toggled, this, &SpectrumPage::applyChoice);
    connect(m_normalized, &QCheckBox::toggled, this, &SpectrumPage::applyChoice);
    for (QComboBox* choice : {m_eigenKind, m_plane})
        connect(choice, &QComboBox::currentIndexChanged, this, &SpectrumPage::applyChoice);
}

void SpectrumPage::applyChoice()
{
    static const std::vector<CircuitKind> choices[]{
        {CircuitKind::Qk, CircuitKind::Ov},
        {CircuitKind::FullQk, CircuitKind::FullOv},
        {CircuitKind::Qk, CircuitKind::Ov, CircuitKind::FullQk, CircuitKind::FullOv}};
    m_spectrum->setLogarithmic(m_log->isChecked());
    m_spectrum->setNormalized(m_normalized->isChecked());
    m_spectrum->setCircuits(choices[m_circuits->currentIndex()]);
    m_eigenvalues->setPolar(m_plane->currentIndex() == 1);
    m_eigenvalues->setKind(static_cast<CircuitKind>(m_eigenKind->currentData().toInt()));
}

ViewFields SpectrumPage::viewFields()
{
    return ViewFields()
        .add("circuits", m_circuits)
        .add("log", m_log)
        .add("normalized", m_normalized)
        .add("eigenvalues", m_eigenKind)
        .add("plane", m_plane);
}

QList<FigureSource*> SpectrumPage::figures()
{
    return m_spectrum->figures() + m_eigenvalues->figures();
}

} // namespace headwise::ui
