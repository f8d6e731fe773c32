"""Faulty implementations: what a verification must reject, or it verifies nothing."""
