#pragma once

#include "core/model/architecture.h"
#include "tests/support/family_model.h"

#include <QTemporaryDir>

#include <memory>

namespace headwise::test {

/// A temporary folder for the checkpoint of a family, written anew at each reading.
class FamilyFolder {
public:
    /// Takes another folder: files of the last one may be open.
    void renew() { m_folder = std::make_unique<QTemporaryDir>(); }
    std::filesystem::path root() const { return m_folder->path().toStdString(); }
    std::filesystem::path write(const FamilyModel& model) const
    {
        return writeFamily(root() / "model", model);
    }
    Result<std::shared_ptr<const ModelWeights>> open(const FamilyModel& model) const
    {
        return loadModel({write(model), {}, {}}, Task{});
    }
    Result<ModelDescription> read(const FamilyModel& model) const
    {
        return readModelConfig({write(model), {}, {}});
    }

private:
    std::unique_ptr<QTemporaryDir> m_folder;
};

} // namespace headwise::test
