#include "ui/pages/parts/first_prompt.h"

#include "core/tokenizer/token_search.h"
#include "ui/base/text.h"

#include <vector>

namespace headwise::ui {

QString repeatedWords(const Tokenizer& tokenizer)
{
    std::vector<int> words = sampleOfWords(tokenizer, 8);
    const std::vector<int> once = words;
    words.insert(words.end(), once.begin(), once.end());
    return text(tokenizer.decode(words));
}

} // namespace headwise::ui
