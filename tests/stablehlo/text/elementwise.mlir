// One type stands for all where it can.
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %p: tensor<2x3xi1>) -> tensor<2x3xf32> {
  %0 = stablehlo.add %a, %b : tensor<2x3xf32>
  %1 = "stablehlo.subtract"(%0, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = stablehlo.compare GT, %a, %1, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %3 = stablehlo.compare EQ, %a, %1, NOTYPE : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %4 = stablehlo.and %2, %3 {note = "kept"} : tensor<2x3xi1>
  %5 = stablehlo.select %4, %a, %b : tensor<2x3xi1>, tensor<2x3xf32>
  %6 = stablehlo.convert %5 : (tensor<2x3xf32>) -> tensor<2x3xbf16>
  %7 = stablehlo.convert %6 : (tensor<2x3xbf16>) -> tensor<2x3xf32>
  %8 = stablehlo.complex %7, %7 : tensor<2x3xcomplex<f32>>
  %9 = stablehlo.real %8 : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
  %10 = stablehlo.reduce_precision %9, format = e5m10 : tensor<2x3xf32>
  %11 = stablehlo.clamp %a, %10, %b : tensor<2x3xf32>
  %12 = stablehlo.exponential %11 {result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-5, ulps = 2, mode = #stablehlo<result_accuracy_mode TOLERANCE>>} : tensor<2x3xf32>
  %13 = stablehlo.is_finite %12 : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %14 = stablehlo.select %13, %12, %a : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %14 : tensor<2x3xf32>
}
// prints
module {
  func.func @f(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>, %arg2: tensor<2x3xi1>) -> tensor<2x3xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<2x3xf32>
    %1 = stablehlo.subtract %0, %arg1 : tensor<2x3xf32>
    %2 = stablehlo.compare GT, %arg0, %1, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %3 = stablehlo.compare EQ, %arg0, %1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %4 = stablehlo.and %2, %3 {note = "kept"} : tensor<2x3xi1>
    %5 = stablehlo.select %4, %arg0, %arg1 : tensor<2x3xi1>, tensor<2x3xf32>
    %6 = stablehlo.convert %5 : (tensor<2x3xf32>) -> tensor<2x3xbf16>
    %7 = stablehlo.convert %6 : (tensor<2x3xbf16>) -> tensor<2x3xf32>
    %8 = stablehlo.complex %7, %7 : tensor<2x3xcomplex<f32>>
    %9 = stablehlo.real %8 : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
    %10 = stablehlo.reduce_precision %9, format = e5m10 : tensor<2x3xf32>
    %11 = stablehlo.clamp %arg0, %10, %arg1 : tensor<2x3xf32>
    %12 = stablehlo.exponential %11 {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-05, ulps = 2, mode = #stablehlo<result_accuracy_mode TOLERANCE>>} : tensor<2x3xf32>
    %13 = stablehlo.is_finite %12 : (tensor<2x3xf32>) -> tensor<2x3xi1>
    %14 = stablehlo.select %13, %12, %arg0 : tensor<2x3xi1>, tensor<2x3xf32>
    return %14 : tensor<2x3xf32>
  }
}
