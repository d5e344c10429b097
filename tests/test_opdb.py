"""What torch tests its own operators with gives the right number on SparseTensors, or is refused."""

import opdb
import pytest

ANSWERED = (
    "add sub mul addmm addmv bmm mm mv matmul einsum sum mean amax amin argmax argmin topk kthvalue sort "
    "logsumexp where nonzero argwhere cumsum diff nansum expand broadcast_to tensordot outer diag diag_embed "
    "nn.functional.pad nn.functional.linear svd_lowrank pca_lowrank linalg.matrix_power nanmean "
    "median nanmedian mode gather take take_along_dim lerp addcmul addcdiv rot90 var_mean std_mean dist "
    "nn.functional.glu nn.functional.softmin nn.functional.layer_norm nn.functional.interpolate fft.fft2 "
    "nn.functional.conv2d nn.functional.max_pool2d diagonal_copy transpose_copy expand_copy scatter "
    "scatter_add scatter_reduce index_add index_copy index_fill index_reduce index_put put masked_scatter "
    "select_scatter slice_scatter diagonal_scatter nn.functional.mse_loss nn.functional.l1_loss "
    "nn.functional.smooth_l1_loss nn.functional.huber_loss nn.functional.cross_entropy "
    "nn.functional.nll_loss nn.functional.binary_cross_entropy_with_logits linalg.inv linalg.qr linalg.eigh "
    "linalg.pinv linalg.norm linalg.matrix_norm atan2 copysign logaddexp clamp nn.functional.prelu "
    "nn.functional.cosine_similarity unfold nn.functional.embedding special.chebyshev_polynomial_t "
    "hsplit atleast_2d repeat_interleave nn.functional.kl_div nn.functional.dropout2d"
)


@pytest.mark.wide
def test_operators_that_are_answered():
    """No sample of these is wrong, and some of each are right."""
    said = opdb.run(set(ANSWERED.split()), most=6)
    assert not said.wrong
    missing = set(ANSWERED.split()) - {name for name, n in said.right.items() if n}
    assert not missing, missing


@pytest.mark.slow
def test_every_operator():
    said = opdb.run(set(), most=3)
    assert not said.wrong
    assert said.right.total() > 1200 and said.refused.total() < 300
