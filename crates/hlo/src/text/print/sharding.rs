//! Shardings and meshes.

use std::fmt::Write;

use super::Printer;
use crate::{
    AxisRef, DeviceOrder, Dims, Mesh, Metadata, NamedSharding, ShardGroup, Sharding, ShardingKind,
    SingleSharding, SubgroupKind, TileSharding,
};

impl Printer<'_> {
    pub(in crate::text) fn sharding(&mut self, sharding: &Sharding) {
        match sharding {
            Sharding::Tuple(elements) => {
                self.push("{");
                self.annotated(elements, |printer, element| printer.sharding(element));
                self.push("}");
            }
            Sharding::Single(single) => self.single_sharding(single),
        }
    }

    fn single_sharding(&mut self, sharding: &SingleSharding) {
        self.push("{");
        match &sharding.kind {
            ShardingKind::Named(named) => {
                self.named_sharding(named);
                if self.options.metadata && !sharding.metadata.is_empty() {
                    self.push(", metadata={");
                    self.metadata_items(&sharding.metadata);
                    self.push("}");
                }
                self.push("}");
                return;
            }
            ShardingKind::Replicated => self.push("replicated"),
            ShardingKind::Manual => self.push("manual"),
            ShardingKind::Unknown => self.push("unknown"),
            ShardingKind::Unreduced => self.push("unreduced"),
            ShardingKind::Maximal { device } => {
                let _ = write!(self.out, "maximal device={device}");
            }
            ShardingKind::Tiled(tiles) => self.tile_sharding(tiles),
        }
        match sharding.group {
            Some(ShardGroup::As(group)) => {
                let _ = write!(self.out, " shard_as {group}");
            }
            Some(ShardGroup::Like(group)) => {
                let _ = write!(self.out, " shard_like {group}");
            }
            None => {}
        }
        if self.options.metadata {
            match &sharding.metadata[..] {
                [] => {}
                [one] => {
                    self.push(" metadata={");
                    self.metadata_fields(one);
                    self.push("}");
                }
                many => {
                    self.push(" metadata={");
                    self.metadata_items(many);
                    self.push("}");
                }
            }
        }
        self.push("}");
    }

    fn metadata_items(&mut self, list: &[Metadata]) {
        self.joined(list, ", ", |printer, metadata| {
            printer.push("{");
            printer.metadata_fields(metadata);
            printer.push("}");
        });
    }

    fn tile_sharding(&mut self, tiles: &TileSharding) {
        self.push("devices=");
        self.squared_integers(&tiles.tile_dims);
        match &tiles.devices {
            DeviceOrder::Explicit(devices) => {
                self.joined(devices, ",", |printer, &device| printer.integer(device));
            }
            DeviceOrder::Iota { reshape, transpose } => {
                self.push("<=");
                self.iota_order(reshape, transpose);
            }
        }
        if tiles.replicate_on_last_tile_dim {
            self.push(" last_tile_dim_replicate");
        } else if !tiles.last_tile_dims.is_empty() {
            self.push(" last_tile_dims=");
            self.braced(&tiles.last_tile_dims, ", ", |printer, kind| {
                printer.push(match kind {
                    SubgroupKind::Replicated => "replicated",
                    SubgroupKind::Manual => "manual",
                    SubgroupKind::Unreduced => "unreduced",
                    SubgroupKind::Unknown => "unknown",
                    SubgroupKind::Maximal => "maximal",
                });
            });
        }
    }

    /// `mesh['x'=2,'y'=4]`; a mesh of one device without axes is a maximal one.
    pub(in crate::text) fn mesh(&mut self, mesh: &Mesh) {
        if let ([], [device]) = (&mesh.axes[..], &mesh.device_ids[..]) {
            let _ = write!(self.out, "maximal_mesh[device_id={device}]");
            return;
        }
        self.push("mesh[");
        self.joined(&mesh.axes, ",", |printer, axis| {
            let _ = write!(printer.out, "'{}'={}", axis.name, axis.size);
        });
        self.push("]");
        match &mesh.iota {
            Some((reshape, transpose)) if reshape.len() > 1 => {
                let (reshape, transpose): (&Dims, &Dims) = (reshape, transpose);
                self.push(", device_ids=(");
                self.iota_order(reshape, transpose);
                self.push(")");
            }
            Some(_) => {}
            None if mesh.device_ids.is_empty() => {}
            None => {
                self.push(", device_ids=(");
                self.joined(&mesh.device_ids, ",", |printer, &device| printer.integer(device));
                self.push(")");
            }
        }
    }

    fn axis_ref(&mut self, axis: &AxisRef, mesh: &Mesh) {
        let name = usize::try_from(axis.axis).ok().and_then(|axis| mesh.axes.get(axis));
        match name {
            Some(axis) => {
                let _ = write!(self.out, "'{}'", axis.name);
            }
            None => {
                let _ = write!(self.out, "'{}'", axis.axis);
            }
        }
        if let Some((pre_size, size)) = axis.sub_axis {
            let _ = write!(self.out, ":({pre_size}){size}");
        }
    }

    pub(in crate::text) fn axis_refs(&mut self, axes: &[AxisRef], mesh: &Mesh, separator: &str) {
        self.braced(axes, separator, |printer, axis| printer.axis_ref(axis, mesh));
    }

    fn named_sharding(&mut self, sharding: &NamedSharding) {
        let mesh = &sharding.mesh;
        self.mesh(mesh);
        let is_maximal = mesh.axes.is_empty() && !mesh.device_ids.is_empty();
        if is_maximal {
            return;
        }
        let covers_all = |axes: &[AxisRef]| {
            !axes.is_empty()
                && axes.len() == mesh.axes.len()
                && axes.iter().enumerate().all(|(i, a)| a.axis == i as i64 && a.sub_axis.is_none())
        };
        if sharding.dims.is_empty() {
            let others =
                [&sharding.replicated_axes, &sharding.unreduced_axes, &sharding.manual_axes];
            let word = match others.map(|axes| axes.is_empty()) {
                [true, true, true] => Some(", replicated"),
                [true, false, true] if covers_all(&sharding.unreduced_axes) => Some(", unreduced"),
                [true, true, false] if covers_all(&sharding.manual_axes) => Some(", manual"),
                _ => None,
            };
            if let Some(word) = word {
                self.push(word);
                return;
            }
        }
        self.push(", [");
        self.joined(&sharding.dims, ", ", |printer, dimension| {
            printer.push("{");
            printer.joined(&dimension.axes, ", ", |printer, axis| printer.axis_ref(axis, mesh));
            if !dimension.is_closed {
                printer.push(if dimension.axes.is_empty() { "?" } else { ", ?" });
            }
            printer.push("}");
        });
        self.push("]");
        let lists = [
            (", replicated=", &sharding.replicated_axes),
            (", unreduced=", &sharding.unreduced_axes),
            (", manual=", &sharding.manual_axes),
        ];
        for (name, axes) in lists {
            if !axes.is_empty() {
                self.push(name);
                self.axis_refs(axes, mesh, ", ");
            }
        }
    }
}
