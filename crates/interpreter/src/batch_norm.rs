//! The three batch normalisation ops, computed in double precision.

use rxla_base::Result;
use rxla_hlo::{ArrayLiteral, ElementType};

use crate::matmul::to_type;

/// An array seen as lines along which the feature does not change.
struct Features {
    count: usize,
    /// Elements per feature and step of the outer dimensions.
    inner: usize,
    /// Elements per feature in all.
    size: f64,
}

impl Features {
    fn of(operand: &ArrayLiteral, feature_index: i64) -> Features {
        let dims = operand.dims();
        let count = dims[feature_index as usize] as usize;
        let inner = dims[feature_index as usize + 1..].iter().map(|&size| size as usize).product();
        let size = operand.len().checked_div(count).unwrap_or(0);
        Features { count, inner, size: size as f64 }
    }

    fn of_element(&self, element: usize) -> usize {
        element / self.inner % self.count
    }

    /// The sum of `f` over the elements of each feature.
    fn sum(&self, len: usize, f: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.count];
        (0..len).for_each(|element| sums[self.of_element(element)] += f(element));
        sums
    }
}

fn doubles(operand: &ArrayLiteral) -> Result<ArrayLiteral> {
    to_type(operand.clone(), ElementType::F64)
}

fn like(operand: &ArrayLiteral, values: &[f64], to: ElementType) -> Result<ArrayLiteral> {
    to_type(ArrayLiteral::from_values(operand.dims().iter().copied(), values), to)
}

/// `(operand - mean) / sqrt(variance + epsilon) * scale + offset`.
pub(crate) fn inference(
    [operand, scale, offset, mean, variance]: &[ArrayLiteral; 5],
    epsilon: f32,
    feature_index: i64,
) -> Result<ArrayLiteral> {
    let features = Features::of(operand, feature_index);
    let [x, s, o] = [doubles(operand)?, doubles(scale)?, doubles(offset)?];
    let [m, v] = [doubles(mean)?, doubles(variance)?];
    let values: Vec<f64> = x
        .values::<f64>()
        .iter()
        .enumerate()
        .map(|(element, x)| {
            let f = features.of_element(element);
            let deviation = (v.values::<f64>()[f] + f64::from(epsilon)).sqrt();
            (x - m.values::<f64>()[f]) / deviation * s.values::<f64>()[f] + o.values::<f64>()[f]
        })
        .collect();
    like(operand, &values, operand.element_type())
}

/// The normalised operand, and mean and variance of each feature.
pub(crate) fn training(
    [operand, scale, offset]: &[ArrayLiteral; 3],
    epsilon: f32,
    feature_index: i64,
) -> Result<Vec<ArrayLiteral>> {
    let features = Features::of(operand, feature_index);
    let x = doubles(operand)?;
    let x = x.values::<f64>();
    let mean: Vec<f64> =
        features.sum(x.len(), |i| x[i]).into_iter().map(|sum| sum / features.size).collect();
    let variance: Vec<f64> = features
        .sum(x.len(), |i| (x[i] - mean[features.of_element(i)]).powi(2))
        .into_iter()
        .map(|sum| sum / features.size)
        .collect();
    let to = scale.element_type();
    let mean = like(scale, &mean, to)?;
    let variance = like(scale, &variance, to)?;
    let all = [operand.clone(), scale.clone(), offset.clone(), mean.clone(), variance.clone()];
    Ok(vec![inference(&all, epsilon, feature_index)?, mean, variance])
}

/// Gradients of operand, scale and offset.
pub(crate) fn gradient(
    [operand, scale, mean, variance, output]: &[ArrayLiteral; 5],
    epsilon: f32,
    feature_index: i64,
) -> Result<Vec<ArrayLiteral>> {
    let features = Features::of(operand, feature_index);
    let [x, s, m] = [doubles(operand)?, doubles(scale)?, doubles(mean)?];
    let [v, dy] = [doubles(variance)?, doubles(output)?];
    let (x, s, m) = (x.values::<f64>(), s.values::<f64>(), m.values::<f64>());
    let (v, dy) = (v.values::<f64>(), dy.values::<f64>());
    let epsilon = f64::from(epsilon);
    let centered = |i: usize| x[i] - m[features.of_element(i)];
    let offset_gradient = features.sum(x.len(), |i| dy[i]);
    let products = features.sum(x.len(), |i| dy[i] * centered(i));
    let scale_gradient: Vec<f64> =
        products.iter().zip(v).map(|(product, v)| product / (v + epsilon).sqrt()).collect();
    let operand_gradient: Vec<f64> = (0..x.len())
        .map(|i| {
            let f = features.of_element(i);
            let rest = features.size * dy[i]
                - offset_gradient[f]
                - products[f] * centered(i) / (v[f] + epsilon);
            s[f] / (v[f] + epsilon).sqrt() / features.size * rest
        })
        .collect();
    Ok(vec![
        like(operand, &operand_gradient, operand.element_type())?,
        like(scale, &scale_gradient, scale.element_type())?,
        like(scale, &offset_gradient, scale.element_type())?,
    ])
}
