#pragma once

#include "core/analysis/inputs/relation.h"
#include "core/base/result.h"

#include <QString>

#include <vector>

namespace headwise::ui {

// Relations that the user keeps, one JSON file each in the program's data folder.

/// Returns the relations that can be read, by file name. Unreadable files are logged and left out.
std::vector<Relation> savedRelations();
/// Errors: Io naming the file.
Result<Done> saveRelation(const Relation& relation);

/// Whether a file may hold relations, by its ending. Such a file becomes an input when it is dropped; it is not opened.
bool isRelationFile(const QString& file);

} // namespace headwise::ui
