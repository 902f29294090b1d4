//! Windows of three by three taps, transformed panel by panel of outputs; no panel has outputs of two groups.

use super::narrow::{self, Narrow, Product};
use super::transform::Form;
use super::{LANES, PANEL, Sum, multiply};
use crate::convolution::{Convolution, Spatial};
use crate::gemm::Address;
use crate::gemm::pack::{Steps, pack};

/// The window as it lies.
pub(super) struct Window {
    data: Address<f32>,
    /// Features and outputs of each group, and groups.
    pub(super) features: usize,
    pub(super) outputs: usize,
    pub(super) groups: usize,
    /// Outputs of a panel.
    width: usize,
    narrow: Option<&'static Narrow>,
    /// From one output to the next.
    stride: isize,
    /// Where features and taps are, in the order of memory so that they are read in lines.
    steps: Steps,
    /// From one feature to the next, and one tap, among the steps.
    order: [usize; 2],
}

impl Window {
    pub(super) fn new(c: &Convolution, [y, x]: [Spatial; 2], right: *const f32) -> Window {
        let groups = c.feature_groups;
        let (features, outputs) = (c.features / groups, c.outputs / groups);
        let (width, narrow) = if groups == 1 { (PANEL, None) } else { narrow::panel(outputs) };
        // Features of a narrow panel share vectors, so they lie together.
        let in_lines = groups > 1 || c.right_feature_stride.abs() < x.right_stride.abs();
        let order = if in_lines { [1, features] } else { [9, 1] };
        let mut steps = Steps::default();
        steps.places.resize(9 * features, 0);
        for feature in 0..features {
            for tap in 0..9 {
                steps.places[feature * order[0] + tap * order[1]] = feature as isize
                    * c.right_feature_stride
                    + (tap / 3) as isize * y.right_stride
                    + (tap % 3) as isize * x.right_stride;
            }
        }
        steps.find_runs();
        let data = Address(right.wrapping_offset(c.right_start).cast_mut());
        let stride = c.output_strides[0];
        Window { data, features, outputs, groups, width, narrow, stride, steps, order }
    }

    /// Panels of each group.
    fn panels_of_group(&self) -> usize {
        self.outputs.div_ceil(self.width)
    }

    /// Panels of all groups.
    pub(super) fn panels(&self) -> usize {
        self.panels_of_group() * self.groups
    }

    /// The group of a panel, and its first output among all.
    fn place(&self, panel: usize) -> (usize, usize) {
        let (group, panel) = (panel / self.panels_of_group(), panel % self.panels_of_group());
        (group, group * self.outputs + panel * self.width)
    }

    /// Values of a panel at each point.
    pub(super) fn panel_size(&self) -> usize {
        (self.features * self.width).next_multiple_of(LANES)
    }

    /// The products of `count` transformed rows of all features, `element_row` from each other, with a panel: into rows
    /// of all outputs, which have room for whole vectors after those of the panel. Panels come in their order.
    ///
    /// # Safety
    ///
    /// They can be read, and there is room.
    pub(super) unsafe fn multiply(
        &self,
        panel: usize,
        count: usize,
        elements: *const f32,
        transformed: *const f32,
        products: *mut f32,
        [element_row, product_row]: [usize; 2],
    ) {
        let (group, first) = self.place(panel);
        let a = elements.wrapping_add(group * self.features);
        let c = products.wrapping_add(first);
        // SAFETY: the caller's promise.
        unsafe {
            match self.narrow {
                Some(narrow) => narrow.run(&Product {
                    rows: count,
                    k: self.features,
                    a,
                    a_row: element_row,
                    b: transformed,
                    c,
                    c_row: product_row,
                }),
                None => {
                    let rows = [element_row, product_row];
                    let sizes = [count, self.features, self.width];
                    multiply(sizes, a, transformed, c, rows, Sum::Begins);
                }
            }
        }
    }

    /// Transforms a panel, feature by feature, its points `stride` apart. `packed` has room for nine of its sizes.
    ///
    /// # Safety
    ///
    /// The window can be read, and there is room.
    pub(super) unsafe fn transform(
        &self,
        form: &Form,
        panel: usize,
        packed: *mut f32,
        into: *mut f32,
        stride: usize,
    ) {
        let (group, first) = self.place(panel);
        let end = ((group + 1) * self.outputs).min(first + self.width);
        let lanes: Vec<isize> = (first..end).map(|output| output as isize * self.stride).collect();
        let from = self.data.get().cast_const().cast();
        // SAFETY: the caller's promise.
        unsafe { pack::<f32, f32>(from, &lanes, &self.steps, self.width, packed) };
        // Features that lie together are transformed at once.
        let together = if self.order[0] == 1 { self.features } else { 1 };
        for feature in (0..self.features).step_by(together) {
            let tap = |tap: usize| {
                let step = feature * self.order[0] + tap * self.order[1];
                packed.wrapping_add(step * self.width).cast_const()
            };
            let taps: [*const f32; 9] = std::array::from_fn(tap);
            let into = into.wrapping_add(feature * self.width);
            // SAFETY: packed above; the room is the caller's promise.
            unsafe { (form.taps)(&taps, together * self.width, into, stride) };
        }
    }
}
