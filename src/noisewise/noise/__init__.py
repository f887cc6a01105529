"""What is known about the noise: samples, residuals, misranking statistics, diagnostics."""
