"""Chunked log-probs and entropies against torch's own, values and gradients."""

import pytest
import torch
from torch import Tensor

from assay.models.logprobs import TokenLogprobs, hidden_logprobs, token_logprobs


def plain(logits: Tensor, tokens: Tensor, temperature: float) -> TokenLogprobs:
    logs = (logits / temperature).log_softmax(-1)
    own = logs.gather(1, tokens.unsqueeze(1)).squeeze(1)
    return TokenLogprobs(logprobs=own, entropy=-(logs.exp() * logs).sum(-1))


def scene(rows: int = 7, vocabulary: int = 11, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(rows)
    logits = (4 * torch.randn(rows, vocabulary, generator=random, dtype=torch.float64)).to(dtype)
    return logits.requires_grad_(), torch.randint(vocabulary, (rows,), generator=random)


@pytest.mark.parametrize("chunk", [1, 3, 7, 100])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize(("of_logprobs", "of_entropy"), [(1.0, 0.0), (0.0, 1.0), (1.3, -0.4)])
def test_values_and_gradients_are_torchs(chunk: int, temperature: float, of_logprobs: float, of_entropy: float) -> None:
    logits, tokens = scene()
    pull = torch.linspace(-1, 2, len(tokens), dtype=torch.float64)
    gradients = []
    found = token_logprobs(logits, tokens, temperature=temperature, chunk=chunk)
    wanted = plain(logits, tokens, temperature)
    for one in (found, wanted):
        # A term of weight 0 is left out, so that the gradient of the other is asked for alone.
        parts = [(of_logprobs, one.logprobs), (of_entropy, one.entropy)]
        loss = torch.stack([c * (pull * values).sum() for c, values in parts if c]).sum()
        gradients.append(torch.autograd.grad(loss, logits)[0])
    torch.testing.assert_close(found.logprobs, wanted.logprobs)
    torch.testing.assert_close(found.entropy, wanted.entropy)
    torch.testing.assert_close(*gradients)


def test_gradients_are_those_of_finite_differences() -> None:
    logits, tokens = scene(4, 5)

    def read(values: Tensor) -> tuple[Tensor, Tensor]:
        found = token_logprobs(values, tokens, temperature=1.5, chunk=3)
        return found.logprobs, found.entropy

    assert torch.autograd.gradcheck(read, (logits,))


def test_half_precision_logits_are_read_in_float32() -> None:
    logits, tokens = scene(dtype=torch.bfloat16)
    found = token_logprobs(logits, tokens, chunk=2)
    assert found.logprobs.dtype == torch.float32
    torch.testing.assert_close(found.logprobs, plain(logits.float(), tokens, 1.0).logprobs, atol=1e-6, rtol=0)
    found.logprobs.sum().backward()
    assert logits.grad is not None
    assert logits.grad.dtype == torch.bfloat16


def test_large_logits_lose_nothing() -> None:
    logits = torch.tensor([[3000.0, 2999.0, 0.0]])
    found = token_logprobs(logits, torch.tensor([1]))
    wanted = plain(logits.double(), torch.tensor([1]), 1.0)
    torch.testing.assert_close(found.entropy.double(), wanted.entropy, atol=1e-6, rtol=0)
    torch.testing.assert_close(found.logprobs.double(), wanted.logprobs, atol=1e-6, rtol=0)


def test_a_filtered_token_has_no_share_and_no_gradient() -> None:
    logits = torch.tensor([[1.0, -torch.inf, 0.0]], requires_grad=True)
    found = token_logprobs(logits, torch.tensor([0]))
    without = plain(torch.tensor([[1.0, 0.0]]), torch.tensor([0]), 1.0)
    torch.testing.assert_close(found.entropy, without.entropy)
    (found.logprobs + found.entropy).sum().backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert logits.grad[0, 1] == 0


@pytest.mark.parametrize("chunk", [2, 100])
def test_through_the_head_it_is_the_same_and_logits_are_never_whole(chunk: int) -> None:
    random = torch.Generator().manual_seed(1)
    hidden = torch.randn(7, 6, generator=random, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(11, 6, generator=random, dtype=torch.float64, requires_grad=True)
    tokens, seen = torch.randint(11, (7,), generator=random), []

    def head(rows: Tensor) -> Tensor:
        seen.append(len(rows))
        return rows @ weight.T

    gradients = []
    for found in (
        hidden_logprobs(hidden, head, tokens, temperature=0.8, chunk=chunk),
        plain(hidden @ weight.T, tokens, 0.8),
    ):
        gradients.append(torch.autograd.grad((found.logprobs + 0.1 * found.entropy).sum(), (hidden, weight)))
    torch.testing.assert_close(*gradients)
    assert max(seen) <= chunk


def test_no_tokens_is_no_error() -> None:
    found = token_logprobs(torch.zeros(0, 5), torch.zeros(0, dtype=torch.long))
    assert found.logprobs.shape == found.entropy.shape == (0,)
