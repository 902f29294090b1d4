//! Replica groups in their three spellings.

use super::AttributeText;
use crate::DeviceOrder;
use crate::op::{IotaGroups, MeshAxesGroups, ReplicaGroups};
use crate::text::lexer::TokenKind;
use crate::text::parse::{Failed, Parser};
use crate::text::print::Printer;

impl AttributeText for ReplicaGroups {
    fn print(&self, printer: &mut Printer<'_>) {
        match self {
            ReplicaGroups::Explicit(groups) => {
                printer.braced(groups, ",", |printer, group| printer.integers(group));
            }
            ReplicaGroups::Iota(iota) => {
                printer.squared_integers(&iota.dims);
                printer.push("<=");
                printer.iota_order(&iota.reshape, &iota.transpose);
            }
            ReplicaGroups::MeshAxes(groups) => {
                printer.mesh(&groups.mesh);
                printer.push(" ");
                printer.axis_refs(&groups.axes, &groups.mesh, ",");
            }
        }
    }

    fn parse(parser: &mut Parser<'_>) -> Result<ReplicaGroups, Failed> {
        if parser.at(TokenKind::LeftBrace) {
            let mut groups = Vec::new();
            parser.braced(|parser| {
                groups.push(parser.integers()?);
                Ok(())
            })?;
            return Ok(ReplicaGroups::Explicit(groups));
        }
        if parser.at_word("mesh") || parser.at_word("maximal_mesh") {
            let mesh = parser.mesh()?;
            let axes = parser.axis_refs(&mesh)?;
            return Ok(ReplicaGroups::MeshAxes(Box::new(MeshAxesGroups { mesh, axes })));
        }
        let span = parser.token.span();
        let tiles = parser.tile_assignment()?;
        let DeviceOrder::Iota { reshape, transpose } = tiles.devices else {
            let message = "expected `{{…}}`, `[groups,size]<=[…]` or `mesh[…] {…}`";
            return Err(parser.error(span, message));
        };
        if tiles.tile_dims.len() != 2 {
            return Err(parser.error(span, "expected number of groups and size: `[2,4]<=[8]`"));
        }
        let dims = tiles.tile_dims;
        Ok(ReplicaGroups::Iota(Box::new(IotaGroups { dims, reshape, transpose })))
    }
}
