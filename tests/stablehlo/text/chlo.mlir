func.func @main(%x: tensor<4xf32>, %n: tensor<1x4xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
  %0 = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>
  %1 = chlo.broadcast_add %0, %n {broadcast_dimensions = array<i64: 1>} : (tensor<4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %2 = chlo.broadcast_compare %0, %x {comparison_direction = #chlo<comparison_direction LT>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %3 = chlo.next_after %0, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %4 = chlo.constant dense<1> : tensor<i32>
  %5:2 = chlo.top_k(%3, k = 2, is_stable = true) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %6:2 = chlo.scan (%x) inits (%init) dimension=0 {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s, %s : tensor<f32>, tensor<f32>
  } : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>)
  return %5#0, %5#1 : tensor<2xf32>, tensor<2xi32>
}
// prints
module {
  func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<1x4xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
    %0 = chlo.erf %arg0 : tensor<4xf32> -> tensor<4xf32>
    %1 = chlo.broadcast_add %0, %arg1 {broadcast_dimensions = array<i64: 1>} : (tensor<4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
    %2 = chlo.broadcast_compare %0, %arg0 {comparison_direction = #chlo<comparison_direction LT>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %3 = chlo.next_after %0, %arg0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %4 = chlo.constant dense<1> : tensor<i32>
    %5:2 = chlo.top_k(%3, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6:2 = chlo.scan(%arg0) inits (%cst) dimension=0  {
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %7 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %7, %7 : tensor<f32>, tensor<f32>
    } : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>)
    return %5#0, %5#1 : tensor<2xf32>, tensor<2xi32>
  }
}
