#include "app/commands/commands.h"

int main(int argc, char** argv)
{
    return headwise::app::runCommandLine(argc, argv);
}
