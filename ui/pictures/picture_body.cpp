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

PictureBody* newPictureBody(Picture::Kind kind, QWidget* parent)
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

} // namespace headwise::ui
