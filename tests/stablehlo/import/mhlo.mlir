// The example of a client: MHLO, with an operation that StableHLO does not have.
// hlo: add(%
module {
  func.func @main(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = "mhlo.copy"(%arg0) : (tensor<f32>) -> tensor<f32>
    %1 = mhlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = mhlo.add %0, %1 : tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

// Regions, attributes of MHLO, dimensions as dense constants, operations that CHLO has.
module {
  func.func public @main() {
    %a = mhlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
    %zero = mhlo.constant dense<0.0> : tensor<f32>
    %0 = mhlo.reduce(%a init: %zero) applies mhlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %1 = "mhlo.reduce"(%a, %zero) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %2 = mhlo.maximum %x, %y : tensor<f32>
      "mhlo.return"(%2) : (tensor<f32>) -> ()
    }) {dimensions = dense<1> : tensor<1xi64>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %3 = "mhlo.compare"(%0, %1) {comparison_direction = #mhlo<comparison_direction GT>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %4 = "mhlo.select"(%3, %1, %0) : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %5 = "mhlo.broadcast_in_dim"(%4) {broadcast_dimensions = dense<1> : tensor<1xi64>} : (tensor<2xf32>) -> tensor<3x2xf32>
    %6 = "mhlo.dot_general"(%a, %5) {dot_dimension_numbers = #mhlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#mhlo<precision DEFAULT>, #mhlo<precision DEFAULT>]} : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %7 = mhlo.constant dense<[[18.0, 36.0], [45.0, 90.0]]> : tensor<2x2xf32>
    mhlo.custom_call @check.expect_eq(%6, %7) {has_side_effect = true} : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
    %8 = mhlo.erf %zero : tensor<f32>
    %9 = "mhlo.cosh"(%8) : (tensor<f32>) -> tensor<f32>
    %one = mhlo.constant dense<1.0> : tensor<f32>
    mhlo.custom_call @check.expect_almost_eq(%9, %one) {has_side_effect = true} : (tensor<f32>, tensor<f32>) -> ()
    return
  }
}

// -----

// An operation of MHLO that nothing else has.
// error: mhlo.fusion
module {
  func.func @main(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = "mhlo.fusion"(%arg0) ({
    ^bb0(%x: tensor<f32>):
      "mhlo.return"(%x) : (tensor<f32>) -> ()
    }) : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
