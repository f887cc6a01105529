"""noisewise inside other libraries: `noisewise.integrations.optuna` and
`noisewise.integrations.sklearn`, each with the extra of its name."""
