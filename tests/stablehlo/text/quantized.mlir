func.func @main(%x: tensor<4x!quant.uniform<i8:f32, 0.5:3>>, %y: tensor<2x!quant.uniform<u8<1:255>:f32:0, {0.1, 0.25:128}>>) -> tensor<4xf32> {
  %0 = stablehlo.uniform_dequantize %x : (tensor<4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<4xf32>
  %1 = stablehlo.uniform_quantize %0 : (tensor<4xf32>) -> tensor<4x!quant.uniform<i4:f32, 2.0>>
  return %0 : tensor<4xf32>
}
// prints
module {
  func.func @main(%arg0: tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>, %arg1: tensor<2x!quant.uniform<u8<1:255>:f32:0, {1.000000e-01, 2.500000e-01:128}>>) -> tensor<4xf32> {
    %0 = stablehlo.uniform_dequantize %arg0 : (tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<4xf32>
    %1 = stablehlo.uniform_quantize %0 : (tensor<4xf32>) -> tensor<4x!quant.uniform<i4:f32, 2.000000e+00>>
    return %0 : tensor<4xf32>
  }
}
