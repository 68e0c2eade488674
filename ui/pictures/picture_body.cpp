#include "ui/pictures/picture_body.h"

namespace headwise::ui {

PictureData pictureData(const Picture& picture, std::shared_ptr<const ResultSet> results)
{
    PictureData data{picture, std::move(results), {}};
    for (const std::string& path : picture.arrays)
        if (const ResultArray* array = data.results->find(path))
            data.arrays.push_back(array);
    return data;
}

namespace {

PictureBody* newBody(Picture::Kind kind, QWidget* parent)
{
    switch (kind) {
    case Picture::Kind::HeadGrid: return newGridsBody(parent);
    case Picture::Kind::Matrix:
    case Picture::Kind::HeadPairs: return newCellsBody(kind, parent);
    case Picture::Kind::Table: return newTableBody(parent);
    case Picture::Kind::Diagram: return newDiagramBody(parent);
    default: return newChartBody(kind, parent);
    }
}

} // namespace

PictureBody* newPictureBody(Picture::Kind kind, const QString& name, QWidget* parent)
{
    PictureBody* body = newBody(kind, parent);
    for (QWidget* view : body->findChildren<QWidget*>())
        if (dynamic_cast<const FigureSource*>(view) && view->accessibleName().isEmpty())
            view->setAccessibleName(name);
    return body;
}

} // namespace headwise::ui
