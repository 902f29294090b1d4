// A call shares the callee's computation; several results are a tuple.
// hlo: HloModule jit_f
// hlo: %twice (x: f32[2]) -> (f32[2], f32[2]) {
// hlo: ENTRY %main
// hlo: call(%x.1), to_apply=%twice
// hlo: call(%add.1), to_apply=%twice
module @jit_f {
  func.func public @main(%arg0: tensor<2xf32> loc("x")) -> tensor<2xf32> {
    %0:2 = call @twice(%arg0) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    %1 = stablehlo.add %0#0, %0#1 : tensor<2xf32>
    %2:2 = call @twice(%1) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
    return %2#1 : tensor<2xf32>
  }
  func.func private @twice(%arg0: tensor<2xf32> loc("x")) -> (tensor<2xf32>, tensor<2xf32>) {
    %0 = stablehlo.add %arg0, %arg0 : tensor<2xf32>
    return %0, %arg0 : tensor<2xf32>, tensor<2xf32>
  }
}

// -----

// Donated arguments, layouts and memories.
// hlo: input_output_alias={ {1}: (0, {}, may-alias) }
// hlo: buffer_donor={ (1, {}) }
// hlo: entry_computation_layout={(f32[2,3]{0,1}, f32[4]{0})->(f32[4]{0:S(5)}, f32[2,3]{1,0})}
module {
  func.func public @main(
      %arg0: tensor<2x3xf32> {mhlo.layout_mode = "{0,1}", tf.aliasing_output = 1 : i32},
      %arg1: tensor<4xf32> {jax.buffer_donor = true, mhlo.layout_mode = "default"}
  ) -> (tensor<4xf32> {mhlo.memory_kind = "pinned_host"}, tensor<2x3xf32>) {
    return %arg1, %arg0 : tensor<4xf32>, tensor<2x3xf32>
  }
}

// -----

// error: `func.func`: calls itself, which HLO cannot express
module {
  func.func public @main(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = call @f(%arg0) : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @f(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = call @f(%arg0) : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

// error: has no function `main`
module {
  func.func public @other() { return }
}

// -----

// Where things come from: names, source lines and frames.
// hlo: FileNames
// hlo: 2 "a.py"
// hlo: add(%Arg_0, %Arg_0), metadata={op_name="jit(f)/add" source_file="a.py" source_line=3
module {
  func.func public @main(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<f32> loc(#add)
    return %0 : tensor<f32>
  }
}
#inner = loc("g"("a.py":3:5))
#outer = loc("f"("b.py":9:1))
#add = loc("jit(f)/add"(callsite(#inner at #outer)))

// -----

// error: at a.py:3:5
// error: `stablehlo.frobnicate`: no translation of this operation to HLO is known
module {
  func.func public @main(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = "stablehlo.frobnicate"(%arg0) : (tensor<f32>) -> tensor<f32> loc(#here)
    return %0 : tensor<f32>
  }
}
#here = loc("a.py":3:5)

// -----

// Sizes left open are those of each call.
// hlo: (Arg_0: f32[3]) -> f32[3]
// hlo: broadcast
// hlo: f32[3] add
module {
  func.func public @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.constant dense<3> : tensor<i64>
    %1 = call @add_one(%0, %arg0) : (tensor<i64>, tensor<3xf32>) -> tensor<3xf32>
    return %1 : tensor<3xf32>
  }
  func.func private @add_one(%arg0: tensor<i64> {jax.global_constant = "n"}, %arg1: tensor<?xf32>) -> tensor<?xf32> {
    %0 = stablehlo.constant dense<1.0> : tensor<f32>
    %1 = stablehlo.convert %arg0 : (tensor<i64>) -> tensor<i32>
    %2 = stablehlo.reshape %1 : (tensor<i32>) -> tensor<1xi32>
    %3 = stablehlo.dynamic_broadcast_in_dim %0, %2, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
    %4 = stablehlo.add %arg1, %3 : tensor<?xf32>
    return %4 : tensor<?xf32>
  }
}

// -----

// error: unimplemented: `func.call`: more than 16384 calls of functions whose bodies depend on the call
module {
  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = call @a(%x) : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func private @a(%x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = call @b(%x) : (tensor<?xf32>) -> tensor<?xf32>
    %1 = call @b(%0) : (tensor<?xf32>) -> tensor<?xf32>
    return %1 : tensor<?xf32>
  }
  func.func private @b(%x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = call @c(%x) : (tensor<?xf32>) -> tensor<?xf32>
    %1 = call @c(%0) : (tensor<?xf32>) -> tensor<?xf32>
    return %1 : tensor<?xf32>
  }
  func.func private @c(%x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = call @d(%x) : (tensor<?xf32>) -> tensor<?xf32>
    %1 = call @d(%0) : (tensor<?xf32>) -> tensor<?xf32>
    return %1 : tensor<?xf32>
  }
  func.func private @d(%x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = call @e(%x) : (tensor<?xf32>) -> tensor<?xf32>
    %1 = call @e(%0) : (tensor<?xf32>) -> tensor<?xf32>
    return %1 : tensor<?xf32>
  }
  func.func private @e(%x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = call @f(%x) : (tensor<?xf32>) -> tensor<?xf32>
    %1 = call @f(%0) : (tensor<?xf32>) -> tensor<?xf32>
    return %1 : tensor<?xf32>
  }
  func.func private @f(%x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = call @g(%x) : (tensor<?xf32>) -> tensor<?xf32>
    %1 = call @g(%0) : (tensor<?xf32>) -> tensor<?xf32>
    return %1 : tensor<?xf32>
  }
  func.func private @g(%x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = call @h(%x) : (tensor<?xf32>) -> tensor<?xf32>
    %1 = call @h(%0) : (tensor<?xf32>) -> tensor<?xf32>
    return %1 : tensor<?xf32>
  }
  func.func private @h(%x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = call @i(%x) : (tensor<?xf32>) -> tensor<?xf32>
    %1 = call @i(%0) : (tensor<?xf32>) -> tensor<?xf32>
    return %1 : tensor<?xf32>
  }
  func.func private @i(%x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = call @j(%x) : (tensor<?xf32>) -> tensor<?xf32>
    %1 = call @j(%0) : (tensor<?xf32>) -> tensor<?xf32>
    return %1 : tensor<?xf32>
  }
  func.func private @j(%x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = call @k(%x) : (tensor<?xf32>) -> tensor<?xf32>
    %1 = call @k(%0) : (tensor<?xf32>) -> tensor<?xf32>
    return %1 : tensor<?xf32>
  }
  func.func private @k(%x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = call @l(%x) : (tensor<?xf32>) -> tensor<?xf32>
    %1 = call @l(%0) : (tensor<?xf32>) -> tensor<?xf32>
    return %1 : tensor<?xf32>
  }
  func.func private @l(%x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = call @m(%x) : (tensor<?xf32>) -> tensor<?xf32>
    %1 = call @m(%0) : (tensor<?xf32>) -> tensor<?xf32>
    return %1 : tensor<?xf32>
  }
  func.func private @m(%x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = call @n(%x) : (tensor<?xf32>) -> tensor<?xf32>
    %1 = call @n(%0) : (tensor<?xf32>) -> tensor<?xf32>
    return %1 : tensor<?xf32>
  }
  func.func private @n(%x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = call @o(%x) : (tensor<?xf32>) -> tensor<?xf32>
    %1 = call @o(%0) : (tensor<?xf32>) -> tensor<?xf32>
    return %1 : tensor<?xf32>
  }
  func.func private @o(%x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = call @p(%x) : (tensor<?xf32>) -> tensor<?xf32>
    %1 = call @p(%0) : (tensor<?xf32>) -> tensor<?xf32>
    return %1 : tensor<?xf32>
  }
  func.func private @p(%x: tensor<?xf32>) -> tensor<?xf32> {
    return %x : tensor<?xf32>
  }
}
