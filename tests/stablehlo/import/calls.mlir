// A typed FFI call: its attributes are text that the runtime reads back.
// hlo: entry_computation_layout={(f32[2,3]{1,0})->f32[2,3]{1,0}}
// hlo: f32[2,3]{0,1} custom-call(%Arg_0), custom_call_target="target", operand_layout_constraints={f32[2,3]{0,1}}, output_to_operand_aliasing={{}: (0, {})}, api_version=API_VERSION_TYPED_FFI, backend_config={eps = 1.000000e+00 : f32, n = 3 : i64}
module {
  func.func public @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = stablehlo.custom_call @target(%arg0) {
      mhlo.backend_config = {n = 3 : i64, eps = 1.0 : f32},
      operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
      result_layouts = [dense<[0, 1]> : tensor<2xindex>],
      output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]
    } : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}

// -----

// Composites that stand for an op become it; others stay calls that say what they are.
// hlo: is_composite=true, frontend_attributes={composite.attributes={n = 1 : i64},composite.name="my.op",composite.version="1"}
// hlo: (f32[2], s32[2]) topk(%call), k=2
module {
  func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>) {
    %0 = stablehlo.composite "my.op" %arg0 {composite_attributes = {n = 1 : i64}, decomposition = @impl, version = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    %1:2 = stablehlo.composite "chlo.top_k" %0 {composite_attributes = {k = 2 : i64}, decomposition = @top_k, version = 1 : i32} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>)
    return %0, %1#0 : tensor<4xf32>, tensor<2xf32>
  }
  func.func private @impl(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func private @top_k(%arg0: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
    %0 = stablehlo.slice %arg0 [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    %1 = stablehlo.iota dim = 0 : tensor<2xi32>
    return %0, %1 : tensor<2xf32>, tensor<2xi32>
  }
}

// -----

// VHLO leaves an empty dictionary of attributes out.
// hlo: f32[4] erf(%Arg_0)
// hlo: f32[4] asinh(%erf)
module {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.composite "chlo.erf" %arg0 {decomposition = @impl, version = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.composite "chlo.asinh" %0 {composite_attributes = {}, decomposition = @impl, version = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @impl(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// An approximate top-k is exact here.
module {
  func.func public @main() {
    %x = stablehlo.constant dense<[1.0, 4.0, 2.0, 3.0]> : tensor<4xf32>
    %i = stablehlo.iota dim = 0 : tensor<4xi32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %none = stablehlo.constant dense<-1> : tensor<i32>
    %0:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %low, %none) {
      called_computations = [@greater],
      mhlo.backend_config = {aggregate_to_topk = true, recall_target = 9.5e-01 : f32, reduction_dim = 0 : i64, reduction_input_size_override = -1 : i64, top_k = 2 : i64}
    } : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
    %expected = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
    stablehlo.custom_call @check.expect_eq(%0#1, %expected) {has_side_effect = true} : (tensor<2xi32>, tensor<2xi32>) -> ()
    return
  }
  func.func private @greater(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>) -> tensor<i1> {
    %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    return %0 : tensor<i1>
  }
}

// -----

// error: too small (with [2])
module {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<2xf32>) -> tensor<i32>
    %least = stablehlo.constant dense<3> : tensor<i32>
    %ok = stablehlo.compare GE, %n, %least : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%ok, %n) {error_message = "too small", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    return %x : tensor<2xf32>
  }
}

// -----

// Sends and receives start and end at once; a token orders them.
// hlo: send(%Arg_0, %after-all), channel_id=3, is_host_transfer=true
// hlo: send-done
// hlo: recv(%send-done), channel_id=4, is_host_transfer=true
// hlo: recv-done
module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %t = stablehlo.create_token : !stablehlo.token
    %0 = "stablehlo.send"(%arg0, %t) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 2>, is_host_transfer = true}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
    %1:2 = "stablehlo.recv"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 4, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
    return %1#0 : tensor<2xf32>
  }
}
