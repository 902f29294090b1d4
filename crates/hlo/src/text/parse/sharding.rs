//! Shardings in all spellings: `{replicated}`, `{devices=[2,2]<=[4]}`, `{mesh['x'=2], [{'x'}]}` …

use rxla_base::Span;

use super::{Parse, Parser};
use crate::text::lexer::TokenKind;
use crate::{
    AxisRef, DeviceOrder, DimensionSharding, Dims, Mesh, MeshAxis, NamedSharding, ShardGroup,
    Sharding, ShardingKind, SingleSharding, SubgroupKind, TileSharding,
};

impl Parser<'_> {
    pub(in crate::text) fn sharding(&mut self) -> Parse<Sharding> {
        if !matches!(self.peek().kind, TokenKind::LeftBrace | TokenKind::RightBrace) {
            return self.single_sharding();
        }
        let mut elements = Vec::new();
        self.braced(|parser| {
            elements.push(parser.single_sharding()?);
            Ok(())
        })?;
        Ok(Sharding::Tuple(elements))
    }

    fn single_sharding(&mut self) -> Parse<Sharding> {
        let start = self.token.start;
        self.expect(TokenKind::LeftBrace)?;
        let mut single =
            SingleSharding { kind: ShardingKind::Replicated, group: None, metadata: Vec::new() };
        if self.at_word("mesh") || self.at_word("maximal_mesh") {
            single.kind = ShardingKind::Named(self.named_sharding(&mut single.metadata)?);
            return Ok(Sharding::Single(Box::new(single)));
        }
        let mut kind = None;
        let mut device = None;
        let mut is_maximal = false;
        let mut tiles: Option<TileSharding> = None;
        let mut last_tile_dims = Vec::new();
        let mut replicate_last = false;
        while !self.eat(TokenKind::RightBrace) {
            let span = self.token.span();
            match self.word("a word of a sharding or `}`")? {
                "replicated" => kind = Some(ShardingKind::Replicated),
                "manual" => kind = Some(ShardingKind::Manual),
                "unknown" => kind = Some(ShardingKind::Unknown),
                "unreduced" => kind = Some(ShardingKind::Unreduced),
                "maximal" => is_maximal = true,
                "last_tile_dim_replicate" => replicate_last = true,
                "shard_as" => single.group = Some(ShardGroup::As(self.integer()?)),
                "shard_like" => single.group = Some(ShardGroup::Like(self.integer()?)),
                "device" => {
                    self.expect(TokenKind::Equal)?;
                    device = Some(self.integer()?);
                }
                "devices" => {
                    self.expect(TokenKind::Equal)?;
                    tiles = Some(self.tile_assignment()?);
                }
                "last_tile_dims" => {
                    self.expect(TokenKind::Equal)?;
                    self.braced(|parser| {
                        last_tile_dims.push(parser.subgroup_kind()?);
                        Ok(())
                    })?;
                }
                "metadata" => {
                    self.expect(TokenKind::Equal)?;
                    single.metadata = self.metadata_list()?;
                }
                other => return Err(self.unknown_word("word of a sharding", other, span, WORDS)),
            }
        }
        let span = self.span_from(start);
        single.kind = match (kind, is_maximal, tiles) {
            (Some(kind), false, None) if device.is_none() => kind,
            (None, true, None) => match device {
                Some(device) => ShardingKind::Maximal { device },
                None => {
                    return Err(self.error(span, "a maximal sharding names its device: `device=0`"));
                }
            },
            (None, false, Some(mut tiles)) if device.is_none() => {
                if replicate_last {
                    if !last_tile_dims.is_empty() {
                        let message = "`last_tile_dim_replicate` and `last_tile_dims` exclude \
                                       each other";
                        return Err(self.error(span, message));
                    }
                    last_tile_dims.push(SubgroupKind::Replicated);
                }
                tiles.replicate_on_last_tile_dim = replicate_last;
                tiles.last_tile_dims = last_tile_dims;
                self.check_tiles(&tiles, span)?;
                ShardingKind::Tiled(tiles)
            }
            (None, false, None) => {
                let message = "a sharding says `replicated`, `maximal`, `manual`, `unknown`, \
                               `unreduced` or `devices=`";
                return Err(self.error(span, message));
            }
            _ => return Err(self.error(span, "the parts of the sharding exclude each other")),
        };
        Ok(Sharding::Single(Box::new(single)))
    }

    fn subgroup_kind(&mut self) -> Parse<SubgroupKind> {
        let span = self.token.span();
        Ok(match self.word("a kind of subgroup")? {
            "replicated" => SubgroupKind::Replicated,
            "manual" => SubgroupKind::Manual,
            "unreduced" => SubgroupKind::Unreduced,
            "unknown" => SubgroupKind::Unknown,
            "maximal" => SubgroupKind::Maximal,
            other => return Err(self.unknown_word("kind of subgroup", other, span, WORDS)),
        })
    }

    /// `[2,2]0,1,2,3` or `[2,2]<=[4]`.
    pub(in crate::text) fn tile_assignment(&mut self) -> Parse<TileSharding> {
        let tile_dims = self.squared_integers()?;
        let devices = if self.eat(TokenKind::LessEqual) {
            let (reshape, transpose) = self.iota_order()?;
            DeviceOrder::Iota { reshape, transpose }
        } else {
            let mut devices = vec![self.integer()?];
            while self.eat(TokenKind::Comma) {
                devices.push(self.integer()?);
            }
            DeviceOrder::Explicit(devices)
        };
        Ok(TileSharding {
            tile_dims,
            devices,
            last_tile_dims: Vec::new(),
            replicate_on_last_tile_dim: false,
        })
    }

    fn check_tiles(&mut self, tiles: &TileSharding, span: Span) -> Parse<()> {
        if tiles.last_tile_dims.len() > tiles.tile_dims.len() {
            let message = format!(
                "{} kinds of subgroups for {} tile dimensions",
                tiles.last_tile_dims.len(),
                tiles.tile_dims.len()
            );
            return Err(self.error(span, message));
        }
        let wanted = product(&tiles.tile_dims);
        let given = match &tiles.devices {
            DeviceOrder::Explicit(devices) => Some(devices.len() as i64),
            DeviceOrder::Iota { reshape, .. } => product(reshape),
        };
        if wanted.is_none() || wanted != given {
            let show =
                |count: Option<i64>| count.map_or("too many".to_owned(), |count| count.to_string());
            let message =
                format!("the tiles take {} devices, {} are given", show(wanted), show(given));
            return Err(self.error(span, message));
        }
        Ok(())
    }

    pub(super) fn squared_integers(&mut self) -> Parse<Dims> {
        let mut list = Dims::new();
        self.list(TokenKind::LeftSquare, TokenKind::RightSquare, |parser| {
            list.push(parser.integer()?);
            Ok(())
        })?;
        Ok(list)
    }

    /// `[4,2]T(1,0)`: dimensions to reshape an iota to, and how to transpose it then.
    pub(super) fn iota_order(&mut self) -> Parse<(Dims, Dims)> {
        let start = self.token.start;
        let reshape = self.squared_integers()?;
        let mut transpose: Dims = (0..reshape.len() as i64).collect();
        if self.at_word("T") {
            self.advance();
            transpose.clear();
            self.list(TokenKind::LeftParen, TokenKind::RightParen, |parser| {
                transpose.push(parser.integer()?);
                Ok(())
            })?;
        } else if reshape.len() > 1 {
            return Err(self.unexpected("`T(…)` with the order of the dimensions"));
        }
        let mut sorted = transpose.clone();
        sorted.sort_unstable();
        if reshape.is_empty() || !sorted.iter().copied().eq(0..reshape.len() as i64) {
            let span = self.span_from(start);
            let message = "the transposition must name each dimension of the iota once";
            return Err(self.error(span, message));
        }
        Ok((reshape, transpose))
    }

    /// `mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0))` or `maximal_mesh[device_id=3]`.
    pub(in crate::text) fn mesh(&mut self) -> Parse<Mesh> {
        let start = self.token.start;
        let mut mesh = Mesh::default();
        if self.eat_word("maximal_mesh") {
            self.expect(TokenKind::LeftSquare)?;
            let (name, span) = self.attribute_name()?;
            if name != "device_id" {
                return Err(self.unknown_word("attribute", name, span, ["device_id"]));
            }
            mesh.device_ids.push(self.integer()?);
            self.expect(TokenKind::RightSquare)?;
            return Ok(mesh);
        }
        if !self.eat_word("mesh") {
            return Err(self.unexpected("`mesh` or `maximal_mesh`"));
        }
        self.list(TokenKind::LeftSquare, TokenKind::RightSquare, |parser| {
            let name = parser.string()?;
            parser.expect(TokenKind::Equal)?;
            let size = parser.integer()?;
            mesh.axes.push(MeshAxis { name, size });
            Ok(())
        })?;
        let next = self.peek();
        if self.at(TokenKind::Comma)
            && next.kind == TokenKind::Word
            && self.text(next) == "device_ids"
        {
            self.advance();
            self.advance();
            self.expect(TokenKind::Equal)?;
            self.expect(TokenKind::LeftParen)?;
            if self.at(TokenKind::LeftSquare) {
                mesh.iota = Some(self.iota_order()?);
            } else {
                loop {
                    mesh.device_ids.push(self.integer()?);
                    if !self.eat(TokenKind::Comma) {
                        break;
                    }
                }
            }
            self.expect(TokenKind::RightParen)?;
            let sizes: Dims = mesh.axes.iter().map(|axis| axis.size).collect();
            let wanted = product(&sizes);
            let given = match &mesh.iota {
                Some((reshape, _)) => product(reshape),
                None => Some(mesh.device_ids.len() as i64),
            };
            if wanted.is_none() || wanted != given {
                let span = self.span_from(start);
                return Err(self.error(span, "the mesh has another number of devices than given"));
            }
        }
        Ok(mesh)
    }

    /// `'x'`, `'x':(2)4`, or the number of an axis in quotes.
    fn axis_ref(&mut self, mesh: &Mesh) -> Parse<AxisRef> {
        let span = self.token.span();
        let name = self.string()?;
        let by_name = mesh.axes.iter().position(|axis| axis.name == name);
        let axis = by_name.or_else(|| name.parse().ok().filter(|&n: &usize| n < mesh.axes.len()));
        let Some(axis) = axis else {
            let known = mesh.axes.iter().map(|axis| axis.name.as_str());
            return Err(self.unknown_word("axis of the mesh", &name, span, known));
        };
        let mut sub_axis = None;
        if self.eat(TokenKind::Colon) {
            self.expect(TokenKind::LeftParen)?;
            let pre_size = self.integer()?;
            self.expect(TokenKind::RightParen)?;
            sub_axis = Some((pre_size, self.integer()?));
        }
        Ok(AxisRef { axis: axis as i64, sub_axis })
    }

    pub(in crate::text) fn axis_refs(&mut self, mesh: &Mesh) -> Parse<Vec<AxisRef>> {
        let mut axes = Vec::new();
        self.braced(|parser| {
            axes.push(parser.axis_ref(mesh)?);
            Ok(())
        })?;
        Ok(axes)
    }

    /// `{'x', ?}`.
    fn dimension_sharding(&mut self, mesh: &Mesh) -> Parse<DimensionSharding> {
        let mut sharding = DimensionSharding { axes: Vec::new(), is_closed: true };
        self.braced(|parser| {
            if !sharding.is_closed {
                return Err(parser.error(parser.token.span(), "`?` stands last"));
            }
            if parser.eat(TokenKind::QuestionMark) {
                sharding.is_closed = false;
            } else {
                sharding.axes.push(parser.axis_ref(mesh)?);
            }
            Ok(())
        })?;
        Ok(sharding)
    }

    fn named_sharding(&mut self, metadata: &mut Vec<crate::Metadata>) -> Parse<NamedSharding> {
        let mesh = self.mesh()?;
        let mut sharding = NamedSharding { mesh, ..NamedSharding::default() };
        let all = |mesh: &Mesh| {
            (0..mesh.axes.len() as i64).map(|axis| AxisRef { axis, sub_axis: None }).collect()
        };
        self.eat(TokenKind::Comma);
        if self.eat_word("replicated") {
        } else if self.eat_word("unreduced") {
            sharding.unreduced_axes = all(&sharding.mesh);
        } else if self.eat_word("manual") {
            sharding.manual_axes = all(&sharding.mesh);
        } else if self.at(TokenKind::LeftSquare) {
            let mesh = std::mem::take(&mut sharding.mesh);
            self.list(TokenKind::LeftSquare, TokenKind::RightSquare, |parser| {
                sharding.dims.push(parser.dimension_sharding(&mesh)?);
                Ok(())
            })?;
            sharding.mesh = mesh;
        } else if self.at_word("metadata") {
            self.advance();
            self.expect(TokenKind::Equal)?;
            *metadata = self.metadata_list()?;
        }
        while self.eat(TokenKind::Comma) {
            let (name, span) = self.attribute_name()?;
            match name {
                "replicated" => sharding.replicated_axes = self.axis_refs(&sharding.mesh)?,
                "unreduced" => sharding.unreduced_axes = self.axis_refs(&sharding.mesh)?,
                "manual" => sharding.manual_axes = self.axis_refs(&sharding.mesh)?,
                "metadata" => *metadata = self.metadata_list()?,
                _ => {
                    let known = ["replicated", "unreduced", "manual", "metadata"];
                    return Err(self.unknown_word("attribute of a sharding", name, span, known));
                }
            }
        }
        self.expect(TokenKind::RightBrace)?;
        Ok(sharding)
    }
}

/// The words of a sharding, to suggest from.
const WORDS: [&str; 12] = [
    "replicated",
    "maximal",
    "manual",
    "unknown",
    "unreduced",
    "device",
    "devices",
    "last_tile_dim_replicate",
    "last_tile_dims",
    "shard_as",
    "shard_like",
    "metadata",
];

fn product(dims: &Dims) -> Option<i64> {
    dims.iter()
        .try_fold(1i64, |product, &dim| (dim > 0).then(|| product.checked_mul(dim)).flatten())
}
