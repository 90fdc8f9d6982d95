"""Many tempered chains together: from a measurement to samples, their diagnostics and images."""
