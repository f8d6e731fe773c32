"""A small causal decoder, trained here on two tasks of which the best possible loss is known."""
