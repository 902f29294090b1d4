// Aliases may stand after their use; locations are printed only if asked for.
#layout = dense<[1, 0]> : tensor<2xindex>
!row = tensor<4xf32>
module {
  func.func @main(%arg0: !row loc("x")) -> !row {
    %0 = stablehlo.custom_call @"any name"(%arg0) {backend_config = {scale = 1.5 : f32, name = "a\22b\\c\0A"}, api_version = 4 : i32, operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = [dense<0> : tensor<1xindex>], mhlo.layout = #layout} : (!row) -> !row loc(#loc2)
    return %0 : !row loc(callsite("f"("a.py":3:1 to :9) at fused<"why">["b.py":1:2, unknown]))
  } loc(unknown)
} loc(#loc1)
#loc1 = loc("main.py":1:2)
#loc2 = loc("jit(f)/foo"(#loc1))
// prints
module {
  func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @"any name"(%arg0) {api_version = 4 : i32, backend_config = {name = "a\22b\\c\0A", scale = 1.500000e+00 : f32}, mhlo.layout = dense<[1, 0]> : tensor<2xindex>, operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
