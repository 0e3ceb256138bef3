"""What users call: each a few lines over tracing, differentiation, batching and the runtime."""
