#include "app/commands/circuit_arguments.h"

#include "app/commands/input_arguments.h"
#include "core/model/head_list.h"

namespace headwise::app {

CircuitKind CircuitArguments::kind() const
{
    return circuit == "full-qk" ? CircuitKind::FullQk : CircuitKind::FullOv;
}

Result<HeadId> CircuitArguments::oneHead(int nLayers, int nHeads) const
{
    if (offset != 0 && kind() != CircuitKind::FullQk)
        return Error{ErrorCode::InvalidArgument,
                     "--offset applies to the scores of --circuit full-qk; what " + circuit
                         + " writes does not depend on the token's position."};
    const auto heads = parseHeads(head, nLayers, nHeads);
    if (!heads)
        return heads.error();
    if (heads->size() != 1)
        return Error{ErrorCode::InvalidArgument, "'" + head + "' is more than one head; --head takes one."};
    return heads->front();
}

Embedding CircuitArguments::embeddingKind() const
{
    return *parseEmbedding(embedding.value_or("raw"));
}

void addCircuitArguments(CLI::App& command, CircuitArguments& arguments, std::string_view header)
{
    arguments.model = addModelArguments(command);
    command.add_option("--circuit", arguments.circuit, "full-ov or full-qk")
        ->required()
        ->check(CLI::IsMember({"full-ov", "full-qk"}).description(""))
        ->type_name("full-ov|full-qk");
    command.add_option("--head", arguments.head, "The head, as in 1.5")->required()->type_name("L.H");
    addTableFormat(command, arguments.format, header);
    command
        .add_option("--embedding", arguments.embedding,
                    "The token vectors E of a model: raw (the default), effective, mlp0 or unembed")
        ->check(CLI::IsMember({"raw", "effective", "mlp0", "unembed"}).description(""))
        ->type_name("raw|effective|mlp0|unembed");
    command
        .add_option(
            "--offset", arguments.offset,
            "For full-qk with rotary positions: W_Q R(N) W_K^T, the key N positions before the query (default 0)")
        ->check(CLI::NonNegativeNumber.description(""))
        ->type_name("N");
    arguments.filter = addFilterArguments(command);
    addTokenCountsOption(command, arguments.tokenCounts);
    arguments.processing = addProcessingArguments(command);
    addHeadChangeArguments(command, arguments.processing);
}

} // namespace headwise::app
