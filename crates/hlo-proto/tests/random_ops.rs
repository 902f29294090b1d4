//! Every opcode with random operands and attributes: inference and verifier find fault with nearly
//! all of it, and panic with none.

use rxla_hlo::Op;
use rxla_hlo_proto::from_proto;
use rxla_hlo_proto::proto::*;

/// xorshift: repeatable, which is all that is asked of it.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Mostly small, now and then the largest there are.
    fn number(&mut self) -> i64 {
        match self.below(24) {
            0 => i64::MAX,
            1 => i64::MIN,
            2 => -1,
            3 => 1 << 40,
            _ => self.below(4) as i64,
        }
    }

    fn numbers(&mut self) -> Vec<i64> {
        (0..self.below(4)).map(|_| self.number()).collect()
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 0
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Random) -> T) -> Option<T> {
        if self.below(8) == 0 { None } else { Some(make(self)) }
    }

    fn shape(&mut self, depth: u64) -> ShapeProto {
        match self.below(16) {
            0 => ShapeProto { element_type: 17, ..ShapeProto::default() },
            1 => ShapeProto { element_type: 14, ..ShapeProto::default() },
            2 | 3 if depth > 0 => ShapeProto {
                element_type: 13,
                tuple_shapes: (0..self.below(4)).map(|_| self.shape(depth - 1)).collect(),
                ..ShapeProto::default()
            },
            4 if depth > 0 => {
                let inner = ShapeProto { element_type: 11, ..ShapeProto::default() };
                ShapeProto { element_type: 34, tuple_shapes: vec![inner], ..ShapeProto::default() }
            }
            _ => {
                const TYPES: [i32; 12] = [11, 11, 11, 4, 4, 8, 1, 15, 16, 6, 12, 21];
                let rank = self.below(5);
                let dimensions: Vec<i64> = (0..rank)
                    .map(|_| match self.below(20) {
                        0 => i64::MIN,
                        1 => i64::MAX,
                        2 => 1 << 33,
                        _ => self.below(5) as i64,
                    })
                    .collect();
                let dynamic = self.below(6) == 0;
                ShapeProto {
                    element_type: TYPES[self.below(12) as usize],
                    is_dynamic_dimension: dimensions
                        .iter()
                        .map(|_| dynamic && self.flag())
                        .collect(),
                    dimensions,
                    ..ShapeProto::default()
                }
            }
        }
    }

    fn window(&mut self) -> Window {
        let mut dimension = || WindowDimension {
            size: self.number(),
            stride: self.number(),
            padding_low: self.number(),
            padding_high: self.number(),
            window_dilation: self.number(),
            base_dilation: self.number(),
            window_reversal: false,
        };
        let dimensions = vec![dimension(), dimension()];
        Window { dimensions }
    }

    fn dot(&mut self) -> DotDimensionNumbers {
        DotDimensionNumbers {
            lhs_contracting_dimensions: self.numbers(),
            rhs_contracting_dimensions: self.numbers(),
            lhs_batch_dimensions: self.numbers(),
            rhs_batch_dimensions: self.numbers(),
        }
    }

    fn instruction(&mut self, opcode: &str, operands: u64) -> HloInstructionProto {
        let groups = (0..self.below(3))
            .map(|_| ReplicaGroup { replica_ids: self.numbers() })
            .collect::<Vec<_>>();
        HloInstructionProto {
            name: "subject".to_owned(),
            opcode: opcode.to_owned(),
            shape: Some(self.shape(2)),
            id: 100,
            operand_ids: (0..operands).map(|_| self.below(6) as i64).collect(),
            called_computation_ids: (0..self.below(3)).map(|_| self.below(4) as i64 + 1).collect(),
            tuple_index: self.number(),
            dimensions: self.numbers(),
            window: Some(self.window()),
            convolution_dimension_numbers: self.maybe(|random| {
                Box::new(ConvolutionDimensionNumbers {
                    input_batch_dimension: random.number(),
                    input_feature_dimension: random.number(),
                    input_spatial_dimensions: random.numbers(),
                    kernel_input_feature_dimension: random.number(),
                    kernel_output_feature_dimension: random.number(),
                    kernel_spatial_dimensions: random.numbers(),
                    output_batch_dimension: random.number(),
                    output_feature_dimension: random.number(),
                    output_spatial_dimensions: random.numbers(),
                })
            }),
            feature_group_count: self.number(),
            batch_group_count: self.number(),
            slice_dimensions: (0..self.below(4))
                .map(|_| SliceDimensions {
                    start: self.number(),
                    limit: self.number(),
                    stride: self.number(),
                })
                .collect(),
            exponent_bits: self.below(9) as i32 - 1,
            mantissa_bits: self.below(9) as i32 - 1,
            dynamic_slice_sizes: self.numbers(),
            padding_config: self.maybe(|random| PaddingConfig {
                dimensions: (0..random.below(4))
                    .map(|_| PaddingConfigDimension {
                        edge_padding_low: random.number(),
                        edge_padding_high: random.number(),
                        interior_padding: random.number(),
                    })
                    .collect(),
            }),
            distribution: 1 + self.below(2) as i32,
            feature_index: self.number(),
            channel_id: self.number(),
            dot_dimension_numbers: self.maybe(|random| Box::new(random.dot())),
            ragged_dot_dimension_numbers: self.maybe(|random| {
                Box::new(RaggedDotDimensionNumbers {
                    dot_dimension_numbers: Some(random.dot()),
                    lhs_ragged_dimensions: random.numbers(),
                    rhs_group_dimensions: random.numbers(),
                })
            }),
            fft_type: self.below(4) as i32,
            fft_length: self.numbers(),
            comparison_direction: "LT".to_owned(),
            gather_dimension_numbers: self.maybe(|random| {
                Box::new(GatherDimensionNumbers {
                    offset_dims: random.numbers(),
                    collapsed_slice_dims: random.numbers(),
                    start_index_map: random.numbers(),
                    index_vector_dim: random.number(),
                    operand_batching_dims: random.numbers(),
                    start_indices_batching_dims: random.numbers(),
                })
            }),
            gather_slice_sizes: self.numbers(),
            scatter_dimension_numbers: self.maybe(|random| {
                Box::new(ScatterDimensionNumbers {
                    update_window_dims: random.numbers(),
                    inserted_window_dims: random.numbers(),
                    scatter_dims_to_operand_dims: random.numbers(),
                    index_vector_dim: random.number(),
                    input_batching_dims: random.numbers(),
                    scatter_indices_batching_dims: random.numbers(),
                })
            }),
            collective_device_list: self
                .flag()
                .then_some(CollectiveDeviceListProto { replica_groups: groups }),
            iota_collective_device_list: self.flag().then(|| {
                Box::new(IotaReplicaGroupListProto {
                    num_replica_groups: self.number(),
                    num_devices_per_group: self.number(),
                    iota_reshape_dims: self.numbers(),
                    iota_transpose_perm: self.numbers().iter().map(|&d| d as i32).collect(),
                })
            }),
            use_global_device_ids: self.flag(),
            source_target_pairs: (0..self.below(3))
                .map(|_| SourceTarget { source: self.number(), target: self.number() })
                .collect(),
            output_operand_aliasing: (0..self.below(2))
                .map(|_| OutputOperandAliasing {
                    output_shape_index: self.numbers(),
                    operand_index: self.number(),
                    operand_shape_index: self.numbers(),
                })
                .collect(),
            k: self.number(),
            num_carries: self.number(),
            triangular_solve_options: Some(TriangularSolveOptions {
                left_side: self.flag(),
                transpose_a: 1,
                ..TriangularSolveOptions::default()
            }),
            fusion_kind: "kLoop".to_owned(),
            custom_call_target: "f".to_owned(),
            ..HloInstructionProto::default()
        }
    }

    fn computation(&mut self, id: i64, parameters: i64) -> HloComputationProto {
        let mut instructions: Vec<HloInstructionProto> = (0..parameters)
            .map(|number| HloInstructionProto {
                name: format!("p{number}"),
                opcode: "parameter".to_owned(),
                shape: Some(self.shape(2)),
                id: number,
                parameter_number: number,
                ..HloInstructionProto::default()
            })
            .collect();
        if self.flag() {
            // A scalar function of its first parameter, so that reductions come far.
            let scalar = ShapeProto { element_type: 11, ..ShapeProto::default() };
            for instruction in &mut instructions {
                instruction.shape = Some(scalar.clone());
            }
        }
        HloComputationProto {
            name: format!("c{id}"),
            root_id: self.below(parameters as u64) as i64,
            instructions,
            id,
            ..HloComputationProto::default()
        }
    }
}

#[test]
fn no_attributes_make_inference_panic() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let (mut read, mut accepted) = (0u32, 0u32);
    for opcode in Op::all_names() {
        for _ in 0..150 {
            let mut entry = random.computation(9, 6);
            let operands = match random.below(4) {
                0 => random.below(7),
                _ => match Op::from_name(opcode).unwrap().arity() {
                    rxla_hlo::op::Arity::Exactly(count) => count as u64,
                    rxla_hlo::op::Arity::AtLeast(count) => count as u64 + random.below(3),
                },
            };
            entry.instructions.push(random.instruction(opcode, operands));
            entry.root_id = 100;
            let mut computations: Vec<_> = (1..5).map(|id| random.computation(id, id)).collect();
            computations.push(entry);
            let proto = HloModuleProto {
                name: "random".to_owned(),
                entry_computation_id: 9,
                computations,
                ..HloModuleProto::default()
            };
            let Ok(module) = from_proto(&proto) else { continue };
            read += 1;
            let findings = rxla_hlo::verify(&module);
            let subject = |message: &&rxla_base::Diagnostic| {
                message.notes.iter().any(|note| note.contains("subject"))
            };
            accepted += u32::from(findings.iter().find(subject).is_none());
        }
    }
    // Both kinds occur, else this would test nothing.
    assert!(read > 8_000 && accepted > 200, "{read} read, {accepted} accepted");
}
