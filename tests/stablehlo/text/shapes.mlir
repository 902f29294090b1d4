module @shapes attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x6xf32> {mhlo.sharding = "{replicated}"}, %i: tensor<i32>, %n: tensor<2xi64>) -> (tensor<6x4xf32> {jax.result_info = "result"}, tensor<*xf32>) {
    %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
    %1 = stablehlo.slice %x [0:4:2, 1:3] : (tensor<4x6xf32>) -> tensor<2x2xf32>
    %2 = stablehlo.reshape %1 : (tensor<2x2xf32>) -> tensor<4xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<4xf32>) -> tensor<6x4xf32>
    %4 = stablehlo.concatenate %0, %3, dim = 0 : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<12x4xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %5 = stablehlo.pad %4, %zero, low = [1, -1], high = [0, 2], interior = [0, 0] : (tensor<12x4xf32>, tensor<f32>) -> tensor<13x5xf32>
    %6 = stablehlo.dynamic_slice %5, %i, %i, sizes = [6, 4] : (tensor<13x5xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %7 = stablehlo.dynamic_update_slice %6, %0, %i, %i : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %8 = stablehlo.reverse %7, dims = [0, 1] : tensor<6x4xf32>
    %9 = stablehlo.iota dim = 1 : tensor<6x4xi32>
    %10 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi32>
    %11 = stablehlo.dynamic_reshape %x, %n : (tensor<4x6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
    %12 = stablehlo.dynamic_broadcast_in_dim %zero, %n, dims = [] {known_expanding_dimensions = array<i64>} : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
    %13 = stablehlo.get_dimension_size %12, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>
    %14 = stablehlo.set_dimension_size %x, %13, dim = 0 : (tensor<4x6xf32>, tensor<i32>) -> tensor<?x6xf32, #stablehlo.bounds<4, ?>>
    %15 = tensor.cast %12 : tensor<?x?xf32> to tensor<*xf32>
    return %8, %15 : tensor<6x4xf32>, tensor<*xf32>
  }
}
// prints
module @shapes attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x6xf32> {mhlo.sharding = "{replicated}"}, %arg1: tensor<i32>, %arg2: tensor<2xi64>) -> (tensor<6x4xf32> {jax.result_info = "result"}, tensor<*xf32>) {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
    %1 = stablehlo.slice %arg0 [0:4:2, 1:3] : (tensor<4x6xf32>) -> tensor<2x2xf32>
    %2 = stablehlo.reshape %1 : (tensor<2x2xf32>) -> tensor<4xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<4xf32>) -> tensor<6x4xf32>
    %4 = stablehlo.concatenate %0, %3, dim = 0 : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<12x4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.pad %4, %cst, low = [1, -1], high = [0, 2], interior = [0, 0] : (tensor<12x4xf32>, tensor<f32>) -> tensor<13x5xf32>
    %6 = stablehlo.dynamic_slice %5, %arg1, %arg1, sizes = [6, 4] : (tensor<13x5xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %7 = stablehlo.dynamic_update_slice %6, %0, %arg1, %arg1 : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
    %8 = stablehlo.reverse %7, dims = [0, 1] : tensor<6x4xf32>
    %9 = stablehlo.iota dim = 1 : tensor<6x4xi32>
    %10 = stablehlo.dynamic_iota %arg2, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi32>
    %11 = stablehlo.dynamic_reshape %arg0, %arg2 : (tensor<4x6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
    %12 = stablehlo.dynamic_broadcast_in_dim %cst, %arg2, dims = [] : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
    %13 = stablehlo.get_dimension_size %12, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>
    %14 = stablehlo.set_dimension_size %arg0, %13, dim = 0 : (tensor<4x6xf32>, tensor<i32>) -> tensor<?x6xf32, #stablehlo.bounds<4, ?>>
    %15 = tensor.cast %12 : tensor<?x?xf32> to tensor<*xf32>
    return %8, %15 : tensor<6x4xf32>, tensor<*xf32>
  }
}
