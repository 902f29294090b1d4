//! Inverse trigonometric and hyperbolic functions of complex numbers.
