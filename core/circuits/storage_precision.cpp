#include "core/circuits/storage_precision.h"

namespace headwise {

double roundingOf(DType dtype)
{
    switch (dtype) {
    case DType::F64: return 0x1p-53;
    case DType::F16: return 0x1p-11;
    case DType::BF16: return 0x1p-8;
    case DType::F8_SCALED:
    case DType::F8_E4M3:
    case DType::F8_E4M3FNUZ: return 0x1p-4;
    case DType::F8_E5M2:
    case DType::F8_E5M2FNUZ: return 0x1p-3;
    // The largest of 256 normal numbers is about 2.8 deviations, that of 32 about 2.1, that of 16 about 1.8.
    case DType::Q8_K: return 2.8 / 254;
    case DType::INT8_ROWS: return 4.0 / 254; // of a row of thousands
    case DType::GPTQ:
    case DType::AWQ: return 2.8 / 15; // 4 bits, by far the most common
    case DType::BNB_4BIT: return 2.4 / 16;
    case DType::MXFP4: return 0x1p-2; // one bit of mantissa
    case DType::Q8_0: return 2.1 / 254;
    case DType::Q6_K: return 1.8 / 64;
    case DType::Q5_1:
    case DType::Q5_K: return 2.1 / 31;
    case DType::Q5_0: return 2.1 / 32;
    case DType::Q4_1:
    case DType::Q4_K: return 2.1 / 15;
    case DType::Q4_0:
    case DType::IQ4_NL: // its 16 values are unevenly spaced, and as many as Q4_0's
    case DType::IQ4_XS: return 2.1 / 16;
    case DType::Q3_K: return 1.8 / 8;
    case DType::Q2_K: return 1.8 / 3;
    default: return 0x1p-24;
    }
}

double roundingOf(const ModelWeights& weights, TensorKind kind, int layer, int head)
{
    auto found = weights.views().find({kind, layer, head});
    if (found == weights.views().end()) // read through a latent
        found = weights.views().find({kind == TensorKind::W_Q       ? TensorKind::W_UQ
                                          : kind == TensorKind::W_K ? TensorKind::W_UK
                                                                    : TensorKind::W_UV,
                                      layer, head});
    if (found == weights.views().end() || !found->second.isPresent())
        return 0;
    return roundingOf(weights.file().tensors()[static_cast<std::size_t>(found->second.tensor)].dtype);
}

} // namespace headwise
