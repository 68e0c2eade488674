#include "app/build_text.h"

namespace headwise::app {

const char* buildText()
{
    return HEADWISE_BUILD;
}

} // namespace headwise::app
