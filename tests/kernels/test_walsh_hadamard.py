"""The fast transform is the product with the Hadamard matrix, exactly."""

import numpy as np

from discreet.kernels import walsh_hadamard


def test_the_transform_is_the_hadamard_matrix() -> None:
    size = 16
    matrix = np.array([[(-1) ** (i & j).bit_count() for j in range(size)] for i in range(size)])
    vector = np.random.default_rng(0).integers(-9, 9, size)
    turned = vector.astype(np.int64)
    walsh_hadamard(turned)
    assert (turned == matrix @ vector).all()
