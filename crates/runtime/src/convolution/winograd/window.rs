//! Windows of three by three taps, transformed panel by panel of outputs.

use super::PANEL;
use super::transform;
use crate::convolution::{Convolution, Spatial};
use crate::gemm::Address;
use crate::gemm::pack::{Steps, pack};

/// The window as it lies.
pub(super) struct Window {
    data: Address<f32>,
    pub(super) features: usize,
    pub(super) outputs: usize,
    /// From one output to the next.
    stride: isize,
    /// Where features and taps are, in the order of memory so that they are read in lines.
    steps: Steps,
    /// From one feature to the next, and one tap, among the steps.
    order: [usize; 2],
}

impl Window {
    pub(super) fn new(c: &Convolution, [y, x]: [Spatial; 2], right: *const f32) -> Window {
        let order = match c.right_feature_stride.abs() < x.right_stride.abs() {
            true => [1, c.features],
            false => [9, 1],
        };
        let mut steps = Steps::default();
        steps.places.resize(9 * c.features, 0);
        for feature in 0..c.features {
            for tap in 0..9 {
                steps.places[feature * order[0] + tap * order[1]] = feature as isize
                    * c.right_feature_stride
                    + (tap / 3) as isize * y.right_stride
                    + (tap % 3) as isize * x.right_stride;
            }
        }
        steps.find_runs();
        let data = Address(right.wrapping_offset(c.right_start).cast_mut());
        let (features, outputs) = (c.features, c.outputs);
        Window { data, features, outputs, stride: c.output_strides[0], steps, order }
    }

    pub(super) fn panels(&self) -> usize {
        self.outputs.div_ceil(PANEL)
    }

    /// Values of a panel at each point.
    pub(super) fn panel_size(&self) -> usize {
        self.features * PANEL
    }

    /// Transforms a panel, feature by feature, its points `stride` apart. `packed` has room for nine of its sizes.
    ///
    /// # Safety
    ///
    /// The window can be read, and there is room.
    pub(super) unsafe fn transform(
        &self,
        panel: usize,
        packed: *mut f32,
        into: *mut f32,
        stride: usize,
    ) {
        let transforms = transform::best();
        let first = panel * PANEL;
        let lanes: Vec<isize> = (first..self.outputs.min(first + PANEL))
            .map(|output| output as isize * self.stride)
            .collect();
        let from = self.data.get().cast_const().cast();
        // SAFETY: the caller's promise.
        unsafe { pack::<f32, f32>(from, &lanes, &self.steps, PANEL, packed) };
        for feature in 0..self.features {
            let tap = |tap: usize| {
                let step = feature * self.order[0] + tap * self.order[1];
                packed.wrapping_add(step * PANEL).cast_const()
            };
            let taps = std::array::from_fn(|i| std::array::from_fn(|j| tap(3 * i + j)));
            let into = into.wrapping_add(feature * PANEL);
            // SAFETY: packed above; the room is the caller's promise.
            unsafe { (transforms.three_taps)(&taps, PANEL, into, stride) };
        }
    }
}
