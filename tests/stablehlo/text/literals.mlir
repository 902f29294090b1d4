module {
  func.func @main() {
    %0 = stablehlo.constant dense<[[1, -2], [0x10, 4]]> : tensor<2x2xi8>
    %1 = stablehlo.constant dense<[1.5, 0.1, 0x7FC00000, -0.0]> : tensor<4xf32>
    %2 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    %3 = stablehlo.constant dense<(1.0, -2.5)> : tensor<1000000x1000000xcomplex<f64>>
    %4 = stablehlo.constant dense<[(0.0, 1.0), (2.0, 3.0)]> : tensor<2xcomplex<f32>>
    %5 = stablehlo.constant dense<"0x0000803F000000400000404000008040"> : tensor<2x2xf32>
    %6 = stablehlo.constant dense<[]> : tensor<0x3xf32>
    %7 = stablehlo.constant dense<[-8, 7, 15]> : tensor<3xi4>
    %8 = stablehlo.constant dense<[4294967295, 0]> : tensor<2xui32>
    %9 = stablehlo.constant dense_resource<weights> : tensor<2xf32>
    %10 = "stablehlo.constant"() <{value = dense<7> : tensor<3xi32>}> : () -> tensor<3xi32>
    %11 = stablehlo.constant dense<[[5, 5], [5, 5]]> : tensor<2x2xi64>
    %12 = stablehlo.constant() <{value = dense<1.0> : tensor<f8E4M3FN>}> : () -> tensor<f8E4M3FN>
    return
  }
}

{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F00000040"
    }
  }
#-}
// prints
module {
  func.func @main() {
    %c = stablehlo.constant dense<[[1, -2], [16, 4]]> : tensor<2x2xi8>
    %cst = stablehlo.constant dense<[1.500000e+00, 1.000000e-01, 0x7FC00000, -0.000000e+00]> : tensor<4xf32>
    %c_0 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    %cst_1 = stablehlo.constant dense<(1.000000e+00,-2.500000e+00)> : tensor<1000000x1000000xcomplex<f64>>
    %cst_2 = stablehlo.constant dense<[(0.000000e+00,1.000000e+00), (2.000000e+00,3.000000e+00)]> : tensor<2xcomplex<f32>>
    %cst_3 = stablehlo.constant dense<[[1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
    %cst_4 = stablehlo.constant dense<> : tensor<0x3xf32>
    %c_5 = stablehlo.constant dense<[-8, 7, -1]> : tensor<3xi4>
    %c_6 = stablehlo.constant dense<[4294967295, 0]> : tensor<2xui32>
    %cst_7 = stablehlo.constant dense_resource<weights> : tensor<2xf32>
    %c_8 = stablehlo.constant dense<7> : tensor<3xi32>
    %c_9 = stablehlo.constant dense<5> : tensor<2x2xi64>
    %cst_10 = stablehlo.constant dense<1.000000e+00> : tensor<f8E4M3FN>
    return
  }
}

{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F00000040"
    }
  }
#-}
