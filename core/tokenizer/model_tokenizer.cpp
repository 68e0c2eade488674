#include "core/tokenizer/model_tokenizer.h"

#include "core/checkpoint/file_kind.h"
#include "core/files/mapped_file.h"

namespace headwise {

Result<Tokenizer> openModelTokenizer(const WeightMap& weights)
{
    const Result<MappedFile> file = MappedFile::open(weights.firstFile());
    if (file && fileKind(file->bytes()) == FileKind::Gguf) {
        Result<Tokenizer> own = Tokenizer::open(file->path());
        if (own || own.error().code != ErrorCode::NotFound)
            return own;
    }
    return Tokenizer::open(weights.folder());
}

} // namespace headwise
