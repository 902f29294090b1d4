// Quantised numbers are added as the floats they stand for.
module {
  func.func public @main() {
    %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %b = stablehlo.constant dense<[3.0, 4.0]> : tensor<2xf32>
    %qa = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.1:-30>>
    %qb = stablehlo.uniform_quantize %b : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5:-20>>
    %sum = "stablehlo.add"(%qa, %qb) : (tensor<2x!quant.uniform<i8:f32, 0.1:-30>>, tensor<2x!quant.uniform<i8:f32, 0.5:-20>>) -> tensor<2x!quant.uniform<i8:f32, 0.5:-20>>
    %bits = stablehlo.bitcast_convert %sum : (tensor<2x!quant.uniform<i8:f32, 0.5:-20>>) -> tensor<2xi8>
    %expected = stablehlo.constant dense<[-12, -8]> : tensor<2xi8>
    stablehlo.custom_call @check.expect_eq(%bits, %expected) {has_side_effect = true} : (tensor<2xi8>, tensor<2xi8>) -> ()
    return
  }
}

// -----

// Einsum, also of one operand; torch_index_select.
module {
  func.func public @main() {
    %a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
    %b = stablehlo.constant dense<[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]> : tensor<3x2xf32>
    %0 = stablehlo.einsum %a, %b, config = "ij,jk->ki" : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %1 = stablehlo.constant dense<[[4.0, 10.0], [5.0, 11.0]]> : tensor<2x2xf32>
    stablehlo.custom_call @check.expect_eq(%0, %1) {has_side_effect = true} : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
    %2 = stablehlo.unary_einsum %a, config = "ij->j" : (tensor<2x3xf32>) -> tensor<3xf32>
    %3 = stablehlo.constant dense<[5.0, 7.0, 9.0]> : tensor<3xf32>
    stablehlo.custom_call @check.expect_eq(%2, %3) {has_side_effect = true} : (tensor<3xf32>, tensor<3xf32>) -> ()
    %i = stablehlo.constant dense<[2, 0]> : tensor<2xi32>
    %4 = "stablehlo.torch_index_select"(%a, %i) <{dim = 1 : i64, batch_dims = 0 : i64}> : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x2xf32>
    %5 = stablehlo.constant dense<[[3.0, 1.0], [6.0, 4.0]]> : tensor<2x2xf32>
    stablehlo.custom_call @check.expect_eq(%4, %5) {has_side_effect = true} : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
    return
  }
}

// -----

// Special functions at points whose values are in tables (Abramowitz and Stegun).
module {
  func.func public @main() {
    %x = stablehlo.constant dense<[0.5, 1.0, 2.0]> : tensor<3xf64>
    %n = stablehlo.constant dense<[1.0, 1.0, 2.0]> : tensor<3xf64>
    %two = stablehlo.constant dense<2.0> : tensor<3xf64>
    %lgamma = chlo.lgamma %x : tensor<3xf64> -> tensor<3xf64>
    %0 = stablehlo.constant dense<[0.5723649429247001, 0.0, 0.0]> : tensor<3xf64>
    stablehlo.custom_call @check.expect_almost_eq(%lgamma, %0) {has_side_effect = true} : (tensor<3xf64>, tensor<3xf64>) -> ()
    %digamma = chlo.digamma %x : tensor<3xf64> -> tensor<3xf64>
    %1 = stablehlo.constant dense<[-1.9635100260214235, -0.5772156649015329, 0.4227843350984671]> : tensor<3xf64>
    stablehlo.custom_call @check.expect_almost_eq(%digamma, %1) {has_side_effect = true} : (tensor<3xf64>, tensor<3xf64>) -> ()
    %polygamma = chlo.polygamma %n, %x : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
    %2 = stablehlo.constant dense<[4.934802200544679, 1.6449340668482264, -0.4041138063191886]> : tensor<3xf64>
    stablehlo.custom_call @check.expect_almost_eq(%polygamma, %2) {has_side_effect = true} : (tensor<3xf64>, tensor<3xf64>) -> ()
    %zeta = chlo.zeta %two, %x : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
    %3 = stablehlo.constant dense<[4.934802200544679, 1.6449340668482264, 0.6449340668482264]> : tensor<3xf64>
    stablehlo.custom_call @check.expect_almost_eq(%zeta, %3) {has_side_effect = true} : (tensor<3xf64>, tensor<3xf64>) -> ()
    %erfc = chlo.erfc %x : tensor<3xf64> -> tensor<3xf64>
    %4 = stablehlo.constant dense<[0.4795001221869535, 0.1572992070502851, 0.0046777349810473]> : tensor<3xf64>
    stablehlo.custom_call @check.expect_almost_eq(%erfc, %4) {has_side_effect = true} : (tensor<3xf64>, tensor<3xf64>) -> ()
    %bessel = chlo.bessel_i1e %x : tensor<3xf64> -> tensor<3xf64>
    %5 = stablehlo.constant dense<[0.1564208032, 0.2079104154, 0.2152692892]> : tensor<3xf64>
    stablehlo.custom_call @check.expect_almost_eq(%bessel, %5) {has_side_effect = true} : (tensor<3xf64>, tensor<3xf64>) -> ()
    %half = stablehlo.constant dense<[0.5, -0.5, 1.0]> : tensor<3xf64>
    %erf_inv = chlo.erf_inv %half : tensor<3xf64> -> tensor<3xf64>
    %6 = stablehlo.constant dense<[0.4769362762044699, -0.4769362762044699, 0x7FF0000000000000]> : tensor<3xf64>
    stablehlo.custom_call @check.expect_almost_eq(%erf_inv, %6) {has_side_effect = true} : (tensor<3xf64>, tensor<3xf64>) -> ()
    return
  }
}

// -----

// error: operand 0 is `f32[2]` and operand 1 is `f32[3]`, which have different sizes
module {
  func.func public @main(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {
    %0 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

// error: attribute `iota_dimension` names dimension 3 of an array of rank 1
module {
  func.func public @main() -> tensor<2xf32> {
    %0 = stablehlo.iota dim = 3 : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
