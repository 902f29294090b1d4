// Other dialects have the generic form, with blocks and successors.
"func.func"() <{function_type = (i1) -> (), sym_name = "f"}> ({
^entry(%c: i1):
  "cf.cond_br"(%c, %v)[^then, ^end] {weights = [1, 2]} : (i1, i32) -> ()
^later:
  "test.use"(%w) : (i32) -> ()
  "cf.br"()[^end] : () -> ()
^before(%w: i32):
  "cf.br"()[^later] : () -> ()
^then:
  %v = "test.value"() <{kind = #test.kind<a -> b>}> : () -> i32
  "cf.br"()[^end] : () -> ()
^end:
  "func.return"() : () -> ()
}) : () -> ()
// prints
module {
  func.func @f(%arg0: i1) {
    "cf.cond_br"(%arg0, %1)[^bb3, ^bb4] {weights = [1 : i64, 2 : i64]} : (i1, i32) -> ()
  ^bb1:
    "test.use"(%0) : (i32) -> ()
    "cf.br"()[^bb4] : () -> ()
  ^bb2(%0: i32):
    "cf.br"()[^bb1] : () -> ()
  ^bb3:
    %1 = "test.value"() <{kind = #test.kind<a -> b>}> : () -> i32
    "cf.br"()[^bb4] : () -> ()
  ^bb4:
    return
  }
}
