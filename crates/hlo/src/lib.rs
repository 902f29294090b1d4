//! The HLO IR.
