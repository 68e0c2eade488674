#include "ui/document/imported_attention.h"

#include "core/analysis/prompt/pattern_file.h"
#include "ui/document/workspace_part.h"

namespace headwise::ui {

ImportedAttention* ImportedAttention::of(Workspace* workspace)
{
    return partOf<ImportedAttention>(workspace);
}

ImportedAttention::ImportedAttention(Workspace* workspace)
    : QObject(workspace)
{
    connect(workspace->model(), &OpenModel::opened, this, [this, workspace] {
        const ResultArray* saved = workspace->model()->results()->find(importedPath);
        m_array = saved ? std::make_shared<const ResultArray>(*saved) : nullptr;
    });
    connect(workspace->model(), &OpenModel::closed, this, &ImportedAttention::forget);
}

void ImportedAttention::keep(Array array)
{
    m_array = std::move(array);
    emit kept();
}

void ImportedAttention::putInto(ResultSet& results, const Array& array)
{
    std::erase_if(results.arrays, [](const ResultArray& one) { return one.path == importedPath; });
    if (array)
        results.arrays.push_back(*array);
}

} // namespace headwise::ui
