"""The functions that users call: each is a few lines over tracing, differentiation, batching and the runtime."""
