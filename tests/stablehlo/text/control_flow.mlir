func.func @main(%arg0: tensor<i32>, %arg1: tensor<4xf32>) -> tensor<f32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %c_0 = stablehlo.constant dense<10> : tensor<i32>
  %0:2 = stablehlo.while(%iterArg = %c, %iterArg_1 = %arg1) : tensor<i32>, tensor<4xf32>
  cond {
    %3 = stablehlo.compare LT, %iterArg, %c_0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  } do {
    %3 = func.call @step(%iterArg_1) : (tensor<4xf32>) -> tensor<4xf32>
    %4 = stablehlo.add %iterArg, %arg0 : tensor<i32>
    stablehlo.return %4, %3 : tensor<i32>, tensor<4xf32>
  }
  %cst = stablehlo.constant dense<-0.0> : tensor<f32>
  %sum = stablehlo.reduce(%0#1 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %1:2 = stablehlo.reduce(%0#1 init: %cst), (%arg1 init: %cst) across dimensions = [0] : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
   reducer(%arg2: tensor<f32>, %arg4: tensor<f32>) (%arg3: tensor<f32>, %arg5: tensor<f32>)  {
    %3 = stablehlo.add %arg2, %arg4 : tensor<f32>
    %4 = stablehlo.maximum %arg3, %arg5 : tensor<f32>
    stablehlo.return %3, %4 : tensor<f32>, tensor<f32>
  }
  %2 = "stablehlo.case"(%0#0) ({
    stablehlo.return %1#0 : tensor<f32>
  }, {
    stablehlo.return %1#1 : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  return %2 : tensor<f32>
}
func.func private @step(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.optimization_barrier %arg0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// prints
module {
  func.func @main(%arg0: tensor<i32>, %arg1: tensor<4xf32>) -> tensor<f32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<10> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_1 = %arg1) : tensor<i32>, tensor<4xf32>
    cond {
      %4 = stablehlo.compare LT, %iterArg, %c_0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %4 = func.call @step(%iterArg_1) : (tensor<4xf32>) -> tensor<4xf32>
      %5 = stablehlo.add %iterArg, %arg0 : tensor<i32>
      stablehlo.return %5, %4 : tensor<i32>, tensor<4xf32>
    }
    %cst = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0#1 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %2:2 = stablehlo.reduce(%0#1 init: %cst), (%arg1 init: %cst) across dimensions = [0] : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
     reducer(%arg2: tensor<f32>, %arg4: tensor<f32>) (%arg3: tensor<f32>, %arg5: tensor<f32>)  {
      %4 = stablehlo.add %arg2, %arg4 : tensor<f32>
      %5 = stablehlo.maximum %arg3, %arg5 : tensor<f32>
      stablehlo.return %4, %5 : tensor<f32>, tensor<f32>
    }
    %3 = "stablehlo.case"(%0#0) ({
      stablehlo.return %2#0 : tensor<f32>
    }, {
      stablehlo.return %2#1 : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>
    return %3 : tensor<f32>
  }
  func.func private @step(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.optimization_barrier %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
