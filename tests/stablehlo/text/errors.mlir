func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %x, %y : tensor<2xf32> // error: value `%y` is used but never defined
  return %0 : tensor<2xf32>
}
// -----
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %x, %1 : tensor<2xf32> // error: `%1` is used before it is defined
  %1 = stablehlo.abs %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.abs %x : tensor<3xf32> // error: `%x` is used as `tensor<3xf32>` but has type `tensor<2xf32>`
  return %0 : tensor<3xf32>
}
// -----
func.func @f(%x: tensor<2xf32>) {
  %0 = stablehlo.ads %x : tensor<2xf32> // error: `stablehlo.ads` has no pretty form
  return
}
// -----
func.func @f() {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<3xi32> // error: 2 entries where the type has 3
  return
}
// -----
func.func @f() {
  %0 = stablehlo.constant dense<1> : tensor<3xf32> // error: expected a float of type `f32`, found an integer
  return
}
// -----
func.func @f() {
  %0 = stablehlo.constant dense<300> : tensor<i8> // error: the number does not fit type `i8`
  return
}
// -----
func.func @f(%x: tensor<2xf32>) {
  %x = stablehlo.abs %x : tensor<2xf32> // error: value `%x` is defined twice
  return
}
// -----
func.func @f(%x: tensor<2xf32>) {
  %0:2 = stablehlo.abs %x : tensor<2xf32> // error: `stablehlo.abs` has 1 results but names are given for 2
  return
}
// -----
func.func @f(%x: tensor<2xf32>) {
  return %x : tensor<2xf32>
  %0 = stablehlo.abs %x : tensor<2xf32> // error: expected the end of the block after `func.return`
}
// -----
module attributes {x = !.y} {} // error: expected the name of a type after `!`
// -----
#a = #b // error: alias `#b` is defined by itself
#b = [#a] // error: alias `#a` is defined by itself
module attributes {x = #a} {}
// -----
module attributes {x = #missing} {} // error: alias `#missing` is not defined
// -----
func.func @f(%x: tensor<1x2x3x1xf32>, %k: tensor<3x3x1x1xf32>) {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x3x1xf32>, tensor<3x3x1x1xf32>) -> tensor<1x2x3x1xf32> // error: dimension `f` stands twice
  return
}
// -----
func.func @f(%x: tensor<2xf32>, %y: tensor<f32>) {
  %0 = stablehlo.reduce(%x init: %y) applies stablehlo.subtract across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32> // error: `stablehlo.subtract` cannot stand for a whole reduction
  return
}
// -----
func.func @f() {
  return
// error: expected `}`, found the end of the text
