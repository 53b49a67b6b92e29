"""The specification's programs and recorded vectors, replayed."""
