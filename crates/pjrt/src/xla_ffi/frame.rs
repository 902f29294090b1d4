//! Operands and results of a callback to Python, which may keep them, as the FFI's structs.

use rxla::hlo::literal::Bytes;
use rxla::hlo::{ArrayLiteral, Literal, Shape};
use rxla::host::CustomCall;
use rxla::{Client, Error, Result, strided};

use super::site::{self, buffer};
use crate::ffi;

/// A value of one operand or result as a handler sees it: bytes in the layout that the call names.
pub(crate) struct Operand {
    shape: Shape,
    bytes: Bytes,
    dims: Vec<i64>,
}

/// The parts a call frame points into. Nothing in here moves while a frame is used: what is pointed
/// to is on the heap, in collections that are not changed any more.
pub(crate) struct Frame {
    pub(crate) operands: Vec<Operand>,
    pub(crate) results: Vec<Operand>,
    /// Result numbers and the operand whose memory each starts with.
    aliases: Vec<(usize, usize)>,
}

impl Operand {
    fn of(client: &Client, literal: &Literal, shape: &Shape) -> Result<Operand> {
        match (literal, shape) {
            (Literal::Array(array), Shape::Array(wanted)) => {
                let bytes = match site::strides(array.dims(), wanted)? {
                    None => array.shared_bytes(),
                    Some(strides) => {
                        let mut bytes = client.zeroed(array.bytes().len())?;
                        let width = array.element_type().byte_width();
                        let (from, into) = (array.bytes(), bytes.make_mut());
                        strided::write_strided(from, into, array.dims(), &strides, width)?;
                        bytes
                    }
                };
                let shape = Shape::Array(wanted.clone());
                Ok(Operand { shape, bytes, dims: array.dims().to_vec() })
            }
            (Literal::Token, _) => {
                Ok(Operand { shape: Shape::Token, bytes: Bytes::zeroed(0)?, dims: Vec::new() })
            }
            (literal, shape) => Err(Error::unimplemented(format!(
                "a custom call with an operand `{}` in the form `{shape}`",
                literal.shape()
            ))),
        }
    }

    fn zeroed(client: &Client, shape: &Shape) -> Result<Operand> {
        match shape {
            Shape::Array(array) => {
                let bytes = client.zeroed(site::size(array)?)?;
                Ok(Operand { shape: shape.clone(), bytes, dims: array.dims.to_vec() })
            }
            Shape::Token => {
                Ok(Operand { shape: Shape::Token, bytes: Bytes::zeroed(0)?, dims: Vec::new() })
            }
            other => Err(Error::unimplemented(format!(
                "a custom call with a result `{other}` in a tuple"
            ))),
        }
    }

    /// The value row-major again.
    fn into_literal(self) -> Result<Literal> {
        let Shape::Array(array) = &self.shape else { return Ok(Literal::Token) };
        let bytes = match site::strides(&array.dims, array)? {
            None => self.bytes,
            Some(strides) => {
                let width = array.element_type.byte_width();
                strided::read_strided(self.bytes.as_slice(), &array.dims, &strides, width)?
            }
        };
        Ok(Literal::Array(ArrayLiteral::from_bytes(&array.without_layout(), bytes)?))
    }

    fn data_type(&self) -> ffi::XLA_FFI_DataType {
        match &self.shape {
            Shape::Array(array) => array.element_type.proto_number() as ffi::XLA_FFI_DataType,
            _ => ffi::XLA_FFI_DataType_TOKEN,
        }
    }
}

impl Frame {
    pub(crate) fn new(
        client: &Client,
        call: &CustomCall<'_>,
        operands: &[Literal],
    ) -> Result<Frame> {
        if operands.len() != call.operand_shapes.len() {
            return Err(Error::internal("a custom call has other operands than operand shapes"));
        }
        let operands = operands
            .iter()
            .zip(call.operand_shapes)
            .map(|(literal, shape)| Operand::of(client, literal, shape))
            .collect::<Result<Vec<_>>>()?;
        let mut results = site::result_shapes(call.result_shape)
            .iter()
            .map(|shape| Operand::zeroed(client, shape))
            .collect::<Result<Vec<_>>>()?;
        let mut aliases = Vec::new();
        for &(result, operand) in call.aliases {
            let (Some(target), Some(source)) = (results.get_mut(result), operands.get(operand))
            else {
                return Err(Error::invalid_argument(format!(
                    "`{}` aliases result {result} with operand {operand}, which it has not",
                    call.target
                )));
            };
            if target.bytes.len() != source.bytes.len() {
                return Err(Error::invalid_argument(format!(
                    "`{}` aliases result `{}` with operand `{}`",
                    call.target, target.shape, source.shape
                )));
            }
            // A copy of our own, which operand and result then share in the frame.
            target.bytes = client.copy_of(source.bytes.as_slice())?;
            aliases.push((result, operand));
        }
        Ok(Frame { operands, results, aliases })
    }

    /// The results, as a tuple if there is not exactly one.
    pub(crate) fn into_literal(self, result_shape: &Shape) -> Result<Literal> {
        let mut literals =
            self.results.into_iter().map(Operand::into_literal).collect::<Result<Vec<_>>>()?;
        match result_shape {
            Shape::Tuple(_) => Ok(Literal::Tuple(literals)),
            _ => literals.pop().ok_or_else(|| Error::internal("a custom call without result")),
        }
    }

    /// The operands' memory, to be kept beyond the call.
    pub(crate) fn operand_bytes(&self) -> Vec<Bytes> {
        self.operands.iter().map(|operand| operand.bytes.clone()).collect()
    }

    /// Lends operands and results to `body` as the FFI's structs.
    pub(crate) fn with_buffers<T>(
        &mut self,
        body: impl FnOnce(&mut [ffi::XLA_FFI_Buffer], &mut [ffi::XLA_FFI_Buffer]) -> T,
    ) -> T {
        let mut results: Vec<_> = self
            .results
            .iter_mut()
            .map(|result| {
                let data = result.bytes.make_mut().as_mut_ptr();
                buffer(result.data_type(), data, &result.dims)
            })
            .collect();
        let mut operands: Vec<_> = self
            .operands
            .iter()
            .enumerate()
            .map(|(number, operand)| {
                let shared = self.aliases.iter().find(|(_, aliased)| *aliased == number);
                let data = match shared {
                    Some(&(result, _)) => results[result].data.cast(),
                    None => operand.bytes.as_slice().as_ptr().cast_mut(),
                };
                buffer(operand.data_type(), data, &operand.dims)
            })
            .collect();
        body(&mut operands, &mut results)
    }
}
