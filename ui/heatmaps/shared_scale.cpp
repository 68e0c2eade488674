#include "ui/heatmaps/shared_scale.h"

#include "ui/heatmaps/heatmap_view.h"

namespace headwise::ui {

SharedScale::SharedScale(QObject* parent)
    : QObject(parent)
{
}

SharedScale::~SharedScale()
{
    for (HeatmapView* view : std::as_const(m_views))
        view->colors()->setSharedScale(nullptr);
}

void SharedScale::add(HeatmapView* view)
{
    if (contains(view))
        return;
    if (SharedScale* old = view->colors()->sharedScale())
        old->remove(view);
    const ColorScale scale = m_views.isEmpty() ? view->colors()->scale() : m_views.first()->colors()->scale();
    m_views << view;
    view->colors()->setSharedScale(this);
    setScale(scale);
}

void SharedScale::remove(HeatmapView* view)
{
    if (!m_views.removeOne(view))
        return;
    view->colors()->setSharedScale(nullptr);
    if (!m_views.isEmpty())
        setScale(m_views.first()->colors()->scale());
}

bool SharedScale::contains(const HeatmapView* view) const
{
    return m_views.contains(view);
}

void SharedScale::setScale(const ColorScale& scale)
{
    ValueStatistics all;
    for (const HeatmapView* view : std::as_const(m_views))
        all.add(view->content()->statistics());
    const ColorScale fit = all.count > 0 ? fitted(scale, all) : scale;
    const QList<HeatmapView*> views = m_views; // A slot may remove a view.
    for (HeatmapView* view : views)
        if (contains(view)) {
            view->colors()->showScale(fit);
            view->fitNote(); // It says how many views share the scale.
        }
}

SharedScale* scaleOfWindow(const QWidget* widget)
{
    const QString name = QStringLiteral("scaleOfWindow");
    QWidget* window = widget->window();
    auto* scale = window->findChild<SharedScale*>(name, Qt::FindDirectChildrenOnly);
    if (!scale) {
        scale = new SharedScale(window);
        scale->setObjectName(name);
    }
    return scale;
}

} // namespace headwise::ui
