"""Position encodings, as pure functions of torch tensors."""
